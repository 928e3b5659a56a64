use crate::DataError;
use crate::error::{check_count, index, unfit};
use crate::idx::check_labels;

/// Grey or colour images of one size, each with a class label.
///
/// A value is one byte, 0 for the background to 255; accessors that give `f32` divide by 255, so
/// that values lie in [0, 1].
#[derive(Clone, PartialEq, Eq)]
pub struct LabelledImages {
    pixels: Vec<u8>,
    labels: Vec<u8>,
    shape: [usize; 3],
    classes: usize,
}

debug_shows!(LabelledImages { shape, classes });

impl LabelledImages {
    /// Puts together `n` grey images: `pixels` holds `n * height * width` bytes, image by image and row by
    /// row, `labels` holds `n` values below `classes`.
    ///
    /// # Errors
    /// [`DataError::Request`] when there is no image, a side is 0, `classes` is not in 1..=256 or the
    /// lengths disagree; [`DataError::Record`] for a label that is no class.
    pub fn new(
        pixels: Vec<u8>,
        labels: Vec<u8>,
        height: usize,
        width: usize,
        classes: usize,
    ) -> Result<Self, DataError> {
        Self::planes(pixels, labels, [1, height, width], classes)
    }

    /// As [`new`](Self::new), of images with several channels: `pixels` has the shape `[n, channels, height, width]`.
    pub fn planes(
        pixels: Vec<u8>,
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

    /// 1 for grey images, 3 for colour.
    pub fn channels(&self) -> usize {
        self.shape[0]
    }

    /// Channels, height and width of an image.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Rows of an image.
    pub fn height(&self) -> usize {
        self.shape[1]
    }

    /// Columns of an image.
    pub fn width(&self) -> usize {
        self.shape[2]
    }

    /// Values of an image, `channels * height * width`.
    pub fn image_size(&self) -> usize {
        self.shape.iter().product()
    }

    /// The number of classes; a class may have no record.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// All pixels, 0 to 255, shape `[len, channels, height, width]` in row-major order.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// All labels, shape `[len]`.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// The label of one image, `None` past the end.
    pub fn label(&self, index: usize) -> Option<usize> {
        self.labels.get(index).map(|&label| usize::from(label))
    }

    /// One image as bytes, shape `[channels, height, width]` in row-major order, `None` past the end.
    pub fn image_bytes(&self, index: usize) -> Option<&[u8]> {
        let size = self.image_size();
        let start = index.checked_mul(size)?;
        self.pixels.get(start..start.checked_add(size)?)
    }

    /// One image in [0, 1], shape `[channels, height, width]` in row-major order, `None` past the end.
    pub fn image(&self, index: usize) -> Option<Vec<f32>> {
        let bytes = self.image_bytes(index)?;
        Some(bytes.iter().copied().map(unit).collect())
    }

    /// The images at `indices` in [0, 1], in that order, shape `[indices.len(), channels, height, width]` in
    /// row-major order, `None` if one is past the end.
    pub fn gather(&self, indices: &[usize]) -> Option<Vec<f32>> {
        let mut values = Vec::with_capacity(indices.len() * self.image_size());
        for &index in indices {
            values.extend(self.image_bytes(index)?.iter().copied().map(unit));
        }
        Some(values)
    }

    /// All pixels, and all labels.
    pub(crate) fn into_parts(self) -> (Vec<u8>, Vec<u8>) {
        (self.pixels, self.labels)
    }

    /// The number of records of each class, shape `[classes]`.
    pub fn class_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.classes];
        for &label in &self.labels {
            sizes[usize::from(label)] += 1;
        }
        sizes
    }

    /// The indices of the records of each class, ascending, one list for each class.
    pub fn indices_by_class(&self) -> Vec<Vec<usize>> {
        let mut indices = vec![Vec::new(); self.classes];
        for (index, &label) in self.labels.iter().enumerate() {
            indices[usize::from(label)].push(index);
        }
        indices
    }

    /// The index of the first record of each class, `None` for a class without records.
    pub fn first_of_each_class(&self) -> Vec<Option<usize>> {
        let first = |class| self.labels.iter().position(|&l| usize::from(l) == class);
        (0..self.classes).map(first).collect()
    }

    /// The records at `indices`, in that order.
    ///
    /// # Errors
    /// [`DataError::Request`] for an index past the end, and without indices.
    pub fn select(&self, indices: &[usize]) -> Result<Self, DataError> {
        let mut pixels = Vec::with_capacity(indices.len() * self.image_size());
        let mut labels = Vec::with_capacity(indices.len());
        for &place in indices {
            let (Some(image), Some(&label)) = (self.image_bytes(place), self.labels.get(place))
            else {
                return Err(index("labelled images", place, self.len()));
            };
            pixels.extend_from_slice(image);
            labels.push(label);
        }
        Self::planes(pixels, labels, self.shape(), self.classes)
    }

    /// Keeps the first `count` records.
    ///
    /// # Errors
    /// [`DataError::Request`] when `count` is 0 or larger than the number of records.
    pub fn truncate(&mut self, count: usize) -> Result<(), DataError> {
        check_count("images", count, self.len())?;
        self.labels.truncate(count);
        self.pixels.truncate(count * self.image_size());
        Ok(())
    }
}

/// Refuses pixels and labels that make no images.
pub(crate) fn check(
    pixels: usize,
    labels: &[u8],
    shape: [usize; 3],
    classes: usize,
) -> Result<(), DataError> {
    let [channels, height, width] = shape;
    let refuse = |what: &str, expected: &str, found| {
        Err(unfit(&format!("labelled images: {what}"), expected, found))
    };
    if labels.is_empty() {
        return refuse("number of labels", "at least 1", 0);
    }
    if height == 0 || width == 0 || channels == 0 {
        return refuse("side or channels of an image", "at least 1", 0);
    }
    if !(1..=256).contains(&classes) {
        return refuse("number of classes", "1 to 256", classes);
    }
    let expected = shape
        .iter()
        .try_fold(labels.len(), |n, &side| n.checked_mul(side));
    if expected != Some(pixels) {
        let expected = format!("{} x {channels} x {height} x {width}", labels.len());
        return refuse("number of pixels", &expected, pixels);
    }
    check_labels("labelled images", 0, labels, (classes - 1) as u8)
}

fn unit(pixel: u8) -> f32 {
    f32::from(pixel) / 255.0
}
