use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::catalogue::{files, mirrors};
use crate::error::empty;
use crate::fetch::{SearchPath, fetch};
use crate::{DataError, Glyphs, PinnedFile, Progress, ProgressFn, Records, idx, usps};

/// A data set that can be loaded by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DatasetKind {
    /// Synthetic digits; needs no file.
    #[default]
    Glyphs,
    /// Handwritten digits, 60000 + 10000.
    Mnist,
    /// Articles of clothing, 60000 + 10000.
    FashionMnist,
    /// Handwritten digits from American envelopes, 7291 + 2007, resized to MNIST's 28 x 28 pixels.
    Usps,
}

impl DatasetKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Glyphs, Self::Mnist, Self::FashionMnist, Self::Usps];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Glyphs => "glyphs",
            Self::Mnist => "mnist",
            Self::FashionMnist => "fashion-mnist",
            Self::Usps => "usps",
        }
    }
}

impl fmt::Display for DatasetKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for DatasetKind {
    type Err = DataError;

    fn from_str(name: &str) -> Result<Self, DataError> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| {
                let expected = Self::ALL.map(Self::name).join(", ");
                DataError::request(format!(
                    "unknown data set '{name}': expected one of {expected}"
                ))
            })
    }
}

/// The options for loading a data set; [`LoadOptions::default`] suits most uses.
#[derive(Clone, Default)]
pub struct LoadOptions {
    /// The folder to search first and to download to; see [`crate::fetch`].
    pub data_dir: Option<PathBuf>,
    /// The seed of [`DatasetKind::Glyphs`].
    pub seed: u64,
    /// The number of training records, from the first; by default all, or [`Glyphs::DEFAULT_TRAIN`].
    pub train: Option<usize>,
    /// The number of test records, from the first; by default all, or [`Glyphs::DEFAULT_TEST`].
    pub test: Option<usize>,
    /// Base addresses to use instead of the public mirrors, each with its final `/`. With an empty list
    /// nothing is downloaded.
    pub mirrors: Option<Vec<String>>,
    /// Receives reports of progress.
    pub progress: Option<ProgressFn>,
}

impl fmt::Debug for LoadOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LoadOptions")
            .field("data_dir", &self.data_dir)
            .field("seed", &self.seed)
            .field("train", &self.train)
            .field("test", &self.test)
            .field("mirrors", &self.mirrors)
            .finish_non_exhaustive()
    }
}

/// A training and a test set of images of one size.
#[derive(Debug, PartialEq)]
pub struct Dataset {
    /// The kind of data set.
    pub kind: DatasetKind,
    /// Its name.
    pub name: String,
    /// The records to train on: the private ones.
    pub train: Records,
    /// Records of the same kind that are never trained on.
    pub test: Records,
}

impl LoadOptions {
    pub(crate) fn show(&self, event: &Progress) {
        if let Some(listener) = &self.progress {
            listener(event);
        }
    }

    /// Fetches the files of a data set with their bytes: the training files, then the test files; or the test files alone.
    pub(crate) fn fetch(&self, set: &str, test_alone: bool) -> Result<Vec<Fetched>, DataError> {
        let search = SearchPath::from_environment(self.data_dir.as_deref());
        let mirrors = self.mirrors.clone().unwrap_or_else(|| mirrors(set));
        let mut files = files(set);
        if test_alone {
            files.drain(..files.len() / 2);
        }
        let fetch = |file: PinnedFile| {
            let bytes = fetch(&file, &search, &mirrors, &|event| self.show(event))?;
            Ok((format!("{}/{}", file.folder, file.name), bytes))
        };
        files.into_iter().map(fetch).collect()
    }
}

/// The name of a file, and its bytes.
pub(crate) type Fetched = (String, Vec<u8>);

impl Dataset {
    /// Loads a data set: draws it, finds it on this machine, or downloads it.
    ///
    /// # Errors
    /// [`DataError::Request`] if `options` ask for 0 records of a split or for more than there are; for files, the errors of
    /// [`crate::fetch::fetch`] and [`crate::idx`].
    pub fn load(kind: DatasetKind, options: &LoadOptions) -> Result<Self, DataError> {
        let (train, test) = match kind {
            DatasetKind::Glyphs => synthetic(options)?,
            _ => {
                // All files are fetched first, so that a missing one is known before any is decoded.
                let files = options.fetch(kind.name(), false)?;
                let (train, test) = files.split_at(files.len() / 2);
                (decode(train, options.train)?, decode(test, options.test)?)
            }
        };
        Ok(Self {
            kind,
            name: kind.name().into(),
            train,
            test,
        })
    }

    /// Loads the test records that [`Dataset::load`] gives, without looking for or reading a training record.
    pub fn load_test(kind: DatasetKind, options: &LoadOptions) -> Result<Records, DataError> {
        match kind {
            DatasetKind::Glyphs => {
                let count = options.test.unwrap_or(Glyphs::DEFAULT_TEST);
                Glyphs::test(options.seed).draw(count, &|_| {})
            }
            _ => decode(&options.fetch(kind.name(), true)?, options.test),
        }
    }
}

fn synthetic(options: &LoadOptions) -> Result<(Records, Records), DataError> {
    let train = options.train.unwrap_or(Glyphs::DEFAULT_TRAIN);
    let test = options.test.unwrap_or(Glyphs::DEFAULT_TEST);
    // Both numbers are checked before any image is drawn.
    Glyphs::check_count("training images", train)?;
    Glyphs::check_count("test images", test)?;
    let total = train + test;
    let draw = |glyphs: Glyphs, count, before| {
        glyphs.draw(count, &|done| {
            let done = before + done;
            options.show(&Progress::Drawing { done, total });
        })
    };
    Ok((
        draw(Glyphs::train(options.seed), train, 0)?,
        draw(Glyphs::test(options.seed), test, train)?,
    ))
}

/// Decodes the first `count` records of a split, or all: from a pair of idx files, or from one file of USPS.
fn decode(files: &[Fetched], count: Option<usize>) -> Result<Records, DataError> {
    let mut records = match files {
        [(images, pixels), (labels, classes)] => {
            let decoded = idx::decode_images(images, &pixels[..])?;
            let classes = idx::decode_labels(labels, &classes[..])?;
            Records::from_idx(images, decoded, labels, classes)?
        }
        [(name, bytes)] => usps::decode(name, bytes, Glyphs::SIDE)?,
        _ => return Err(empty("the catalogue", "file")),
    };
    if let Some(count) = count {
        records.truncate(count)?;
    }
    Ok(records)
}
