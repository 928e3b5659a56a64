//! A run: its settings, what they promise each side, its steps.

use std::path::Path;

use burn::tensor::{Device, Tensor, TensorData};
use clap::ValueEnum;
use dp_core::accounting::{Accountant, Event, PldAccountant, noise_multiplier_for};
use dp_core::mechanism::NoiseSource;
use dp_core::per_sample::JacobianClip;
use dp_core::plan::{CheckedPlan, Noise};
use model::layers::Mlp;
use private_training::penalty::ToSample;
use private_training::{Batch, Engine, prelude::*};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use swd::transport::host::sliced_gradient_and_distance;
use swd::{Cost, NormBound, Slices};

use super::Failed;
use super::smoothed::Smoothed;

/// The radius of the circle, and the public bound M on points.
pub(super) const RADIUS: f64 = 0.75;
pub(super) const BOUND: f64 = 1.0;
/// Fresh points of each side that a network is judged by, and slices that they are compared in.
const JUDGED: usize = 10_000;
const JUDGED_SLICES: usize = 100;
/// Evaluations of a run, and those that keep points for a panel.
const EVALUATIONS: u64 = 25;
const PANELS: [u64; 5] = [1, 3, 7, 13, 25];
const POINTS: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum Method {
    #[serde(rename = "private gradients")]
    Gradients,
    #[serde(rename = "private gradients, the paper's constants")]
    Paper,
    #[serde(rename = "smoothed distance")]
    Smoothed,
}

impl Method {
    /// The learning rate, the share of it that is left at the last step, slices, and the decay of an average of the weights.
    fn constants(self) -> (f64, f64, usize, Option<f64>) {
        match self {
            Self::Gradients => (0.01, 0.02, 50, Some(0.95)),
            Self::Paper => (0.0075, 1.0, 50, None),
            Self::Smoothed => (0.004, 0.02, 15, Some(0.95)),
        }
    }
}

/// Whose points are private.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ValueEnum)]
pub(super) enum Side {
    Source,
    Target,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Settings {
    pub method: Method,
    pub epsilon: Option<f64>,
    pub delta: f64,
    pub protect: Side,
    pub records: usize,
    pub batch: usize,
    pub steps: u64,
    pub seed: u64,
}

/// The noise of a plan, and what a step of it is.
struct Noised {
    multiplier: f64,
    event: Event,
}

/// What `run.json` says of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Run {
    pub settings: Settings,
    pub sliced_w2_squared: f64,
    /// Upper bounds on the epsilon of a point that the network is fed, and of one of the circle.
    pub epsilons: [Option<f64>; 2],
    /// Steps, and the distance after them.
    pub course: Vec<(u64, f64)>,
    pub panels: Vec<Panel>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Panel {
    pub step: u64,
    pub sliced_w2_squared: f64,
    pub epsilons: [Option<f64>; 2],
    pub points: Vec<(f64, f64)>,
}

/// Points of both sides, row by row: standard Gaussian, and uniform on the circle.
fn points(count: usize, stream: u64) -> [Vec<f32>; 2] {
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    rng.set_stream(stream);
    let mut normal = || StandardNormal.sample(&mut rng);
    let fed = (0..2 * count).map(|_| {
        let x: f64 = normal();
        x as f32
    });
    let fed = fed.collect();
    let mut circle = Vec::with_capacity(2 * count);
    for _ in 0..count {
        let angle = rng.random_range(0.0..2.0 * std::f64::consts::PI);
        circle.extend([angle.cos(), angle.sin()].map(|x| (RADIUS * x) as f32));
    }
    [fed, circle]
}

pub(super) fn rows(points: &[f32], indices: &[usize]) -> Vec<f32> {
    let rows = indices
        .iter()
        .flat_map(|&i| [points[2 * i], points[2 * i + 1]]);
    rows.collect()
}

pub(super) fn tensor(rows: Vec<f32>, width: usize, device: &Device) -> Tensor<2> {
    let count = rows.len() / width;
    Tensor::from_data(TensorData::new(rows, [count, width]), device)
}

impl Settings {
    /// The folder's name.
    pub(super) fn name(&self) -> String {
        let method = format!("{:?}", self.method).to_lowercase();
        let side = match self.protect {
            Side::Source => "-source",
            Side::Target => "",
        };
        format!("{method}-{}{side}-seed{}", self.budget(), self.seed).replace(' ', "")
    }

    pub(super) fn budget(&self) -> String {
        let budget = self.epsilon.map(|epsilon| format!("epsilon {epsilon}"));
        budget.unwrap_or_else(|| "not private".into())
    }

    /// How much less a point of the circle moves a step than what is declared.
    pub(super) fn share(&self) -> Result<f64, Failed> {
        match self.method {
            Method::Smoothed => Ok(1.0),
            _ => Ok(ToSample::share(
                Cost::Square,
                BOUND,
                2,
                self.batch,
                self.batch,
            )?),
        }
    }

    /// So many releases as they reach a point of the circle, where what is declared has noise multiplier `z`.
    fn event_of_target(&self, share: f64, z: f64, releases: u64) -> Event {
        Event::dp_sgd(self.records as u64, self.batch as u64, releases, z / share)
    }

    fn plan(&self, epsilon: f64) -> Result<CheckedPlan, Failed> {
        if self.method == Method::Smoothed {
            let sampler = Sampler::fixed_size(self.records, self.batch)?;
            return Ok(TrainingPlan::for_epsilon(epsilon, self.delta, 1, sampler).check()?);
        }
        let mut plan = TrainingPlan::for_epsilon(epsilon, self.delta, self.steps, self.sides()?);
        if self.protect == Side::Target {
            let share = self.share()?;
            let event = |z| self.event_of_target(share, z, self.steps);
            let z = noise_multiplier_for(&PldAccountant::default(), epsilon, self.delta, event)?;
            plan.noise = Noise::Multiplier(z);
        }
        Ok(plan.check()?)
    }

    /// Batches of both sides.
    fn sides(&self) -> Result<Sampler, Failed> {
        let (n, batch) = (self.records, self.batch);
        let sides = vec![(0..n).collect(), (n..2 * n).collect()];
        Ok(Sampler::stratified(sides, &[batch, batch])?)
    }

    /// Upper bounds on the epsilon of both sides after so many steps.
    fn epsilons(&self, noise: Option<&Noised>, step: u64) -> Result<[Option<f64>; 2], Failed> {
        let Some(Noised { multiplier, event }) = noise else {
            return Ok([None; 2]);
        };
        let epsilon = |event| PldAccountant::default().epsilon(&event, self.delta);
        let (releases, source) = match self.method {
            Method::Smoothed => (1, None),
            _ => (step, Some(event.clone().repeated(step))),
        };
        let target = self.event_of_target(self.share()?, *multiplier, releases);
        Ok([source.map(epsilon).transpose()?, Some(epsilon(target)?)])
    }

    pub(super) fn run(&self, folder: &Path) -> Result<Run, Failed> {
        let device = Device::flex();
        let (rate, last, slices, average) = self.method.constants();
        let mut public = ChaCha20Rng::seed_from_u64(self.seed);
        let network = Mlp::new(&[2, 128, 64, 64, 2], 1.0, &mut public, &device);
        let clipping = Clipping {
            activation: BOUND,
            jacobian: 2.0 * 2.0_f64.sqrt(),
            mode: match self.method {
                Method::Paper => JacobianClip::Rows,
                _ => JacobianClip::Spectral,
            },
        };
        let distance = Penalty::to_private_sample(self.share()?).slices(slices);
        let objective = Objective::default().penalty(distance.clipping(clipping));
        let steps = self.steps;
        let falling = move |step: u64| {
            let done = step as f64 / steps.saturating_sub(1).max(1) as f64;
            rate * (1.0 - (1.0 - last) * done)
        };
        let config = TrainingConfig::new(objective)
            .learning_rate(Schedule::new(falling))
            .average(average)
            .engine(Engine::Host { chunk: 64 })
            .public(public.clone());
        let [fed, circle] = points(self.records, 0);
        let ledger = folder.join("ledger.jsonl");
        if ledger.exists() {
            std::fs::remove_file(&ledger)?;
        }
        let mut ledger = Ledger::create(&ledger)?;
        let plan = self.epsilon.map(|epsilon| self.plan(epsilon)).transpose()?;
        let batches = NoiseSource::insecure(self.seed).rng().clone();
        let noise = plan.as_ref().map(|plan| Noised {
            multiplier: plan.noise_multiplier(),
            event: plan.step_event().clone(),
        });
        let mut smoothed = None;
        let mut training = match plan {
            plan if self.method == Method::Smoothed => {
                let slices = Slices::tight(2, slices, &mut public)?;
                let of_circle = &circle[..];
                let release =
                    Smoothed::release(self, slices, plan, of_circle, public, &mut ledger)?;
                smoothed = Some(release);
                // Its steps follow what was released.
                config.start_without_privacy(network, self.sides()?, batches)?
            }
            Some(plan) => config.start(network, plan)?,
            None => config.start_without_privacy(network, self.sides()?, batches)?,
        };
        let fresh = points(JUDGED, 1);
        let every = (steps / EVALUATIONS).max(1);
        let (mut course, mut panels) = (Vec::new(), Vec::new());
        for step in 1..=steps {
            match &mut smoothed {
                Some(smoothed) => {
                    smoothed.step(&mut training, falling(step - 1), self.batch, &fed)?
                }
                None => {
                    let sampled = training.next_step()?.ok_or("steps beyond the plan")?;
                    let [of_fed, of_circle] = sampled.strata() else {
                        return Err("a draw that is not of two sides".into());
                    };
                    let of_circle: Vec<usize> =
                        of_circle.iter().map(|i| i - self.records).collect();
                    let inputs = tensor(rows(&fed, of_fed), 2, &device);
                    let none = Tensor::<2>::zeros([of_fed.len(), 1], &device);
                    let batch = Batch::new(inputs, none, &[of_fed.len()])?
                        .with_private_sample(rows(&circle, &of_circle), of_circle.len())?;
                    sampled.update(&batch, &mut ledger)?;
                }
            }
            if !step.is_multiple_of(every) && step != steps {
                continue;
            }
            let made = generated(&training.averaged()?, &fresh[0], &device)?;
            let distance = apart(&made, &fresh[1])?;
            eprintln!("step      {step} of {steps}: {distance:.5}");
            course.push((step, distance));
            if step == steps || PANELS.iter().any(|part| part * every == step) {
                let points = made.chunks_exact(2).take(POINTS);
                let points = points.map(|at| (f64::from(at[0]), f64::from(at[1])));
                panels.push(Panel {
                    step,
                    sliced_w2_squared: distance,
                    epsilons: self.epsilons(noise.as_ref(), step)?,
                    points: points.collect(),
                });
            }
        }
        let last = panels.last().ok_or("a run without steps")?;
        Ok(Run {
            settings: self.clone(),
            sliced_w2_squared: last.sliced_w2_squared,
            epsilons: last.epsilons,
            course,
            panels,
        })
    }
}

/// What a network makes of fresh points, in the public ball that the circle's points lie in.
fn generated(network: &Mlp, fed: &[f32], device: &Device) -> Result<Vec<f32>, Failed> {
    let made = network.forward(tensor(fed.to_vec(), 2, device));
    let mut made: Vec<f32> = made.into_data().iter::<f32>().collect();
    NormBound::ball(BOUND)?.restrict(&mut made, 2);
    Ok(made)
}

/// The squared sliced distance of generated points to fresh ones of the circle.
fn apart(made: &[f32], circle: &[f32]) -> Result<f64, Failed> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let slices = Slices::tight(2, JUDGED_SLICES, &mut rng)?;
    Ok(sliced_gradient_and_distance(made, circle, &slices)?.1)
}
