//! The run: one release or two of all private images, and samples of what they say.

use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::Device;
use clap::Id;
use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use dp_core::sampling::Sampler;
use lab::evaluate::downstream::{self, Learner};
use lab::prelude::*;
use model::latent::ImageShape;
use private_queries::Query;
use private_synth::images::{Encoded, Merf, Mixing, Mixture, Space, SpaceForm, SpaceKind, samples};
use private_training::RngState;
use rand_chacha::ChaCha20Rng;
use serde_json::json;
use swd::Slices;

use super::generated::each;
use super::input;
use super::method::{Made, Making, Method, RELEASE, Start};
use super::plan::{exportable, plan, sampler, within_classes};
use super::private_score::{self, Bought, SCORE};
use super::public::PublicImages;
use super::report;
use super::samples::Latents;
use super::settings::{Flags, HALF, Settings};
use super::space;
use crate::apart;
use crate::export::{self, ExportRequest};
use crate::images::{Input, names_data_set};
use crate::in_run::{self, Watched};
use crate::random::stream;
use crate::scores::ScoreFlags;

/// What a checkpoint keeps beside the copy in the making.
const STATE: &str = "state.json";
/// Images that are scored at once.
const SCORED_AT_ONCE: usize = 5000;
/// Where the copy lies in the run's folder.
const COPY: &str = "copy";

/// A private copy of labelled images.
pub(crate) struct Synth {
    pub(super) input: Input,
    pub(super) settings: Settings,
    pub(super) form: SpaceForm,
    pub(super) device: Device,
    /// What public images taught; none before the run is prepared.
    pub(super) space: Option<Space>,
    pub(super) public: PublicImages,
    pub(super) score: ScoreFlags,
    /// The share of the budget that the accuracy on private images gets; 0 if there is none.
    score_share: f64,
    /// Cells of each class.
    pub(super) cells: usize,
    /// What draws the private images of a step.
    pub(super) sampler: Sampler,
    pub(super) releaser: Option<Releaser>,
    /// Public randomness.
    pub(super) rng: ChaCha20Rng,
    /// Batches of a run without privacy.
    pub(super) batches: ChaCha20Rng,
    pub(super) steps: u64,
    /// Private images of each class: public if neighbours are of one class.
    pub(super) sizes: Vec<usize>,
    /// Latents of private images by class, once they are encoded.
    pub(super) latents: Encoded,
    /// The copy in the making; none before its first release.
    making: Option<Box<dyn Making>>,
    /// The mean squared distance to what was released at the last step.
    distance: f64,
}

impl Synth {
    pub(super) fn space(&self) -> Result<&Space, Failure> {
        let none = || Failure::failed("the latent space is not there yet");
        self.space.as_ref().ok_or_else(none)
    }

    /// What was learned from public images, in a sentence.
    pub(super) fn knowledge(&self) -> String {
        let (count, name) = (self.public.records.count, &self.public.name);
        let way = self.settings.method.way();
        if !way.has_latents {
            let says = (way.says)(self.cells);
            return format!(
                "A generator learned from what was released alone, {says}: nothing was learned from any other image."
            );
        }
        const COSINES: &str = "Latents are the lowest cosine frequencies of an image";
        let mut knowledge = match self.form.kind {
            SpaceKind::Cosines => format!("{COSINES}: nothing was learned from any image."),
            SpaceKind::Refined => {
                format!("{COSINES}; {count} images taught how edges look: {name}.")
            }
            _ => format!("An autoencoder learned from {count} public images: {name}."),
        };
        if self.settings.method == Method::Marginals && self.settings.starts() == Start::Public {
            knowledge += match self.public_shows_classes() {
                true => {
                    " Particles start at latents of such images, class by class, by their labels."
                }
                false => " Particles start at latents of such images.",
            };
        }
        if self.within_classes() {
            knowledge += " The sizes of the classes are public.";
        }
        knowledge
    }

    /// Whether neighbours replace an image by one of its class.
    pub(super) fn within_classes(&self) -> bool {
        within_classes(&self.settings, !self.input.classes.is_empty())
    }

    /// Whether public images show the classes of the private ones.
    pub(super) fn public_shows_classes(&self) -> bool {
        self.settings.public == HALF || self.settings.synthetic_classes()
    }

    /// Channels and side of an image.
    pub(super) fn shape(&self) -> ImageShape {
        self.input.shape()
    }

    /// Images of each class that a generator makes at a step.
    pub(super) fn each(&self) -> usize {
        each(self.settings.method.way().points, self.sizes.len())
    }

    /// Slices that are a tight frame of the latent space.
    pub(super) fn frame(&mut self) -> Result<Slices, Failure> {
        let count = self.settings.slices.unwrap_or(1);
        Slices::tight(self.form.latent, count, &mut self.rng).or_failed()
    }

    /// Latents of the copy, with their classes if images have some.
    pub(super) fn labelled(&self, rows: Vec<f32>, labels: impl FnOnce() -> Vec<usize>) -> Latents {
        Latents {
            rows,
            labels: (!self.input.classes.is_empty()).then(labels),
            dim: self.form.latent,
        }
    }

    /// Makes a release of the latents of all images, or reads it if the run made it before it was killed.
    pub(super) fn release_latents<Q: Query<Records = [Vec<f32>]>>(
        &mut self,
        name: &str,
        query: &Q,
        session: &mut Session,
    ) -> Result<Q::Answer, Failure> {
        session.release(self, name, query, |run, _| {
            run.latents.measured(query).map_err(in_run::refused)
        })
    }

    /// Finds the latents of all private images, by class.
    ///
    /// - `whole`: whether they are needed at once, since batches are taken out of them, or projections of rows do not add up.
    pub(super) fn encode(&mut self, whole: bool, session: &Session) -> Result<(), Failure> {
        let (images, watch) = (&self.input.images, &mut Watched::new(&session.interrupt));
        let latents = Encoded::of(images, self.space()?, &self.device, whole, watch)?;
        self.latents = latents;
        Ok(())
    }

    /// The accuracy on private images of a classifier that learned from samples, if there is no public test and a budget for it.
    pub(super) fn score_privately(
        &mut self,
        pixels: &[f32],
        labels: &[usize],
        session: &mut Session,
    ) -> Result<Vec<Metric>, Failure> {
        let made = labels.len();
        let bought = Bought {
            share: self.score_share,
            classes: self.input.classes.len(),
            most: self.settings.most(),
            records: self.input.units,
            classifier: format!("a convolutional network that learned from {made} samples"),
        };
        bought.metrics(self, session, |run, session| {
            let labels: Vec<u8> = labels.iter().map(|&label| label as u8).collect();
            let images = &run.input.images;
            let (settings, interrupt) = (downstream::Settings::default(), &session.interrupt);
            let learner = Learner::Convolutional;
            let find = learner.learned(pixels, &labels, images, &settings, interrupt)?;
            private_score::codes_of(images, SCORED_AT_ONCE, find)
        })
    }

    /// The private images of a step.
    pub(super) fn next_batch(&mut self, session: &Session) -> Result<SampledBatch, Failure> {
        let (sampler, rng) = (&self.sampler, &mut self.batches);
        SampledBatch::next(self.releaser.as_mut(), || {
            sampler.sample(session.step + 1, rng)
        })
    }

    /// Samples that are made.
    pub(super) fn total(&self) -> usize {
        let all = samples(self.input.units, self.settings.most());
        self.settings.particles.unwrap_or(all)
    }

    /// What the steps have made.
    pub(super) fn made(&mut self) -> Result<Made, Failure> {
        let none = || Failure::failed("nothing was released yet");
        self.making.take().ok_or_else(none)?.made(self)
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
        in_run::same_input(session, "the folder of images", &here)
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
    const STORED: &'static [&'static str] = &["moments", "cells", RELEASE, Merf::RELEASE, SCORE];
    type Settings = Settings;

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let data_dir = arguments.running.data_dir.as_deref();
        if !names_data_set(&settings.input) {
            apart::check_output(&arguments.running, Path::new(&settings.input))?;
        }
        let (cache, flags) = (arguments.running.cache()?, &arguments.own);
        let mut input = input::load(settings, &flags.export, data_dir, &cache)?;
        let shape = input.shape();
        let ImageShape { channels, side } = shape;
        let holds = (28..=64).contains(&side) && side.is_multiple_of(4);
        bounded("side", side, holds, "a multiple of 4 from 28 to 64")?;
        let (public, used) = PublicImages::load(settings, shape, input.half.take(), data_dir)?;
        if settings.names_public() {
            input.public += ", and the images that --public names";
        }
        used.map_or(Ok(()), |used| input.note("public", used))?;
        let way = settings.method.way();
        let signal = settings.signal(input.units);
        let latent = settings.latent.unwrap_or(match way.has_latents {
            true => signal.dimensions(settings.space(shape), channels),
            false => Merf::CODE,
        });
        let cells = settings.cells.unwrap_or(match settings.method {
            Method::Mixture => Mixture::default_cells(signal, channels),
            _ => 1,
        });
        let labelled = !input.classes.is_empty();
        let mut sizes = vec![0; input.images.classes()];
        let labels = input.images.labels().iter();
        labels.for_each(|&label| sizes[usize::from(label)] += 1);
        // Where there are units, they are what is sampled: all of them.
        let sampler = match settings.most_per_unit {
            Some(_) => sampler(settings, &[input.units], false),
            None => sampler(settings, &sizes, labelled),
        }?;
        let scored = input.test.is_none() && labelled && settings.noise().is_some();
        let scored = scored && !settings.method.has_batches();
        let score_share = if scored { settings.score_share } else { 0.0 };
        let plan = plan(settings, sampler.clone(), cells, score_share);
        let form = settings.form(shape, latent);
        way.check(settings, &form, input.classes.len())?;
        let least = if channels == 1 { 2 } else { 6 };
        let bound = format!("at least {least} for images of {channels} channels");
        bounded("latent", latent, latent >= least, &bound)?;
        let mixing = Mixing::new(sizes.len(), latent, cells);
        mixing.check().map_err(in_run::refused)?;
        let all = samples(input.units, settings.most());
        let (particles, groups) = (settings.particles.unwrap_or(all), cells * sizes.len());
        let bound = format!("at least {groups}: one a class and cell");
        let fits = settings.particles.is_none_or(|given| given >= groups);
        bounded("particles", particles, fits, &bound)?;
        exportable(settings, &flags.export, &input, input.units)?;
        Ok(Self {
            space: None,
            form,
            public,
            settings: settings.clone(),
            device: chosen.device.clone(),
            releaser: releaser(plan, settings.insecure_noise_seed)?,
            score: flags.score.clone(),
            score_share,
            latents: Encoded::new(0, 0),
            making: None,
            distance: 0.0,
            steps: settings.steps(input.images.len()),
            sizes,
            sampler,
            cells,
            input,
            rng: stream(settings.seed, 6),
            batches: stream(settings.seed, 4),
        })
    }

    fn data(&mut self) -> DataSummary {
        DataSummary {
            name: self.input.used[0].what.clone(),
            private: self.input.units,
            test: self.input.test.as_ref().map_or(0, |test| test.len()),
            used: self.input.used.clone(),
        }
    }

    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.releaser.as_mut()
    }

    fn wording(&self) -> Wording {
        let unit = |most: usize| format!("all images of one unit, {most} of which count at most");
        Wording {
            unit: self.settings.most_per_unit.map(unit),
            releases: match self.within_classes() {
                true => "all that is read of the private images",
                false => "all that is read of the private images, of their labels and of how many each class has",
            }
            .into(),
            public: self.input.public.clone(),
            without_noise: "Not private: --no-privacy adds no noise.".into(),
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let (name, classes) = (name_of(self.settings.method), self.sizes.len());
        let says = (self.settings.method.way().says)(self.cells);
        let d = self.form.latent;
        Ok(vec![
            format!("public    {}", self.input.public),
            format!("          {}", self.knowledge()),
            format!("copy      {name} of {classes} classes in {d} dimensions: {says}"),
        ])
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        let way = self.settings.method.way();
        if way.has_latents {
            self.space = Some(space::trained(&self.form, &self.public, session)?);
        }
        self.same_images(session)?;
        self.making = Some((way.start)(self, session)?);
        Ok(())
    }

    fn fingerprint(&mut self) -> Result<Fingerprint, Failure> {
        if !self.settings.method.way().keeps_steps {
            // There is no checkpoint: what was released is kept.
            return Ok(Fingerprint {
                records: self.input.used[0].sha256.clone(),
                encoded: None,
            });
        }
        let encoded = match &self.space {
            Some(space) => {
                let sums = self.latents.whole().unwrap_or_default().iter();
                let sums = sums.map(|rows| hex(&floats_to_bytes(rows)));
                Some((space.weights(), sums.collect()))
            }
            None => None,
        };
        Ok(Fingerprint {
            records: self.input.images.sha256().or_failed()?,
            encoded,
        })
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        match self.settings.method.way().keeps_steps {
            true => Some(self),
            false => None,
        }
    }

    fn steps(&mut self) -> u64 {
        self.steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let none = || Failure::failed("nothing was released yet");
        // Out of the way of the rest of the run for this step.
        let mut making = self.making.take().ok_or_else(none)?;
        let distance = making.step(self, session);
        self.making = Some(making);
        self.distance = distance?;
        Ok(())
    }

    fn evaluate(&mut self, _: &Session) -> Result<Evaluation, Failure> {
        Ok(Evaluation {
            scores: json!({"sliced_w2_squared_to_release": self.distance}),
            message: format!("distance {:.5}", self.distance),
            accounted: self.settings.method.has_batches(),
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

impl RunState for Synth {
    fn files(&mut self, _: &Ledger) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let making = self.making.as_ref();
        let mut files = making.map_or(Ok(BTreeMap::new()), |making| making.files())?;
        let random = [&self.rng, &self.batches].map(RngState::from_rng);
        let state = serde_json::to_vec(&random).or_failed()?;
        files.insert(STATE.into(), state);
        Ok(files)
    }

    fn restore(&mut self, checkpoint: &RestoredCheckpoint, _: &Ledger) -> Result<(), Failure> {
        if let Some(making) = &mut self.making {
            making.restore(checkpoint, &self.device)?;
        }
        let [rng, batches]: [RngState; 2] = checkpoint.json(STATE)?;
        self.rng = checkpoint.rng(&rng)?;
        self.batches = checkpoint.rng(&batches)?;
        Ok(())
    }
}
