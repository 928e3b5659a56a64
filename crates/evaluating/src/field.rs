//! Accuracies by the protocol of the field: several classifiers learn from samples, each from several seeds, and are
//! tested on real records.
//!
//! What is measured, and on how many samples, is that of Dockhorn et al. (2023, arXiv 2210.09929) and of the benchmark
//! of Gong et al. (2025, arXiv 2503.14681): 60 000 samples, a convolutional classifier and an MLP, logistic regression
//! and one that has no gradient. The schedule is fixed beforehand and the weights are those after the last epoch: no
//! epoch, rate or seed is chosen by any accuracy, neither on test records nor on private ones.

use data::Records;
use reporting::interrupt::Interrupt;

use super::EvaluateError;
use super::downstream::{Accuracy, Learner, Settings};
use super::error::{check_count, check_labels, check_records};
use super::neighbours::{Images, voted_labels};

/// How it is measured.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Protocol {
    /// Seeds of each classifier: of its initial weights and of the order of the samples.
    pub seeds: Vec<u64>,
    /// Passes over the samples of the convolutional classifier.
    pub convolutional_epochs: usize,
    /// Passes of the MLP and of logistic regression.
    pub epochs: usize,
    /// Samples in a step.
    pub batch: usize,
    /// Neighbours that vote on a test record.
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

/// The samples that the field trains its classifiers on.
pub const SAMPLES: usize = 60_000;

/// The accuracy of one classifier from several seeds.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, with divisor `n - 1`; 0 for one.
    pub deviation: f64,
    /// Each of them.
    pub values: Vec<f64>,
}

impl Spread {
    /// Of `values`, at least one.
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

/// What records teach each classifier.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Accuracies {
    /// Records learned from.
    pub training_records: usize,
    /// Test records.
    pub test_records: usize,
    /// [`Learner::Wide`].
    pub convolutional: Spread,
    /// [`Learner::Mlp`].
    pub mlp: Spread,
    /// [`Learner::Logistic`].
    pub logistic: Spread,
    /// The vote of the nearest samples in pixels, which has no seed.
    pub nearest_neighbours: f64,
    /// How it was measured.
    pub protocol: Protocol,
}

/// Trains each classifier on `samples`, `[n, d]` in `[0, 1]`, with `labels`, `[n]`, and tests it on `test`.
///
/// The same arguments give the same accuracies, whatever the number of threads. `note` receives a line for people as
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

/// The accuracy of the class that most of the `neighbours` nearest samples have; of classes with as many votes, that of
/// the nearest sample among them.
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
