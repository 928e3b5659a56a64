//! Records of a table, as codes.

use crate::EvaluateError;
use crate::error::check_count;

/// The largest number of codes of a column: the number of values of `u16`.
const MOST_CODES: usize = 1 << 16;

/// Records whose values are codes: of bins, of categories, or of a missing value.
///
/// ```
/// use evaluating::tabular::CodedRecords;
/// // Three records; the first column has four bins in order and a code for missing, the second two categories.
/// let table = CodedRecords::new(&[0, 1, 4, 0, 3, 1], &[5, 2], &[4, 0])?;
/// assert_eq!(table.records(), 3);
/// assert!(CodedRecords::new(&[0, 2], &[5, 2], &[4, 0]).is_err());
/// # Ok::<(), evaluating::EvaluateError>(())
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct CodedRecords<'a> {
    /// The codes, `[n, D]`, row-major, each below the size of its column.
    pub codes: &'a [u16],
    /// The number of codes of each column, `[D]`.
    pub sizes: &'a [usize],
    /// The number of leading codes of each column that are in order of magnitude, `[D]`; 0 for categories.
    pub ordered: &'a [usize],
}

impl std::fmt::Debug for CodedRecords<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("CodedRecords");
        shown.field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl<'a> CodedRecords<'a> {
    /// Checks that `codes`, `[n, D]`, are whole records whose codes are below the sizes of their columns.
    ///
    /// # Errors
    ///
    /// No column; a column without codes or with more than `u16` has; more ordered codes than codes; a length of `codes` that
    /// is not a multiple of `D`; a code outside its column.
    pub fn new(
        codes: &'a [u16],
        sizes: &'a [usize],
        ordered: &'a [usize],
    ) -> Result<Self, EvaluateError> {
        let shape = |what, expected: String, found| EvaluateError::Shape {
            what,
            expected,
            found,
        };
        check_count("columns of a table", sizes.len(), 1)?;
        if ordered.len() != sizes.len() {
            let expected = format!("one for each of {} columns", sizes.len());
            return Err(shape("numbers of ordered codes", expected, ordered.len()));
        }
        for (&size, &leading) in sizes.iter().zip(ordered) {
            if !(1..=MOST_CODES).contains(&size) {
                let expected = format!("between 1 and {MOST_CODES}");
                return Err(shape("codes of a column", expected, size));
            }
            if leading > size {
                let expected = format!("at most {size}, the codes of the column");
                return Err(shape("ordered codes of a column", expected, leading));
            }
        }
        if !codes.len().is_multiple_of(sizes.len()) {
            let expected = format!("whole records of {} codes", sizes.len());
            return Err(shape("codes of a table", expected, codes.len()));
        }
        for record in codes.chunks_exact(sizes.len()) {
            for (column, (&code, &size)) in record.iter().zip(sizes).enumerate() {
                if usize::from(code) >= size {
                    return Err(EvaluateError::Code {
                        what: "codes of a table",
                        column,
                        codes: size,
                    });
                }
            }
        }
        Ok(Self {
            codes,
            sizes,
            ordered,
        })
    }

    /// Returns the number of records, `n`.
    pub fn records(&self) -> usize {
        self.codes.len() / self.sizes.len()
    }

    /// Returns the number of columns, `D`.
    pub fn columns(&self) -> usize {
        self.sizes.len()
    }

    /// Returns the codes of one column, `[n]`.
    pub(super) fn column(&self, at: usize) -> Vec<u16> {
        let codes = self.codes.iter().skip(at).step_by(self.columns());
        codes.copied().collect()
    }
}

/// Checks that two tables have records and the same columns.
pub(super) fn check_comparable(
    copy: &CodedRecords<'_>,
    real: &CodedRecords<'_>,
) -> Result<(), EvaluateError> {
    check_count("records of the copy", copy.records(), 1)?;
    check_count("real records", real.records(), 1)?;
    if copy.columns() != real.columns() {
        return Err(EvaluateError::Shape {
            what: "columns of the real records",
            expected: format!("{}, as in the copy", copy.columns()),
            found: real.columns(),
        });
    }
    for (what, expected, found) in [
        (
            "codes of a column of the real records",
            copy.sizes,
            real.sizes,
        ),
        (
            "ordered codes of a column of the real records",
            copy.ordered,
            real.ordered,
        ),
    ] {
        let mut both = expected.iter().zip(found);
        if let Some((expected, &found)) = both.find(|(a, b)| a != b) {
            return Err(EvaluateError::Shape {
                what,
                expected: format!("{expected}, as in the copy"),
                found,
            });
        }
    }
    Ok(())
}

/// Checks that `label` is a column.
pub(super) fn check_label(table: &CodedRecords<'_>, label: usize) -> Result<(), EvaluateError> {
    if label < table.columns() {
        return Ok(());
    }
    Err(EvaluateError::Setting {
        name: "label",
        value: label as f64,
        bound: "the place of a column of the table",
    })
}
