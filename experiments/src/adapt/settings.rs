//! A run's settings: the preset of its data, then flags, then checks.

use std::any::TypeId;
use std::path::Path;

use burn::optim::GradientsParams;
use dp_core::ledger::Ledger;
use dp_core::sampling::{BatchSampler, FixedSizeSampler};
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{self, Arguments, Basics, Ends, Part, Session, bounded, budget_name};
use private_training::{Loss, Objective};
use serde::{Deserialize, Serialize};

use super::train::Adapt;
use crate::judges::Judges;
use crate::objective::Preset;

/// How images come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Images {
    /// As they are.
    Raw,
    /// Without slant, and in one size: each by itself, the same in both domains.
    Upright,
}

lab::settings! {
    /// What every method has.
    struct Shared, SharedFlags;
    common { learning_rate: f64, seed: u64 }
    preset {
        /// The method, by its name.
        method: String,
        /// Whether a pool is behind both convolutions, which have more filters then: not published.
        pooled: bool,
    }
    flags {
        /// Public records with labels: mnist, usps, fashion-mnist, glyphs, or a file of features (NPY or CSV).
        source: String,
        /// Private records without labels, likewise.
        target: String,
        /// How images come in.
        #[flag(value_enum)]
        images: Images,
        /// How far public images are turned, sheared, stretched, shifted, thickened and blurred: 0 not at all, 1 usual.
        #[bound(within(0.0, 3.0, Ends::BOTH))]
        augment: f64,
        /// Columns of a file of features, without the label.
        #[bound(at_least(1))]
        features: usize,
        /// Classes of a file of features.
        #[bound(must_be("2 to 256", |n: usize| (2..=256).contains(&n)))]
        classes: usize,
        /// Steps on source records before anything private is read.
        public_steps: u64,
        /// Source records in a step.
        #[bound(at_least(1))]
        public_batch: usize,
    }
    optional {
        /// Dimension of the latent space, where features are compared (default: all of the extractor's features).
        #[bound(at_least(1))]
        latent: usize,
        /// Public test records of a target that is a file: another file of the same form.
        #[flag(conflicts_with = "test_share")]
        test: String,
        /// Instead: the share of the rows of such a target, chosen by their numbers, that become public test records.
        #[flag(value_name = "SHARE")]
        #[bound(within(0.0, 1.0, Ends::NEITHER))]
        test_share: f64,
        /// Source records: the first ones (default: all of them).
        public_records: usize,
    }
    switches {
        /// Preset in `assets/adapt`; `paper` is Rakotomamonjy and Ralaivola 2021, section 8.5 and table 4.
        #[arg(long, value_enum, default_value = "tuned")]
        preset: Preset,
    }
}

lab::settings! {
    /// What a method has that reads private records.
    struct Private, PrivateFlags;
    common {
        epsilon: Option<f64>, delta: Option<f64>, records: Option<usize>, insecure_noise_seed: Option<u64>,
    }
}

lab::settings! {
    /// What a method has that releases something at each of its steps.
    struct Steps, StepsFlags;
    common { steps: u64 }
    flags {
        /// Weight of the distance.
        #[bound(positive)]
        weight: f64,
    }
    optional {
        /// Private target records in a step (default: all of them).
        #[bound(at_least(1))]
        batch: usize,
        /// Score, and keep, a moving average of the weights with this decay.
        #[bound(within(0.0, 1.0, Ends::FIRST))]
        ema: f64,
    }
}

lab::settings! {
    parts <M: Method> {
        /// The method's own.
        own: M,
        /// What every method has.
        shared: Shared,
        /// Nothing where no private record is read.
        private: M::Private,
        /// Nothing where no step releases anything.
        steps: M::Steps,
    }
}

/// How the classifier learns of the target: the settings that a method has alone, and what it does by them.
pub(crate) trait Method: Part {
    /// Its name on the command line.
    const NAME: &'static str;
    /// What it does, for `--help`.
    const ABOUT: &'static str;
    /// What it reads of the target.
    const READS: &'static str;
    /// What it releases outside of steps, by its name in the plan.
    const RELEASES: &'static [&'static str] = &[];
    /// [`Private`], or `()` where it reads no private record.
    type Private: Part;
    /// [`Steps`], or `()` where it makes none that read private records.
    type Steps: Part;

    /// Refuses what cannot be.
    fn check(&self, _: &Shared) -> Result<(), Failure> {
        Ok(())
    }

    /// What its private gradients are of, where so many features are compared; others see public records alone.
    fn objective(&self, _: &Self::Steps, _: usize) -> Result<Objective, Failure> {
        Ok(Objective::of([Loss::cross_entropy().max_grad_norm(1.0)]))
    }

    /// What samples a step's records, of the target's and the source's numbers: of the target alone unless said.
    fn sampler([target, _]: [usize; 2], size: usize) -> Result<BatchSampler, Failure> {
        let sampler = FixedSizeSampler::new(target, size);
        sampler.map(Into::into).or_failed()
    }

    /// What comes before the first step, once the source is learned.
    fn prepare(_: &mut Adapt<Self>, _: &mut Session) -> Result<(), Failure> {
        Ok(())
    }

    /// A step's release: all that is read of the target in a step.
    fn released(_: &mut Adapt<Self>, _: &mut Ledger) -> Result<GradientsParams, Failure> {
        Ok(GradientsParams::new())
    }

    /// What follows from a release: post-processing.
    fn follow(_: &mut Adapt<Self>, _: f64, _: GradientsParams) -> Result<(), Failure> {
        Ok(())
    }
}

lab::settings! {
    /// The classifier of the source has no settings of its own.
    struct Source, SourceFlags;
    common {}
}

impl Method for Source {
    const NAME: &'static str = "source";
    const ABOUT: &'static str = "Keep the classifier of the source: nothing private is read";
    const READS: &'static str = "nothing";
    type Private = ();
    type Steps = ();
}

/// Whether a domain is a file and no data set.
pub(crate) fn is_file(name: &str) -> bool {
    name.ends_with(".npy") || name.ends_with(".csv")
}

impl<M: Method> Settings<M> {
    /// What it has where private records are read.
    pub(crate) fn private(&self) -> Option<&Private> {
        self.private.get()
    }

    /// What it has where steps release something.
    pub(crate) fn stepwise(&self) -> Option<&Steps> {
        self.steps.get()
    }

    /// Budget, steps, seeds.
    pub(crate) fn basics(&self) -> Basics {
        let (shared, private, steps) = (&self.shared, self.private(), self.stepwise());
        Basics {
            epsilon: private.and_then(|p| p.epsilon),
            delta: private.and_then(|p| p.delta),
            steps: steps.map_or(0, |s| s.steps),
            learning_rate: shared.learning_rate,
            ema: steps.and_then(|s| s.ema),
            seed: shared.seed,
            insecure_noise_seed: private.and_then(|p| p.insecure_noise_seed),
        }
    }
}

impl<M: Method> session::Settings for Settings<M> {
    type Flags = Flags<M>;

    fn resolve(arguments: &Arguments<Flags<M>>) -> Result<Self, Failure> {
        let flags = &arguments.own.shared;
        let files = |name: &Option<String>| name.as_deref().is_some_and(is_file);
        let preset = match flags.preset {
            Preset::Paper => include_str!("../../../assets/adapt/paper.toml"),
            Preset::Tuned if files(&flags.source) || files(&flags.target) => {
                include_str!("../../../assets/adapt/features.toml")
            }
            Preset::Tuned => include_str!("../../../assets/adapt/digits.toml"),
        };
        let mut preset: toml::Table = toml::from_str(preset).or_failed()?;
        for name in ["private", "steps", "warp", "sliced"] {
            let has = match name {
                "private" => TypeId::of::<M::Private>() != TypeId::of::<()>(),
                "steps" => TypeId::of::<M::Steps>() != TypeId::of::<()>(),
                _ => name == M::NAME,
            };
            let table = preset.remove(name).filter(|_| has);
            preset.extend(
                table
                    .and_then(|t| t.as_table().cloned())
                    .unwrap_or_default(),
            );
        }
        preset.insert("method".into(), M::NAME.into());
        arguments.over_table(preset)
    }

    fn check(&self) -> Result<(), Failure> {
        let shared = &self.shared;
        let (source, target) = (&shared.source, &shared.target);
        if is_file(source) != is_file(target) {
            return Err(Failure::input(
                format!(
                    "--source {source} --target {target}: one is a file of features, the other has images"
                ),
                "give two files, or two data sets",
            ));
        }
        let bound = "left out for a data set, which has test records of its own";
        let (test, share) = (shared.test.as_deref(), shared.test_share);
        if is_file(target) {
            Judges::of("target", Path::new(target), test.map(Path::new), share)?;
        }
        let holds = is_file(target);
        bounded("test", test.unwrap_or(""), holds || test.is_none(), bound)?;
        let value = share.unwrap_or(0.0);
        bounded("test-share", value, holds || share.is_none(), bound)?;
        self.own.check(shared)
    }

    fn name(&self) -> String {
        let stem = |name: &str| {
            Path::new(name)
                .file_stem()
                .unwrap_or_default()
                .display()
                .to_string()
        };
        let [source, target] = [&self.shared.source, &self.shared.target].map(|name| stem(name));
        let budget = budget_name(self.basics().epsilon);
        format!("{source}-{target}-{}-{budget}", M::NAME)
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.basics().insecure_noise_seed
    }
}
