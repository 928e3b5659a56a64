//! The total variation distance of single columns.

use super::counts::Columns;
use crate::EvaluateError;
use private_classifiers::CodedRecords;

/// Returns the mean, over the columns, of the total variation distance between the copy and the real records,
/// `1/2 sum_x |p(x) - q(x)|` with the shares `p` and `q` of each code: between 0 and 1.
///
/// ```
/// use evaluating::tabular::{CodedRecords, single_tvd};
/// let copy = CodedRecords::new(&[0, 0, 1, 1], &[2], &[0])?;
/// let real = CodedRecords::new(&[0, 1, 1, 1], &[2], &[0])?;
/// assert_eq!(single_tvd(&copy, &real)?, 0.25);
/// # Ok::<(), evaluating::EvaluateError>(())
/// ```
///
/// # Errors
///
/// Tables without records, or with different columns.
pub fn single_tvd(copy: &CodedRecords<'_>, real: &CodedRecords<'_>) -> Result<f64, EvaluateError> {
    copy.comparable(real)?;
    let columns: Vec<_> = (0..copy.columns()).map(|at| vec![at]).collect();
    let mean = Columns::of(copy, real).mean_tvd(&columns);
    Ok(mean.expect("a table has a column"))
}
