//! The private records, the public side, and the public test records.

use std::path::Path;
use std::sync::Arc;

use data::{Dataset, DatasetKind, LabelledImages, LoadOptions, Split, SplitPlan};
use lab::diagnostic::Failure;
use model::latent::SmallAutoencoder;

use super::{Arguments, Settings};

/// Glyphs on each side, and for the test.
const GLYPHS: usize = 30_000;
const GLYPH_TESTS: usize = 2_000;

/// The records of a run, as grey images.
pub struct Sides {
    /// Private training records.
    pub private: Records,
    /// What the autoencoder is trained on.
    pub public: Records,
    /// Public test records.
    pub test: Records,
    /// What the public side is, in words.
    pub public_name: String,
    /// Classes of the private records.
    pub classes: usize,
}

/// Some records of a data set.
pub struct Records {
    images: Arc<LabelledImages>,
    indices: Vec<usize>,
}

impl Records {
    fn new(images: Arc<LabelledImages>, mut indices: Vec<usize>, limit: Option<usize>) -> Self {
        indices.truncate(limit.unwrap_or(usize::MAX));
        Self { images, indices }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// The labels.
    pub fn labels(&self) -> Vec<usize> {
        let label = |&i| self.images.label(i).unwrap_or(0);
        self.indices.iter().map(label).collect()
    }

    /// Images of some records, in their own size, `[n, side * side]`, values in `[0, 1]`.
    pub fn gather(&self, places: &[usize]) -> Vec<f32> {
        let indices: Vec<usize> = places.iter().map(|&p| self.indices[p]).collect();
        self.images.gather(&indices).unwrap_or_default()
    }

    /// All images.
    pub fn all(&self) -> Vec<f32> {
        self.images.gather(&self.indices).unwrap_or_default()
    }

    /// Side of an image.
    pub fn side(&self) -> usize {
        self.images.width()
    }

    /// These records as a data set of their own.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where there is none.
    pub fn labelled(&self) -> Result<LabelledImages, Failure> {
        let mut pixels = Vec::with_capacity(self.len() * self.images.image_size());
        for &index in &self.indices {
            pixels.extend_from_slice(self.images.image_bytes(index).unwrap_or_default());
        }
        let labels = self
            .indices
            .iter()
            .map(|&i| self.images.labels()[i])
            .collect();
        let (height, width) = (self.images.height(), self.images.width());
        LabelledImages::new(pixels, labels, height, width, self.images.classes())
            .map_err(Failure::run)
    }

    /// Bytes and labels, for a checksum.
    pub fn fingerprint(&self) -> String {
        let mut bytes = Vec::with_capacity(self.len() * (self.images.image_size() + 1));
        for &index in &self.indices {
            bytes.extend_from_slice(self.images.image_bytes(index).unwrap_or_default());
            bytes.push(self.images.labels()[index]);
        }
        lab::checkpoint::hex(&bytes)
    }
}

impl Sides {
    /// Loads what the settings ask for.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for data that is not there, or a split that does not fit it.
    pub fn load(settings: &Settings, arguments: &Arguments, cache: &Path) -> Result<Self, Failure> {
        let kind = kind("dataset", &settings.dataset)?;
        let set = load(kind, arguments)?;
        let (train, test) = (Arc::new(set.train), Arc::new(set.test));
        let folder = cache.join("splits");
        // Glyphs of any number are one data set: always the same ones are drawn and split. Without
        // strata the draw looks at no record.
        let name = match kind {
            DatasetKind::Glyphs => format!("glyphs-0-{}", train.len()),
            kind => kind.name().to_string(),
        };
        let split = Split::load_or_create(&folder, &name, train.as_ref(), &SplitPlan::default())
            .map_err(|e| Failure::input(e.to_string(), "see --cache-dir"))?;
        let private = Records::new(train.clone(), split.private().to_vec(), settings.records);
        let (public, public_name) = if settings.public == "half" {
            let indices = split.public().to_vec();
            let name = format!("the public half of {}", kind.name());
            (
                Records::new(train.clone(), indices, settings.public_records),
                name,
            )
        } else {
            let other = self::kind("public", &settings.public)?;
            if other == kind {
                return Err(Failure::input(
                    format!("--public {0}: {0} is the private data set", kind.name()),
                    "say --public half for its public half, or name another data set",
                ));
            }
            let images = Arc::new(load(other, arguments)?.train);
            let indices = (0..images.len().min(GLYPHS)).collect();
            let name = other.name().to_string();
            (Records::new(images, indices, settings.public_records), name)
        };
        for (flag, asked, found) in [
            ("records", settings.records, private.len()),
            ("public-records", settings.public_records, public.len()),
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
        if public.side() > SmallAutoencoder::SIDE {
            return Err(Failure::input(
                format!("--public {}: images wider than 32 pixels", settings.public),
                "choose another data set",
            ));
        }
        let tests = (0..test.len()).collect();
        Ok(Self {
            classes: train.classes(),
            private,
            public,
            test: Records::new(test, tests, None),
            public_name,
        })
    }
}

fn kind(flag: &str, name: &str) -> Result<DatasetKind, Failure> {
    name.parse().map_err(|e| {
        Failure::input(
            format!("--{flag} {name}: {e}"),
            "choose a data set of this list",
        )
    })
}

fn load(kind: DatasetKind, arguments: &Arguments) -> Result<Dataset, Failure> {
    let glyphs = kind == DatasetKind::Glyphs;
    let options = LoadOptions {
        data_dir: arguments.data_dir.as_deref().map(Path::to_path_buf),
        train: glyphs.then_some(2 * GLYPHS),
        test: glyphs.then_some(GLYPH_TESTS),
        ..LoadOptions::default()
    };
    Dataset::load(kind, &options).map_err(|e| {
        Failure::input(
            e.to_string(),
            "check --data-dir, or use --dataset glyphs, which needs no file",
        )
    })
}

/// Small images in the middle of 32x32 ones.
pub fn padded(images: &[f32], side: usize) -> Vec<f32> {
    let (whole, margin) = (SmallAutoencoder::SIDE, (SmallAutoencoder::SIDE - side) / 2);
    let count = images.len() / (side * side);
    let mut padded = vec![0.0; count * whole * whole];
    for (image, target) in images
        .chunks_exact(side * side)
        .zip(padded.chunks_exact_mut(whole * whole))
    {
        for (y, row) in image.chunks_exact(side).enumerate() {
            let start = (y + margin) * whole + margin;
            target[start..start + side].copy_from_slice(row);
        }
    }
    padded
}

/// The middle `side x side` of 32x32 images.
pub fn cropped(images: &[f32], side: usize) -> Vec<f32> {
    let (whole, margin) = (SmallAutoencoder::SIDE, (SmallAutoencoder::SIDE - side) / 2);
    let mut cropped = Vec::with_capacity(images.len() / (whole * whole) * side * side);
    for image in images.chunks_exact(whole * whole) {
        for y in margin..margin + side {
            let start = y * whole + margin;
            cropped.extend_from_slice(&image[start..start + side]);
        }
    }
    cropped
}
