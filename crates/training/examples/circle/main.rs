//! Points of a circle by private gradients, or by one private release (Rodriguez-Vitores, Lalanne and Loubes 2025, arXiv
//! 2502.01701, appendix D.2): `just run-circle`, `cargo run --release -p private-training --example circle -- --help`.
//!
//! A network maps standard Gaussian points of the plane to the circle of radius 3/4. By `gradients` those of the sliced
//! distance are private: both the points that it is fed and those of the circle are. By `smoothed` (Rakotomamonjy and Ralaivola
//! 2021; Greenewald et al. 2024) one sub-sample of the circle leaves once as noisy projections, and the generated points get the
//! same noise. All points are simulated: a run that was killed begins again, and its ledger with it.

mod figures;
mod smoothed;

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};
use clap::{Parser, ValueEnum};
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
use swd::{Cost, Region, Slices};

use smoothed::Smoothed;

type Failed = Box<dyn std::error::Error>;

/// The radius of the circle, and the public bound M on points.
const RADIUS: f64 = 0.75;
const BOUND: f64 = 1.0;
/// Fresh points of each side that a network is judged by, and slices that they are compared in.
const JUDGED: usize = 10_000;
const JUDGED_SLICES: usize = 100;
/// Evaluations of a run, and those that keep points for a panel.
const EVALUATIONS: u64 = 25;
const PANELS: [u64; 5] = [1, 3, 7, 13, 25];
const POINTS: usize = 400;

/// Map Gaussian points to a circle, privately.
#[derive(Debug, Parser)]
struct Arguments {
    /// The method; `figures` makes the runs of figures 22 and 23 that are not in --out yet, three seeds each.
    #[arg(value_enum, default_value = "gradients")]
    what: What,
    /// The budget: 1 unless given, 10 with `smoothed`.
    #[arg(long)]
    epsilon: Option<f64>,
    /// Clip nothing and add no noise.
    #[arg(long, conflicts_with = "epsilon")]
    no_privacy: bool,
    #[arg(long, default_value_t = 1e-6)]
    delta: f64,
    /// Whose budget --epsilon is with gradients: the circle's points, or those that the network is fed, which costs more than
    /// twice as much.
    #[arg(long, value_enum, default_value = "target")]
    protect: Side,
    /// Points of each side.
    #[arg(long, default_value_t = 100_000)]
    records: usize,
    /// Points of each side in a batch, or of the circle in the one sub-sample.
    #[arg(long, default_value_t = 10_000)]
    batch: usize,
    #[arg(long, default_value_t = 400)]
    steps: u64,
    /// Seeds of the network and the slices, a run each: 0 unless given, 0, 1 and 2 with `figures`.
    #[arg(long, num_args = 1..)]
    seed: Vec<u64>,
    /// Where runs and figures go.
    #[arg(long, default_value = "runs/circle")]
    out: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum What {
    /// Private gradients by our constants.
    Gradients,
    /// Private gradients by the constants of the paper.
    Paper,
    /// The smoothed distance to one private release.
    Smoothed,
    Figures,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Method {
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
enum Side {
    Source,
    Target,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Settings {
    method: Method,
    epsilon: Option<f64>,
    delta: f64,
    protect: Side,
    records: usize,
    batch: usize,
    steps: u64,
    seed: u64,
}

/// The noise of a plan, and what a step of it is.
struct Noised {
    multiplier: f64,
    event: Event,
}

/// What `run.json` says of a run.
#[derive(Debug, Serialize, Deserialize)]
struct Run {
    settings: Settings,
    sliced_w2_squared: f64,
    /// Upper bounds on the epsilon of a point that the network is fed, and of one of the circle.
    epsilons: [Option<f64>; 2],
    /// Steps, and the distance after them.
    course: Vec<(u64, f64)>,
    panels: Vec<Panel>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Panel {
    step: u64,
    sliced_w2_squared: f64,
    epsilons: [Option<f64>; 2],
    points: Vec<(f64, f64)>,
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

fn rows(points: &[f32], indices: &[usize]) -> Vec<f32> {
    let rows = indices
        .iter()
        .flat_map(|&i| [points[2 * i], points[2 * i + 1]]);
    rows.collect()
}

fn tensor(rows: Vec<f32>, width: usize, device: &Device) -> Tensor<2> {
    let count = rows.len() / width;
    Tensor::from_data(TensorData::new(rows, [count, width]), device)
}

impl Settings {
    /// The folder's name.
    fn name(&self) -> String {
        let method = format!("{:?}", self.method).to_lowercase();
        let side = match self.protect {
            Side::Source => "-source",
            Side::Target => "",
        };
        format!("{method}-{}{side}-seed{}", self.budget(), self.seed).replace(' ', "")
    }

    fn budget(&self) -> String {
        let budget = self.epsilon.map(|epsilon| format!("epsilon {epsilon}"));
        budget.unwrap_or_else(|| "not private".into())
    }

    /// How much less a point of the circle moves a step than what is declared.
    fn share(&self) -> Result<f64, Failed> {
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
            let sampler = FixedSizeSampler::new(self.records, self.batch)?;
            return Ok(TrainingPlan::within(epsilon, self.delta, 1, sampler).check()?);
        }
        let mut plan = TrainingPlan::within(epsilon, self.delta, self.steps, self.sides()?);
        if self.protect == Side::Target {
            let share = self.share()?;
            let event = |z| self.event_of_target(share, z, self.steps);
            let z = noise_multiplier_for(&PldAccountant::default(), epsilon, self.delta, event)?;
            plan.noise = Noise::Multiplier(z);
        }
        Ok(plan.check()?)
    }

    /// Batches of both sides.
    fn sides(&self) -> Result<GroupSampler, Failed> {
        let (n, batch) = (self.records, self.batch);
        let sides = vec![(0..n).collect(), (n..2 * n).collect()];
        Ok(GroupSampler::new(sides, &[batch, batch])?)
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

    fn run(&self, folder: &Path) -> Result<Run, Failed> {
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
                    let [of_fed, of_circle] = sampled.groups() else {
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
            let distance = distance(&made, &fresh[1])?;
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
    Region::ball(BOUND)?.restrict(&mut made, 2);
    Ok(made)
}

/// The squared sliced distance of generated points to fresh ones of the circle.
fn distance(made: &[f32], circle: &[f32]) -> Result<f64, Failed> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let slices = Slices::tight(2, JUDGED_SLICES, &mut rng)?;
    Ok(sliced_gradient_and_distance(made, circle, &slices)?.1)
}

impl Arguments {
    /// The runs that are asked for.
    fn runs(&self) -> Vec<Settings> {
        use Method::{Gradients, Paper, Smoothed};
        let one = |method, usual| {
            let epsilon = self.epsilon.unwrap_or(usual);
            vec![(method, (!self.no_privacy).then_some(epsilon))]
        };
        let cases = match self.what {
            What::Gradients => one(Gradients, 1.0),
            What::Paper => one(Paper, 1.0),
            What::Smoothed => one(Smoothed, 10.0),
            What::Figures => {
                let budgets = [0.5, 1.0, 3.0, 10.0].map(|epsilon| (Gradients, Some(epsilon)));
                let paper = [1.0, 10.0].map(|epsilon| (Paper, Some(epsilon)));
                let baseline = [1.0, 3.0, 10.0, 30.0].map(|epsilon| (Smoothed, Some(epsilon)));
                let without = [Gradients, Smoothed].map(|method| (method, None));
                [&budgets[..], &paper, &baseline, &without].concat()
            }
        };
        let usual: &[u64] = match self.what {
            What::Figures => &[0, 1, 2],
            _ => &[0],
        };
        let given = Some(&self.seed[..]).filter(|seeds| !seeds.is_empty());
        let seeds = given.unwrap_or(usual);
        let with = |(method, epsilon)| {
            seeds.iter().map(move |&seed| Settings {
                method,
                epsilon,
                delta: self.delta,
                protect: self.protect,
                records: self.records,
                batch: self.batch,
                steps: self.steps,
                seed,
            })
        };
        cases.into_iter().flat_map(with).collect()
    }
}

fn run(arguments: &Arguments) -> Result<Vec<Run>, Failed> {
    let mut done = Vec::new();
    for settings in arguments.runs() {
        let folder = arguments.out.join(settings.name());
        let file = folder.join("run.json");
        if file.exists() {
            let run: Run = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
            if run.settings != settings {
                return Err(format!("{}: a run of other settings", folder.display()).into());
            }
            done.push(run);
            continue;
        }
        eprintln!("run       {}", folder.display());
        std::fs::create_dir_all(&folder)?;
        let run = settings.run(&folder)?;
        std::fs::write(&file, serde_json::to_string(&run)?)?;
        done.push(run);
    }
    figures::write(&done, &arguments.out)?;
    Ok(done)
}

fn main() -> Result<(), Failed> {
    run(&Arguments::parse()).map(drop)
}

#[cfg(test)]
fn small(out: &Path, words: &str) -> Run {
    let words = format!("circle {words} --records 2000 --batch 200 --steps 50 --out");
    let words = words.split(' ').map(Into::into).chain([out.into()]);
    let arguments = Arguments::parse_from(words.collect::<Vec<std::ffi::OsString>>());
    run(&arguments).expect("a run").remove(0)
}

/// The budget is that of the circle's points, by the ledger's own numbers.
#[test]
fn gradients_spend_what_is_asked_for_on_the_circle() {
    let out = tempfile::tempdir().expect("a folder");
    let run = small(out.path(), "gradients --epsilon 1");
    let [Some(source), Some(target)] = run.epsilons else {
        panic!("{:?}", run.epsilons);
    };
    assert!((0.98..=1.0).contains(&target), "{target}");
    assert!(source > 2.0 * target, "{source}");
    let entries = out.path().join("gradients-epsilon1-seed0/ledger.jsonl");
    let entries = Ledger::read(&entries).expect("a ledger");
    assert_eq!(entries.releases(), 50);
    let declared = entries.entries[0].sensitivity.expect("a sensitivity");
    let deviation = entries.entries[0].deviation.expect("a deviation");
    // 4 sqrt(1/2) M L / m, with room for rounding.
    let of_target = 4.0 * 0.5f64.sqrt() * 8.0f64.sqrt() / 200.0;
    let share = run.settings.share().expect("a share");
    let found = declared * share / of_target;
    assert!((found - 1.0).abs() < 0.01, "{found}");
    let event = Event::dp_sgd(2000, 200, 50, deviation / (1.001 * of_target));
    let epsilon = PldAccountant::default().epsilon(&event, 1e-6);
    let epsilon = epsilon.expect("an epsilon");
    assert!((epsilon / target - 1.0).abs() < 0.01, "{epsilon} {target}");
    let source = small(out.path(), "gradients --epsilon 1 --protect source");
    assert!(source.epsilons[0].is_some_and(|epsilon| (0.98..=1.0).contains(&epsilon)));
}

#[test]
fn the_smoothed_distance_releases_once() {
    let out = tempfile::tempdir().expect("a folder");
    let run = small(out.path(), "smoothed");
    assert!(run.epsilons[1].is_some_and(|epsilon| (9.8..=10.0).contains(&epsilon)));
    assert_eq!(run.epsilons[0], None);
    assert!(run.sliced_w2_squared < 0.5 && run.panels.len() == 5);
    let entries = out.path().join("smoothed-epsilon10-seed0/ledger.jsonl");
    assert_eq!(Ledger::read(&entries).expect("a ledger").releases(), 1);
    for name in [
        "budgets",
        "smoothed-distance-steps",
        "smoothed-distance-panels",
    ] {
        let chart = std::fs::read_to_string(out.path().join(format!("circle-{name}.svg")));
        assert!(chart.expect("a chart").starts_with("<svg"), "{name}");
    }
}
