use std::path::Path;

use super::{IdxImages, MAX_LABEL, read_images, read_labels};
use crate::{DataError, LabelledImages};

impl LabelledImages {
    /// Reads a gzip idx3 file of images and the gzip idx1 file of their labels 0 to 9.
    ///
    /// # Errors
    /// As [`read_images`] and [`read_labels`]; [`DataError::Counts`] when the files do not
    /// hold the same number of records.
    pub fn read_idx(images: &Path, labels: &Path) -> Result<Self, DataError> {
        Self::from_idx(
            &images.display().to_string(),
            read_images(images)?,
            &labels.display().to_string(),
            read_labels(labels)?,
        )
    }

    pub(crate) fn from_idx(
        images_file: &str,
        images: IdxImages,
        labels_file: &str,
        labels: Vec<u8>,
    ) -> Result<Self, DataError> {
        if images.count != labels.len() {
            return Err(DataError::Counts {
                images_file: images_file.into(),
                images: images.count,
                labels_file: labels_file.into(),
                labels: labels.len(),
            });
        }
        let classes = usize::from(MAX_LABEL) + 1;
        Self::new(images.pixels, labels, images.height, images.width, classes)
    }
}
