//! Labelled images that may be more than memory holds.

use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::error::{check_count, index};
use crate::images::check;
use crate::split::image_digest;
use crate::stored::Stored;
use crate::{DataError, LabelledImages};

/// Images that are read at once, where they are copied.
const BLOCK: usize = 500;

/// Labelled images of which more than 128 MiB of pixels lie in a file ([`Stored`]).
pub struct StoredImages {
    pixels: Stored<u8>,
    labels: Vec<u8>,
    shape: [usize; 3],
    classes: usize,
}

debug_shows!(StoredImages { shape, classes });

impl From<LabelledImages> for StoredImages {
    fn from(images: LabelledImages) -> Self {
        let (shape, classes) = (images.shape(), images.classes());
        let (pixels, labels) = images.into_parts();
        Self {
            pixels: pixels.into(),
            labels,
            shape,
            classes,
        }
    }
}

impl StoredImages {
    /// Puts together images, as [`LabelledImages::planes`].
    pub(crate) fn new(
        pixels: Stored<u8>,
        labels: Vec<u8>,
        shape: [usize; 3],
        classes: usize,
    ) -> Result<Self, DataError> {
        check(pixels.len(), &labels, shape, classes)?;
        Ok(Self {
            pixels,
            labels,
            shape,
            classes,
        })
    }

    /// The number of images; at least 1.
    #[allow(clippy::len_without_is_empty)] // there is always one
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Channels, height and width of an image.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// The number of classes; a class may have no record.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// All labels, shape `[len]`.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// Whether no pixel lies in a file.
    pub fn in_memory(&self) -> bool {
        self.pixels.in_memory()
    }

    /// All images, so many at once.
    ///
    /// # Errors
    /// [`DataError::Io`] for a temporary file that cannot be read.
    pub fn blocks(&self, images: usize) -> impl Iterator<Item = Result<LabelledImages, DataError>> {
        let starts = (0..self.len()).step_by(images.max(1));
        starts.map(move |start| self.block(start..self.len().min(start + images)))
    }

    /// All images, in memory.
    ///
    /// # Errors
    /// As [`StoredImages::blocks`].
    pub fn whole(&self) -> Result<LabelledImages, DataError> {
        self.block(0..self.len())
    }

    /// Some images.
    fn block(&self, places: Range<usize>) -> Result<LabelledImages, DataError> {
        let size = self.size();
        let pixels = self.pixels.read(places.start * size..places.end * size)?;
        let labels = self.labels[places].to_vec();
        LabelledImages::planes(pixels.into_owned(), labels, self.shape, self.classes)
    }

    /// Values of an image.
    fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// What `of` says of the bytes of each image.
    pub(crate) fn each<T>(&self, mut of: impl FnMut(&[u8]) -> T) -> Result<Vec<T>, DataError> {
        let mut all = Vec::with_capacity(self.len());
        for block in self.pixels.blocks(BLOCK * self.size()) {
            all.extend(block?.chunks_exact(self.size()).map(&mut of));
        }
        Ok(all)
    }

    /// The SHA-256 of all images, as [`LabelledImages`] have it.
    ///
    /// # Errors
    /// As [`StoredImages::blocks`].
    pub fn sha256(&self) -> Result<String, DataError> {
        let pixels = self.pixels.blocks(BLOCK * self.size());
        image_digest(self.shape, self.classes, pixels, &self.labels)
    }

    /// The records at `indices`, in that order.
    ///
    /// # Errors
    /// As [`LabelledImages::select`]; [`DataError::Io`] for a temporary file.
    pub fn select(&self, indices: &[usize]) -> Result<Self, DataError> {
        let (mut pixels, mut labels) = (Stored::beyond(self.pixels.most), Vec::new());
        let size = self.size();
        for part in indices.chunks(BLOCK) {
            let mut bytes = Vec::with_capacity(part.len() * size);
            for &place in part {
                let label = self.labels.get(place);
                let none = || index("labelled images", place, self.len());
                labels.push(*label.ok_or_else(none)?);
                bytes.extend_from_slice(&self.pixels.read(place * size..(place + 1) * size)?);
            }
            pixels.add(&bytes)?;
        }
        Self::new(pixels, labels, self.shape, self.classes)
    }

    /// `count` of the images, sampled by a `key` that should be secret: those of the lowest SHA-256 of key, label and pixels.
    ///
    /// Which images these are depends on the set of all images and on no order of them: whatever the key, replacing one image
    /// replaces at most one of those that are chosen.
    ///
    /// # Errors
    /// As [`StoredImages::select`]; [`DataError::Request`] when `count` is 0 or larger than the number of images.
    pub fn sampled(&self, count: usize, key: &[u8; 32]) -> Result<Self, DataError> {
        check_count("images", count, self.len())?;
        let mut labels = self.labels.iter();
        let sum = |pixels: &[u8]| {
            let label = labels.next().copied().unwrap_or_default();
            let sum = Sha256::new().chain_update(key).chain_update([label]);
            <[u8; 32]>::from(sum.chain_update(pixels).finalize())
        };
        let mut places: Vec<_> = self.each(sum)?.into_iter().zip(0..).collect();
        places.sort_unstable();
        let chosen: Vec<usize> = places[..count].iter().map(|&(_, place)| place).collect();
        self.select(&chosen)
    }

    /// Keeps the first `count` records.
    ///
    /// # Errors
    /// [`DataError::Request`] when `count` is 0 or larger than the number of records.
    pub fn truncate(&mut self, count: usize) -> Result<(), DataError> {
        check_count("images", count, self.len())?;
        self.labels.truncate(count);
        self.pixels.truncate(count * self.size());
        Ok(())
    }
}
