//! The run: its points, one step, and its interim scores.

use dp_core::accounting::{Accountant, PldAccountant};
use dp_core::mechanism::Releaser;
use dp_core::plan::CheckedPlan;
use lab::backend::Chosen;
use lab::diagnostic::Failure;
use lab::evaluate::transport::sliced_w2_squared;
use lab::session::{
    Arguments, DataSummary, Evaluation, Experiment, Fingerprint, Report, RunState, Session,
    Wording, announcement, batches_of, floats_to_bytes, releaser, save_weights, start, take_step,
};
use private_training::{Batch, Engine, Schedule, Training, TrainingConfig};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use serde_json::json;
use swd::{Region, Slices};

use burn::tensor::{Tensor, TensorData};

use super::network::Map;
use super::settings::{Flags, Method, Settings};
use super::smoothed::{RELEASE, Smoothed};
use super::{plan, report};

/// The radius of the circle.
pub(crate) const RADIUS: f64 = 0.75;
/// Fresh points of each side that a network is judged by, and slices that they are compared in.
const JUDGED: usize = 10_000;
const JUDGED_SLICES: usize = 100;

/// A map to the circle in training.
pub struct Circle {
    pub(super) settings: Settings,
    source: Vec<f32>,
    target: Vec<f32>,
    /// Fresh points of both sides.
    fresh_source: Vec<f32>,
    pub(super) fresh_target: Vec<f32>,
    how: How,
}

enum How {
    Gradients(Box<Training<Map>>),
    Smoothed(Box<Smoothed>),
}

/// Points of both sides: standard Gaussian, and uniform on the circle.
fn points(count: usize, stream: u64) -> [Vec<f32>; 2] {
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    rng.set_stream(stream);
    let normal = (0..2 * count).map(|_| {
        let x: f64 = StandardNormal.sample(&mut rng);
        x as f32
    });
    let source = normal.collect();
    let mut target = Vec::with_capacity(2 * count);
    for _ in 0..count {
        let angle = rng.random_range(0.0..2.0 * std::f64::consts::PI);
        target.extend([angle.cos(), angle.sin()].map(|x| (RADIUS * x) as f32));
    }
    [source, target]
}

/// The points at `indices`, row by row.
fn rows(points: &[f32], indices: impl Iterator<Item = usize>) -> Vec<f32> {
    indices
        .flat_map(|i| [points[2 * i], points[2 * i + 1]])
        .collect()
}

impl Circle {
    /// What the network that is scored makes of fresh points, in the public ball that the circle's points lie in.
    pub(super) fn generated(&self) -> Result<Vec<f32>, Failure> {
        let training = match &self.how {
            How::Gradients(training) => training,
            How::Smoothed(smoothed) => &smoothed.training,
        };
        let network = training.averaged().map_err(Failure::failed)?;
        let mut made = network.of(&self.fresh_source, &training.device());
        let ball = Region::ball(self.settings.clip_activation).map_err(Failure::failed)?;
        for row in made.chunks_exact_mut(2) {
            let scale = ball.scale(row).unwrap_or(0.0);
            row.iter_mut()
                .for_each(|x| *x = (scale * f64::from(*x)) as f32);
        }
        Ok(made)
    }

    /// The squared sliced distance of generated points to fresh ones of the circle.
    pub(super) fn distance(&self, generated: &[f32]) -> Result<f64, Failure> {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let slices = Slices::tight(2, JUDGED_SLICES, &mut rng).map_err(Failure::failed)?;
        sliced_w2_squared(generated, &self.fresh_target, &slices).map_err(Failure::failed)
    }

    /// Releases after `step` steps of a run that was never killed.
    pub(super) fn planned(&self, step: u64) -> u64 {
        match self.settings.method {
            Method::Gradients => step,
            Method::Smoothed => 1,
        }
    }

    /// Upper bounds on the epsilon of a point of the source, and of one of the circle, after so many releases.
    pub(super) fn epsilons(&self, releases: u64) -> Result<[Option<f64>; 2], Failure> {
        let (settings, plan) = (&self.settings, self.plan());
        let target = plan::target_epsilon(settings, plan, releases)?;
        let trained = settings.method == Method::Gradients && releases > 0;
        let source = match plan.filter(|_| trained) {
            Some(plan) => {
                let event = plan.step_event().clone().repeated(releases);
                let epsilon = PldAccountant::default().epsilon(&event, plan.delta());
                Some(epsilon.map_err(Failure::failed)?)
            }
            None => None,
        };
        Ok([source, target])
    }
}

impl Experiment for Circle {
    const NAME: &'static str = "circle";
    const ABOUT: &'static str = "Generate points of a circle privately, by gradients of a sliced distance or by a \
                                 smoothed one. Values come from the method's preset, and a flag wins over the \
                                 preset.";
    const STORED: &'static [&'static str] = &[RELEASE];
    type Settings = Settings;

    fn load(settings: &Settings, _: &Arguments<Flags>, chosen: &Chosen) -> Result<Self, Failure> {
        let sampler = plan::sampler(settings)?;
        let plan = plan::plan(settings, &sampler)?;
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        let network = Map::new(&mut public, &chosen.device);
        let known = settings.insecure_noise_seed;
        let batches = batches_of(known.unwrap_or(settings.seed));
        let rates = settings.clone();
        let schedule = Schedule::new(move |step| rates.rate(step));
        let how = match settings.method {
            Method::Gradients => {
                let objective = settings.objective(plan::share(settings)?)?;
                let engine = match Engine::for_device(&chosen.device) {
                    // Small layers: a chunk has to be large to be worth its overhead.
                    Engine::Host { .. } => Engine::Host { chunk: 64 },
                    _ => Engine::Tensor { chunk: 5000 },
                };
                let config = TrainingConfig::new(objective)
                    .learning_rate(schedule)
                    .average(settings.ema)
                    .engine(engine)
                    .public(public);
                let training = start(config, network, sampler, plan, known, batches, chosen)?;
                How::Gradients(Box::new(training))
            }
            Method::Smoothed => {
                let releaser = releaser(plan, known)?;
                How::Smoothed(Box::new(Smoothed::new(
                    settings, network, sampler, releaser, public, batches,
                )?))
            }
        };
        let [source, target] = points(settings.records, 0);
        let [fresh_source, fresh_target] = points(JUDGED, 1);
        Ok(Self {
            settings: settings.clone(),
            source,
            target,
            fresh_source,
            fresh_target,
            how,
        })
    }

    fn data(&self) -> DataSummary {
        let (name, sides) = match self.settings.method {
            Method::Gradients => ("synthetic Gaussian points, and points of the circle", 2),
            Method::Smoothed => ("synthetic points of the circle", 1),
        };
        DataSummary {
            name: name.into(),
            private: sides * self.settings.records,
            test: JUDGED,
            used: Vec::new(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        match &self.how {
            How::Gradients(training) => training.plan(),
            How::Smoothed(smoothed) => smoothed.releaser.as_ref().map(Releaser::plan),
        }
    }

    fn wording(&self) -> Wording {
        let smoothed = self.settings.method == Method::Smoothed;
        Wording {
            groups: "the points that the network is fed, and those of the circle",
            releases: match smoothed {
                true => "the noisy projections of one sub-sample".into(),
                false => "the training gradients".into(),
            },
            public: match smoothed {
                true => "the points that the network is fed, and fresh ones of the circle".into(),
                false => "fresh points of both sides".into(),
            },
            without_noise: "Not private: --no-privacy clips nothing and adds no noise.".into(),
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let steps = self.settings.steps;
        let [source, target] = self.epsilons(self.planned(steps))?;
        let in_words = |epsilon: Option<f64>| epsilon.map(dp_core::decimal::upper);
        let mut lines = match &mut self.how {
            How::Gradients(training) => announcement(training, steps, &[2])?,
            How::Smoothed(_) => vec![format!("steps     {steps}, towards one release")],
        };
        if let Some(target) = in_words(target) {
            let source = in_words(source).map_or("public".into(), |e| format!("epsilon {e}"));
            lines.push(format!(
                "sides     circle: epsilon {target}; source: {source}"
            ));
        }
        Ok(lines)
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        match &mut self.how {
            How::Gradients(_) => Ok(()),
            How::Smoothed(smoothed) => smoothed.release(&self.settings, &self.target, session),
        }
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        let both = [&self.source[..], &self.target[..]].concat();
        Ok(Fingerprint::of(&floats_to_bytes(&both)))
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        match &mut self.how {
            How::Gradients(training) => Some(&mut **training),
            // The release is all that the steps towards it need: they are made again.
            How::Smoothed(_) => None,
        }
    }

    fn steps(&self) -> u64 {
        self.settings.steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let n = self.settings.records;
        let (source, target) = (&self.source, &self.target);
        let device = &session.chosen.device;
        match &mut self.how {
            How::Smoothed(smoothed) => {
                let rate = self.settings.rate(session.step);
                smoothed.step(rate, self.settings.batch, source)
            }
            How::Gradients(training) => {
                let batch = |_: &Map, sampled: &[Vec<usize>]| {
                    let [fed, circle] = sampled else {
                        return Err(Failure::failed("a draw that is not of two sides"));
                    };
                    let inputs = rows(source, fed.iter().copied());
                    let inputs = TensorData::new(inputs, [fed.len(), 2]);
                    let targets = Tensor::zeros([fed.len(), 1], device);
                    let batch =
                        Batch::new(Tensor::from_data(inputs, device), targets, &[fed.len()]);
                    let circle_rows = rows(target, circle.iter().map(|i| i - n));
                    batch
                        .and_then(|b| b.with_private_sample(circle_rows, circle.len()))
                        .map_err(Failure::failed)
                };
                take_step(training, &mut session.ledger, batch).map(drop)
            }
        }
    }

    fn evaluate(&mut self, session: &Session) -> Result<Evaluation, Failure> {
        let generated = self.generated()?;
        let distance = self.distance(&generated)?;
        let epsilons = self.epsilons(self.planned(session.step))?;
        let panel = report::Panel::new(session.step, distance, epsilons, &generated);
        panel.write(&session.folder, self.settings.steps)?;
        Ok(Evaluation {
            scores: json!({"sliced_w2_squared": distance}),
            message: format!("SW2^2 {distance:.5}"),
            accounted: self.settings.method == Method::Gradients,
        })
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        if let How::Gradients(training) = &self.how {
            save_weights(training, &session.folder)?;
        }
        report::report(self, session)
    }
}
