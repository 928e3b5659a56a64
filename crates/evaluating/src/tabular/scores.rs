//! All scores of a copy of a table.

use super::{CodedRecords, Learner, learned_auc, pairs_tvd, single_tvd, triples_tvd};
use crate::EvaluateError;

/// Scores of a copy of a table.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TableScores {
    /// The number of records of the copy.
    pub copy_records: usize,
    /// The number of real records that it was compared with.
    pub real_records: usize,
    /// The result of [`single_tvd`].
    pub single_tvd: f64,
    /// The result of [`pairs_tvd`]; `None` for a single column.
    pub pairs_tvd: Option<f64>,
    /// The result of [`triples_tvd`]; `None` for fewer than 3 columns, or for more than 12 without a label.
    pub triples_tvd: Option<f64>,
    /// The result of [`learned_auc`] with trees; `None` without a label, or if all real records have the same label.
    pub trees_auc: Option<f64>,
    /// The result of [`learned_auc`] with logistic regression; `None` in the same cases as `trees_auc`.
    pub logistic_auc: Option<f64>,
}

/// Scores `copy` against the records `real`, which it was not made from: by the counts of up to three columns and, with a
/// column `label`, by classifiers trained on `copy` that predict the label of `real`.
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
    let auc = |learner| match label {
        Some(label) => learned_auc(learner, copy, real, label),
        None => Ok(None),
    };
    Ok(TableScores {
        copy_records: copy.records(),
        real_records: real.records(),
        single_tvd: single_tvd(copy, real)?,
        pairs_tvd: pairs_tvd(copy, real)?,
        triples_tvd: triples_tvd(copy, real, label)?,
        trees_auc: auc(Learner::Trees)?,
        logistic_auc: auc(Learner::Logistic)?,
    })
}
