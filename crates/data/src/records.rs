use std::borrow::Cow;
use std::ops::Range;

use crate::DataError;
use crate::error::{check_count, empty, index, unfit};
use crate::idx::check_labels;
use crate::split::Splittable;
use crate::stored::Stored;
use crate::sums::{Sum, sum};

/// The number of records that are copied at once.
const BLOCK: usize = 500;

/// Images or rows of numbers of one size, each with a class. If more than 128 MiB are read from files, they lie in a
/// temporary file ([`Stored`]).
///
/// A value of an image is one byte, from 0 for the background to 255. Accessors that return `f32` divide by 255, so
/// that values lie in [0, 1]. Accessors of values give [`DataError::Io`] if the temporary file cannot be read.
#[derive(PartialEq)]
pub struct Records {
    values: Values,
    labels: Vec<u8>,
    shape: [usize; 3],
    classes: usize,
}

debug_shows!(Records { shape, classes });

#[derive(PartialEq)]
enum Values {
    Bytes(Stored<u8>),
    Numbers(Stored<f32>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// Returns the values in a range, in memory.
    fn block(&self, range: Range<usize>) -> Result<Self, DataError> {
        Ok(match self {
            Self::Bytes(bytes) => Self::Bytes(bytes.read(range)?.into_owned().into()),
            Self::Numbers(numbers) => Self::Numbers(numbers.read(range)?.into_owned().into()),
        })
    }

    /// Returns the values of the records at `places`, each of `size` values.
    fn select(&self, places: &[usize], size: usize) -> Result<Self, DataError> {
        Ok(match self {
            Self::Bytes(bytes) => Self::Bytes(bytes.select(places, size)?),
            Self::Numbers(numbers) => Self::Numbers(numbers.select(places, size)?),
        })
    }

    /// Adds the values in a range to `to`, as numbers.
    fn append(&self, range: Range<usize>, to: &mut Vec<f32>) -> Result<(), DataError> {
        match self {
            Self::Bytes(bytes) => to.extend(bytes.read(range)?.iter().copied().map(unit)),
            Self::Numbers(numbers) => to.extend_from_slice(&numbers.read(range)?),
        }
        Ok(())
    }
}

impl Records {
    /// Makes records of `n` grey images: `pixels` holds `n * height * width` bytes, image by image and row by
    /// row, and `labels` holds `n` values below `classes`.
    ///
    /// # Errors
    /// [`DataError::Request`] if there is no image, a side is 0, `classes` is not in 1..=256 or the
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

    /// Makes records of images with several channels, as [`new`](Self::new), from pixels `[n, channels, height, width]`.
    pub fn planes(
        pixels: impl Into<Stored<u8>>,
        labels: Vec<u8>,
        shape: [usize; 3],
        classes: usize,
    ) -> Result<Self, DataError> {
        Self::of(Values::Bytes(pixels.into()), labels, shape, classes)
    }

    /// Makes records of rows of `width` numbers without labels, all in one class 0.
    ///
    /// # Errors
    /// [`DataError::Request`] without a value, and for a length that is no multiple of `width`.
    pub fn rows(
        name: &str,
        width: usize,
        values: impl Into<Stored<f32>>,
    ) -> Result<Self, DataError> {
        let values = values.into();
        if values.len() == 0 {
            return Err(empty(name, "row of numbers"));
        }
        if width == 0 || !values.len().is_multiple_of(width) {
            let expected = format!("a multiple of {width}");
            return Err(unfit("number of values", expected, values.len()));
        }
        let labels = vec![0; values.len() / width];
        Self::of(Values::Numbers(values), labels, [1, 1, width], 1)
    }

    /// Returns the records with these labels.
    ///
    /// # Errors
    /// The errors of [`Records::new`].
    pub fn labelled(self, labels: Vec<u8>, classes: usize) -> Result<Self, DataError> {
        Self::of(self.values, labels, self.shape, classes)
    }

    fn of(
        values: Values,
        labels: Vec<u8>,
        shape: [usize; 3],
        classes: usize,
    ) -> Result<Self, DataError> {
        check(values.len(), &labels, shape, classes)?;
        Ok(Self {
            values,
            labels,
            shape,
            classes,
        })
    }

    /// The number of records; at least 1.
    #[allow(clippy::len_without_is_empty)] // there is always one
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The number of channels: 1 for grey images, 3 for colour.
    pub fn channels(&self) -> usize {
        self.shape[0]
    }

    /// The channels, height and width of an image; `[1, 1, width]` for rows of numbers.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// The number of rows of an image.
    pub fn height(&self) -> usize {
        self.shape[1]
    }

    /// The number of columns of an image, or of numbers of a row.
    pub fn width(&self) -> usize {
        self.shape[2]
    }

    /// The number of values of a record, `channels * height * width`.
    pub fn image_size(&self) -> usize {
        self.shape.iter().product()
    }

    /// The number of classes; a class may have no record.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The labels of all records, shape `[len]`.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// The label of one record, `None` past the end.
    pub fn label(&self, index: usize) -> Option<usize> {
        self.labels.get(index).map(|&label| usize::from(label))
    }

    /// Whether all values lie in memory.
    pub fn in_memory(&self) -> bool {
        match &self.values {
            Values::Bytes(bytes) => bytes.in_memory(),
            Values::Numbers(numbers) => numbers.in_memory(),
        }
    }

    /// Returns a bound on the norm of any image of this shape, as pixels lie in [0, 1]; `None` for rows of
    /// numbers.
    pub fn norm_upper(&self) -> Option<f64> {
        match self.values {
            Values::Bytes(_) => Some((self.image_size() as f64).sqrt()),
            Values::Numbers(_) => None,
        }
    }

    /// Returns all pixels, 0 to 255, shape `[len, channels, height, width]` in row-major order.
    ///
    /// # Errors
    /// [`DataError::Request`] for rows of numbers.
    pub fn pixels(&self) -> Result<Cow<'_, [u8]>, DataError> {
        self.bytes()?.read(0..self.values.len())
    }

    /// Returns one image as bytes, shape `[channels, height, width]` in row-major order.
    ///
    /// # Errors
    /// [`DataError::Request`] for an index past the end, and for rows of numbers.
    pub fn image_bytes(&self, place: usize) -> Result<Cow<'_, [u8]>, DataError> {
        self.bytes()?.read(self.range(place)?)
    }

    fn bytes(&self) -> Result<&Stored<u8>, DataError> {
        match &self.values {
            Values::Bytes(bytes) => Ok(bytes),
            Values::Numbers(_) => Err(unfit("records", "images", "rows of numbers")),
        }
    }

    /// Returns the range of the values of a record.
    fn range(&self, place: usize) -> Result<Range<usize>, DataError> {
        if place >= self.len() {
            return Err(index("records", place, self.len()));
        }
        let size = self.image_size();
        Ok(place * size..(place + 1) * size)
    }

    /// Returns all values as numbers, shape `[len, channels, height, width]` in row-major order.
    pub fn values(&self) -> Result<Vec<f32>, DataError> {
        let mut values = Vec::with_capacity(self.values.len());
        self.values.append(0..self.values.len(), &mut values)?;
        Ok(values)
    }

    /// Returns the records at `indices` as numbers, in that order, shape `[indices.len(), channels, height, width]` in
    /// row-major order.
    ///
    /// # Errors
    /// [`DataError::Request`] for an index past the end.
    pub fn gather(&self, indices: &[usize]) -> Result<Vec<f32>, DataError> {
        let mut values = Vec::with_capacity(indices.len() * self.image_size());
        for &place in indices {
            self.values.append(self.range(place)?, &mut values)?;
        }
        Ok(values)
    }

    /// Returns the records of each class as numbers, one list for each class.
    pub fn by_class(&self) -> Result<Vec<Vec<f32>>, DataError> {
        let mut classes = vec![Vec::new(); self.classes];
        for (place, &label) in self.labels.iter().enumerate() {
            let class = &mut classes[usize::from(label)];
            self.values.append(self.range(place)?, class)?;
        }
        Ok(classes)
    }

    /// Iterates over all records in blocks of at most `records`, each in memory.
    pub fn blocks(&self, records: usize) -> impl Iterator<Item = Result<Self, DataError>> {
        let starts = (0..self.len()).step_by(records.max(1));
        starts.map(move |start| self.block(start..self.len().min(start + records)))
    }

    /// Returns a copy of all records, in memory.
    pub fn whole(&self) -> Result<Self, DataError> {
        self.block(0..self.len())
    }

    /// Returns a copy of some records, in memory.
    fn block(&self, places: Range<usize>) -> Result<Self, DataError> {
        let size = self.image_size();
        let values = self.values.block(places.start * size..places.end * size)?;
        let labels = self.labels[places].to_vec();
        Self::of(values, labels, self.shape, self.classes)
    }

    /// Returns the result of `of` for the bytes of each image.
    pub(crate) fn each<T>(&self, mut of: impl FnMut(&[u8]) -> T) -> Result<Vec<T>, DataError> {
        let mut all = Vec::with_capacity(self.len());
        for block in self.bytes()?.blocks(BLOCK * self.image_size()) {
            all.extend(block?.chunks_exact(self.image_size()).map(&mut of));
        }
        Ok(all)
    }

    /// Returns the SHA-256 of all records. For images it is that of `sliver images 1`, their number, height, width and
    /// classes, and channels if there are several (8 bytes each, the lowest first), the pixels and the labels; for rows it
    /// is [`Records::sha256_of_rows`].
    pub fn sha256(&self) -> Result<String, DataError> {
        let Values::Bytes(bytes) = &self.values else {
            return self.sha256_of_rows();
        };
        let [channels, height, width] = self.shape;
        let mut header = vec![self.len(), height, width, self.classes];
        header.extend(Some(channels).filter(|&channels| channels > 1));
        let mut sum = Sum::of("sliver images 1", &header);
        for block in bytes.blocks(BLOCK * self.image_size()) {
            sum.add(block?);
        }
        sum.add(&self.labels);
        Ok(sum.hex())
    }

    /// Returns the SHA-256 of all records (images too) as rows of numbers: that of `sliver rows 1`, the numbers of rows
    /// and columns (8 bytes each, the lowest first), and the values.
    pub fn sha256_of_rows(&self) -> Result<String, DataError> {
        let mut sum = Sum::of("sliver rows 1", &[self.len(), self.image_size()]);
        for block in self.blocks(BLOCK) {
            let values = block?.values()?;
            let bytes = values.iter().flat_map(|value| value.to_le_bytes());
            sum.add(bytes.collect::<Vec<_>>());
        }
        Ok(sum.hex())
    }

    /// Returns the number of records of each class, shape `[classes]`.
    pub fn class_sizes(&self) -> Vec<usize> {
        self.indices_by_class().iter().map(Vec::len).collect()
    }

    /// Returns the indices of the records of each class, ascending, one list for each class.
    pub fn indices_by_class(&self) -> Vec<Vec<usize>> {
        let mut indices = vec![Vec::new(); self.classes];
        for (index, &label) in self.labels.iter().enumerate() {
            indices[usize::from(label)].push(index);
        }
        indices
    }

    /// Returns the index of the first record of each class, `None` for a class without records.
    pub fn first_of_each_class(&self) -> Vec<Option<usize>> {
        let first = |class| self.labels.iter().position(|&l| usize::from(l) == class);
        (0..self.classes).map(first).collect()
    }

    /// Returns the records at `indices`, in that order.
    ///
    /// # Errors
    /// [`DataError::Request`] for an index past the end, and without indices.
    pub fn select(&self, indices: &[usize]) -> Result<Self, DataError> {
        let label = |&place: &usize| {
            let none = || index("records", place, self.len());
            self.labels.get(place).copied().ok_or_else(none)
        };
        let labels = indices.iter().map(label).collect::<Result<_, _>>()?;
        let values = self.values.select(indices, self.image_size())?;
        Self::of(values, labels, self.shape, self.classes)
    }

    /// Samples `count` images with a `key` that should be secret: those with the lowest SHA-256 of key, label and pixels.
    ///
    /// The choice depends on the set of all images, not on their order. For any key, replacing one image replaces at most one
    /// of the chosen images.
    ///
    /// # Errors
    /// The errors of [`Records::select`]; [`DataError::Request`] if `count` is 0 or larger than the number of images.
    pub fn sampled(&self, count: usize, key: &[u8; 32]) -> Result<Self, DataError> {
        check_count("images", count, self.len())?;
        let mut labels = self.labels.iter();
        let of = |pixels: &[u8]| {
            let label = labels.next().copied().unwrap_or_default();
            sum([&key[..], &[label], pixels])
        };
        let mut places: Vec<_> = self.each(of)?.into_iter().zip(0..).collect();
        places.sort_unstable();
        let chosen: Vec<usize> = places[..count].iter().map(|&(_, place)| place).collect();
        self.select(&chosen)
    }

    /// Keeps the first `count` records.
    ///
    /// # Errors
    /// [`DataError::Request`] if `count` is 0 or larger than the number of records.
    pub fn truncate(&mut self, count: usize) -> Result<(), DataError> {
        check_count("records", count, self.len())?;
        self.labels.truncate(count);
        let length = count * self.image_size();
        match &mut self.values {
            Values::Bytes(bytes) => bytes.truncate(length),
            Values::Numbers(numbers) => numbers.truncate(length),
        }
        Ok(())
    }
}

/// The strata are the labels.
impl Splittable for Records {
    fn count(&self) -> usize {
        self.len()
    }

    fn sha256(&self) -> Result<String, DataError> {
        self.sha256()
    }

    fn strata(&self) -> Option<Vec<usize>> {
        Some(self.labels.iter().map(|&label| label.into()).collect())
    }
}

/// Refuses values and labels that do not make records.
fn check(values: usize, labels: &[u8], shape: [usize; 3], classes: usize) -> Result<(), DataError> {
    let [channels, height, width] = shape;
    let refuse = |what: &str, expected: &str, found| {
        Err(unfit(&format!("records: {what}"), expected, found))
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
    if expected != Some(values) {
        let expected = format!("{} x {channels} x {height} x {width}", labels.len());
        return refuse("number of values", &expected, values);
    }
    check_labels("records", 0, labels, (classes - 1) as u8)
}

fn unit(pixel: u8) -> f32 {
    f32::from(pixel) / 255.0
}
