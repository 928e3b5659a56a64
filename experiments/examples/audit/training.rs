//! Record and replay of a small training: neighbours, the same randomness, and all that reaches the mechanism.
//!
//! The second run of a pair takes what left the first for its own, so that both have the same weights at every step
//! and whatever differs between them is the record's doing.

use std::path::Path;

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::DpError;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{BoundedGradient, NoiseSource, ParameterGradient, Releaser, Sensitivity};
use dp_core::per_sample::nn::Chain;
use dp_core::per_sample::parameters_of;
use dp_core::plan::{CheckedPlan, TrainingPlan};
use dp_core::sampling::Sampler;
use lab::diagnostic::{Failure, OrFailed};
use private_training::weights::{from_host, to_host};
use private_training::{
    Batch, Clipping, Gradients, Layers, Loss, Network, Objective, Penalty, Prior,
};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::replay::{AuditFinding, Recorded, Recording};
use super::{Arguments, Sabotage};

const FEATURES: usize = 3;
const STEPS: u64 = 20;
const RATE: f32 = 0.1;
/// The largest weight: what is not clipped would grow beyond all numbers.
const MOST: f32 = 10.0;
/// The share of the penalty in an objective that has one.
const PENALTY: f64 = 0.8;

type Made<T> = Result<T, Box<dyn std::error::Error>>;

/// The faults of pairs of small trainings, each kind once, with the number of the first pair that has it.
pub(super) fn replays(arguments: &Arguments) -> Result<Vec<(u64, AuditFinding)>, Failure> {
    let mut found: Vec<(u64, AuditFinding)> = Vec::new();
    for pair in 0..arguments.replays {
        let case = Case::new(arguments.seed.wrapping_add(pair), arguments.sabotage);
        let folder = tempfile::tempdir().or_failed()?;
        let run = |neighbour, follow: Option<&Run>| {
            let run = case.run(neighbour, follow, folder.path());
            run.map_err(|error| Failure::failed(error.to_string()))
        };
        let here = run(false, None)?;
        let there = run(true, Some(&here))?;
        let rate = arguments.false_alarm / arguments.replays as f64;
        let faults = here.recording.against(&there.recording);
        for fault in faults.into_iter().chain(here.recording.faults(rate)) {
            let kind = std::mem::discriminant(&fault);
            if !found
                .iter()
                .any(|(_, known)| std::mem::discriminant(known) == kind)
            {
                found.push((pair, fault));
            }
        }
    }
    Ok(found)
}

/// A network with all that a private step can have: layers, an activation that is penalised, a head.
#[derive(Module, Debug)]
struct Tiny {
    encoder: Linear,
    head: Linear,
}

impl Network<2> for Tiny {
    fn layers(&self) -> Layers<'_, 2> {
        let encoder = Chain::features(FEATURES)
            .linear(&self.encoder)
            .mark_latent();
        Layers::chain(encoder.linear(&self.head))
    }
}

/// Two neighbouring data sets, and the public side of a training on either.
struct Case {
    seed: u64,
    sabotage: Option<Sabotage>,
    sampler: Sampler,
    penalised: bool,
    weights: Vec<f32>,
    /// Features and target of each record, and of the one that takes the place of the first.
    records: Vec<[f32; FEATURES + 1]>,
    other: [f32; FEATURES + 1],
}

/// A run, with what left it.
struct Run {
    recording: Recording,
    released: Vec<Vec<f32>>,
}

fn network() -> Tiny {
    let device = Device::flex();
    Tiny {
        encoder: LinearConfig::new(FEATURES, 2).init(&device),
        head: LinearConfig::new(2, 1).init(&device),
    }
}

impl Case {
    fn new(seed: u64, sabotage: Option<Sabotage>) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        // Two and three records are where others leak by the sizes of their batches.
        let ties = sabotage == Some(Sabotage::UnstableTies);
        let counts: &[usize] = if ties { &[48] } else { &[2, 3, 8, 48] };
        let count = *counts.choose(&mut rng).unwrap_or(&8);
        let record = |rng: &mut ChaCha20Rng| std::array::from_fn(|_| rng.random_range(-1.0..1.0));
        let records: Vec<[f32; FEATURES + 1]> = (0..count).map(|_| record(&mut rng)).collect();
        let poisson = match sabotage {
            None => rng.random_bool(0.3),
            Some(bug) => bug == Sabotage::PoissonForFixed,
        };
        let batch = (count / 2).max(1);
        let all = sabotage.is_none() && rng.random_bool(0.2);
        let sampler = if poisson {
            Sampler::poisson_zero_out(count, 0.5)
        } else if all {
            Sampler::all(count)
        } else {
            Sampler::fixed_size(count, batch)
        };
        let mut other = match rng.random_range(0..4) {
            0 => records[0].map(|x| -x),
            1 => records[0].map(|x| -1e3 * x),
            2 => records[1],
            _ => [0.0; FEATURES + 1],
        };
        if poisson && sabotage.is_none() {
            // A record that is not finite adds nothing: it is not there.
            other = [f32::NAN; FEATURES + 1];
        }
        // From an encoder that maps all records to one point, so that all are tied, to one that saturates its bounds.
        let scales: &[f32] = if ties { &[0.0] } else { &[0.0, 0.3, 3.0] };
        let scale = *scales.choose(&mut rng).unwrap_or(&0.3);
        let length = to_host(&network()).len();
        Self {
            seed,
            sabotage,
            penalised: !poisson && (ties || rng.random_bool(0.7)),
            weights: (0..length)
                .map(|_| scale * rng.random_range(-1.0..1.0))
                .collect(),
            // Out of 2, 3, 8 and 48, and a rate of a half: no sampler refuses them.
            sampler: sampler.expect("a batch of at most half of the records"),
            records,
            other,
        }
    }

    fn is(&self, sabotage: Sabotage) -> bool {
        self.sabotage == Some(sabotage)
    }

    fn objective(&self) -> Objective {
        let loss = Loss::squared_error().max_grad_norm(0.5);
        if !self.penalised {
            return Objective::new([loss]);
        }
        let penalty = Penalty::to(Prior::UniformBall).clipping(Clipping::new(0.8, 0.6));
        Objective::new([loss.weight(1.0 - PENALTY)]).penalty(penalty.slices(4).weight(PENALTY))
    }

    fn plan(&self, steps: u64) -> Result<CheckedPlan, DpError> {
        TrainingPlan::with_noise_multiplier(1.0, 1e-4, steps, self.sampler.clone()).check()
    }

    /// The features and targets that a run sees.
    fn data(&self, neighbour: bool) -> Vec<[f32; FEATURES + 1]> {
        let mut records = self.records.clone();
        if neighbour {
            records[0] = self.other;
        }
        if self.is(Sabotage::NormalisingByData) {
            let norm = |record: &[f32]| record.iter().map(|x| x * x).sum::<f32>().sqrt();
            let largest = records
                .iter()
                .map(|r| norm(&r[..FEATURES]))
                .fold(1e-3, f32::max);
            for record in &mut records {
                record[..FEATURES].iter_mut().for_each(|x| *x /= largest);
            }
        }
        records
    }

    /// A run on these records; `follow` is the run whose releases it takes for its own.
    fn run(&self, neighbour: bool, follow: Option<&Run>, folder: &Path) -> Made<Run> {
        let data = self.data(neighbour);
        let mut run = Run {
            recording: Recording::default(),
            released: Vec::new(),
        };
        let mut weights = self.weights.clone();
        if self.is(Sabotage::CanaryInPublic) {
            weights.iter_mut().for_each(|w| *w += 0.1 * data[0][0]);
        }
        let start = weights.iter().map(|&w| f64::from(w)).collect();
        run.recording
            .public
            .push(("the weights before the first step".into(), start));
        let side = if neighbour { "there" } else { "here" };
        self.steps(&mut weights, &data, follow, &mut run, &folder.join(side))?;
        if self.is(Sabotage::ResumedNoise) {
            // From the start again, with the noise of before and other weights.
            let mut other: Vec<f32> = self.weights.iter().map(|w| w + 0.1).collect();
            let again = folder.join(format!("{side}-again"));
            self.steps(&mut other, &data, follow, &mut run, &again)?;
        }
        Ok(run)
    }

    fn steps(
        &self,
        weights: &mut [f32],
        data: &[[f32; FEATURES + 1]],
        follow: Option<&Run>,
        run: &mut Run,
        ledger: &Path,
    ) -> Made<()> {
        let once = self.is(Sabotage::AccountedOnce);
        let mut gradients = Gradients::new(self.objective());
        let mut ledger = Ledger::create(ledger)?;
        let mut releaser = self
            .plan(if once { 1 } else { STEPS })?
            .releaser(NoiseSource::insecure(self.seed));
        let mut first_batch = None;
        for step in 0..STEPS {
            if once && step > 0 {
                let noise = NoiseSource::insecure(self.seed ^ (step << 32));
                releaser = self.plan(1)?.releaser(noise);
            }
            let (recorded, released) = self.step(
                &mut releaser,
                &mut ledger,
                &mut gradients,
                weights,
                data,
                &mut first_batch,
            )?;
            let left = follow.map_or(&released, |run_before| {
                &run_before.released[run.released.len()]
            });
            weights
                .iter_mut()
                .zip(left)
                .for_each(|(w, g)| *w = (*w - RATE * g).clamp(-MOST, MOST));
            let lost = (once && step > 0) || (self.is(Sabotage::DroppedLine) && step == 3);
            if !lost {
                run.recording.ledger.push(recorded.declared.clone());
            }
            run.recording.releases.push(recorded);
            run.released.push(released);
        }
        Ok(())
    }

    /// One step: what reached the mechanism, and what left it.
    fn step(
        &self,
        releaser: &mut Releaser,
        ledger: &mut Ledger,
        gradients: &mut Gradients,
        weights: &[f32],
        data: &[[f32; FEATURES + 1]],
        first_batch: &mut Option<Vec<usize>>,
    ) -> Made<(Recorded, Vec<f32>)> {
        let device = Device::flex();
        let draw = releaser.draw()?;
        let mut records = draw.indices();
        if self.is(Sabotage::PoissonForFixed) {
            // The sampler in use has batches of one size, whatever was planned.
            records = (0..data.len()).collect();
            records.rotate_left(releaser.step() as usize % data.len());
            records.truncate((data.len() / 2).max(1));
        }
        if self.is(Sabotage::FixedBatches) {
            records = first_batch.get_or_insert(records).clone();
        }
        let mut rows: Vec<&[f32; FEATURES + 1]> = records.iter().map(|&i| &data[i]).collect();
        if self.is(Sabotage::UnstableTies) {
            // Forwards or backwards, as their sum has it: one record turns the order of all.
            rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
            if rows.iter().map(|row| row[0]).sum::<f32>() > 0.0 {
                rows.reverse();
            }
        }
        let n = rows.len();
        let tensor = |values: Vec<f32>, width| {
            Tensor::from_data(TensorData::new(values, [n, width]), &device)
        };
        let inputs = tensor(
            rows.iter().flat_map(|r| r[..FEATURES].to_vec()).collect(),
            FEATURES,
        );
        let targets = tensor(rows.iter().map(|r| r[FEATURES]).collect(), 1);
        let network = from_host(network(), weights)?;
        let batch = Batch::new(inputs, targets, &[n])?;
        let sampler = releaser.plan().sampler().clone();
        let (clipped, _) = gradients.clipped(&network, &batch, &sampler)?;
        let (declared, mut values) = (clipped.sensitivity(), clipped.before_noise());
        let mut sensitivity = declared;
        if matches!(
            self.sabotage,
            Some(Sabotage::NoClip | Sabotage::ClipByBatch)
        ) {
            values = gradients.without_privacy(&network, &batch)?.0.to_host();
        }
        match self.sabotage {
            Some(Sabotage::ClipByBatch) => {
                let norm = values.iter().map(|x| x * x).sum::<f32>().sqrt();
                values.iter_mut().for_each(|x| *x *= (0.5 / norm).min(1.0));
            }
            Some(Sabotage::HalfNoise) => sensitivity = Sensitivity::l2(declared.l2_upper() / 2.0)?,
            Some(Sabotage::MeanForSum) => values.iter_mut().for_each(|x| *x *= n as f32),
            Some(Sabotage::SizeFromData) => {
                let size = rows.iter().filter(|row| row[FEATURES] > 0.0).count().max(1);
                let factor = n as f32 / size as f32;
                values.iter_mut().for_each(|x| *x *= factor);
                sensitivity = Sensitivity::l2(declared.l2_upper() * f64::from(factor))?;
            }
            _ => {}
        }
        let input = values.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        let gradient = ParameterGradient::from_host(parameters_of(&network), &values, &device)?;
        let bounded = BoundedGradient::new(gradient, sensitivity, &draw.sizes(), draw)?;
        let released = releaser.release(bounded, ledger)?.gradient().to_host();
        let noise = released
            .iter()
            .zip(&input)
            .map(|(&y, x)| f64::from(y) - x)
            .collect();
        let mut entries = ledger.entries()?.entries;
        let declared = entries.pop().ok_or("the ledger is empty")?;
        let recorded = Recorded {
            declared,
            input,
            noise,
            batch: Some(records),
        };
        Ok((recorded, released))
    }
}
