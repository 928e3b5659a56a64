//! How good and how fair a model is, on public test records (Rodriguez-Vitores, Lalanne and Loubes 2025, appendix C).

use burn::tensor::Device;
use data::{BiasedConfig, GroupedTable};
use lab::evaluate::transport::sliced_w2_squared;
use lab::prelude::*;
use private_training::adam::ModuleAdam;
use private_training::{Engine, Gradients, HostTargets, Loss, Objective};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::{NormBound, Slices};

use super::fair_map::kolmogorov_smirnov;
use super::network::FairNetwork;
use super::settings::{Settings, Task};
use super::table::{self, labels};
use super::train::Fair;

const SLICES: usize = 100;
/// The share of encoded test records that the logistic regression learns from (appendix C.5).
const LEARNED: f64 = 0.6;

impl Fair {
    /// Scores of what a network predicts of test records.
    pub(super) fn scores_of(&self, predicted: &Predictions) -> Result<Scores, Failure> {
        let (settings, test) = (&self.settings, &self.steps.records.public);
        let (task, alpha) = (settings.task, settings.alpha);
        let (activations, outputs) = (&predicted.activations, &predicted.outputs);
        let expected = match task {
            Task::Representation => HostTargets::Values(test.features()),
            _ => table_targets(test.labels()),
        };
        let (_, losses) = task.loss().host_cotangents(outputs, expected, test.len());
        let loss = losses.iter().sum::<f64>() / test.len() as f64;
        let d = activations.len() / test.len();
        let [first, second] = &test.indices_by_group()[..] else {
            return Err(Failure::failed("a test table without two groups"));
        };
        let groups = table::groups(test, self.settings.notion());
        let mut penalty = 0.0;
        for pair in groups.chunks_exact(2) {
            let weight = 2.0 / groups.len() as f64;
            if !pair[0].is_empty() && !pair[1].is_empty() {
                penalty += weight * distance(activations, d, &pair[0], &pair[1])?;
            }
        }
        let in_ball = || {
            let ball = NormBound::ball(settings.clip_activation).or_failed()?;
            let mut bounded = activations.clone();
            ball.restrict(&mut bounded, d);
            distance(&bounded, d, first, second)
        };
        let in_ball = settings.epsilon.map(|_| in_ball()).transpose()?;
        let objective = (1.0 - alpha) * loss + alpha * penalty;
        let squared = distance(activations, d, first, second)?;
        let mut scores = Scores::default();
        for (key, name, value) in [
            ("objective", "Objective on test records", Some(objective)),
            ("loss", "Loss", Some(loss)),
            ("penalty", "Penalty", Some(penalty)),
            ("w2_squared", "SW2^2 between groups", Some(squared)),
            (
                "w2_squared_in_ball",
                "SW2^2 between groups, as it is penalised",
                in_ball,
            ),
        ] {
            scores = scores.with(key, name, value, Better::Lower);
        }
        let mse = |scores: Scores| scores.with("mse", "Mean squared error", loss, Better::Lower);
        scores = match task {
            Task::Classification | Task::Adult => {
                classify(scores, outputs, labels(test)?, test.groups())
            }
            Task::Regression2d => {
                // The share of each group above the diagonal.
                let above = |group: &[usize]| {
                    let above = |&&i: &&usize| outputs[2 * i + 1] > -outputs[2 * i];
                    group.iter().filter(above).count() as f64 / group.len() as f64
                };
                let scores = scores.with("od0", "OD0", above(first), None);
                mse(scores.with("od1", "OD1", above(second), None))
            }
            Task::Regression1d => mse(scores),
            Task::Representation => {
                let scores = logistic(scores, activations, test, settings)?;
                let (width, core) = (test.width(), BiasedConfig::default().core);
                let core = (0..test.len()).flat_map(|i| i * width..i * width + core);
                let squares = core.map(|k| f64::from(outputs[k] - test.features()[k]).powi(2));
                let core = squares.sum::<f64>() / test.len() as f64;
                scores.with("rl_core", "RL_core", core, Better::Lower)
            }
        };
        let apart = || {
            let of = |group: &[usize]| group.iter().map(|&i| activations[i]).collect();
            kolmogorov_smirnov(of(first), of(second))
        };
        let name = "Kolmogorov-Smirnov distance between groups";
        let apart = (d == 1).then(apart);
        Ok(scores.with("kolmogorov_smirnov", name, apart, Better::Lower))
    }
}

/// Accuracy of probabilities, and the ratios of decisions between groups: of all records, and of those of each label.
fn classify(scores: Scores, outputs: &[f32], labels: &[usize], groups: &[u8]) -> Scores {
    let decided: Vec<bool> = outputs.iter().map(|&p| p > 0.5).collect();
    let one = |i: usize| labels[i] == 1;
    let rate = |group: u8, class: Option<bool>| {
        let members = (0..decided.len())
            .filter(|&i| groups[i] == group && class.is_none_or(|class| one(i) == class));
        let (count, ones) = members.fold((0usize, 0usize), |(count, ones), i| {
            (count + 1, ones + usize::from(decided[i]))
        });
        ones as f64 / count as f64
    };
    let ratio = |class| rate(0, class) / rate(1, class);
    let right = (0..decided.len()).filter(|&i| decided[i] == one(i)).count();
    let right = right as f64 / decided.len() as f64;
    let gap = (rate(0, None) - rate(1, None)).abs();
    scores
        .with("accuracy", "Accuracy", right, Better::Higher)
        // Equations 12, 14 and 13 of the paper.
        .with(
            "disparate_impact",
            "Disparate impact (1 is fair)",
            ratio(None),
            None,
        )
        .with("eo0", "EO0 (1 is fair)", ratio(Some(false)), None)
        .with("eo1", "EO1 (1 is fair)", ratio(Some(true)), None)
        .with(
            "demographic_parity_gap",
            "Demographic parity gap",
            gap,
            Better::Lower,
        )
}

/// Accuracy and disparate impact of a logistic regression on encoded test records, learned from 60 %
/// of them and scored on the rest.
fn logistic(
    scores: Scores,
    encoded: &[f32],
    test: &GroupedTable,
    settings: &Settings,
) -> Result<Scores, Failure> {
    let (n, device) = (test.len(), Device::flex());
    let d = encoded.len() / n;
    let learned = ((n as f64 * LEARNED) as usize).clamp(1, n - 1);
    let regression = Settings {
        task: Task::Classification,
        hidden: 0,
        ..settings.clone()
    };
    let mut model = FairNetwork::new(&regression, d, &mut ChaCha20Rng::seed_from_u64(0), &device);
    let mut adam = ModuleAdam::default();
    let sizes = [learned - learned / 2, learned / 2];
    let (known, rest) = encoded.split_at(learned * d);
    let (learned, held_out) = labels(test)?.split_at(learned);
    let batch = batch(
        known.to_vec(),
        HostTargets::Classes(learned),
        &sizes,
        &device,
    )?;
    let objective = Objective::new([Loss::binary_cross_entropy()]);
    let mut gradients = Gradients::new(objective).engine(Engine::Host { chunk: 256 });
    for _ in 0..300 {
        let gradient = gradients.without_privacy(&model, &batch);
        let (gradient, _) = gradient.or_failed()?;
        model = adam.step(0.1, model, gradient.into_params_without_privacy());
    }
    let found = Predictions::of_rows(&model, rest, d, &device)?.outputs;
    let groups = &test.groups()[learned.len()..];
    Ok(classify(scores, &found, held_out, groups))
}

/// The squared sliced distance between the rows of two groups, in fixed slices.
fn distance(rows: &[f32], d: usize, first: &[usize], second: &[usize]) -> Result<f64, Failure> {
    let gather = |group: &[usize]| {
        let values = group.iter().flat_map(|&i| &rows[i * d..(i + 1) * d]);
        values.copied().collect::<Vec<f32>>()
    };
    let count = if d == 1 { 1 } else { SLICES };
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let slices = Slices::tight(d, count, &mut rng).or_failed()?;
    sliced_w2_squared(&gather(first), &gather(second), &slices).or_failed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_of_a_small_table() {
        // Group 0: decided 1 of 2, group 1: 2 of 2; every truth is 1.
        let (outputs, groups) = ([1.0, 0.0, 1.0, 1.0], [0, 0, 1, 1]);
        let scores = classify(Scores::default(), &outputs, &[1; 4], &groups).values();
        assert_eq!(scores["accuracy"], 0.75);
        assert_eq!(scores["disparate_impact"], 0.5);
        assert_eq!(scores["demographic_parity_gap"], 0.5);
        assert_eq!(scores["eo1"], 0.5);
    }
}
