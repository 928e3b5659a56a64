//! The score of logistic regression trained on a table.

mod design;
mod newton;

use super::one_against_rest;
use super::records::CodedRecords;
use crate::EvaluateError;
use design::Design;

/// Trains logistic regression on `train` to predict column `label`, and returns the area under the curve
/// ([`rank_auc`](super::rank_auc)) when it ranks the records of `test`.
///
/// The inputs are the one-hot codes of the other columns and, for the `m` codes of a column that are in order, their
/// place `i / (m - 1) - 1/2`. Newton's method minimises `sum_i log(1 + exp(-y_i (b + <w, x_i>))) + |w|^2 / 2`. For two
/// classes the result is the AUC of class 1. For more it is the mean, over the classes of `test`, of the AUC of a class
/// against the rest. It is `None` if `test` has only one class.
///
/// ```
/// use evaluating::tabular::{CodedRecords, logistic_auc};
/// let train = CodedRecords::new(&[0, 0, 1, 0, 2, 1, 3, 1], &[5, 2], &[5, 0])?;
/// // The order tells that the code that was not seen belongs to the high ones.
/// let test = CodedRecords::new(&[0, 0, 2, 1, 4, 1], &[5, 2], &[5, 0])?;
/// assert_eq!(logistic_auc(&train, &test, 1)?, Some(1.0));
/// # Ok::<(), evaluating::EvaluateError>(())
/// ```
///
/// # Errors
///
/// Tables without records, or with different columns; a label that is no column.
pub fn logistic_auc(
    train: &CodedRecords<'_>,
    test: &CodedRecords<'_>,
    label: usize,
) -> Result<Option<f64>, EvaluateError> {
    one_against_rest::auc(train, test, label, |known, of_class, asked| {
        let weights = newton::fit(&Design::of(known), of_class);
        Design::of(asked).scores(&weights)
    })
}
