//! Rows of numbers without labels, from whatever holds them: arrays, text, images.

use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::error::{empty, field, fields, open, unfit};
use crate::split::{Records, digest};
use crate::table::lines::Lines;
use crate::{DataError, ImageFolder, idx, npy};

/// Rows of numbers, all of one width and finite.
///
/// ```
/// use data::Rows;
///
/// let rows = Rows::decode_csv("points.csv", "x,y\n0.5,1.5\n-1,2e-3\n".as_bytes())?;
/// assert_eq!((rows.count(), rows.width(), rows.values()), (2, 2, &[0.5, 1.5, -1.0, 2e-3][..]));
/// let refused = Rows::decode_csv("points.csv", "0.5,1.5\n1,nan\n".as_bytes());
/// let refused = refused.unwrap_err();
/// assert!(refused.to_string().contains("column 2: expected a finite number"));
/// // Which record it is, and what it holds, is private.
/// assert!(refused.private().is_some_and(|told| told.contains("line 2, column 2")));
/// # Ok::<(), data::DataError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Rows {
    width: usize,
    values: Vec<f32>,
    norm_upper: Option<f64>,
}

debug_shows!(Rows { width });

impl Rows {
    /// Rows of `width` values each.
    ///
    /// # Errors
    /// [`DataError::Request`] without a value, and for a length that is no multiple.
    pub fn new(name: &str, width: usize, values: Vec<f32>) -> Result<Self, DataError> {
        if values.is_empty() {
            return Err(empty(name, "row of numbers"));
        }
        if width == 0 || !values.len().is_multiple_of(width) {
            let expected = format!("a multiple of {width}");
            return Err(unfit("number of values", expected, values.len()));
        }
        Ok(Self {
            width,
            values,
            norm_upper: None,
        })
    }

    /// The same, of values that lie in [0, 1] whatever a row holds.
    fn of_pixels(mut self) -> Self {
        self.norm_upper = Some((self.width as f64).sqrt());
        self
    }

    /// Reads what lies at a path:
    ///
    /// - a folder: colour images, cut to squares of `side` pixels, values in [0, 1] ([`ImageFolder`]);
    /// - a name that ends in `.npy`: an array ([`npy`]), of one dimension as one column;
    /// - `.csv`, `.txt` or `.tsv`: text ([`Rows::decode_csv`]);
    /// - anything else: idx images, gzip or not, values in [0, 1].
    pub fn read(path: &Path, side: usize) -> Result<Self, DataError> {
        let name = path.display().to_string();
        let ending = path
            .extension()
            .map(|ending| ending.to_string_lossy().to_lowercase());
        if path.is_dir() {
            let folder = ImageFolder::scan(path, side)?;
            let all: Vec<usize> = (0..folder.len()).collect();
            let rows = Self::new(&name, folder.image_size(), folder.gather(&all)?);
            return rows.map(Self::of_pixels);
        }
        match ending.as_deref() {
            Some("npy") => {
                let array = npy::read(path)?;
                Self::new(&name, array.width.unwrap_or(1), array.values)
            }
            Some("csv" | "txt" | "tsv") => Self::decode_csv(&name, BufReader::new(open(path)?)),
            _ => {
                let images = idx::read_images_plain_or_gzip(path)?;
                let values = images.pixels.iter().map(|&byte| f32::from(byte) / 255.0);
                let rows = Self::new(&name, images.height * images.width, values.collect());
                rows.map(Self::of_pixels)
            }
        }
    }

    /// Decodes text with a row a line, its numbers between commas, semicolons, tabs or spaces; `file` is the name to
    /// use in errors. Empty lines are passed over, and so is a first line without any number: names of columns.
    ///
    /// # Errors
    /// [`DataError::Record`] for a line of another width than the first, and for what is no finite number;
    /// [`DataError::File`] for what is no text; [`DataError::Request`] without a row; [`DataError::Io`].
    pub fn decode_csv(file: &str, text: impl BufRead) -> Result<Self, DataError> {
        let (mut width, mut values) = (0, Vec::new());
        let mut first = true;
        // What separates numbers differs from file to file: a line is one field here.
        let mut lines = Lines::unquoted(file, text);
        while let Some(line) = lines.next()? {
            let texts: Vec<&str> = line.fields.iter().flat_map(|text| split(text)).collect();
            let numbers = || texts.iter().map(|text| text.parse::<f32>().ok());
            if std::mem::take(&mut first) && numbers().all(|number| number.is_none()) {
                continue;
            }
            if width == 0 {
                width = texts.len();
            }
            if texts.len() != width {
                return Err(fields(file, line.place, width, texts.len()));
            }
            for ((column, text), number) in (1..).zip(&texts).zip(numbers()) {
                let number = number.filter(|number| number.is_finite());
                values.push(number.ok_or_else(|| {
                    let (column, advice) = (i32::to_string(&column), "repair or remove the line");
                    field(file, line.place, column, "a finite number", text, advice)
                })?);
            }
        }
        Self::new(file, width.max(1), values)
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.values.len() / self.width
    }

    /// Values of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// A bound on the norm of a row that holds whatever the rows are, as pixels lie in [0, 1]; none for arrays and
    /// text.
    pub fn norm_upper(&self) -> Option<f64> {
        self.norm_upper
    }

    /// All values, row by row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

/// The fields of a line: between commas or semicolons where it has one, between white space otherwise.
fn split(line: &str) -> Vec<&str> {
    match line.find([',', ';']) {
        Some(_) => line.split([',', ';']).map(str::trim).collect(),
        None => line.split_whitespace().collect(),
    }
}

/// The sum is over `sliver rows 1`, the numbers of rows and columns (8 bytes each, the lowest first), and the values.
impl Records for Rows {
    fn count(&self) -> usize {
        self.count()
    }

    fn sha256(&self) -> Result<String, DataError> {
        let values: Vec<u8> = self.values.iter().flat_map(|x| x.to_le_bytes()).collect();
        Ok(digest(
            "sliver rows 1",
            &[self.count(), self.width],
            &[&values],
        ))
    }

    fn strata(&self) -> Option<Vec<usize>> {
        None
    }
}
