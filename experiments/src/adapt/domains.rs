//! The records of both domains.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use data::split::{Records, Use, is_test_row};
use data::{DataError, Dataset, DatasetKind, LabelledFeatures, LabelledImages, LoadOptions};
use lab::diagnostic::Failure;
use lab::session::{Used, name_of_path};
use rayon::prelude::*;

use super::images::upright;
use super::settings::{Images, Settings, is_file};

/// Records of one domain.
#[derive(Debug, Clone, PartialEq)]
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
    /// How both are used.
    pub used: Vec<Used>,
    /// Checksum of all source records.
    pub source_sha256: String,
}

/// A domain as it was read: what may be trained on, what is kept for tests, and the checksum of all.
struct Read {
    train: Domain,
    test: Domain,
    side: Option<usize>,
    classes: usize,
    used: Used,
}

impl Domains {
    /// Reads both domains.
    pub(crate) fn load(settings: &Settings, data_dir: Option<&Path>) -> Result<Self, Failure> {
        let read = |name: &str, of| match is_file(name) {
            true => features(settings, name, of),
            false => images(settings, name, data_dir, of),
        };
        if settings.source == settings.target {
            return Err(Failure::input(
                format!("--target {}: it is the source too", settings.target),
                "private records and public ones must be different records",
            ));
        }
        let source = read(&settings.source, Use::AllPublic)?;
        let mut target = read(&settings.target, Use::AllPrivate)?;
        if source.used.sha256 == target.used.sha256 {
            return Err(Failure::input(
                format!(
                    "--target {}: the same records as the source",
                    settings.target
                ),
                "private records and public ones must be different records",
            ));
        }
        let mut used = vec![source.used.clone()];
        if let Some(path) = &settings.target_test {
            // A file of tests: then all of the target is private.
            let all = file(settings, path)?;
            target.train = whole(settings, &settings.target)?;
            target.used.used = Use::AllPrivate;
            let sha256 = all.sha256().map_err(refused)?;
            if [&source.used.sha256, &target.used.sha256].contains(&&sha256) {
                return Err(Failure::input(
                    format!("--target-test {path}: the same records as a domain"),
                    "give a file of other records, or leave --target-test out",
                ));
            }
            used.push(Used {
                what: path.clone(),
                name: name_of_path("features", Path::new(path)),
                sha256,
                used: Use::AllPublic,
            });
            target.test = domain(&all, |_| true);
        }
        used.push(target.used);
        let mut domains = Self {
            source_sha256: source.used.sha256,
            source: source.train,
            source_test: source.test,
            target: target.train,
            target_test: target.test,
            side: source.side,
            classes: source.classes,
            used,
        };
        let cut = |domain: &mut Domain, flag, count: Option<usize>| {
            let (most, count) = (domain.len(), count.unwrap_or(domain.len()));
            let bound = format!("between 1 and the {most} records that there are");
            lab::session::bounded(flag, count, (1..=most).contains(&count), &bound)?;
            domain.truncate(count);
            Ok::<(), Failure>(())
        };
        cut(
            &mut domains.source,
            "source-records",
            settings.source_records,
        )?;
        cut(&mut domains.target, "records", settings.records)?;
        Ok(domains)
    }
}

fn refused(error: DataError) -> Failure {
    Failure::input(
        error.to_string(),
        "see --source, --target, --features, --classes and --data-dir",
    )
}

fn images(
    settings: &Settings,
    name: &str,
    data_dir: Option<&Path>,
    of: Use,
) -> Result<Read, Failure> {
    let kind = DatasetKind::from_str(name).map_err(refused)?;
    let options = LoadOptions {
        data_dir: data_dir.map(Path::to_path_buf),
        seed: settings.seed,
        progress: Some(Arc::new(|progress: &data::Progress| {
            if let data::Progress::MirrorFailed { url, reason } = progress {
                eprintln!("{url}: {reason}");
            }
        })),
        ..LoadOptions::default()
    };
    let data = Dataset::load(kind, &options).map_err(refused)?;
    let used = Used {
        what: data.name.clone(),
        name: match kind {
            DatasetKind::Glyphs => format!("glyphs-{}-{}", settings.seed, data.train.len()),
            kind => kind.name().to_string(),
        },
        sha256: data.train.sha256().map_err(refused)?,
        used: of,
    };
    let side = data.train.width();
    let domain = |images: &LabelledImages| {
        let rows: Vec<f32> = images
            .pixels()
            .par_chunks(side * side)
            .flat_map_iter(|image| {
                let grey: Vec<f32> = image.iter().map(|&v| f32::from(v) / 255.0).collect();
                match settings.images {
                    Images::Raw => grey,
                    Images::Upright => upright(&grey, side),
                }
            })
            .collect();
        Domain {
            rows,
            width: side * side,
            labels: images.labels().iter().map(|&label| label.into()).collect(),
        }
    };
    Ok(Read {
        train: domain(&data.train),
        test: domain(&data.test),
        side: Some(side),
        classes: data.train.classes(),
        used,
    })
}

fn file(settings: &Settings, name: &str) -> Result<LabelledFeatures, Failure> {
    let (width, classes) = (settings.features, settings.classes);
    LabelledFeatures::read(Path::new(name), width, classes).map_err(refused)
}

fn whole(settings: &Settings, name: &str) -> Result<Domain, Failure> {
    Ok(domain(&file(settings, name)?, |_| true))
}

fn domain(records: &LabelledFeatures, wanted: impl Fn(usize) -> bool) -> Domain {
    let chosen: Vec<usize> = (0..records.len()).filter(|&row| wanted(row)).collect();
    let width = records.width();
    let rows = chosen
        .iter()
        .flat_map(|&row| &records.values()[row * width..(row + 1) * width]);
    Domain {
        rows: rows.copied().collect(),
        width,
        labels: chosen.iter().map(|&row| records.labels()[row]).collect(),
    }
}

/// One in five rows is a test record, by its number alone.
fn features(settings: &Settings, name: &str, of: Use) -> Result<Read, Failure> {
    let all = file(settings, name)?;
    let (train, test) = (
        domain(&all, |row| !is_test_row(row)),
        domain(&all, is_test_row),
    );
    for (side, what) in [(&train, "record to train on"), (&test, "test record")] {
        if side.len() == 0 {
            return Err(Failure::input(
                format!(
                    "{name}: {} rows have no {what}, at least 1 is needed",
                    all.len()
                ),
                "give more rows",
            ));
        }
    }
    Ok(Read {
        train,
        test,
        side: None,
        classes: all.classes(),
        used: Used {
            what: name.into(),
            name: name_of_path("features", Path::new(name)),
            sha256: all.sha256().map_err(refused)?,
            used: match of {
                Use::AllPrivate => Use::TestRows,
                other => other,
            },
        },
    })
}
