//! The records of both domains.

use std::path::Path;
use std::str::FromStr;

use data::split::{Records, Use, is_test_row};
use data::{DataError, DatasetKind, LabelledFeatures, LabelledImages};
use lab::diagnostic::Failure;
use lab::private;
use lab::session::{Used, bounded, name_of_path};
use rayon::prelude::*;

use super::images::Warp;
use super::settings::{Images, Shared, is_file};
use crate::judges::Judges;
use crate::records::load_private;

/// The share of the rows of a source that are its test records: all of them are public.
const OF_SOURCE: f64 = 0.2;

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
        let test = settings.test.as_deref().map(Path::new);
        let target = Path::new(&settings.target);
        let of_target = || Judges::of("target", target, test, settings.test_share);
        let source = match is_file(&settings.source) {
            true => features(
                settings,
                &settings.source,
                Use::AllPublic,
                Judges::Share(OF_SOURCE),
            ),
            false => images(settings, &settings.source, Use::AllPublic, data_dir),
        }?;
        let target = match is_file(&settings.target) {
            true => features(settings, &settings.target, Use::AllPrivate, of_target()?),
            false => images(settings, &settings.target, Use::AllPrivate, data_dir),
        }?;
        let used = [source.used, target.used].concat();
        let test = settings.test.as_ref().map(|name| format!("--test {name}"));
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
    private::refused(
        &error,
        "see --source, --target, --features, --classes and --data-dir",
    )
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

/// Records of a file, and its test records.
fn features(settings: &Shared, name: &str, of: Use, tests: Judges<'_>) -> Result<Read, Failure> {
    let file = |path: &Path| {
        let (width, classes) = (settings.features, settings.classes);
        LabelledFeatures::read(path, width, classes).map_err(refused)
    };
    let used = |path: &Path, records: &LabelledFeatures, of| {
        let sha256 = records.sha256().map_err(refused)?;
        let (what, known) = (path.display(), name_of_path("features", path));
        Ok::<_, Failure>(Used::new(what.to_string(), known, &sha256, of))
    };
    let path = Path::new(name);
    let all = file(path)?;
    let (train, test, used) = match tests {
        Judges::File(other) => {
            let others = file(other)?;
            let both = vec![used(other, &others, Use::AllPublic)?, used(path, &all, of)?];
            (domain(&all, |_| true), domain(&others, |_| true), both)
        }
        Judges::Share(share) => {
            let of = match of {
                Use::AllPrivate => Use::TestShare(share),
                other => other,
            };
            let test = |row| is_test_row(row, share);
            let train = |row| !test(row);
            let used = vec![used(path, &all, of)?];
            (domain(&all, train), domain(&all, test), used)
        }
    };
    for (side, what) in [(&train, "record to train on"), (&test, "test record")] {
        if side.len() == 0 {
            let rows = all.len();
            return Err(Failure::input(
                format!("{name}: {rows} rows have no {what}, at least 1 is needed"),
                "give more rows, or others as test records",
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
