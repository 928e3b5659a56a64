//! A folder of photographs, as CelebA comes: any number, read when they are needed.
//!
//! Every `.jpg`, `.jpeg` and `.png` file (in either case) below the folder is a record, in the order
//! of its path, component by component. Names that start with `.` are passed over, links to folders
//! are not followed. An image becomes square by cutting off its longer sides equally, is resized to
//! S x S by a triangle filter (bilinear, as wide as the reduction asks for), and has three channels:
//! grey is repeated, transparency is dropped. An image is turned as its EXIF data has it.
//!
//! Source of crop and size: "Differentially private gradient flow based on the sliced Wasserstein
//! distance", appendix C.1.

pub(crate) mod decode;
pub(crate) mod scan;

use std::path::{Path, PathBuf};

use rand::Rng;
use rand::seq::SliceRandom;
use rayon::prelude::*;

use crate::error::{check_side, empty, index};
use crate::split::{Records, digest};
use crate::sums::file_sum;
use crate::{DataError, idx};

/// The images of a folder, which stay on disk until a batch asks for them.
pub struct ImageFolder {
    root: PathBuf,
    files: Vec<PathBuf>,
    side: usize,
}

debug_shows!(ImageFolder { root, side });

impl ImageFolder {
    /// The name of this kind of data on the command line.
    pub const NAME: &'static str = "images";
    /// Channels of an image: red, green, blue.
    pub const CHANNELS: usize = 3;
    /// The most pixels along a side.
    pub const MAX_SIDE: usize = idx::MAX_SIDE as usize;

    /// Finds the images of a folder and the folders in it; they will have `side` pixels along a side.
    ///
    /// # Errors
    /// [`DataError::Request`] unless the side is in 1..=[`MAX_SIDE`](Self::MAX_SIDE), and when there is no image;
    /// [`DataError::Io`] for a folder that cannot be read.
    pub fn scan(root: &Path, side: usize) -> Result<Self, DataError> {
        check_side(side)?;
        let files = scan::images(root)?;
        if files.is_empty() {
            let expected = "readable jpg or png image, in it or in a folder in it";
            return Err(empty(root.display(), expected));
        }
        Ok(Self {
            root: root.into(),
            files,
            side,
        })
    }

    /// Puts the images in an order that `rng` draws.
    pub fn shuffle(&mut self, rng: &mut impl Rng) {
        self.files.shuffle(rng);
    }

    /// The number of images; at least 1.
    #[allow(clippy::len_without_is_empty)] // there is always one
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Pixels along a side, S.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Values of an image, 3 S S.
    pub fn image_size(&self) -> usize {
        Self::CHANNELS * self.side * self.side
    }

    /// The files, below the folder, in the order of the records.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The images at `indices`, in [0, 1], in that order, shape `[indices.len(), 3, S, S]` in row-major order:
    /// decoded now, on all threads, and not kept.
    ///
    /// # Errors
    /// [`DataError::Request`] for an index past the end, [`DataError::File`] for the first file among
    /// them that cannot be read, whose name is private.
    pub fn gather(&self, indices: &[usize]) -> Result<Vec<f32>, DataError> {
        let mut paths = Vec::with_capacity(indices.len());
        for &place in indices {
            let path = self.files.get(place);
            paths.push(path.ok_or_else(|| index(self.root.display(), place, self.len()))?);
        }
        let mut values = vec![0.0; indices.len() * self.image_size()];
        let read: Vec<Result<(), DataError>> = values
            .par_chunks_mut(self.image_size())
            .zip(paths)
            .map(|(values, path)| {
                let image = decode::image(&self.root, path, &decode::read(&self.root, path)?)?;
                let bytes = decode::square(image, self.side, Self::CHANNELS);
                let pairs = values.iter_mut().zip(bytes);
                pairs.for_each(|(value, byte)| *value = f32::from(byte) / 255.0);
                Ok(())
            })
            .collect();
        read.into_iter().collect::<Result<(), _>>()?;
        Ok(values)
    }
}

/// The sum is over `sliver folder 1`, the number of files, and for each its path (the number of bytes,
/// 8 bytes, the lowest first, and the bytes, with `/` between components) and the SHA-256 of its
/// content; the side does not matter to it. There are no strata.
impl Records for ImageFolder {
    fn count(&self) -> usize {
        self.len()
    }

    fn sha256(&self) -> Result<String, DataError> {
        self.sha256_of(&(0..self.len()).collect::<Vec<_>>())
    }

    fn strata(&self) -> Option<Vec<usize>> {
        None
    }
}

impl ImageFolder {
    /// The SHA-256 of the images at `indices` as if they were the folder: of their paths and contents,
    /// in that order, and of nothing else. Indices past the end are passed over.
    pub fn sha256_of(&self, indices: &[usize]) -> Result<String, DataError> {
        let sums: Vec<Result<Vec<u8>, DataError>> = indices
            .par_iter()
            .filter_map(|&index| self.files.get(index))
            .map(|file| {
                let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
                let name = parts.join("/");
                let mut entry = (name.len() as u64).to_le_bytes().to_vec();
                entry.extend(name.as_bytes());
                let path = self.root.join(file);
                entry.extend(file_sum(&path).map_err(|e| e.of_part(&self.root, &path))?);
                Ok(entry)
            })
            .collect();
        let entries = sums.into_iter().collect::<Result<Vec<_>, _>>()?;
        let parts: Vec<&[u8]> = entries.iter().map(Vec::as_slice).collect();
        Ok(digest("sliver folder 1", &[parts.len()], &parts))
    }
}
