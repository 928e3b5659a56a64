//! Private labelled images as a user names them, with what is public of them, and the public ones that a result is judged by.

use std::path::Path;

use data::split::Use;
use data::{
    Arrays, Asked, Classes, DataError, DatasetKind, Form, Found, Glyphs, MAX_CLASSES, Records,
    Shapes, Skipped, Units,
};
use lab::prelude::*;
use model::latent::ImageShape;
use rand::Rng;
use regex::Regex;

use crate::apart;
use crate::records::{self, SHAPES, of_path};

/// The name of the data set of colour photographs.
pub(crate) const CIFAR10: &str = "cifar10";
/// Synthetic images that the program is tried with.
const SHAPE_COUNT: usize = 20_000;
const SHAPE_TESTS: usize = 2_000;
/// Their classes, by their process.
const PROCESSES: [&str; 4] = ["strokes", "silhouettes", "leaves", "spectra"];

/// What a user says of private images, all of it public.
pub(crate) struct Naming<'a> {
    /// A path, or a data set by its name.
    pub input: &'a str,
    pub side: Option<usize>,
    pub channels: Option<usize>,
    pub classes: Option<&'a str>,
    pub levels: Option<&'a str>,
    pub unit: Option<&'a str>,
    pub unit_from_name: Option<&'a str>,
    pub most_per_unit: Option<usize>,
    /// Public images that the result is judged by.
    pub test: Option<&'a Path>,
}

/// What a run reads.
pub(crate) struct Input {
    /// Private images; of each unit no more than count.
    pub images: Records,
    /// How many neighbours there are: units, or images.
    pub units: usize,
    /// The names of the classes; none if images have none.
    pub classes: Vec<String>,
    pub form: Form,
    /// Of an archive of NumPy, how it holds them.
    pub arrays: Arrays,
    /// What lies among the images and is none.
    pub passed: Vec<&'static str>,
    /// Public images that the result is judged by.
    pub test: Option<Records>,
    /// The half of a data set that `--public half` makes public.
    pub half: Option<Records>,
    /// The data sets, noted with what of each is public.
    pub used: Vec<Used>,
    /// What is public, in words.
    pub public: String,
}

/// Whether this is a data set by name, and no path.
pub(crate) fn names_data_set(name: &str) -> bool {
    [SHAPES, CIFAR10].contains(&name) || name.parse::<DatasetKind>().is_ok()
}

impl Naming<'_> {
    /// Reads what `--input` names.
    ///
    /// - `records`: how many of glyphs are used, if fewer than all: others are not drawn.
    pub(crate) fn read(
        &self,
        records: Option<usize>,
        data_dir: Option<&Path>,
    ) -> Result<Input, Failure> {
        let name = self.input;
        for (flag, given) in [
            ("side", self.side.is_some()),
            ("channels", self.channels.is_some()),
            ("classes", self.classes.is_some()),
            ("levels", self.levels.is_some()),
            ("test", self.test.is_some()),
            (
                "most-per-unit",
                self.unit.is_some() || self.unit_from_name.is_some(),
            ),
        ] {
            let bound = "left out for a data set by its name";
            bounded(flag, name, !given || !names_data_set(name), bound)?;
        }
        match (name, name.parse()) {
            (SHAPES, _) => shapes(),
            (CIFAR10, _) => cifar10(data_dir),
            (_, Ok(kind)) => named(kind, records, data_dir),
            (path, Err(_)) => own(self, Path::new(path)),
        }
    }

    /// What is public of the images before they are read.
    pub(crate) fn asked(&self) -> Result<Asked, Failure> {
        let classes = match self.classes {
            None => Classes::Folders,
            Some(text) => match text.parse() {
                Ok(count) => Classes::Counted(count),
                Err(_) => Classes::Named(text.split(',').map(|name| name.trim().into()).collect()),
            },
        };
        classes.listed().map_err(|e| {
            let text = self.classes.unwrap_or_default();
            Failure::input(
                format!(
                    "--classes {}: {e}",
                    text.chars().take(60).collect::<String>()
                ),
                format!("say how many there are, at most {MAX_CLASSES}, or name each once"),
            )
        })?;
        Ok(Asked {
            side: self.side,
            channels: self.channels,
            classes,
            levels: levels(self.levels)?,
            ..Asked::default()
        })
    }
}

impl Input {
    /// Reads the public images that `--test` names.
    pub(crate) fn tested(&mut self, naming: &Naming<'_>) -> Result<(), Failure> {
        let Some(test) = naming.test else {
            return Ok(());
        };
        apart::check("test", test, Path::new(naming.input))?;
        let (shape, classes) = (self.images.shape(), self.images.classes());
        let pictures = read("test", test, &naming.asked()?)?;
        passed_over("test", &pictures.skipped, false)?;
        let fits = pictures.records.shape() == shape && pictures.records.classes() == classes;
        let same = self.classes.is_empty() || pictures.classes == self.classes;
        let bound =
            format!("images of the same size and classes as --input, {shape:?} and {classes}");
        bounded("test", test.display(), fits && same, &bound)?;
        let sha256 = pictures.records.sha256().or_failed()?;
        self.note("test", of_path("pictures", test, &sha256, Use::AllPublic))?;
        self.public += ", and the test images that --test names";
        self.test = Some(pictures.records);
        Ok(())
    }

    /// Keeps `records` of the images, if a number is given: the first ones of a file of arrays; of a folder, whose files are a set, a
    /// sample by `key`.
    pub(crate) fn cut(
        &mut self,
        naming: &Naming<'_>,
        records: Option<usize>,
        key: impl FnOnce() -> Result<[u8; 32], Failure>,
    ) -> Result<(), Failure> {
        if let Some(records) = records {
            let alone = naming.most_per_unit.is_none();
            bounded("records", records, alone, "left out where there are units")?;
            let all = self.images.len();
            let bound = format!("at most {all}, the images that there are");
            bounded("records", records, records <= all, &bound)?;
            match self.is_files() {
                true => self.images = self.images.sampled(records, &key()?).or_failed()?,
                false => self.images.truncate(records).or_failed()?,
            }
        }
        if naming.most_per_unit.is_none() {
            self.units = self.images.len();
        }
        Ok(())
    }

    /// Whether the images are files of a folder or an archive, which have no order of their own.
    pub(crate) fn is_files(&self) -> bool {
        matches!(self.form, Form::Folders | Form::Flat)
    }

    /// Channels and side of an image.
    pub(crate) fn shape(&self) -> ImageShape {
        let [channels, side, _] = self.images.shape();
        ImageShape { channels, side }
    }

    /// Notes public images, which must not be the private ones.
    pub(crate) fn note(&mut self, flag: &str, public: Used) -> Result<(), Failure> {
        let bound = "other images than the private ones";
        records::apart(flag, &public.what, &public.sha256, &self.used, bound)?;
        self.used.push(public);
        Ok(())
    }
}

/// The values of black and of white.
pub(crate) fn levels(text: Option<&str>) -> Result<Option<[i32; 2]>, Failure> {
    let Some(text) = text else {
        return Ok(None);
    };
    let levels = match text.split_once("..") {
        Some((black, white)) => black.parse().ok().zip(white.parse().ok()),
        None => text
            .parse()
            .ok()
            .map(|count: i32| (0, count.saturating_sub(1))),
    };
    const MOST: i32 = 1 << 24;
    let within = |&(black, white): &(i32, i32)| {
        black < white
            && [black, white]
                .iter()
                .all(|end| (-MOST..=MOST).contains(end))
    };
    let bound = "how many there are, such as 4096, or the values of black and white, such as 0..1";
    bounded("levels", text, levels.as_ref().is_some_and(within), bound)?;
    Ok(levels.map(|(black, white)| [black, white]))
}

/// What a sample of files is chosen by: a secret, or what follows from a seed.
pub(crate) fn sampling_key(seed: Option<u64>) -> Result<[u8; 32], Failure> {
    let mut key = [0; 32];
    noise_source(seed)?.rng().fill_bytes(&mut key);
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
pub(crate) fn named(
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

pub(crate) fn cifar10(data_dir: Option<&Path>) -> Result<Input, Failure> {
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

fn own(naming: &Naming<'_>, path: &Path) -> Result<Input, Failure> {
    let mut pictures = read("input", path, &naming.asked()?)?;
    let sha256 = pictures.records.sha256().or_failed()?;
    let units = units(naming, &pictures)?;
    let passed = passed_over("input", &pictures.skipped, units.is_some())?;
    if let Some((units, most)) = units.as_ref().zip(naming.most_per_unit) {
        pictures.records = units.bounded(&pictures.records, most).or_failed()?;
    }
    let [channels, side, _] = pictures.records.shape();
    let colour = if channels == 1 { "grey" } else { "colour" };
    let classes = match (pictures.form, pictures.classes.len()) {
        (_, 0) => "that they have no classes".to_string(),
        (_, count) if naming.classes.is_none() => {
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
fn units(naming: &Naming<'_>, found: &Found) -> Result<Option<Units>, Failure> {
    let refuse = |e: DataError| private::refused(&e, "give each image a unit");
    if let Some(text) = naming.unit {
        let (file, column) = match text.rsplit_once(':') {
            Some((file, column)) if !Path::new(text).exists() => (file, Some(column)),
            _ => (text, None),
        };
        let units = Units::of_csv(found, Path::new(file), column);
        return units.map(Some).map_err(refuse);
    }
    let Some(pattern) = naming.unit_from_name else {
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
fn read(flag: &str, path: &Path, asked: &Asked) -> Result<Found, Failure> {
    watched(|done| data::read(path, asked, done)).map_err(|e| {
        private::refused_of(
            flag,
            &e,
            "--side, --channels, --classes and --levels say what is public of images; see --help",
        )
    })
}

/// The images of a folder or an archive, whatever their classes, as public ones that --public names.
pub(crate) fn in_folder(
    path: &Path,
    shape: ImageShape,
    naming: &Naming<'_>,
) -> Result<(Records, Used), Failure> {
    let asked = Asked {
        side: Some(shape.side),
        channels: Some(shape.channels),
        levels: levels(naming.levels)?,
        classes: match data::is_array(path) {
            true => Classes::Counted(MAX_CLASSES),
            false => Classes::Folders,
        },
        ..Asked::default()
    };
    let found = read("public", path, &asked)?;
    passed_over("public", &found.skipped, false)?;
    let images = found.records;
    let sha256 = images.sha256().or_failed()?;
    let used = of_path("pictures", path, &sha256, Use::AllPublic);
    Ok((images.whole().or_failed()?, used))
}

/// Says what was passed over, and gives what is public of it: its kinds. With units nothing is, because what else lies in a
/// unit's folder comes and goes with the unit. How much there is, and what it is called, is said to the owner alone.
fn passed_over(
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
