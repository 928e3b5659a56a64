//! Features that another program computed, such as a pretrained network's, with their labels.
//!
//! A file has a row for each record: its features, then its class, a whole number from 0. It is an NPY array of
//! two dimensions ([`crate::npy`]), or CSV text without a header line.

use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::error::{empty, field, fields, open};
use crate::split::{Records, digest};
use crate::table::lines::Lines;
use crate::{DataError, npy};

/// What a label has to be.
const ADVICE: &str = "repair or remove the row";

/// Records of `width` features with labels.
///
/// ```
/// use data::LabelledFeatures;
///
/// let text = "0.5,1.5,0\n-1,2e-3,1\n";
/// let records = LabelledFeatures::decode_csv("features.csv", text.as_bytes(), 2, 3)?;
/// assert_eq!((records.len(), records.labels()), (2, &[0, 1][..]));
/// assert_eq!(records.row(1), Some(&[-1.0, 2e-3][..]));
/// let refused = LabelledFeatures::decode_csv("features.csv", text.as_bytes(), 2, 1);
/// let refused = refused.unwrap_err();
/// assert!(refused.to_string().contains("column 3: expected a class, a whole number from 0 to 0"));
/// // Which record it is, and what it holds, is private.
/// assert!(refused.private().is_some_and(|told| told.contains("line 2, column 3")));
/// # Ok::<(), data::DataError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct LabelledFeatures {
    width: usize,
    classes: usize,
    values: Vec<f32>,
    labels: Vec<usize>,
}

debug_shows!(LabelledFeatures { width, classes });

impl LabelledFeatures {
    /// Reads a file: NPY where its name ends in `.npy`, CSV otherwise.
    ///
    /// - `width`: features of a record; a file has one column more;
    /// - `classes`: labels lie below.
    ///
    /// # Errors
    /// As [`npy::read`]; [`DataError::Record`] for another width, a value that is not finite and a label that is no
    /// class; [`DataError::Request`] without a row; [`DataError::Io`].
    pub fn read(path: &Path, width: usize, classes: usize) -> Result<Self, DataError> {
        let file = path.display().to_string();
        if path.extension().is_some_and(|ending| ending == "npy") {
            return Self::of_array(&file, &npy::read(path)?, width, classes);
        }
        Self::decode_csv(&file, BufReader::new(open(path)?), width, classes)
    }

    fn of_array(
        file: &str,
        array: &npy::NpyArray,
        width: usize,
        classes: usize,
    ) -> Result<Self, DataError> {
        let columns = array.width.unwrap_or(1);
        if columns != width + 1 {
            return Err(DataError::record(format!(
                "{file}, {columns} columns: expected {width} features and a label, {} columns; {ADVICE}",
                width + 1
            )));
        }
        let mut values = Vec::with_capacity(array.rows * width);
        let mut labels = Vec::with_capacity(array.rows);
        for (number, fields) in array.values.chunks_exact(columns).enumerate() {
            values.extend_from_slice(&fields[..width]);
            let label = class(f64::from(fields[width]), classes);
            labels.push(label.ok_or_else(|| {
                let place = format!("row {number}, column {width}");
                no_class(file, &place, classes, fields[width])
            })?);
        }
        Self::whole(file, width, classes, values, labels)
    }

    /// Decodes CSV text; `file` is the name to use in errors, empty lines are passed over.
    pub fn decode_csv(
        file: &str,
        text: impl BufRead,
        width: usize,
        classes: usize,
    ) -> Result<Self, DataError> {
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        let mut lines = Lines::new(file, b',', None, text);
        while let Some(line) = lines.next()? {
            let (place, found) = (line.place, line.fields.len());
            if found != width + 1 {
                return Err(fields(file, place, width + 1, found));
            }
            for (column, text) in (1..).zip(&line.fields) {
                let bad = |expected: &str| field(file, place, column, expected, text, ADVICE);
                if column > width {
                    let label = text.parse().ok().and_then(|v| class(v, classes));
                    labels.push(label.ok_or_else(|| bad(&class_bound(classes)))?);
                    continue;
                }
                match text.parse::<f32>() {
                    Ok(value) if value.is_finite() => values.push(value),
                    _ => return Err(bad("a finite number")),
                }
            }
        }
        Self::whole(file, width, classes, values, labels)
    }

    fn whole(
        file: &str,
        width: usize,
        classes: usize,
        values: Vec<f32>,
        labels: Vec<usize>,
    ) -> Result<Self, DataError> {
        if labels.is_empty() {
            return Err(empty(file, "record"));
        }
        Ok(Self {
            width,
            classes,
            values,
            labels,
        })
    }

    /// The number of records, at least 1.
    #[allow(clippy::len_without_is_empty)] // there is always one
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Features of a record.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// All features, `[n, width]` in rows.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The class of each record.
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// The features of one record; none past the end.
    pub fn row(&self, index: usize) -> Option<&[f32]> {
        let start = index.checked_mul(self.width)?;
        self.values.get(start..start.checked_add(self.width)?)
    }
}

/// The sum is over `sliver features 1`, the numbers of records, features and classes, the features and the
/// labels (8 bytes each, the lowest first).
impl Records for LabelledFeatures {
    fn count(&self) -> usize {
        self.len()
    }

    fn sha256(&self) -> Result<String, DataError> {
        let bytes: Vec<u8> = self.values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let labels: Vec<u8> = self.labels.iter().flat_map(|v| v.to_le_bytes()).collect();
        let header = [self.len(), self.width, self.classes];
        Ok(digest("sliver features 1", &header, &[&bytes, &labels]))
    }

    fn strata(&self) -> Option<Vec<usize>> {
        Some(self.labels.clone())
    }
}

/// A row whose label, which is `found` at a place, is no class.
pub(crate) fn no_class(file: &str, place: &str, classes: usize, found: f32) -> DataError {
    let bound = class_bound(classes);
    DataError::record(format!("{file}: expected {bound} in each row; {ADVICE}")).telling(format!(
        "{file}, {place}: expected {bound}, found {found}; {ADVICE}"
    ))
}

pub(crate) fn class(value: f64, classes: usize) -> Option<usize> {
    let holds = value >= 0.0 && value < classes as f64 && value.fract() == 0.0;
    holds.then_some(value as usize)
}

fn class_bound(classes: usize) -> String {
    format!(
        "a class, a whole number from 0 to {}",
        classes.saturating_sub(1)
    )
}
