use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::catalogue::Published;
use crate::fetch::{Progress, ProgressFn, SearchPath, fetch};
use crate::{DataError, Glyphs, LabelledImages, PinnedFile, idx};

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
}

impl DatasetKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Glyphs, Self::Mnist, Self::FashionMnist];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Glyphs => "glyphs",
            Self::Mnist => "mnist",
            Self::FashionMnist => "fashion-mnist",
        }
    }

    /// What each class shows, in the order of the labels.
    pub fn class_names(self) -> [&'static str; 10] {
        match self {
            Self::Glyphs | Self::Mnist => ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
            Self::FashionMnist => [
                "T-shirt",
                "trouser",
                "pullover",
                "dress",
                "coat",
                "sandal",
                "shirt",
                "sneaker",
                "bag",
                "ankle boot",
            ],
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
        let (train, test) = match Published::of(kind) {
            None => drawn(options, &progress)?,
            Some(published) => read(published, options, &progress)?,
        };
        Ok(Self {
            kind,
            name: kind.name().into(),
            train,
            test,
        })
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
    let search = SearchPath::from_environment(options.data_dir.as_deref());
    let mirrors = match &options.mirrors {
        Some(mirrors) => mirrors.clone(),
        None => published.mirrors.iter().map(ToString::to_string).collect(),
    };
    // All four files first: one that is missing is known before any time goes into decoding.
    let fetch = |file| fetch(file, &search, &mirrors, progress);
    let train_images = fetch(&published.train_images)?;
    let train_labels = fetch(&published.train_labels)?;
    let test_images = fetch(&published.test_images)?;
    let test_labels = fetch(&published.test_labels)?;
    Ok((
        decode(
            (&published.train_images, &train_images),
            (&published.train_labels, &train_labels),
            options.train,
        )?,
        decode(
            (&published.test_images, &test_images),
            (&published.test_labels, &test_labels),
            options.test,
        )?,
    ))
}

fn decode(
    images: (&PinnedFile, &[u8]),
    labels: (&PinnedFile, &[u8]),
    count: Option<usize>,
) -> Result<LabelledImages, DataError> {
    let name = |file: &PinnedFile| format!("{}/{}", file.folder, file.name);
    let (images_file, labels_file) = (name(images.0), name(labels.0));
    let mut records = LabelledImages::from_idx(
        &images_file,
        idx::decode_images(&images_file, images.1)?,
        &labels_file,
        idx::decode_labels(&labels_file, labels.1)?,
    )?;
    if let Some(count) = count {
        records.truncate(count)?;
    }
    Ok(records)
}
