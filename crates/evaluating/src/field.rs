//! Accuracies by the field's protocol: several classifiers, each with several seeds, train on generated samples and
//! are tested on real records.
//!
//! The classifiers and the number of samples follow Dockhorn et al. (2023, arXiv 2210.09929) and the benchmark of Gong
//! et al. (2025, arXiv 2503.14681): 60 000 samples, a convolutional classifier, an MLP, logistic regression and one
//! classifier without a gradient. The schedule is fixed beforehand and the weights after the last epoch count: no
//! accuracy, on test or on private records, chooses an epoch, a rate or a seed.

use data::Records;
use reporting::interrupt::Interrupt;

use super::EvaluateError;
use super::downstream::{Accuracy, Learner, Settings};
use super::error::{check_count, check_labels, check_records};
use super::neighbours::{Images, voted_labels};

/// Settings of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Protocol {
    /// The seeds of each classifier, for its initial weights and the order of the samples.
    pub seeds: Vec<u64>,
    /// The number of passes of the convolutional classifier over the samples.
    pub convolutional_epochs: usize,
    /// The number of passes of the MLP and of logistic regression.
    pub epochs: usize,
    /// The number of samples in a step.
    pub batch: usize,
    /// The number of neighbours that vote on a test record.
    pub neighbours: usize,
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            seeds: vec![0, 1, 2],
            convolutional_epochs: 6,
            epochs: 20,
            batch: 200,
            neighbours: 5,
        }
    }
}

/// The number of samples on which the field trains its classifiers.
pub const SAMPLES: usize = 60_000;

/// The accuracies of one classifier with several seeds.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, with divisor `n - 1`; 0 for a single seed.
    pub deviation: f64,
    /// The accuracy of each seed.
    pub values: Vec<f64>,
}

impl Spread {
    /// Returns the mean and the deviation of `values`, of which there is at least one.
    pub fn of(values: Vec<f64>) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        Self {
            mean,
            deviation: (squares / (n - 1.0).max(1.0)).sqrt(),
            values,
        }
    }
}

/// The accuracy of each classifier that was trained on the same records.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Accuracies {
    /// The number of records trained on.
    pub training_records: usize,
    /// The number of test records.
    pub test_records: usize,
    /// The accuracies of [`Learner::Wide`].
    pub convolutional: Spread,
    /// The accuracies of [`Learner::Mlp`].
    pub mlp: Spread,
    /// The accuracies of [`Learner::Logistic`].
    pub logistic: Spread,
    /// The accuracy of the vote of the samples nearest in pixels, which has no seed.
    pub nearest_neighbours: f64,
    /// The settings that were used.
    pub protocol: Protocol,
}

/// Trains each classifier on `samples`, `[n, d]` in `[0, 1]`, with `labels`, `[n]`, and tests it on `test`.
///
/// The same arguments give the same accuracies, whatever the number of threads. `note` receives a line to show when
/// each classifier is done.
///
/// # Errors
///
/// As [`Learner::accuracy`]; a protocol without a seed or a neighbour.
pub fn accuracies(
    samples: &[f32],
    labels: &[u8],
    test: &Records,
    protocol: &Protocol,
    note: &mut dyn FnMut(&str),
    interrupt: &Interrupt,
) -> Result<Accuracies, EvaluateError> {
    check_count("seeds of the protocol", protocol.seeds.len(), 1)?;
    let mut spread = |learner: Learner, epochs: usize, name: &str| {
        let of = |&seed: &u64| -> Result<Accuracy, EvaluateError> {
            let settings = Settings {
                epochs,
                batch: protocol.batch,
                seed,
                ..Settings::default()
            };
            learner.accuracy(samples, labels, test, &settings, interrupt)
        };
        let found: Result<Vec<Accuracy>, _> = protocol.seeds.iter().map(of).collect();
        let spread = Spread::of(found?.into_iter().map(|a| a.accuracy).collect());
        note(&format!(
            "{name}: {:.4} +- {:.4}",
            spread.mean, spread.deviation
        ));
        Ok::<_, EvaluateError>(spread)
    };
    let logistic = spread(Learner::Logistic, protocol.epochs, "logistic regression")?;
    let mlp = spread(Learner::Mlp, protocol.epochs, "MLP")?;
    let convolutional = spread(
        Learner::Wide,
        protocol.convolutional_epochs,
        "convolutional",
    )?;
    let nearest_neighbours = vote(samples, labels, test, protocol.neighbours, interrupt)?;
    note(&format!("nearest neighbours: {nearest_neighbours:.4}"));
    Ok(Accuracies {
        training_records: labels.len(),
        test_records: test.len(),
        convolutional,
        mlp,
        logistic,
        nearest_neighbours,
        protocol: protocol.clone(),
    })
}

/// Returns the accuracy of the class that most of the `neighbours` nearest samples have. In a tie, the class of the
/// nearest sample among the tied ones counts.
fn vote(
    samples: &[f32],
    labels: &[u8],
    test: &Records,
    neighbours: usize,
    interrupt: &Interrupt,
) -> Result<f64, EvaluateError> {
    let (features, classes) = (test.image_size(), test.classes());
    let records = check_records("samples", samples, features)?;
    check_labels("labels of samples", labels, records, classes)?;
    let references = Images::Values {
        values: samples,
        features,
    };
    let queries = Images::of(test)?.block(0..test.len());
    let voted = voted_labels(&queries, &references, labels, neighbours, interrupt)?;
    let correct = voted.iter().zip(test.labels()).filter(|(a, b)| a == b);
    Ok(correct.count() as f64 / test.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_mean_and_deviation() {
        let spread = Spread::of(vec![0.9, 0.8, 0.7]);
        assert!((spread.mean - 0.8).abs() < 1e-12 && (spread.deviation - 0.1).abs() < 1e-12);
        assert_eq!(Spread::of(vec![0.5]).deviation, 0.0);
    }

    #[test]
    fn neighbours_vote_and_the_nearest_breaks_ties() {
        let test = Records::new(vec![0, 0, 255, 255], vec![0, 1], 1, 2, 2).unwrap();
        let accuracy = |samples: &[f32], labels: &[u8], k| {
            vote(samples, labels, &test, k, &Interrupt::default()).unwrap()
        };
        let samples = [0.0, 0.1, 0.0, 0.2, 0.1, 0.2, 1.0, 0.9];
        assert_eq!(accuracy(&samples, &[0, 1, 1, 1], 1), 1.0);
        // Two of the three nearest to the first record are of class 1.
        assert_eq!(accuracy(&samples, &[0, 1, 1, 1], 3), 0.5);
        // One vote each: the nearest has it.
        assert_eq!(accuracy(&samples, &[0, 1, 1, 1], 2), 1.0);
        // All of them where there are fewer.
        assert_eq!(accuracy(&samples, &[0, 1, 1, 1], 9), 0.5);
    }
}
