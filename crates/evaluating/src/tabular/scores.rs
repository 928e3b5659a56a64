//! All scores of a copy of a table.

use super::{CodedRecords, logistic_auc, pairs_tvd, single_tvd, trees_auc, triples_tvd};
use crate::EvaluateError;

/// How good a copy of a table is.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TableScores {
    /// Records of the copy.
    pub copy_records: usize,
    /// Real records that it was compared with.
    pub real_records: usize,
    /// [`single_tvd`].
    pub single_tvd: f64,
    /// [`pairs_tvd`]; none for a single column.
    pub pairs_tvd: Option<f64>,
    /// [`triples_tvd`]; none for fewer than 3 columns, or without a label for more than 12.
    pub triples_tvd: Option<f64>,
    /// [`trees_auc`]; none without a label, or where all real records have the same.
    pub trees_auc: Option<f64>,
    /// [`logistic_auc`]; none in the same cases.
    pub logistic_auc: Option<f64>,
}

/// Compares `copy` with `real`, records that it should be like and was not made from: by the counts of up to three
/// columns, and, with a column `label`, by what predicts the label of `real` after it learned from `copy`.
///
/// ```
/// use evaluating::tabular::{CodedRecords, score_tables};
/// let (sizes, ordered) = ([3, 2, 2], [3, 0, 0]);
/// let codes = [0, 0, 0, 1, 0, 0, 1, 1, 1, 2, 1, 1];
/// let real = CodedRecords::new(&codes, &sizes, &ordered)?;
/// let scores = score_tables(&real, &real, Some(2))?;
/// assert_eq!((scores.pairs_tvd, scores.logistic_auc), (Some(0.0), Some(1.0)));
/// # Ok::<(), evaluating::EvaluateError>(())
/// ```
///
/// # Errors
///
/// Tables without records, or with different columns; a label that is no column.
pub fn score_tables(
    copy: &CodedRecords<'_>,
    real: &CodedRecords<'_>,
    label: Option<usize>,
) -> Result<TableScores, EvaluateError> {
    let auc = |of: fn(&_, &_, usize) -> Result<Option<f64>, EvaluateError>| match label {
        Some(label) => of(copy, real, label),
        None => Ok(None),
    };
    Ok(TableScores {
        copy_records: copy.records(),
        real_records: real.records(),
        single_tvd: single_tvd(copy, real)?,
        pairs_tvd: pairs_tvd(copy, real)?,
        triples_tvd: triples_tvd(copy, real, label)?,
        trees_auc: auc(trees_auc)?,
        logistic_auc: auc(logistic_auc)?,
    })
}
