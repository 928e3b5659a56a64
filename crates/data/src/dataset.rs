use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::catalogue::{FASHION_MNIST, Files, MNIST, Pair, Published, USPS};
use crate::fetch::{SearchPath, fetch};
use crate::{DataError, Glyphs, LabelledImages, PinnedFile, Progress, ProgressFn, idx, usps};

/// A data set that can be loaded by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DatasetKind {
    /// Digits drawn by the program; needs no file.
    #[default]
    Glyphs,
    /// Handwritten digits, 60000 + 10000.
    Mnist,
    /// Articles of clothing, 60000 + 10000.
    FashionMnist,
    /// Handwritten digits of another source, 7291 + 2007, at MNIST's 28 x 28 pixels.
    Usps,
}

impl DatasetKind {
    /// Every kind.
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
            .ok_or_else(|| DataError::UnknownDataset {
                found: name.into(),
                expected: Self::ALL.map(Self::name).join(", "),
            })
    }
}

/// How to load a data set; [`LoadOptions::default`] is right for most.
#[derive(Clone, Default)]
pub struct LoadOptions {
    /// A folder to look in first and to download to; see [`crate::fetch`].
    pub data_dir: Option<PathBuf>,
    /// The seed of glyphs.
    pub seed: u64,
    /// Training records: the first that many; by default all, or [`Glyphs::DEFAULT_TRAIN`].
    pub train: Option<usize>,
    /// Test records: the first that many; by default all, or [`Glyphs::DEFAULT_TEST`].
    pub test: Option<usize>,
    /// Base addresses, each with its final `/`, instead of the public mirrors; an empty list never
    /// downloads.
    pub mirrors: Option<Vec<String>>,
    /// Receives what happens meanwhile.
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

/// A training and a test split of images of one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// What was loaded.
    pub kind: DatasetKind,
    /// Its name.
    pub name: String,
    /// The records to train on: the private ones.
    pub train: LabelledImages,
    /// Records of the same kind that are never trained on.
    pub test: LabelledImages,
}

impl Dataset {
    /// Loads a data set: draws it, finds it on this machine, or downloads it.
    ///
    /// # Errors
    /// [`DataError::Records`] when a split has 0 records or more than there are; for files, what
    /// [`crate::fetch::fetch`] and [`crate::idx`] refuse.
    pub fn load(kind: DatasetKind, options: &LoadOptions) -> Result<Self, DataError> {
        let progress = |event: &Progress| {
            if let Some(listener) = &options.progress {
                listener(event);
            }
        };
        let (train, test) = match kind {
            DatasetKind::Glyphs => drawn(options, &progress)?,
            DatasetKind::Mnist => read(&MNIST, options, &progress)?,
            DatasetKind::FashionMnist => read(&FASHION_MNIST, options, &progress)?,
            DatasetKind::Usps => read(&USPS, options, &progress)?,
        };
        Ok(Self {
            kind,
            name: kind.name().into(),
            train,
            test,
        })
    }

    /// The test records alone, as [`Dataset::load`] has them: no training record is looked for or read.
    ///
    /// # Errors
    /// As [`Dataset::load`].
    pub fn load_test(
        kind: DatasetKind,
        options: &LoadOptions,
    ) -> Result<LabelledImages, DataError> {
        let progress = |event: &Progress| {
            if let Some(listener) = &options.progress {
                listener(event);
            }
        };
        match kind {
            DatasetKind::Glyphs => {
                let count = options.test.unwrap_or(Glyphs::DEFAULT_TEST);
                Glyphs::test(options.seed).draw(count, &|_| {})
            }
            DatasetKind::Mnist => read_test(&MNIST, options, &progress),
            DatasetKind::FashionMnist => read_test(&FASHION_MNIST, options, &progress),
            DatasetKind::Usps => read_test(&USPS, options, &progress),
        }
    }
}

fn drawn(
    options: &LoadOptions,
    progress: &dyn Fn(&Progress),
) -> Result<(LabelledImages, LabelledImages), DataError> {
    let train = options.train.unwrap_or(Glyphs::DEFAULT_TRAIN);
    let test = options.test.unwrap_or(Glyphs::DEFAULT_TEST);
    // Both numbers are checked before any time goes into drawing.
    Glyphs::check_count("training images", train)?;
    Glyphs::check_count("test images", test)?;
    let total = train + test;
    let draw = |glyphs: Glyphs, count, before| {
        glyphs.draw(count, &|done| {
            progress(&Progress::Drawing {
                done: before + done,
                total,
            });
        })
    };
    Ok((
        draw(Glyphs::train(options.seed), train, 0)?,
        draw(Glyphs::test(options.seed), test, train)?,
    ))
}

fn read(
    published: &Published,
    options: &LoadOptions,
    progress: &dyn Fn(&Progress),
) -> Result<(LabelledImages, LabelledImages), DataError> {
    let fetched = |split| Fetched::of(published, split, options, progress);
    // All files first: one that is missing is known before any time goes into decoding.
    let (train, test) = (fetched(Split::Train)?, fetched(Split::Test)?);
    Ok((train.decode(options.train)?, test.decode(options.test)?))
}

fn read_test(
    published: &Published,
    options: &LoadOptions,
    progress: &dyn Fn(&Progress),
) -> Result<LabelledImages, DataError> {
    Fetched::of(published, Split::Test, options, progress)?.decode(options.test)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Split {
    Train,
    Test,
}

/// The files of a split, each with its bytes.
enum Fetched<'a> {
    Idx {
        images: (&'a PinnedFile, Vec<u8>),
        labels: (&'a PinnedFile, Vec<u8>),
    },
    Usps(&'a PinnedFile, Vec<u8>),
}

impl<'a> Fetched<'a> {
    fn of(
        published: &'a Published,
        split: Split,
        options: &LoadOptions,
        progress: &dyn Fn(&Progress),
    ) -> Result<Self, DataError> {
        let search = SearchPath::from_environment(options.data_dir.as_deref());
        let mirrors = match &options.mirrors {
            Some(mirrors) => mirrors.clone(),
            None => published.mirrors.iter().map(ToString::to_string).collect(),
        };
        let fetch = |file| fetch(file, &search, &mirrors, progress);
        match &published.files {
            Files::Idx {
                train_images,
                train_labels,
                test_images,
                test_labels,
            } => {
                let (images, labels) = match split {
                    Split::Train => (train_images, train_labels),
                    Split::Test => (test_images, test_labels),
                };
                Ok(Self::Idx {
                    images: (images, fetch(images)?),
                    labels: (labels, fetch(labels)?),
                })
            }
            Files::Usps(Pair { train, test }) => {
                let file = if split == Split::Train { train } else { test };
                Ok(Self::Usps(file, fetch(file)?))
            }
        }
    }

    /// The first `count` records, or all.
    fn decode(&self, count: Option<usize>) -> Result<LabelledImages, DataError> {
        let records = match self {
            Self::Idx { images, labels } => decode((images.0, &images.1), (labels.0, &labels.1))?,
            Self::Usps(file, bytes) => usps::decode(&name(file), bytes, Glyphs::SIDE)?,
        };
        first(records, count)
    }
}

fn first(mut records: LabelledImages, count: Option<usize>) -> Result<LabelledImages, DataError> {
    if let Some(count) = count {
        records.truncate(count)?;
    }
    Ok(records)
}

fn name(file: &PinnedFile) -> String {
    format!("{}/{}", file.folder, file.name)
}

fn decode(
    images: (&PinnedFile, &[u8]),
    labels: (&PinnedFile, &[u8]),
) -> Result<LabelledImages, DataError> {
    let (images_file, labels_file) = (name(images.0), name(labels.0));
    LabelledImages::from_idx(
        &images_file,
        idx::decode_images(&images_file, images.1)?,
        &labels_file,
        idx::decode_labels(&labels_file, labels.1)?,
    )
}
