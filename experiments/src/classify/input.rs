//! The private records of a classifier: images, or rows of numbers.

use std::path::Path;

use data::split::Use;
use data::{Asked, Form, Records, Shapes, Units};
use lab::prelude::*;
use private_classifiers::Features;

use super::model::Kind;
use super::settings::{Loss, Settings};
use super::values::Range;
use crate::apart;
use crate::images::{CIFAR10, Input, cifar10, in_folder, named, names_data_set};
use crate::records::{NO_IMAGES, SHAPES, of_path};

/// Public records for each feature, at least: a covariance needs more records than features.
const PUBLIC_PER_FEATURE: usize = 3;
/// Rows that are read at once.
const BLOCK: usize = 5000;
/// The seed of shapes that decorrelate features.
const SHAPES_SEED: u64 = 5;

/// What `--input` names, and the public records that `--test` names.
pub(super) fn load(
    settings: &Settings,
    data_dir: Option<&Path>,
) -> Result<(Input, Option<Numbers>), Failure> {
    let naming = settings.naming();
    let (mut input, mut numbers) = match &settings.labels {
        Some(labels) => {
            let mut input = of_rows(settings, labels)?;
            let mut numbers = Numbers::read(settings, &input)?;
            bound_units(settings, &mut input, numbers.as_mut())?;
            (input, numbers)
        }
        None => {
            let mut input = naming.read(settings.records, data_dir)?;
            input.tested(&naming)?;
            (input, None)
        }
    };
    let told = input.classes.len() >= 2 || settings.range.is_some();
    let bound = "of at least 2 classes; a folder of classes, or --classes with an archive of arrays, says which there are";
    bounded("input", &settings.input, told, bound)?;
    // Files are a set, and a secret sample of them is another one when the run resumes.
    if let Some(records) = settings.records.filter(|_| input.is_files()) {
        let bound = "left out with a folder or an archive of files, all of which are learned from";
        bounded("records", records, false, bound)?;
    }
    let unasked = || Err(Failure::failed("no sample of files is asked for"));
    input.cut(&naming, settings.records, unasked)?;
    if let Some(numbers) = &mut numbers {
        numbers.own.truncate(input.images.len());
    }
    Ok((input, numbers))
}

/// The labels of a model of a number.
pub(super) struct Numbers {
    pub range: Range,
    pub loss: Loss,
    /// Those of the private rows. **Private.**
    pub own: Vec<f32>,
    /// Those of the test rows.
    pub test: Vec<f32>,
}

/// Rows of numbers with their labels.
fn of_rows(settings: &Settings, labels: &Path) -> Result<Input, Failure> {
    let path = Path::new(&settings.input);
    let found = rows("input", path, settings, labels)?;
    let sha256 = found.records.sha256().or_failed()?;
    let said = match settings.range()? {
        Some(range) => format!("that labels are from {range}"),
        None => format!("the {} classes, as --classes has them", found.classes.len()),
    };
    let mut input = Input {
        units: found.records.len(),
        arrays: found.arrays,
        form: Form::Rows,
        passed: Vec::new(),
        test: None,
        half: None,
        used: vec![of_path("rows", path, &sha256, Use::AllPrivate)],
        public: format!(
            "the number of rows, their length ({}), and {said}",
            found.records.image_size()
        ),
        images: found.records,
        classes: found.classes,
    };
    if let Some((test, labels)) = settings
        .test
        .as_deref()
        .zip(settings.test_labels.as_deref())
    {
        apart::check("test", test, path)?;
        let found = rows("test", test, settings, labels)?;
        let (width, expected) = (found.records.image_size(), input.images.image_size());
        let bound = format!("of rows of {expected} numbers, as --input has them, not {width}");
        bounded("test", test.display(), width == expected, &bound)?;
        let sha256 = found.records.sha256().or_failed()?;
        input.note("test", of_path("rows", test, &sha256, Use::AllPublic))?;
        input.public += ", and the test rows that --test names";
        input.test = Some(found.records);
    }
    Ok(input)
}

fn rows(
    flag: &str,
    path: &Path,
    settings: &Settings,
    labels: &Path,
) -> Result<data::Found, Failure> {
    let asked = match settings.range {
        None => Asked {
            labels: Some(labels.to_path_buf()),
            ..settings.naming().asked()?
        },
        // [`Numbers::read`] reads them.
        Some(_) => unread(),
    };
    data::read(path, &asked, &|_| {})
        .map_err(|e| private::refused_of(flag, &e, "give .npy files of rows and of whole labels"))
}

/// Rows without labels.
fn unread() -> Asked {
    Asked {
        classes: data::Classes::Unread,
        ..Asked::default()
    }
}

impl Numbers {
    /// Of a model of a number; none of one of classes.
    fn read(settings: &Settings, input: &Input) -> Result<Option<Self>, Failure> {
        let (Some(range), Some(labels)) = (settings.range()?, &settings.labels) else {
            return Ok(None);
        };
        let test = match (&settings.test_labels, &input.test) {
            (Some(path), Some(test)) => numbers("test-labels", path, test.len())?,
            _ => Vec::new(),
        };
        Ok(Some(Self {
            range,
            loss: settings.loss.unwrap_or(Loss::Squared),
            own: numbers("labels", labels, input.images.len())?,
            test,
        }))
    }
}

/// The labels in a file, one for each of `rows` rows.
fn numbers(flag: &str, path: &Path, rows: usize) -> Result<Vec<f32>, Failure> {
    let found = data::read(path, &unread(), &|_| {});
    let found = found.map_err(|e| private::refused_of(flag, &e, "give an .npy file of numbers"))?;
    // How many rows there are may be private.
    let fits = found.records.len() == rows && found.records.image_size() == 1;
    bounded(
        flag,
        path.display(),
        fits,
        "a number for each row, as many as there are rows",
    )?;
    found.records.values().or_failed()
}

/// Keeps at most `--most-per-unit` rows of each unit, if `--unit` names the units of rows.
fn bound_units(
    settings: &Settings,
    input: &mut Input,
    own: Option<&mut Numbers>,
) -> Result<(), Failure> {
    let Some((path, most)) = settings.unit.as_deref().zip(settings.most_per_unit) else {
        return Ok(());
    };
    let units = numbers("unit", Path::new(path), input.images.len())?;
    // Numbers of 32 bits hold no others.
    let whole = |unit: &f32| unit.fract() == 0.0 && unit.abs() < (1 << 24) as f32;
    let bound = "an .npy file of whole numbers, each below 16777216";
    bounded("unit", path, units.iter().all(whole), bound)?;
    let names: Vec<String> = units
        .iter()
        .map(|&unit| (unit as i64).to_string())
        .collect();
    let units = Units::of_texts(names.iter().map(String::as_str));
    let mut sums = Vec::with_capacity(units.records());
    for block in input.images.blocks(BLOCK) {
        let values = block.or_failed()?.values().or_failed()?;
        let rows = values.chunks_exact(input.images.image_size());
        sums.extend(rows.map(|row| Units::sum(&floats_to_bytes(row))));
    }
    let kept = units.kept(most, &sums).or_failed()?;
    input.images = input.images.select(&kept).or_failed()?;
    input.units = units.count();
    input.public = input
        .public
        .replacen("the number of rows", "the number of units", 1);
    if let Some(own) = own {
        own.own = kept.iter().map(|&place| own.own[place]).collect();
    }
    Ok(())
}

/// What the head sees of a record.
pub(super) fn kind(settings: &Settings, input: &Input) -> Kind {
    let [channels, side, _] = input.images.shape();
    match settings.labels {
        Some(_) => Kind::Embedding {
            size: input.images.image_size(),
        },
        None => Kind::Scattering {
            channels,
            side,
            order: settings.order,
            levels: settings.levels.clone(),
        },
    }
}

/// The features before the head, decorrelated by public records; and what taught that, in words.
pub(super) fn features(
    settings: &Settings,
    input: &mut Input,
    data_dir: Option<&Path>,
) -> Result<(Features, String), Failure> {
    let public = settings.public.as_str();
    let features = kind(settings, input).features()?;
    let images = settings.labels.is_none();
    if public == NO_IMAGES || !images && public == SHAPES {
        let knowledge = "Features are as they are: nothing was learned from any public record.";
        return Ok((features, knowledge.into()));
    }
    let shape = input.shape();
    let wanted = PUBLIC_PER_FEATURE * features.width();
    let (records, words) = if public == SHAPES {
        let shapes = match shape.channels {
            1 => Shapes::grey(shape.side, SHAPES_SEED),
            _ => Shapes::colour(shape.side, SHAPES_SEED),
        };
        let bytes = shapes.draw(0..wanted as u64);
        let values = bytes.iter().map(|&byte| f32::from(byte) / 255.0).collect();
        let words = format!("{wanted} images that the program draws by random processes");
        (values, words)
    } else {
        let path = Path::new(public);
        let bound = "other records than --input";
        bounded("public", public, public != settings.input, bound)?;
        let (records, used): (Records, Used) = if names_data_set(public) {
            let known = match (public, public.parse()) {
                (CIFAR10, _) => cifar10(data_dir)?,
                (_, Ok(kind)) => named(kind, None, data_dir)?,
                (name, Err(_)) => {
                    return Err(Failure::input(
                        format!("--public {name}: no data set has this name"),
                        "name a folder of images, or leave --public out",
                    ));
                }
            };
            let used = known.used.into_iter().next_back();
            let used = used.ok_or_else(|| Failure::failed("a data set without a note"))?;
            let used = Used {
                used: Use::AllPublic,
                ..used
            };
            (known.images, used)
        } else {
            apart::check("public", path, Path::new(&settings.input))?;
            match images {
                true => in_folder(path, shape, &settings.naming())?,
                false => public_rows(path)?,
            }
        };
        let (found, expected) = (records.shape(), input.images.shape());
        let bound = format!("records of shape {expected:?}, as --input has them, not {found:?}");
        bounded("public", public, found == expected, &bound)?;
        let count = records.len();
        let least = features.width();
        let bound = format!("at least {least} records, one for each feature, not {count}");
        bounded("public", public, count >= least, &bound)?;
        input.note("public", used)?;
        input.public += ", and the records that --public names";
        let mut records = records;
        records.truncate(count.min(wanted)).or_failed()?;
        let words = format!("the first {} records that --public names", records.len());
        (records.values().or_failed()?, words)
    };
    let features = features.whitened_by(&records).or_failed()?;
    Ok((features, format!("Features are decorrelated by {words}.")))
}

fn public_rows(path: &Path) -> Result<(Records, Used), Failure> {
    let found = data::read(path, &unread(), &|_| {});
    let found =
        found.map_err(|e| private::refused_of("public", &e, "give an .npy file of rows"))?;
    let sha256 = found.records.sha256().or_failed()?;
    Ok((
        found.records,
        of_path("rows", path, &sha256, Use::AllPublic),
    ))
}
