//! The run: its points, its two kinds of step, and what each side's points cost.

use burn::tensor::Device;
use dp_core::accounting::{Accountant, PldAccountant};
use dp_core::mechanism::Releaser;
use dp_core::plan::CheckedPlan;
use lab::backend::Chosen;
use lab::diagnostic::{Failure, OrFailed};
use lab::evaluate::transport::sliced_w2_squared;
use lab::report::{Better, Metric};
use lab::session::{
    Arguments, DataSummary, Evaluation, Predictions, Report, RunRecords, Scores, Session, Start,
    TrainingRun, Wording, batch_without_targets, floats_to_bytes,
};
use private_training::{Batch, Objective, Schedule, Training, TrainingConfig};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use serde_json::json;
use swd::{Region, Slices};

use super::Map;
use super::report::{panel, pictures};
use super::settings::{Flags, Method, Settings, Smoothed};
use super::smoothed::{RELEASE, SmoothedRelease};
use crate::objective::engine_of_small_layers;

/// The radius of the circle.
const RADIUS: f64 = 0.75;
/// Fresh points of each side that a network is judged by, and slices that they are compared in.
const JUDGED: usize = 10_000;
const JUDGED_SLICES: usize = 100;

/// A map to the circle in training.
pub(crate) struct Circle<M: Method> {
    settings: Settings<M>,
    points: Points,
    fresh: Points,
    training: Training<Map>,
    /// What the steps go towards where they are not of private gradients.
    smoothed: Option<SmoothedRelease>,
}

/// Points of both sides: standard Gaussian, and uniform on the circle.
pub(crate) struct Points {
    /// `[2 n, 2]`: the source, then the circle.
    rows: Vec<f32>,
    /// Whether the source is private too.
    both: bool,
}

impl Points {
    fn new(count: usize, stream: u64, both: bool) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        rng.set_stream(stream);
        let normal = (0..2 * count).map(|_| {
            let x: f64 = StandardNormal.sample(&mut rng);
            x as f32
        });
        let mut rows: Vec<f32> = normal.collect();
        for _ in 0..count {
            let angle = rng.random_range(0.0..2.0 * std::f64::consts::PI);
            rows.extend([angle.cos(), angle.sin()].map(|x| (RADIUS * x) as f32));
        }
        Self { rows, both }
    }

    fn sides(&self) -> (&[f32], &[f32]) {
        self.rows.split_at(self.rows.len() / 2)
    }
}

impl RunRecords<Map> for Points {
    fn summary(&self) -> DataSummary {
        let n = self.rows.len() / 4;
        let (name, private) = match self.both {
            true => ("synthetic Gaussian points, and points of the circle", 2 * n),
            false => ("synthetic points of the circle", n),
        };
        DataSummary {
            name: name.into(),
            private,
            test: JUDGED,
            used: Vec::new(),
        }
    }

    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        Ok(floats_to_bytes(&self.rows))
    }

    fn batch(&self, _: &Map, sampled: &[Vec<usize>], device: &Device) -> Result<Batch<2>, Failure> {
        let [fed, circle] = sampled else {
            return Err(Failure::failed("a draw that is not of two sides"));
        };
        let all = &self.rows;
        let rows = |indices: &[usize]| {
            let rows = indices.iter().flat_map(|&i| [all[2 * i], all[2 * i + 1]]);
            rows.collect::<Vec<f32>>()
        };
        batch_without_targets(rows(fed), &[fed.len()], device)?
            .with_private_sample(rows(circle), circle.len())
            .or_failed()
    }
}

impl<M: Method> Circle<M> {
    /// What the network that is scored makes of fresh points, in the public ball that the circle's points lie in.
    fn generated(&self) -> Result<Vec<f32>, Failure> {
        let (network, device) = (self.scored()?, self.training.device());
        let mut made = Predictions::of_rows(&network, self.fresh.sides().0, 2, &device).outputs;
        let ball = Region::ball(self.settings.shared.clip_activation).or_failed()?;
        ball.restrict(&mut made, 2);
        Ok(made)
    }

    /// The squared sliced distance of generated points to fresh ones of the circle.
    fn scores_of(&self, generated: &[f32]) -> Result<Scores, Failure> {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let slices = Slices::tight(2, JUDGED_SLICES, &mut rng).or_failed()?;
        let squared = sliced_w2_squared(generated, self.fresh.sides().1, &slices);
        let (key, squared) = ("sliced_w2_squared", squared.or_failed()?);
        Ok(Scores::default().with(key, "SW2^2 to the circle", squared, Better::Lower))
    }

    /// Upper bounds on the epsilon of a point of the source, and of one of the circle, after so many releases.
    fn epsilons(&self, releases: u64) -> Result<[Option<f64>; 2], Failure> {
        let Some(plan) = TrainingRun::plan(self).filter(|_| releases > 0) else {
            return Ok([None; 2]);
        };
        let (settings, z) = (&self.settings, plan.noise_multiplier());
        let target = settings.event_of_target(settings.share()?, z, releases);
        let source = plan.step_event().clone().repeated(releases);
        let source = settings.gradients().map(|_| source);
        let epsilon = |event| PldAccountant::default().epsilon(&event, plan.delta());
        Ok([
            source.map(epsilon).transpose().or_failed()?,
            Some(epsilon(target).or_failed()?),
        ])
    }
}

impl<M: Method> TrainingRun for Circle<M> {
    const NAME: &'static str = "circle";
    const KIND: Option<(&'static str, &'static str)> = Some(("method", M::NAME));
    const ABOUT: &'static str = M::ABOUT;
    const STORED: &'static [&'static str] = &[RELEASE];
    type Settings = Settings<M>;
    type Model = Map;
    type Records = Points;

    lab::parts!(settings.shared, points, training);

    fn load(
        settings: &Settings<M>,
        _: &Arguments<Flags<M>>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let (shared, own) = (&settings.shared, settings.gradients());
        let basics = lab::basics!(shared);
        let mut public = ChaCha20Rng::seed_from_u64(shared.seed);
        let network = Map::new(&[2, 128, 64, 64, 2], 1.0, &mut public, &chosen.device);
        let objective = match own {
            Some(own) => own.objective(shared, settings.share()?)?,
            None => Objective::of([]),
        };
        let config = TrainingConfig::new(objective)
            .learning_rate(Schedule::new(basics.falling_to(shared.final_rate)))
            .average(shared.ema)
            .engine(engine_of_small_layers(&chosen.device, 5000))
            .public(public.clone());
        let mut start = Start::new(&basics, config, network, settings.sampler()?);
        start.plan = settings.plan()?;
        let smoothed = match own {
            Some(_) => None,
            None => Some(SmoothedRelease::new(
                shared.slices,
                start.releaser()?,
                public,
            )?),
        };
        Ok(Self {
            settings: settings.clone(),
            points: Points::new(shared.records, 0, own.is_some()),
            fresh: Points::new(JUDGED, 1, own.is_some()),
            training: start.training(chosen)?,
            smoothed,
        })
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        match &self.smoothed {
            Some(smoothed) => smoothed.releaser.as_ref().map(Releaser::plan),
            None => self.training.plan(),
        }
    }

    fn wording(&self) -> Wording {
        let (releases, public) = match self.smoothed {
            Some(_) => (
                "the noisy projections of one sub-sample",
                "the points that the network is fed, and fresh ones of the circle",
            ),
            None => ("the training gradients", "fresh points of both sides"),
        };
        Wording {
            groups: "the points that the network is fed, and those of the circle",
            releases: releases.into(),
            public: public.into(),
            without_noise: "Not private: --no-privacy clips nothing and adds no noise.".into(),
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let steps = self.settings.shared.steps;
        let [source, target] = self.epsilons(self.settings.planned(steps))?;
        let in_words = |epsilon: Option<f64>| epsilon.map(dp_core::decimal::upper);
        let mut lines = match &self.smoothed {
            None => lab::session::announcement(&mut self.training, steps, &[2])?,
            Some(_) => vec![format!("steps     {steps}, towards one release")],
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
        let Some(smoothed) = &mut self.smoothed else {
            return Ok(());
        };
        let settings = (
            &self.settings.shared,
            self.settings
                .own
                .get()
                .is_some_and(|own: &Smoothed| own.combine),
        );
        smoothed.release(settings, &mut self.training, self.points.sides().1, session)
    }

    /// The release is all that the steps towards it need: they are made again.
    fn checkpoints(&self) -> bool {
        self.smoothed.is_none()
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let shared = &self.settings.shared;
        let Some(smoothed) = &mut self.smoothed else {
            return self.gradient_step(session).map(drop);
        };
        let rate = lab::basics!(shared).falling_to(shared.final_rate)(session.step);
        let source = self.points.sides().0;
        smoothed.step(&mut self.training, rate, shared.batch, source)
    }

    fn scores(&mut self, _: &Session) -> Result<Scores, Failure> {
        self.scores_of(&self.generated()?)
    }

    fn evaluate(&mut self, session: &Session) -> Result<Evaluation, Failure> {
        let generated = self.generated()?;
        let scores = self.scores_of(&generated)?;
        let epsilons = self.epsilons(self.settings.planned(session.step))?;
        let steps = self.settings.shared.steps;
        panel(session, steps, &scores, epsilons, &generated)?;
        Ok(Evaluation {
            accounted: self.smoothed.is_none(),
            ..scores.evaluation()
        })
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        let mut report = self.scores(session)?.report();
        report.pictures = pictures(&session.folder)?;
        // Steps that a killed run made again count.
        let planned = self.settings.planned(self.settings.shared.steps);
        let [source, target] = self.epsilons(planned.max(session.ledger.releases()))?;
        let name = "Epsilon where one of the circle's points is replaced (upper bound)";
        let target_metric = target.map(|target| Metric::new(name, target));
        report.metrics.extend(target_metric);
        report.more = vec![
            ("epsilon_source_upper", json!(source)),
            ("epsilon_target_upper", json!(target)),
        ];
        Ok(report)
    }
}
