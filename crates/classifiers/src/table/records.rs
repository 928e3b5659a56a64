//! Records of a table, as codes.

use crate::ClassifierError;

/// The largest number of codes of a column: the number of values of `u16`.
const MOST_CODES: usize = 1 << 16;

/// Records whose values are codes: of bins, of categories, or of a missing value.
///
/// ```
/// use private_classifiers::CodedRecords;
/// // Three records; the first column has four bins in order and a code for missing, the second two categories.
/// let table = CodedRecords::new(&[0, 1, 4, 0, 3, 1], &[5, 2], &[4, 0])?;
/// assert_eq!(table.records(), 3);
/// assert!(CodedRecords::new(&[0, 2], &[5, 2], &[4, 0]).is_err());
/// # Ok::<(), private_classifiers::ClassifierError>(())
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
    ) -> Result<Self, ClassifierError> {
        let refused = |name, found: usize, bound: String| {
            Err(ClassifierError::range(name, found as f64, bound))
        };
        if sizes.is_empty() {
            return refused("the number of columns of a table", 0, "at least 1".into());
        }
        if ordered.len() != sizes.len() {
            let bound = format!("one for each of {} columns", sizes.len());
            return refused(
                "the number of counts of ordered codes",
                ordered.len(),
                bound,
            );
        }
        for (&size, &leading) in sizes.iter().zip(ordered) {
            if !(1..=MOST_CODES).contains(&size) {
                let bound = format!("between 1 and {MOST_CODES}");
                return refused("the number of codes of a column", size, bound);
            }
            if leading > size {
                let bound = format!("at most {size}, the codes of the column");
                return refused("the number of ordered codes of a column", leading, bound);
            }
        }
        if !codes.len().is_multiple_of(sizes.len()) {
            let bound = format!("whole records of {} codes", sizes.len());
            return refused("the number of codes of a table", codes.len(), bound);
        }
        for record in codes.chunks_exact(sizes.len()) {
            for (column, (&code, &size)) in record.iter().zip(sizes).enumerate() {
                if usize::from(code) >= size {
                    return Err(ClassifierError::Code {
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
    pub fn column(&self, at: usize) -> Vec<u16> {
        let codes = self.codes.iter().skip(at).step_by(self.columns());
        codes.copied().collect()
    }

    /// Checks that both tables have records, and the same columns.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] otherwise.
    pub fn comparable(&self, other: &Self) -> Result<(), ClassifierError> {
        for (name, table) in [
            ("the number of records", self),
            ("the number of other records", other),
        ] {
            if table.records() == 0 {
                return Err(ClassifierError::range(name, 0.0, "at least 1"));
            }
        }
        self.same_columns(other.sizes, other.ordered)
    }

    /// Checks that the columns are of these sizes, with these numbers of ordered codes.
    pub(super) fn same_columns(
        &self,
        sizes: &[usize],
        ordered: &[usize],
    ) -> Result<(), ClassifierError> {
        if self.columns() != sizes.len() {
            let bound = format!("{}, as in the other table", self.columns());
            let name = "the number of columns of a table";
            return Err(ClassifierError::range(name, sizes.len() as f64, bound));
        }
        for (name, expected, found) in [
            ("the number of codes of a column", self.sizes, sizes),
            (
                "the number of ordered codes of a column",
                self.ordered,
                ordered,
            ),
        ] {
            let mut both = expected.iter().zip(found);
            if let Some((expected, &found)) = both.find(|(a, b)| a != b) {
                let bound = format!("{expected}, as in the other table");
                return Err(ClassifierError::range(name, found as f64, bound));
            }
        }
        Ok(())
    }

    /// Checks that `label` is a column.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] otherwise.
    pub fn check_label(&self, label: usize) -> Result<(), ClassifierError> {
        if label < self.columns() {
            return Ok(());
        }
        let bound = "the place of a column of the table";
        Err(ClassifierError::range("label", label as f64, bound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_tables_are_refused_and_no_code_is_quoted() {
        let refused = |codes: &[u16], sizes: &[usize], ordered: &[usize]| {
            let refused = CodedRecords::new(codes, sizes, ordered);
            refused.unwrap_err().to_string()
        };
        assert_eq!(
            refused(&[0, 1, 0, 4711], &[3, 2], &[0, 0]),
            "codes of a table: column 1 holds a code that is not below its 2 codes"
        );
        for (codes, sizes, ordered, part) in [
            (&[][..], &[][..], &[][..], "columns of a table is 0"),
            (&[0, 0, 0], &[3, 2], &[0, 0], "whole records of 2 codes"),
            (&[0, 0], &[3, 2], &[0], "one for each of 2 columns"),
            (
                &[0, 0],
                &[3, 0],
                &[0, 0],
                "is 0, expected between 1 and 65536",
            ),
            (&[0, 0], &[3, 65_537], &[0, 0], "is 65537"),
            (&[0, 0], &[3, 2], &[0, 3], "at most 2"),
        ] {
            let message = refused(codes, sizes, ordered);
            assert!(message.contains(part), "{message}");
        }
    }
}
