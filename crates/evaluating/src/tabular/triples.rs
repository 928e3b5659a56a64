//! The total variation distance of triples of columns.

use super::counts::Columns;
use crate::EvaluateError;
use private_classifiers::CodedRecords;

/// The largest number of columns of which all triples are compared: 220 triples.
const MOST_COLUMNS: usize = 12;

/// Returns the mean of the total variation distance between three columns in the copy and in the real records,
/// `1/2 sum_xyz |p(x, y, z) - q(x, y, z)|`, over all pairs of other columns together with the column `label`.
///
/// Without a label it is the mean over all triples, or `None` for more than 12 columns. `None` for fewer than 3 columns.
///
/// ```
/// use evaluating::tabular::{CodedRecords, triples_tvd};
/// let copy = CodedRecords::new(&[0, 0, 0, 1, 1, 1], &[2, 2, 2], &[0, 0, 0])?;
/// let real = CodedRecords::new(&[0, 0, 0, 1, 1, 0], &[2, 2, 2], &[0, 0, 0])?;
/// assert_eq!(triples_tvd(&copy, &real, Some(2))?, Some(0.5));
/// # Ok::<(), evaluating::EvaluateError>(())
/// ```
///
/// # Errors
///
/// Tables without records, or with different columns; a label that is no column.
pub fn triples_tvd(
    copy: &CodedRecords<'_>,
    real: &CodedRecords<'_>,
    label: Option<usize>,
) -> Result<Option<f64>, EvaluateError> {
    copy.comparable(real)?;
    let columns = copy.columns();
    let mut triples = Vec::new();
    if let Some(label) = label {
        copy.check_label(label)?;
        let others: Vec<_> = (0..columns).filter(|&at| at != label).collect();
        for (i, &a) in others.iter().enumerate() {
            triples.extend(others[..i].iter().map(|&b| vec![b, a, label]));
        }
    } else if columns <= MOST_COLUMNS {
        for a in 0..columns {
            for b in 0..a {
                triples.extend((0..b).map(|c| vec![c, b, a]));
            }
        }
    }
    if triples.is_empty() {
        return Ok(None);
    }
    Ok(Columns::of(copy, real).mean_tvd(&triples))
}
