//! The run: one release or two of all private images, and samples of what they say.

use std::path::{Path, PathBuf};

use clap::Id;
use dp_core::mechanism::Releaser;
use dp_core::plan::{CheckedPlan, ReleaseNoise, TrainingPlan};
use lab::backend::Chosen;
use lab::checkpoint::hex;
use lab::diagnostic::{Failure, OrFailed};
use lab::evaluate::downstream::{self, Learner};
use lab::interrupt::Interrupt;
use lab::run_folder::RunFolder;
use lab::session::{
    Arguments, DataSummary, Experiment, Fingerprint, Releases, Report, Session, Wording, bounded,
    flags_of, floats_to_bytes, releaser,
};
use model::latent::ImageShape;
use private_queries::Query;
use private_synth::images::{
    ImageMethod, Merf, Mixing, Mixture, PrivateImages, Signal, Space, SpaceForm, SpaceKind,
};
use private_synth::plan_of_all;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use super::generated::Generated;
use super::input::Input;
use super::method::Method;
use super::private_score::{self, SCORE};
use super::public::PublicImages;
use super::report;
use super::same_input;
use super::settings::{Flags, Settings, names_data_set};
use crate::apart;
use crate::export::{self, ExportRequest};
use crate::in_run::InRun;
use crate::latents::Latents;
use crate::random::stream;
use crate::scores::ScoreFlags;
use crate::space::{self, TrainingImages};

/// The moments of classes, and those of their cells, by their names in the plan.
const RELEASES: [&str; 2] = ["moments", "cells"];
/// Values of a release, at most: 400 MB.
const MOST_VALUES: usize = 50_000_000;
/// Samples that units have together, at most, unless there are more units.
const SAMPLES: usize = 100_000;
/// Images that are scored at once.
const SCORED_AT_ONCE: usize = 5000;
/// Where the copy lies in the run's folder.
const COPY: &str = "copy";

/// A private copy of labelled images.
pub(crate) struct Synth {
    pub(super) input: Input,
    pub(super) settings: Settings,
    pub(super) form: SpaceForm,
    /// What public images taught; none before the run is prepared.
    space: Option<Space>,
    pub(super) public: PublicImages,
    cache: PathBuf,
    pub(super) score: ScoreFlags,
    /// The share of the budget that the accuracy on private images gets; 0 where there is none.
    score_share: f64,
    /// Cells of each class.
    cells: usize,
    /// Images of a unit that count, at most.
    pub(super) most: usize,
    /// Whether neighbours replace units.
    by_unit: bool,
    releaser: Option<Releaser>,
    /// Public randomness.
    pub(super) rng: ChaCha20Rng,
    /// Those of the copy.
    pub(super) made: Latents,
    /// What makes the copy without latents.
    pub(super) generated: Option<Generated>,
}

/// Dimensions at a signal of 1, and at most. An autoencoder says more in each.
fn dimensions(kind: SpaceKind, shape: ImageShape) -> [f64; 2] {
    match (kind, shape.channels) {
        (SpaceKind::Small, _) => [24.0, 40.0],
        (_, 1) => [72.0, 120.0],
        _ => [100.0, 160.0],
    }
}

/// Samples of a copy: one for each image, or `most` for each unit, as far as that makes no more than [`SAMPLES`].
fn total(units: usize, most: usize) -> usize {
    units * most.min((SAMPLES / units.max(1)).max(1))
}

impl Synth {
    pub(super) fn space(&self) -> Result<&Space, Failure> {
        let none = || Failure::failed("the latent space is not there yet");
        self.space.as_ref().ok_or_else(none)
    }

    /// What was learned from public images, in a sentence.
    pub(super) fn knowledge(&self) -> String {
        let (count, name) = (self.public.records.len(), &self.public.name);
        if self.settings.method == Method::Merf {
            return format!(
                "A generator learned from what was released alone, {} random Fourier features of each class (DP-MERF): \
                 nothing was learned from any other image.",
                2 * Merf::FREQUENCIES
            );
        }
        const COSINES: &str = "Latents are the lowest cosine frequencies of an image";
        match self.form.kind {
            SpaceKind::Cosines => format!("{COSINES}: nothing was learned from any image."),
            SpaceKind::Refined => {
                format!("{COSINES}; {count} images taught how edges look: {name}.")
            }
            _ => format!("An autoencoder learned from {count} public images: {name}."),
        }
    }

    /// The plan; none without privacy.
    fn planned(
        settings: &Settings,
        records: usize,
        cells: usize,
        score: f64,
    ) -> Result<Option<TrainingPlan>, Failure> {
        let Some(epsilon) = settings.epsilon else {
            return Ok(None);
        };
        let plan = plan_of_all(epsilon, settings.delta, records).or_failed()?;
        let share = |share: f64| ReleaseNoise::Share(share * (1.0 - score));
        let releases = match settings.method {
            Method::Merf => vec![(Merf::RELEASE, 1.0)],
            _ => Mixing::new(0, 0, cells).releases(),
        };
        let plan = releases
            .into_iter()
            .fold(plan, |plan, (name, of)| plan.and(name, share(of)));
        let plan = match score {
            0.0 => plan,
            share => plan.and(SCORE, ReleaseNoise::Share(share)),
        };
        Ok(Some(plan))
    }

    /// How many private images of each class a classifier knows that learned from samples, with noise, and how many it does
    /// not: a share of the budget. None where there is a public test, or no budget for it.
    pub(super) fn score_privately(
        &mut self,
        pixels: &[f32],
        labels: &[usize],
        session: &mut Session,
    ) -> Result<Option<Vec<f64>>, Failure> {
        if self.score_share == 0.0 {
            return Ok(None);
        }
        let labels: Vec<u8> = labels.iter().map(|&label| label as u8).collect();
        let table = private_score::query(self.input.classes.len(), self.most)?;
        let counts = session.release(self, SCORE, &table, |run, session| {
            let images = &run.input.images;
            let first = images.blocks(1).next().transpose().or_failed()?;
            let first = first.ok_or_else(|| Failure::failed("there is no image"))?;
            let (settings, interrupt) = (downstream::Settings::default(), &session.interrupt);
            let learner = Learner::Convolutional;
            let find = learner.learned(pixels, &labels, &first, &settings, interrupt)?;
            let cells = private_score::cells_of(images, SCORED_AT_ONCE, find)?;
            table.measure(&cells).or_failed()
        })?;
        Ok(Some(counts))
    }

    /// Samples that are made.
    pub(super) fn total(&self) -> usize {
        total(self.input.units, self.most)
    }

    /// What the noise alone makes of the accuracy that [`Synth::score_privately`] finds: a bound on its standard deviation.
    pub(super) fn score_deviation_upper(&self) -> f64 {
        let (classes, units) = (self.input.classes.len(), self.input.units);
        let releaser = self.releaser.as_ref();
        private_score::deviation_upper(releaser, self.score_share, classes, self.most, units)
    }

    /// Refuses to resume a run of other images, as far as what is public tells: what was released is of those.
    fn same_images(&self, session: &Session) -> Result<(), Failure> {
        let weights = self.space.as_ref().map(Space::weights).unwrap_or_default();
        let here = json!({
            "units": self.input.units,
            "shape": self.input.images.shape(),
            "classes": self.input.classes,
            "latent_space": hex(&floats_to_bytes(&weights)),
        });
        same_input::check(session, "the folder of images", &here)
    }
}

impl Releases for Synth {
    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }
}

impl Experiment for Synth {
    const NAME: &'static str = "synth";
    const KIND: Option<(&'static str, &'static str)> = Some(("kind", "images"));
    const ABOUT: &'static str = "Make a private copy of labelled images: a folder in, a data set out that \
                                 trains models and may be published. Every image is private, and public is \
                                 only what a flag says.";
    const FLAGS_OF_A_PROCESS: &'static [fn() -> Vec<Id>] =
        &[flags_of::<ScoreFlags>, flags_of::<ExportRequest>];
    const STORED: &'static [&'static str] = &[RELEASES[0], RELEASES[1], Merf::RELEASE, SCORE];
    type Settings = Settings;

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        _: &Chosen,
    ) -> Result<Self, Failure> {
        let data_dir = arguments.running.data_dir.as_deref();
        if !names_data_set(&settings.input) {
            apart::check_output(&arguments.running, Path::new(&settings.input))?;
        }
        let mut input = Input::load(settings, data_dir)?;
        let shape = input.shape();
        let ImageShape { channels, side } = shape;
        let holds = (28..=64).contains(&side) && side.is_multiple_of(4);
        bounded("side", side, holds, "a multiple of 4 from 28 to 64")?;
        let (public, used) = PublicImages::load(settings, shape, data_dir)?;
        if settings.names_public() {
            input.public += ", and the images that --public names";
        }
        used.map_or(Ok(()), |used| input.note("public", used))?;
        let (images, flags) = (&input.images, &arguments.own);
        let signal = Signal::of(input.units, settings.epsilon);
        let kind = settings.space(shape);
        let latent = match settings.method {
            Method::Merf => Merf::CODE,
            _ => {
                let by_default = signal.dimensions(dimensions(kind, shape));
                settings.latent.unwrap_or(by_default)
            }
        };
        let cells = settings.cells.unwrap_or(match settings.method {
            Method::Mixture => Mixture::default_cells(signal, channels),
            Method::Merf => 1,
        });
        let labelled = !input.classes.is_empty();
        let scored = input.test.is_none() && labelled && settings.epsilon.is_some();
        let score_share = if scored { settings.score_share } else { 0.0 };
        let plan = Self::planned(settings, input.units, cells, score_share)?;
        let form = SpaceForm {
            kind,
            latent,
            shape,
        };
        let least = if channels == 1 { 2 } else { 6 };
        let bound = format!("at least {least} for images of {channels} channels");
        bounded("latent", latent, latent >= least, &bound)?;
        let values = images.classes() * cells * latent * (latent + 3) / 2;
        let bound =
            format!("such that classes, cells and dimensions make at most {MOST_VALUES} values");
        bounded("latent", latent, values <= MOST_VALUES, &bound)?;
        let most = total(input.units, settings.most_per_unit.unwrap_or(1));
        let endless = settings.variation(shape).any() || settings.method == Method::Merf;
        let most = (!endless).then_some(most);
        flags
            .export
            .or(most.unwrap_or(1), &input.formats())
            .layout(shape, labelled, most)?;
        Ok(Self {
            space: None,
            form,
            public,
            settings: settings.clone(),
            cache: arguments.running.cache()?,
            releaser: releaser(plan, settings.insecure_noise_seed)?,
            score: flags.score.clone(),
            score_share,
            generated: None,
            made: Latents {
                rows: Vec::new(),
                labels: None,
                dim: latent,
            },
            cells,
            by_unit: settings.most_per_unit.is_some(),
            most: settings.most_per_unit.unwrap_or(1),
            input,
            rng: stream(settings.seed, 6),
        })
    }

    fn data(&self) -> DataSummary {
        DataSummary {
            name: self.input.used[0].what.clone(),
            private: self.input.units,
            test: self
                .input
                .test
                .as_ref()
                .map_or(0, data::LabelledImages::len),
            used: self.input.used.clone(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.releaser.as_ref().map(Releaser::plan)
    }

    fn wording(&self) -> Wording {
        let most = self.most;
        let unit = self
            .by_unit
            .then(|| format!("all images of one unit, {most} of which count at most"));
        Wording {
            unit,
            releases: "all that is read of the private images, of their labels and of how many each class has".into(),
            public: self.input.public.clone(),
            without_noise: "Not private: --no-privacy adds no noise.".into(),
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let (d, cells) = (self.form.latent, self.cells);
        let classes = self.input.images.classes();
        let knowledge = self.knowledge();
        let copy = match self.settings.method {
            Method::Merf => format!("a generator of {classes} classes"),
            _ => format!("{cells} cells of {classes} classes in {d} dimensions"),
        };
        Ok(vec![
            format!("public    {}", self.input.public),
            format!("          {knowledge}"),
            format!("copy      {copy}"),
        ])
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        if self.settings.method == Method::Mixture {
            let training_images = TrainingImages {
                records: &self.public.records,
                name: &self.public.name,
                epochs: self.public.epochs,
            };
            let trained = space::trained(&self.form, &training_images, &self.cache, session)?;
            self.space = Some(trained);
        }
        self.same_images(session)?;
        let (dim, total, device) = (
            self.form.latent,
            self.total(),
            session.chosen.device.clone(),
        );
        let labelled = !self.input.classes.is_empty();
        let private = PrivateImages {
            images: &self.input.images,
            units: self.input.units,
            most: self.most,
            signal: Signal::of(self.input.units, self.settings.epsilon),
        };
        let (rng, by) = (
            &mut self.rng,
            &mut InRun::new(session, self.releaser.as_mut()),
        );
        let Some(space) = &self.space else {
            let images = Merf { labelled }.fit(&private, &device, rng, by)?;
            self.generated = Some(Generated {
                images,
                labelled,
                device,
            });
            return Ok(());
        };
        let mixture = Mixture::new(space).cells(self.cells);
        let mixed = mixture.fit(&private, &device, rng, by)?;
        let (rows, labels) = mixed.latents.sample(total, rng);
        let labels = labelled.then_some(labels);
        self.made = Latents { rows, labels, dim };
        Ok(())
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        // There are no steps, and so no checkpoint that tells of latents.
        Ok(Fingerprint {
            records: self.input.used[0].sha256.clone(),
            encoded: None,
        })
    }

    fn when_done(run: &Path, word: &str) -> String {
        format!(
            "`sliver export {} --out DIR` makes other samples of it, with --count, --format and --sample-seed; leave {word} out \
             here, or name another folder",
            run.display()
        )
    }

    fn afterwards(
        arguments: &Arguments<Flags>,
        folder: &RunFolder,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let to = folder.file(COPY);
        if to.exists() {
            return Ok(());
        }
        export::export(folder, &to, &arguments.own.export, interrupt)
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        report::report(self, session)
    }
}
