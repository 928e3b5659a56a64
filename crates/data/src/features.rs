//! Features that another program computed, such as a pretrained network's, with their labels.
//!
//! A file has a row for each record: its features, then its class, a whole number from 0. It is an NPY array of
//! two dimensions ([`crate::npy`]), or CSV text without a header line.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::split::{Records, digest};
use crate::{DataError, TableError, npy};

/// What a label has to be.
pub(crate) const ADVICE: &str = "repair or remove the row";

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
/// assert!(refused.unwrap_err().to_string().contains("line 2, column 3"));
/// # Ok::<(), data::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledFeatures {
    width: usize,
    classes: usize,
    values: Vec<f32>,
    labels: Vec<usize>,
}

impl LabelledFeatures {
    /// Reads a file: NPY where its name ends in `.npy`, CSV otherwise.
    ///
    /// - `width`: features of a record; a file has one column more;
    /// - `classes`: labels lie below.
    ///
    /// # Errors
    /// As [`npy::read`]; [`DataError::Row`] and [`DataError::Table`] for another width, a value that is not
    /// finite and a label that is no class; [`DataError::Empty`] without a row; [`DataError::Io`].
    pub fn read(path: &Path, width: usize, classes: usize) -> Result<Self, DataError> {
        let file = path.display().to_string();
        if path.extension().is_some_and(|ending| ending == "npy") {
            return Self::of_array(&file, &npy::read(path)?, width, classes);
        }
        let open = File::open(path).map_err(|source| DataError::Io {
            path: path.into(),
            action: "open the file",
            source,
        })?;
        Self::decode_csv(&file, BufReader::new(open), width, classes)
    }

    fn of_array(
        file: &str,
        array: &npy::NpyArray,
        width: usize,
        classes: usize,
    ) -> Result<Self, DataError> {
        let columns = array.width.unwrap_or(1);
        let refuse = |place: String, expected: String| DataError::Row {
            file: file.into(),
            place,
            expected,
            advice: ADVICE,
        };
        if columns != width + 1 {
            let expected = format!("{width} features and a label, {} columns", width + 1);
            return Err(refuse(format!("{columns} columns"), expected));
        }
        let mut values = Vec::with_capacity(array.rows * width);
        let mut labels = Vec::with_capacity(array.rows);
        for (row, fields) in array.values.chunks_exact(columns).enumerate() {
            values.extend_from_slice(&fields[..width]);
            let label = class(f64::from(fields[width]), classes);
            labels.push(label.ok_or_else(|| {
                refuse(format!("row {row}, column {width}"), class_bound(classes))
            })?);
        }
        Self::whole(file, width, classes, values, labels)
    }

    /// Decodes CSV text; `file` is the name to use in errors, empty lines are passed over.
    ///
    /// # Errors
    /// As [`LabelledFeatures::read`].
    pub fn decode_csv(
        file: &str,
        text: impl BufRead,
        width: usize,
        classes: usize,
    ) -> Result<Self, DataError> {
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for (line, text) in (1..).zip(text.split(b'\n')) {
            let text = text.map_err(|source| DataError::Io {
                path: file.into(),
                action: "read the file",
                source,
            })?;
            let text = str::from_utf8(&text).map_err(|_| TableError::Encoding {
                file: file.into(),
                line,
            })?;
            if text.trim().is_empty() {
                continue;
            }
            let found = text.split(',').count();
            if found != width + 1 {
                return Err(TableError::Fields {
                    file: file.into(),
                    line,
                    expected: width + 1,
                    found,
                }
                .into());
            }
            let bad = |column: usize, expected: String| TableError::Field {
                file: file.into(),
                line,
                column: (column + 1).to_string(),
                expected,
                advice: ADVICE,
            };
            for (column, field) in text.split(',').enumerate() {
                if column == width {
                    let label = field.trim().parse().ok().and_then(|v| class(v, classes));
                    labels.push(label.ok_or_else(|| bad(column, class_bound(classes)))?);
                    continue;
                }
                match field.trim().parse::<f32>() {
                    Ok(value) if value.is_finite() => values.push(value),
                    _ => return Err(bad(column, "a finite number".into()).into()),
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
            return Err(DataError::Empty {
                what: file.into(),
                expected: "record",
            });
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

pub(crate) fn class(value: f64, classes: usize) -> Option<usize> {
    let holds = value >= 0.0 && value < classes as f64 && value.fract() == 0.0;
    holds.then_some(value as usize)
}

pub(crate) fn class_bound(classes: usize) -> String {
    format!(
        "a class, a whole number from 0 to {}",
        classes.saturating_sub(1)
    )
}
