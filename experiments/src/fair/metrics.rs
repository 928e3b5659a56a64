//! How good and how fair a model is, on public test records (Rodriguez-Vitores, Lalanne and Loubes 2025, appendix C).

use burn::tensor::{Device, Tensor, TensorData};
use data::GroupedTable;
use lab::diagnostic::Failure;
use lab::evaluate::transport::sliced_w2_squared;
use model::postprocess::kolmogorov_smirnov;
use private_training::adam::ModuleAdam;
use private_training::{Batch, Engine, Gradients, Loss, Network as _, Objective};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::Serialize;
use swd::{Region, Slices};

use super::network::Network;
use super::settings::{Settings, Task};
use super::table::{Tables, targets};

/// Slices of the reported distance.
const SLICES: usize = 100;
/// The share of encoded test records that the logistic regression learns from (appendix C.5).
const LEARNED: f64 = 0.6;

/// What a network predicts of records.
pub(crate) struct Predictions {
    /// What is penalised, `[n, d]`.
    pub activations: Vec<f32>,
    /// What the loss looks at, `[n, o]`.
    pub outputs: Vec<f32>,
}

impl Predictions {
    /// The predictions of `network` on all records of `table`.
    pub(crate) fn of(network: &Network, table: &GroupedTable, device: &Device) -> Self {
        let (mut activations, mut outputs) = (Vec::new(), Vec::new());
        for part in table.features().chunks(2000 * table.width()) {
            let shape = [part.len() / table.width(), table.width()];
            let rows = Tensor::from_data(TensorData::new(part.to_vec(), shape), device);
            let forward = network.forward(rows);
            let penalised = forward.activations.into_iter().next();
            activations.extend(penalised.into_iter().flat_map(host));
            outputs.extend(host(forward.output));
        }
        Self {
            activations,
            outputs,
        }
    }
}

/// Scores. What does not belong to a task is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Scores {
    /// Mean of the task's loss.
    pub loss: f64,
    /// The penalty of the notion: `SW_2^2`, in one dimension `W_2^2`, between groups.
    pub penalty: f64,
    /// `(1 - alpha) loss + alpha penalty`.
    pub objective: f64,
    /// Share of labels that are found.
    pub accuracy: Option<f64>,
    /// `P(G = 1 | A = 0) / P(G = 1 | A = 1)` (equation 12).
    pub disparate_impact: Option<f64>,
    /// `|P(G = 1 | A = 0) - P(G = 1 | A = 1)|`.
    pub demographic_parity_gap: Option<f64>,
    /// The ratio among records with label 0 (equation 14).
    pub eo0: Option<f64>,
    /// The ratio among records with label 1 (equation 13).
    pub eo1: Option<f64>,
    /// Mean squared error.
    pub mse: Option<f64>,
    /// The share of group 0 above the diagonal.
    pub od0: Option<f64>,
    /// The share of group 1 above the diagonal.
    pub od1: Option<f64>,
    /// Squared error of the features that tell of the response.
    pub rl_core: Option<f64>,
    /// `SW_2^2` between the groups `A = 0` and `A = 1`.
    pub w2_squared: f64,
    /// The same of activations in the ball of radius `M` that a private run penalises them in.
    pub w2_squared_in_ball: Option<f64>,
    /// The Kolmogorov-Smirnov distance between the groups, in one dimension.
    pub kolmogorov_smirnov: Option<f64>,
}

/// Scores of what a network predicts of `tables.test`.
pub(crate) fn scores(
    predicted: &Predictions,
    tables: &Tables,
    settings: &Settings,
) -> Result<Scores, Failure> {
    let (task, alpha, test) = (settings.task, settings.alpha, &tables.test);
    let (activations, outputs) = (&predicted.activations, &predicted.outputs);
    let all: Vec<usize> = (0..test.len()).collect();
    let (expected, width) = targets(test, task, &all)?;
    let (_, losses) = task.loss().host_cotangents(outputs, &expected, test.len());
    let loss = losses.iter().sum::<f64>() / test.len() as f64;
    let d = activations.len() / test.len();
    let [first, second] = &test.indices_by_group()[..] else {
        return Err(Failure::failed("a test table without two groups"));
    };
    let groups = Tables::groups(test, settings.notion);
    let mut penalty = 0.0;
    for pair in groups.chunks_exact(2) {
        let weight = 2.0 / groups.len() as f64;
        if !pair[0].is_empty() && !pair[1].is_empty() {
            penalty += weight * distance(activations, d, &pair[0], &pair[1])?;
        }
    }
    let mut scores = Scores {
        loss,
        penalty,
        objective: (1.0 - alpha) * loss + alpha * penalty,
        w2_squared: distance(activations, d, first, second)?,
        ..Scores::default()
    };
    if settings.epsilon.is_some() {
        let ball = Region::ball(settings.clip_activation).map_err(Failure::failed)?;
        let mut bounded = activations.clone();
        for row in bounded.chunks_exact_mut(d) {
            // A row that is not finite counts as the origin, as in a step.
            let scale = ball.scale(row);
            for x in row {
                *x = scale.map_or(0.0, |scale| (f64::from(*x) * scale) as f32);
            }
        }
        scores.w2_squared_in_ball = Some(distance(&bounded, d, first, second)?);
    }
    if d == 1 {
        let [a, b] = [first, second].map(|group| group.iter().map(|&i| activations[i]).collect());
        scores.kolmogorov_smirnov = Some(kolmogorov_smirnov(a, b));
    }
    match task {
        Task::Classification | Task::Adult => {
            let decided: Vec<bool> = outputs.iter().map(|&p| p > 0.5).collect();
            let truth: Vec<bool> = expected.iter().map(|&y| y > 0.5).collect();
            classify(&mut scores, &decided, &truth, test.groups());
        }
        Task::Regression2d => {
            scores.mse = Some(loss);
            let above = |group: &Vec<usize>| {
                let above = group
                    .iter()
                    .filter(|&&i| outputs[2 * i + 1] > -outputs[2 * i]);
                Some(above.count() as f64 / group.len() as f64)
            };
            (scores.od0, scores.od1) = (above(first), above(second));
        }
        Task::Regression1d => scores.mse = Some(loss),
        Task::Representation => {
            let core = (0..test.len()).flat_map(|i| i * width..i * width + tables.core);
            let squares = core.map(|k| f64::from(outputs[k] - expected[k]).powi(2));
            scores.rl_core = Some(squares.sum::<f64>() / test.len() as f64);
            logistic(&mut scores, activations, test, settings)?;
        }
    }
    Ok(scores)
}

/// Accuracy and the ratios of decisions between groups.
fn classify(scores: &mut Scores, decided: &[bool], truth: &[bool], groups: &[u8]) {
    let rate = |group: u8, class: Option<bool>| {
        let members = (0..decided.len())
            .filter(|&i| groups[i] == group && class.is_none_or(|class| truth[i] == class));
        let (count, ones) = members.fold((0usize, 0usize), |(count, ones), i| {
            (count + 1, ones + usize::from(decided[i]))
        });
        ones as f64 / count as f64
    };
    let right = decided.iter().zip(truth).filter(|(d, t)| d == t).count();
    scores.accuracy = Some(right as f64 / decided.len() as f64);
    let (zero, one) = (rate(0, None), rate(1, None));
    scores.disparate_impact = Some(zero / one);
    scores.demographic_parity_gap = Some((zero - one).abs());
    scores.eo0 = Some(rate(0, Some(false)) / rate(1, Some(false)));
    scores.eo1 = Some(rate(0, Some(true)) / rate(1, Some(true)));
}

fn host(rows: Tensor<2>) -> Vec<f32> {
    rows.into_data().iter::<f32>().collect()
}

/// Accuracy and disparate impact of a logistic regression on encoded test records, learned from 60 %
/// of them and scored on the rest.
fn logistic(
    scores: &mut Scores,
    encoded: &[f32],
    test: &GroupedTable,
    settings: &Settings,
) -> Result<(), Failure> {
    let (n, device) = (test.len(), Device::flex());
    let d = encoded.len() / n;
    let learned = ((n as f64 * LEARNED) as usize).clamp(1, n - 1);
    let all: Vec<usize> = (0..n).collect();
    let (labels, _) = targets(test, Task::Classification, &all)?;
    let regression = Settings {
        task: Task::Classification,
        hidden: 0,
        ..settings.clone()
    };
    let mut model = Network::new(&regression, d, &mut ChaCha20Rng::seed_from_u64(0), &device);
    let mut adam = ModuleAdam::default();
    let rows = |values: &[f32], width| {
        let data = TensorData::new(values.to_vec(), [values.len() / width, width]);
        Tensor::<2>::from_data(data, &device)
    };
    let sizes = [learned - learned / 2, learned / 2];
    let (known, rest) = encoded.split_at(learned * d);
    let batch = Batch::new(rows(known, d), rows(&labels[..learned], 1), &sizes);
    let batch = batch.map_err(Failure::failed)?;
    let objective = Objective::of([Loss::binary_cross_entropy()]);
    let mut gradients = Gradients::new(objective).engine(Engine::Host { chunk: 256 });
    for _ in 0..300 {
        let gradient = gradients.without_privacy(&model, &batch);
        let (gradient, _) = gradient.map_err(Failure::failed)?;
        model = adam.step(0.1, model, gradient.into_params_without_privacy());
    }
    let scored = host(model.forward(rows(rest, d)).output);
    let decided: Vec<bool> = scored.into_iter().map(|p| p > 0.5).collect();
    let truth: Vec<bool> = labels[learned..].iter().map(|&y| y > 0.5).collect();
    classify(scores, &decided, &truth, &test.groups()[learned..]);
    Ok(())
}

/// The squared sliced distance between the rows of two groups, in fixed slices.
fn distance(rows: &[f32], d: usize, first: &[usize], second: &[usize]) -> Result<f64, Failure> {
    let gather = |group: &[usize]| {
        let values = group.iter().flat_map(|&i| &rows[i * d..(i + 1) * d]);
        values.copied().collect::<Vec<f32>>()
    };
    let count = if d == 1 { 1 } else { SLICES };
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let slices = Slices::tight(d, count, &mut rng).map_err(Failure::failed)?;
    sliced_w2_squared(&gather(first), &gather(second), &slices).map_err(Failure::failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_of_a_small_table() {
        let mut scores = Scores::default();
        // Group 0: decided 1 of 2, group 1: 2 of 2; every truth is 1.
        let (decided, groups) = ([true, false, true, true], [0, 0, 1, 1]);
        classify(&mut scores, &decided, &[true; 4], &groups);
        assert_eq!(scores.accuracy, Some(0.75));
        assert_eq!(scores.disparate_impact, Some(0.5));
        assert_eq!(scores.demographic_parity_gap, Some(0.5));
        assert_eq!(scores.eo1, Some(0.5));
    }
}
