//! The total variation distance of pairs of columns.

use super::counts::Columns;
use crate::EvaluateError;
use private_classifiers::CodedRecords;

/// Returns the mean, over all pairs of columns, of the total variation distance between the copy and the real records,
/// `1/2 sum_xy |p(x, y) - q(x, y)|`; `None` for a single column.
///
/// ```
/// use evaluating::tabular::{CodedRecords, pairs_tvd};
/// // Each column by itself is right, but not how they go together.
/// let copy = CodedRecords::new(&[0, 0, 1, 1], &[2, 2], &[0, 0])?;
/// let real = CodedRecords::new(&[0, 1, 1, 0], &[2, 2], &[0, 0])?;
/// assert_eq!(pairs_tvd(&copy, &real)?, Some(1.0));
/// # Ok::<(), evaluating::EvaluateError>(())
/// ```
///
/// # Errors
///
/// Tables without records, or with different columns.
pub fn pairs_tvd(
    copy: &CodedRecords<'_>,
    real: &CodedRecords<'_>,
) -> Result<Option<f64>, EvaluateError> {
    copy.comparable(real)?;
    let places = 0..copy.columns();
    let pairs: Vec<_> = places
        .flat_map(|a| (0..a).map(move |b| vec![b, a]))
        .collect();
    Ok(Columns::of(copy, real).mean_tvd(&pairs))
}
