//! What a table teaches logistic regression.

mod design;
mod newton;

use super::one_against_rest;
use super::records::CodedRecords;
use crate::EvaluateError;
use design::Design;

/// The area under the curve ([`rank_auc`](super::rank_auc)) of logistic regression that learned column `label` from
/// `train`, when it ranks the records of `test`.
///
/// The inputs are the one-hot codes of the other columns, and for codes in order also their place, `i / (m - 1) - 1/2`
/// of the `m` that are in order. It minimises `sum_i log(1 + exp(-y_i (b + <w, x_i>))) + |w|^2 / 2` by Newton's method.
/// With two classes it is the AUC of class 1, with more the mean over the classes of `test` of a class against the
/// rest. None where `test` has one class only.
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
