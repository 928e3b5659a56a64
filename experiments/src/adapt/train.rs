//! The run: its records, the classifier of the source, one release, and its interim scores.

use std::path::PathBuf;

use burn::module::Module;
use burn::optim::GradientsParams;
use dp_core::decimal::upper;
use dp_core::mechanism::Releaser;
use dp_core::plan::{CheckedPlan, ReleaseNoise};
use lab::backend::Chosen;
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{
    Arguments, DataSummary, Evaluation, Experiment, Fingerprint, Releases, Report, RunState,
    Scores, Session, Start, Wording, bounded, floats_to_bytes, save_weights,
};
use private_training::weights::to_host;
use private_training::{Engine, GroupSizes, Training, TrainingConfig};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::domains::Domains;
use super::evaluate::Confusion;
use super::fit::Warps;
use super::network::{Model, Path, Sizes};
use super::public::{public_gradient, source_batch, trained_on_source};
use super::settings::{Flags, Method, Settings};

/// Test records that an interim evaluation looks at.
const INTERIM: usize = 2000;

/// A classifier on its way to another domain.
pub(crate) struct Adapt<M: Method> {
    pub(super) settings: Settings<M>,
    pub(super) domains: Domains,
    pub(super) sizes: Sizes,
    pub(super) training: Training<Model>,
    /// Target records in a step.
    batch: usize,
    /// A classifier with fresh weights.
    pub(super) fresh: Path,
    /// The classifier of the source; none before it is trained.
    pub(super) before: Option<Path>,
    /// What source images were warped by, where that was learned.
    pub(super) warps: Option<Warps>,
    cache: PathBuf,
}

impl<M: Method> Experiment for Adapt<M> {
    const NAME: &'static str = "adapt";
    const KIND: Option<(&'static str, &'static str)> = Some(("method", M::NAME));
    const ABOUT: &'static str = M::ABOUT;
    const STORED: &'static [&'static str] = M::RELEASES;
    type Settings = Settings<M>;

    fn load(
        settings: &Settings<M>,
        arguments: &Arguments<Flags<M>>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let (shared, private) = (&settings.shared, settings.private());
        let cache = arguments.running.cache()?;
        let records = private.and_then(|p| p.records);
        let domains = Domains::load(shared, records, arguments.running.data_dir.as_deref())?;
        let records = domains.target.len();
        let batch = settings.stepwise().and_then(|s| s.batch).unwrap_or(records);
        let bound = format!("between 1 and the {records} private target records");
        bounded("batch", batch, (1..=records).contains(&batch), &bound)?;
        let sampler = M::sampler([records, domains.source.len()], batch)?;
        let sizes = Sizes {
            width: domains.source.width,
            side: domains.side,
            classes: domains.classes,
            bottleneck: shared.latent,
            pooled: shared.pooled,
        };
        let mut public = ChaCha20Rng::seed_from_u64(shared.seed);
        let model = Model::new(&sizes, &mut public, &chosen.device);
        let basics = settings.basics();
        let config =
            TrainingConfig::new(settings.own.objective(&settings.steps, sizes.compared())?)
                .average(basics.ema)
                .public(public);
        let fresh = model.classifier();
        let mut start = Start::new(&basics, config, model, sampler);
        for name in M::RELEASES {
            start = start.and(name, ReleaseNoise::Share(1.0));
        }
        Ok(Self {
            settings: settings.clone(),
            domains,
            sizes,
            training: start.training(chosen)?,
            batch,
            fresh,
            before: None,
            warps: None,
            cache,
        })
    }

    fn data(&self) -> DataSummary {
        let shared = &self.settings.shared;
        DataSummary {
            name: format!("{} to {}", shared.source, shared.target),
            private: self.domains.target.len(),
            test: self.domains.target_test.len(),
            used: self.domains.used.clone(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.training.plan()
    }

    fn wording(&self) -> Wording {
        let reads_nothing = self.settings.private().is_none();
        Wording {
            releases: format!("all that is read of the target ({})", M::READS),
            public: format!(
                "the records of {} with their labels, and the target's test records, whose labels judge the run and \
                 nothing else",
                self.settings.shared.source
            ),
            without_noise: if reads_nothing {
                "Nothing private is read: the classifier of the public source."
            } else {
                "Not private: --no-privacy adds no noise that anything is promised of."
            }
            .into(),
            reads_nothing,
            groups: "the target, and the source, which is public",
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let (records, source) = (self.domains.source.len(), &self.settings.shared.source);
        let (steps, batch, d) = (self.steps(), self.batch, self.sizes.compared());
        let mut lines = vec![format!("source    {records} public records of {source}")];
        if steps > 0 {
            lines.push(format!("releases  {steps} of {batch} target records each"));
            lines.push(format!("features  {d} dimensions are compared"));
        }
        if let (Some(plan), true) = (self.training.plan(), steps > 0) {
            let (multiplier, sampler) = (plan.noise_multiplier(), plan.sampler());
            let sizes = GroupSizes::of(sampler);
            let gradients = self.training.gradients();
            // Sampled from a copy, so that the public stream of the run does not depend on a message.
            let mut public = gradients.public_rng().clone();
            let mut objective = gradients.objective().clone();
            let step = objective.draw(&[d], sizes, &mut public).or_failed()?;
            let engine = Engine::for_device(&self.training.device());
            let moved = step.sensitivity(engine).or_failed()?.l2_upper();
            let weights = self.training.network.extractor.num_params();
            lines.push(format!(
                "step      sensitivity {}: noise of norm {} over {weights} weights, beside a gradient of at most {}",
                upper(moved),
                upper(multiplier * moved * (weights as f64).sqrt()),
                upper(step.parts_upper())
            ));
        }
        Ok(lines)
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        let (shared, domains, fresh) = (&self.settings.shared, &self.domains, self.fresh.clone());
        let trained = trained_on_source(fresh, shared, domains, &self.cache, session)?;
        let network = self.training.network.clone();
        self.training.network = network.with_classifier(&trained);
        self.before = Some(trained);
        M::prepare(self, session)
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        // Labels of the target are read by no step. The classifier of the source belongs to it: it decides what of
        // a record meets the noise.
        let weights = self.before.as_ref().map(to_host).unwrap_or_default();
        let values = [&self.domains.target.rows[..], &weights].concat();
        // Rows of the source meet the noise beside those of the target where both are compared.
        let source = self.domains.used[0].sha256.as_bytes();
        let bytes = [&floats_to_bytes(&values), source].concat();
        Ok(Fingerprint::of(&bytes))
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        Some(&mut self.training)
    }

    fn steps(&self) -> u64 {
        self.settings.basics().steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let done = session.step as f64 / self.steps() as f64;
        let rate = self.settings.shared.learning_rate * (1.0 - done);
        let released = M::released(self, &mut session.ledger)?;
        M::follow(self, rate, released)
    }

    fn evaluate(&mut self, session: &Session) -> Result<Evaluation, Failure> {
        let scored = self.training.averaged().or_failed()?;
        let (mut test, classes) = (self.domains.target_test.clone(), self.domains.classes);
        test.truncate(INTERIM);
        let device = &session.chosen.device;
        let found = Confusion::of(&scored.classifier(), &test, classes, device)?;
        Ok(Scores::default()
            .with("accuracy", "", found.accuracy(), None)
            .with("loss", "", found.loss, None)
            .evaluation())
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        save_weights(&self.training, &session.folder)?;
        self.report_of(session)
    }
}

impl<M: Method> Adapt<M> {
    /// The gradient of the classification of a step's source records as they are: public.
    pub(super) fn of_source(&mut self) -> Result<GradientsParams, Failure> {
        let (network, device) = (self.training.network.classifier(), self.training.device());
        let public = self.training.gradients().public_rng();
        let (shared, domains) = (&self.settings.shared, &self.domains);
        let sampled = source_batch(shared, domains, &Warps::default(), public);
        public_gradient(&network, &sampled.batch(&device)?, &device)
    }
}

impl<M: Method> Releases for Adapt<M> {
    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.training.releaser()
    }
}
