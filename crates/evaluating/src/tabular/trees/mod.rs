//! The score of gradient-boosted trees trained on a table.

mod boost;
mod grow;
mod histogram;
mod split;

use super::one_against_rest;
use super::records::CodedRecords;
use crate::EvaluateError;

/// Trains gradient-boosted trees on `train` to predict column `label`, and returns the area under the curve
/// ([`rank_auc`](super::rank_auc)) when they rank the records of `test`.
///
/// 100 trees of at most 31 leaves, each grown where the second-order gain is largest (Chen and Guestrin 2016, equation
/// 7), minimise the logistic loss at a learning rate of 0.1, with at least 20 records a leaf and `l2 = 1`. Categories are
/// sorted by their gradients at each split (Ke et al. 2017, LightGBM). For two classes the result is the AUC of class 1; for
/// more, the mean over the classes of `test` of the AUC of a class against the rest; `None` if `test` has only one class.
///
/// ```
/// use evaluating::tabular::{CodedRecords, trees_auc};
/// // The label is whether both columns are equal: no column by itself tells it.
/// let codes: Vec<u16> = (0..400).flat_map(|i| [i / 5 % 2, i / 10 % 2, u16::from(i / 5 % 2 == i / 10 % 2)]).collect();
/// let table = CodedRecords::new(&codes[..1170], &[2, 2, 2], &[0, 0, 0])?;
/// assert_eq!(trees_auc(&table, &table, 2)?, Some(1.0));
/// # Ok::<(), evaluating::EvaluateError>(())
/// ```
///
/// # Errors
///
/// Tables without records, or with different columns; a label that is no column.
pub fn trees_auc(
    train: &CodedRecords<'_>,
    test: &CodedRecords<'_>,
    label: usize,
) -> Result<Option<f64>, EvaluateError> {
    one_against_rest::auc(train, test, label, |known, of_class, asked| {
        boost::Ensemble::fit(known, of_class).scores(asked)
    })
}

/// Trains the trees of [`trees_auc`] on column `label` of `train` and returns a function that predicts the class of each record.
///
/// ```
/// use evaluating::tabular::{CodedRecords, trees_predictor};
/// let codes: Vec<u16> = (0..200).flat_map(|i| [i % 3, u16::from(i % 3 == 2)]).collect();
/// let table = CodedRecords::new(&codes, &[3, 2], &[0, 0])?;
/// let class = trees_predictor(&table, 1)?;
/// assert_eq!(class(&table)?[..3], [0, 0, 1]);
/// # Ok::<(), evaluating::EvaluateError>(())
/// ```
///
/// # Errors
///
/// As [`trees_auc`].
pub fn trees_predictor(
    train: &CodedRecords<'_>,
    label: usize,
) -> Result<impl Fn(&CodedRecords<'_>) -> Result<Vec<u16>, EvaluateError>, EvaluateError> {
    one_against_rest::predictor(train, label, |known, of_class| {
        let trees = boost::Ensemble::fit(known, of_class);
        move |asked: &_| trees.scores(asked)
    })
}
