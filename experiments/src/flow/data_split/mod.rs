//! The private records, the public ones, and the public test records.

pub(crate) mod photographs;

use std::path::Path;
use std::sync::Arc;

use data::split::{Records as _, Use};
use data::stream::SyntheticGlyphs;
use data::{
    DataError, Dataset, DatasetKind, Glyphs, LabelledImages, LoadOptions, Shapes, Split, SplitPlan,
};
use lab::diagnostic::{Failure, OrFailed};
use lab::private;

use crate::records::{COSINES, Records, SHAPES, Source, kind};

use lab::session::{Used, bounded, splits_folder};

use super::shared::{AUTOENCODED, Part, Settings};

/// Glyphs on each side, and for the test.
const GLYPHS: usize = 30_000;
const GLYPH_TESTS: usize = 2_000;

/// Shapes of all passes.
const MOST_SHAPES: usize = 10_000_000;
/// One set of shapes for all seeds of a flow.
const SHAPES_SEED: u64 = 0;

/// The records of a run.
pub(crate) struct DataSplit {
    /// Private training records.
    pub private: Records,
    /// What the autoencoder is trained on; none where there is none.
    pub public: Records,
    /// Public test records.
    pub test: Records,
    /// What the public records are, in words.
    pub public_name: String,
    /// The data sets that they come from.
    pub used: Vec<Used>,
    /// Classes of the private records.
    pub classes: usize,
}

impl DataSplit {
    /// Loads what the settings ask for.
    ///
    /// - `possible`: refuses what no so many private records make possible, before they are split.
    pub(crate) fn load(
        settings: &Settings,
        data_dir: Option<&Path>,
        cache: &Path,
        possible: impl Fn(usize) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let split = if settings.photographs() {
            let limits = [settings.records, settings.public_records];
            photographs::load(limits, data_dir, Path::new(&settings.public))
        } else {
            Self::load_labelled(settings, data_dir, cache, possible)
        }?;
        for (flag, asked, found) in [
            ("records", settings.records, split.private.len()),
            (
                "public-records",
                settings.public_records,
                split.public.len(),
            ),
        ] {
            if asked.is_some_and(|asked| asked > found || asked == 0) {
                return Err(Failure::input(
                    format!(
                        "--{flag} {}: it must be between 1 and {found}, the records of that side",
                        asked.unwrap_or(0)
                    ),
                    format!("leave --{flag} out for all of them"),
                ));
            }
        }
        Ok(split)
    }

    fn load_labelled(
        settings: &Settings,
        data_dir: Option<&Path>,
        cache: &Path,
        possible: impl Fn(usize) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let kind = kind("dataset", &settings.dataset)?;
        let (whole, test) = Whole::load(kind, data_dir)?;
        // Before the split is written: a run that is refused must leave none.
        let other = if ["half", SHAPES, COSINES].contains(&&*settings.public) {
            None
        } else {
            let other = self::kind("public", &settings.public)?;
            if other == kind {
                return Err(Failure::input(
                    format!("--public {0}: {0} is the private data set", kind.name()),
                    "say --public half for its public half, or name another data set",
                ));
            }
            let images = match other {
                DatasetKind::Glyphs => {
                    let most = settings.public_records.unwrap_or(GLYPHS).max(1);
                    Glyphs::train(0).draw(most, &|_| ()).map_err(refused)?
                }
                other => read(other, data_dir)?.train,
            };
            Some((other, Arc::new(images)))
        };
        let records = whole.count();
        // Glyphs of any number are one data set: always the same ones are split. Without strata the split looks at no
        // record.
        let name = match kind {
            DatasetKind::Glyphs => format!("glyphs-0-{records}"),
            kind => kind.name().to_string(),
        };
        possible(records)?;
        let (sha256, halves) = match settings.private_part {
            Part::All => (whole.sha256().or_failed()?, None),
            Part::Half => {
                let folder = splits_folder(cache);
                let plan = SplitPlan::default();
                let split = Split::load_or_create(&folder, &name, &whole, &plan)
                    .map_err(|e| private::refused(&e, "see --cache-dir"))?;
                (split.sha256().to_string(), Some(split))
            }
        };
        let mut used = vec![Used {
            what: kind.name().into(),
            name,
            sha256,
            used: match halves {
                Some(_) => Use::Split,
                None => Use::AllPrivate,
            },
        }];
        let classes = test.classes();
        let tests = (0..test.len()).collect();
        let test = Source::Labelled(Arc::new(test));
        let all = || (0..records).collect();
        let places = halves
            .as_ref()
            .map_or_else(all, |split| split.private().to_vec());
        let private = whole.records(places, settings.records)?;
        let (public, public_name) = if let Some((other, images)) = other {
            // Synthetic public glyphs hide no record.
            if other != DatasetKind::Glyphs {
                used.push(Used {
                    what: other.name().into(),
                    name: other.name().into(),
                    sha256: images.sha256().or_failed()?,
                    used: Use::AllPublic,
                });
            }
            let most = settings.public_records.unwrap_or(GLYPHS);
            let indices = (0..images.len()).collect();
            let name = other.name().to_string();
            let images = Source::Labelled(images);
            (Records::new(images, indices, Some(most)), name)
        } else if settings.public == SHAPES {
            // Fresh ones at each pass.
            let pass = settings.public_records.unwrap_or(GLYPHS);
            let all = pass.saturating_mul(settings.public_epochs);
            let bound = format!("at least 1, and at most {MOST_SHAPES} over all passes");
            bounded(
                "public-records",
                pass,
                (1..=MOST_SHAPES).contains(&all),
                &bound,
            )?;
            let shapes = Shapes::grey(private.shape().side, SHAPES_SEED);
            let name = "shapes that the program draws by random processes".to_string();
            let indices = (0..all).collect();
            (Records::new(Source::Shapes(shapes), indices, None), name)
        } else if settings.public == COSINES {
            let name = "cosines, which learn from nothing".to_string();
            (private.only(&[]), name)
        } else {
            let name = format!("the public half of {}", kind.name());
            let public = match halves {
                Some(split) => whole.records(split.public().to_vec(), settings.public_records)?,
                None => private.only(&[]),
            };
            (public, name)
        };
        let [of_public, of_private] = [&public, &private].map(|records| records.shape().side);
        if settings.refined() {
            let bound = format!(
                "learned: public images have {of_public} pixels a side, private ones {of_private}"
            );
            bounded("encoder", "cosines", of_public == of_private, &bound)?;
        }
        if of_public.max(of_private) > AUTOENCODED {
            return Err(Failure::input(
                format!("--public {}: images wider than 32 pixels", settings.public),
                "choose another data set",
            ));
        }
        Ok(Self {
            classes,
            private,
            public,
            test: Records::new(test, tests, None),
            public_name,
            used,
        })
    }
}

/// All training records of a data set.
enum Whole {
    /// From files.
    Read(Arc<LabelledImages>),
    /// Of which a run draws those that it takes.
    Glyphs(SyntheticGlyphs),
}

impl Whole {
    /// With the test records.
    fn load(kind: DatasetKind, data_dir: Option<&Path>) -> Result<(Self, LabelledImages), Failure> {
        if kind == DatasetKind::Glyphs {
            let test = Glyphs::test(0).draw(GLYPH_TESTS, &|_| ()).or_failed()?;
            let glyphs = SyntheticGlyphs::train(0, 2 * GLYPHS as u64);
            return Ok((Self::Glyphs(glyphs), test));
        }
        let set = read(kind, data_dir)?;
        Ok((Self::Read(Arc::new(set.train)), set.test))
    }

    /// Those at the first `limit` of some places.
    fn records(&self, mut places: Vec<usize>, limit: Option<usize>) -> Result<Records, Failure> {
        match self {
            Self::Read(images) => {
                let source = Source::Labelled(images.clone());
                Ok(Records::new(source, places, limit))
            }
            Self::Glyphs(glyphs) => {
                // One where none is asked for, which is refused later.
                places.truncate(limit.map_or(usize::MAX, |limit| limit.max(1)));
                let images = glyphs.at(&places).or_failed()?;
                let source = Source::Labelled(Arc::new(images));
                Ok(Records::new(source, (0..places.len()).collect(), limit))
            }
        }
    }
}

impl data::split::Records for Whole {
    fn count(&self) -> usize {
        match self {
            Self::Read(images) => images.count(),
            Self::Glyphs(glyphs) => glyphs.count(),
        }
    }

    fn sha256(&self) -> Result<String, DataError> {
        match self {
            Self::Read(images) => images.sha256(),
            Self::Glyphs(glyphs) => glyphs.sha256(),
        }
    }

    fn strata(&self) -> Option<Vec<usize>> {
        match self {
            Self::Read(images) => images.strata(),
            Self::Glyphs(glyphs) => glyphs.strata(),
        }
    }
}

fn read(kind: DatasetKind, data_dir: Option<&Path>) -> Result<Dataset, Failure> {
    let options = LoadOptions {
        data_dir: data_dir.map(Path::to_path_buf),
        ..LoadOptions::default()
    };
    Dataset::load(kind, &options).map_err(refused)
}

fn refused(e: DataError) -> Failure {
    private::refused(
        &e,
        "check --data-dir, or use --dataset glyphs, which needs no file",
    )
}
