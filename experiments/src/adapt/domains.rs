//! The records of both domains.

use std::path::Path;
use std::str::FromStr;

use data::split::{Records, Use, is_test_row};
use data::{DataError, DatasetKind, LabelledFeatures, LabelledImages};
use lab::diagnostic::Failure;
use lab::session::{Used, bounded, name_of_path};
use rayon::prelude::*;

use super::images::Warp;
use super::settings::{Images, Shared, is_file};
use crate::records::load_private;

/// Records of one domain.
#[derive(Clone, PartialEq)]
pub(crate) struct Domain {
    /// `[n, width]` in rows.
    pub rows: Vec<f32>,
    /// Features of a record.
    pub width: usize,
    /// The class of each record. Those of private records are not read by any step.
    pub labels: Vec<usize>,
}

impl Domain {
    /// The number of records.
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Some records, one after the other.
    pub(crate) fn gather(&self, indices: &[usize]) -> Vec<f32> {
        let mut rows = Vec::with_capacity(indices.len() * self.width);
        for &index in indices {
            rows.extend_from_slice(self.row(index));
        }
        rows
    }

    /// One record.
    pub(crate) fn row(&self, index: usize) -> &[f32] {
        &self.rows[index * self.width..(index + 1) * self.width]
    }

    /// The first records alone.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.labels.truncate(count);
        self.rows.truncate(self.len() * self.width);
    }
}

/// Both domains, with test records of each.
pub(crate) struct Domains {
    /// Public, with labels.
    pub source: Domain,
    /// Public.
    pub source_test: Domain,
    /// Private.
    pub target: Domain,
    /// Public. Their labels judge the run, and nothing else.
    pub target_test: Domain,
    /// Pixels along a side; none for features of files.
    pub side: Option<usize>,
    /// The number of classes.
    pub classes: usize,
    /// How both are used, the source first.
    pub used: Vec<Used>,
}

/// A domain as it was read: what may be trained on, what is kept for tests.
struct Read {
    train: Domain,
    test: Domain,
    side: Option<usize>,
    classes: usize,
    used: Vec<Used>,
}

impl Domains {
    /// Reads both domains, and of the target so many `records`.
    pub(crate) fn load(
        settings: &Shared,
        records: Option<usize>,
        data_dir: Option<&Path>,
    ) -> Result<Self, Failure> {
        let read = |name: &str, of, tests| match is_file(name) {
            true => features(settings, name, of, tests),
            false => images(settings, name, of, data_dir),
        };
        let source = read(&settings.source, Use::AllPublic, None)?;
        let tests = settings.test.as_deref();
        let target = read(&settings.target, Use::AllPrivate, tests)?;
        let used = [source.used, target.used].concat();
        let test = tests.map(|name| format!("--test {name}"));
        let source_flag = Some(format!("--source {}", settings.source));
        let target_flag = Some(format!("--target {}", settings.target));
        let flags: Vec<String> = [source_flag, test, target_flag]
            .into_iter()
            .flatten()
            .collect();
        for (place, (flag, one)) in flags.iter().zip(&used).enumerate() {
            let mut before = flags.iter().zip(&used[..place]);
            if let Some((other, _)) = before.find(|(_, other)| other.sha256 == one.sha256) {
                return Err(Failure::input(
                    format!("{flag}: the same records as {other}"),
                    "private records and public ones must be different records",
                ));
            }
        }
        let cut = |mut domain: Domain, flag, count: Option<usize>| {
            let (most, count) = (domain.len(), count.unwrap_or(domain.len()));
            let bound = format!("between 1 and the {most} records that there are");
            bounded(flag, count, (1..=most).contains(&count), &bound)?;
            domain.truncate(count);
            Ok::<_, Failure>(domain)
        };
        Ok(Self {
            source: cut(source.train, "public-records", settings.public_records)?,
            source_test: source.test,
            target: cut(target.train, "records", records)?,
            target_test: target.test,
            side: source.side,
            classes: source.classes,
            used,
        })
    }
}

fn refused(error: DataError) -> Failure {
    let hint = "see --source, --target, --features, --classes and --data-dir";
    Failure::input(error.to_string(), hint)
}

fn images(
    settings: &Shared,
    name: &str,
    of: Use,
    data_dir: Option<&Path>,
) -> Result<Read, Failure> {
    let kind = DatasetKind::from_str(name).map_err(refused)?;
    let (data, mut used) = load_private(kind, settings.seed, None, data_dir)?;
    used.used = of;
    let side = data.train.width();
    let domain = |images: &LabelledImages| {
        let rows = images.pixels().par_chunks(side * side);
        let rows = rows.flat_map_iter(|image| {
            let grey: Vec<f32> = image.iter().map(|&v| f32::from(v) / 255.0).collect();
            match settings.images {
                Images::Raw => grey,
                Images::Upright => Warp::UPRIGHT.of(&grey, side),
            }
        });
        Domain {
            rows: rows.collect(),
            width: side * side,
            labels: images.labels().iter().map(|&label| label.into()).collect(),
        }
    };
    Ok(Read {
        train: domain(&data.train),
        test: domain(&data.test),
        side: Some(side),
        classes: data.train.classes(),
        used: vec![used],
    })
}

/// Records of a file, and its test records: those of another file, or one in five rows, by its number alone.
fn features(settings: &Shared, name: &str, of: Use, tests: Option<&str>) -> Result<Read, Failure> {
    let file = |name: &str| {
        let (path, width) = (Path::new(name), settings.features);
        LabelledFeatures::read(path, width, settings.classes).map_err(refused)
    };
    let used = |name: &str, records: &LabelledFeatures, of| {
        let sha256 = records.sha256().map_err(refused)?;
        let known = name_of_path("features", Path::new(name));
        Ok::<_, Failure>(Used::new(name, known, &sha256, of))
    };
    let all = file(name)?;
    let (train, test, used) = match tests {
        Some(path) => {
            let others = file(path)?;
            let both = vec![used(path, &others, Use::AllPublic)?, used(name, &all, of)?];
            (domain(&all, |_| true), domain(&others, |_| true), both)
        }
        None => {
            let of = match of {
                Use::AllPrivate => Use::TestRows,
                other => other,
            };
            let (train, test) = (|row| !is_test_row(row), is_test_row);
            let used = vec![used(name, &all, of)?];
            (domain(&all, train), domain(&all, test), used)
        }
    };
    for (side, what) in [(&train, "record to train on"), (&test, "test record")] {
        if side.len() == 0 {
            let rows = all.len();
            return Err(Failure::input(
                format!("{name}: {rows} rows have no {what}, at least 1 is needed"),
                "give more rows",
            ));
        }
    }
    Ok(Read {
        train,
        test,
        side: None,
        classes: all.classes(),
        used,
    })
}

fn domain(records: &LabelledFeatures, wanted: impl Fn(usize) -> bool) -> Domain {
    let chosen: Vec<usize> = (0..records.len()).filter(|&row| wanted(row)).collect();
    let rows = chosen.iter().filter_map(|&row| records.row(row));
    Domain {
        rows: rows.flatten().copied().collect(),
        width: records.width(),
        labels: chosen.iter().map(|&row| records.labels()[row]).collect(),
    }
}
