//! The private images, and the public ones that the copy is judged by.

use std::path::Path;

use data::export::Format;
use data::split::Use;
use data::{
    Arrays, Asked, DataError, DatasetKind, Form, Found, Glyphs, Records, Shapes, Skipped, Split,
    SplitPlan, Units,
};
use lab::prelude::*;
use model::latent::ImageShape;
use private_synth::images::PrivateImages;
use rand::Rng;
use regex::Regex;

use super::plan::{exportable, possible, within_classes};
use super::settings::{HALF, Settings, names_data_set};
use crate::apart;
use crate::export::ExportRequest;
use crate::records::{self, SHAPES, of_path};

/// The name of the data set of colour photographs.
pub(super) const CIFAR10: &str = "cifar10";
/// Synthetic images that the program is tried with.
const SHAPE_COUNT: usize = 20_000;
const SHAPE_TESTS: usize = 2_000;
/// Their classes, by their process.
const PROCESSES: [&str; 4] = ["strokes", "silhouettes", "leaves", "spectra"];

/// What a run reads.
pub(super) struct Input {
    /// Private images; of each unit no more than count.
    pub images: Records,
    /// How many neighbours there are: units, or images.
    pub units: usize,
    /// The names of the classes; none if images have none.
    pub classes: Vec<String>,
    form: Form,
    /// Of an archive of NumPy, how it holds them.
    pub arrays: Arrays,
    /// What lies among the images and is none.
    pub passed: Vec<&'static str>,
    /// Public images that the copy is judged by.
    pub test: Option<Records>,
    /// The half of a data set that `--public half` makes public.
    pub half: Option<Records>,
    /// The data sets, noted with what of each is public.
    pub used: Vec<Used>,
    /// What is public, in words.
    pub public: String,
}

impl Input {
    /// What `--input` names.
    ///
    /// - `export`: what is asked for of the copy, refused before a split is written.
    /// - `cache`: the folder that keeps which half of a data set is public.
    pub(super) fn load(
        settings: &Settings,
        export: &ExportRequest,
        data_dir: Option<&Path>,
        cache: &Path,
    ) -> Result<Self, Failure> {
        let name = settings.input.as_str();
        let kind = name.parse::<DatasetKind>();
        let units = settings.unit.is_some() || settings.unit_from_name.is_some();
        for (flag, given) in [
            ("side", settings.side.is_some()),
            ("channels", settings.channels.is_some()),
            ("classes", settings.classes.is_some()),
            ("levels", settings.levels.is_some()),
            ("test", settings.test.is_some()),
            ("most-per-unit", units),
        ] {
            let bound = "left out for a data set by its name";
            bounded(flag, name, !given || !names_data_set(name), bound)?;
        }
        let half = settings.public == HALF;
        let bound =
            "given with --input mnist, fashion-mnist, usps or glyphs alone: nothing else is split";
        bounded("public", HALF, !half || kind.is_ok(), bound)?;
        let mut input = match (name, kind) {
            (SHAPES, _) => shapes()?,
            (CIFAR10, _) => cifar10(data_dir)?,
            (_, Ok(kind)) if half => named(kind, None, data_dir)?.split(settings, export, cache)?,
            (_, Ok(kind)) => named(kind, settings.records, data_dir)?,
            (path, Err(_)) => own(settings, Path::new(path))?,
        };
        if let Some(test) = &settings.test {
            apart::check("test", test, Path::new(name))?;
            input.test = Some(input.tested(settings, test)?);
        }
        if let Some(records) = settings.records {
            let alone = settings.most_per_unit.is_none();
            bounded("records", records, alone, "left out where there are units")?;
            let all = input.images.len();
            let bound = format!("at most {all}, the images that there are");
            bounded("records", records, records <= all, &bound)?;
            if matches!(input.form, Form::Folders | Form::Flat) {
                // Files are a set: none is chosen by its place in the order of paths, which others can move. A secret sample
                // has class sizes of its own, and is another one when the run resumes.
                let way = settings.method.way();
                let holds =
                    !within_classes(settings, !input.classes.is_empty()) && !way.keeps_steps;
                let method = name_of(settings.method);
                let bound = format!(
                    "left out with --method {method}, which takes all files of a folder or an archive"
                );
                bounded("records", records, holds, &bound)?;
                let key = sampling_key(settings)?;
                input.images = input.images.sampled(records, &key).or_failed()?;
            } else {
                input.images.truncate(records).or_failed()?;
            }
        }
        if settings.most_per_unit.is_none() {
            input.units = input.images.len();
        }
        Ok(input)
    }

    /// The same with one half of it public.
    fn split(
        mut self,
        settings: &Settings,
        export: &ExportRequest,
        cache: &Path,
    ) -> Result<Self, Failure> {
        // Before the split is written: a run that is refused leaves none.
        let records = settings.records.unwrap_or(self.images.len() / 2);
        possible(settings, records)?;
        exportable(settings, export, &self, records)?;
        let (plan, folder, used) = (
            SplitPlan::default(),
            splits_folder(cache),
            &mut self.used[0],
        );
        let split = Split::load_or_create(&folder, &used.name, &self.images, &plan);
        let split = split.map_err(|e| private::refused(&e, "see --cache-dir"))?;
        (used.sha256, used.used) = (split.sha256().to_string(), Use::Split);
        let half = |places| self.images.select(places).or_failed();
        self.half = Some(half(split.public())?);
        self.images = half(split.private())?;
        self.public += ", and the other half of its training images";
        Ok(self)
    }

    /// Channels and side of an image.
    pub(super) fn shape(&self) -> ImageShape {
        let [channels, side, _] = self.images.shape();
        ImageShape { channels, side }
    }

    /// The private images, and what is public of them.
    pub(super) fn private(&self, settings: &Settings) -> PrivateImages<'_> {
        PrivateImages {
            images: &self.images,
            units: self.units,
            most: settings.most(),
            signal: settings.signal(self.units),
        }
    }

    /// The public images that `--test` names.
    fn tested(&mut self, settings: &Settings, test: &Path) -> Result<Records, Failure> {
        let (shape, classes) = (self.images.shape(), self.images.classes());
        let pictures = read("test", test, &settings.public()?)?;
        passed_over("test", &pictures.skipped, false)?;
        let fits = pictures.records.shape() == shape && pictures.records.classes() == classes;
        let same = self.classes.is_empty() || pictures.classes == self.classes;
        let bound =
            format!("images of the same size and classes as --input, {shape:?} and {classes}");
        bounded("test", test.display(), fits && same, &bound)?;
        let sha256 = pictures.records.sha256().or_failed()?;
        self.note("test", of_path("pictures", test, &sha256, Use::AllPublic))?;
        self.public += ", and the test images that --test names";
        Ok(pictures.records)
    }

    /// Notes public images, which must not be the private ones.
    pub(super) fn note(&mut self, flag: &str, public: Used) -> Result<(), Failure> {
        let bound = "other images than the private ones";
        records::apart(flag, &public.what, &public.sha256, &self.used, bound)?;
        self.used.push(public);
        Ok(())
    }

    /// The forms of the copy: those of the images.
    pub(super) fn formats(&self) -> Vec<Format> {
        match self.form {
            Form::Folders | Form::Flat => vec![Format::Png],
            Form::Npz | Form::Rows => vec![Format::Npz],
            // Idx files hold grey images.
            Form::Idx if self.images.shape()[0] > 1 => vec![Format::Npz],
            Form::Idx => vec![Format::Idx],
        }
    }
}

/// What a sample of files is chosen by: a secret, unless noise is known or there is none.
fn sampling_key(settings: &Settings) -> Result<[u8; 32], Failure> {
    let public = settings.noise().is_none().then_some(settings.seed);
    let mut key = [0; 32];
    let mut source = noise_source(settings.insecure_noise_seed.or(public))?;
    source.rng().fill_bytes(&mut key);
    Ok(key)
}

/// A data set by its name, which makes this public.
fn known(images: Records, classes: Vec<String>, form: Form, test: Records, used: Used) -> Input {
    Input {
        units: 0,
        images,
        classes,
        form,
        arrays: Arrays::default(),
        passed: Vec::new(),
        test: Some(test),
        half: None,
        used: vec![used],
        public: "the size and the classes of the data set, and its test images".into(),
    }
}

/// A data set that [`DatasetKind`] has.
///
/// - `records`: how many of glyphs are used, if fewer than all: others are not drawn.
pub(super) fn named(
    kind: DatasetKind,
    records: Option<usize>,
    data_dir: Option<&Path>,
) -> Result<Input, Failure> {
    let records =
        records.filter(|records| kind == DatasetKind::Glyphs && *records <= Glyphs::DEFAULT_TRAIN);
    let (data, used) = records::load_private(kind, 0, records, data_dir)?;
    let classes = (0..data.train.classes()).map(|class| class.to_string());
    let (images, classes) = (data.train, classes.collect());
    Ok(known(images, classes, Form::Idx, data.test, used))
}

pub(super) fn cifar10(data_dir: Option<&Path>) -> Result<Input, Failure> {
    let options = records::options(data_dir);
    let [train, test] = watched(|done| data::cifar10(&options, done))
        .map_err(|e| private::refused(&e, "check --data-dir"))?;
    let sha256 = train.records.sha256().or_failed()?;
    let used = Used::new(CIFAR10, CIFAR10, &sha256, Use::AllPrivate);
    Ok(known(
        train.records,
        train.classes,
        Form::Folders,
        test.records,
        used,
    ))
}

/// Colour images that random processes draw, as if they were private: a first try.
fn shapes() -> Result<Input, Failure> {
    const SIDE: usize = 32;
    let draw = |seed, count: usize| {
        let shapes = Shapes::colour(SIDE, seed);
        let labels = (0..count).map(|index| Shapes::process(index as u64) as u8);
        let pixels = shapes.draw(0..count as u64);
        Records::planes(pixels, labels.collect(), [3, SIDE, SIDE], PROCESSES.len()).or_failed()
    };
    let images = draw(1, SHAPE_COUNT)?;
    let sha256 = images.sha256().or_failed()?;
    let used = Used::new(SHAPES, SHAPES, &sha256, Use::AllPrivate);
    let (classes, test) = (PROCESSES.map(String::from).to_vec(), draw(2, SHAPE_TESTS)?);
    Ok(known(images, classes, Form::Folders, test, used))
}

fn own(settings: &Settings, path: &Path) -> Result<Input, Failure> {
    if settings.names_public() && !names_data_set(&settings.public) {
        apart::check("public", Path::new(&settings.public), path)?;
    }
    let mut pictures = read("input", path, &settings.public()?)?;
    let sha256 = pictures.records.sha256().or_failed()?;
    let units = units(settings, &pictures)?;
    let passed = passed_over("input", &pictures.skipped, units.is_some())?;
    if let Some((units, most)) = units.as_ref().zip(settings.most_per_unit) {
        pictures.records = units.bounded(&pictures.records, most).or_failed()?;
    }
    let [channels, side, _] = pictures.records.shape();
    let colour = if channels == 1 { "grey" } else { "colour" };
    let classes = match (pictures.form, pictures.classes.len()) {
        (_, 0) => "that they have no classes".to_string(),
        (_, count) if settings.classes.is_none() => {
            format!("the names of the {count} folders, which are the classes")
        }
        (_, count) => format!("the {count} classes, as --classes has them"),
    };
    let what = if units.is_some() { "units" } else { "images" };
    Ok(Input {
        images: pictures.records,
        units: units.map_or(0, |units| units.count()),
        classes: pictures.classes,
        form: pictures.form,
        arrays: pictures.arrays,
        passed,
        test: None,
        half: None,
        used: vec![of_path("pictures", path, &sha256, Use::AllPrivate)],
        public: format!(
            "the number of {what}, the size of images ({side} pixels, {colour}), and {classes}"
        ),
    })
}

/// The unit of each image, if there are units.
fn units(settings: &Settings, found: &Found) -> Result<Option<Units>, Failure> {
    let refuse = |e: DataError| private::refused(&e, "give each image a unit");
    if let Some(text) = &settings.unit {
        let (file, column) = match text.rsplit_once(':') {
            Some((file, column)) if !Path::new(text).exists() => (file, Some(column)),
            _ => (&text[..], None),
        };
        let units = Units::of_csv(found, Path::new(file), column);
        return units.map(Some).map_err(refuse);
    }
    let Some(pattern) = &settings.unit_from_name else {
        return Ok(None);
    };
    let pattern = Regex::new(pattern).map_err(|e| {
        Failure::input(
            format!("--unit-from-name {pattern}: {e}"),
            "give a regular expression",
        )
    })?;
    let unit = |name: &str| {
        let found = pattern.captures(name)?;
        // A group that takes no part names no unit.
        let group = usize::from(pattern.captures_len() > 1);
        found.get(group).map(|part| part.as_str().into())
    };
    Units::of_names(found, unit).map(Some).map_err(refuse)
}

/// Images that a flag names.
pub(super) fn read(flag: &str, path: &Path, asked: &Asked) -> Result<Found, Failure> {
    watched(|done| data::read(path, asked, done)).map_err(|e| {
        private::refused_of(
            flag,
            &e,
            "--side, --channels, --classes and --levels say what is public of images; see --help",
        )
    })
}

/// Says what was passed over, and gives what is public of it: its kinds. With units nothing is, because what else lies in a
/// unit's folder comes and goes with the unit. How much there is, and what it is called, is said to the owner alone.
pub(super) fn passed_over(
    flag: &str,
    skipped: &[Skipped],
    of_units: bool,
) -> Result<Vec<&'static str>, Failure> {
    let whole = |passed: &Skipped| {
        let Skipped {
            reason,
            count,
            name,
        } = passed;
        format!("{reason}: {count}, the first: {name}")
    };
    if of_units {
        let what = format!("--{flag}: what is no image is passed over");
        private::count(&what, || {
            let all: Vec<String> = skipped.iter().map(whole).collect();
            Ok(format!("{what}: {}", all.join("; ")))
        })?;
        return Ok(Vec::new());
    }
    for passed in skipped {
        let what = format!("--{flag}: passed over");
        let often = || Ok(format!("{what}: {}", whole(passed)));
        private::count(&format!("{what}: {}", passed.reason), often)?;
    }
    Ok(skipped.iter().map(|passed| passed.reason).collect())
}

/// Reads images, and shows progress when that takes long.
fn watched<T>(
    read: impl FnOnce(&(dyn Fn(usize) + Sync)) -> Result<T, DataError>,
) -> Result<T, DataError> {
    let progress = Progress::reading();
    let result = read(&|_| progress.step());
    progress.finish();
    result
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use lab::session::{Arguments, Settings as _};

    use super::*;

    /// A sample is secret wherever there is noise that nobody knows, however the budget is said.
    #[test]
    fn a_sample_is_secret_if_noise_is() {
        let repeats = |flags: &str| {
            let line = format!("synth --input scans --seed 7 {flags}");
            let settings = Settings::resolve(&Arguments::parse_from(line.split_whitespace()));
            let settings = settings.expect("settings");
            let [one, other] = [(); 2].map(|()| sampling_key(&settings).expect("a key"));
            one == other
        };
        for secret in ["", "--epsilon 2", "--noise-multiplier 4"] {
            assert!(!repeats(secret), "{secret}");
        }
        for known in ["--no-privacy", "--epsilon 2 --insecure-noise-seed 3"] {
            assert!(repeats(known), "{known}");
        }
    }
}
