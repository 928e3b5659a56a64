//! What classifiers learn from a copy: how well they tell the labels of real records.

use private_classifiers::{CodedRecords, Learner, TableModel};

use super::rank::rank_auc;
use crate::EvaluateError;

/// Trains on `train` to predict column `label`, and returns the area under the curve ([`rank_auc`]) when it ranks the records of `test`.
///
/// For two classes the result is the AUC of class 1. For more it is the mean, over the classes of `test`, of the AUC of
/// a class against the rest. It is `None` if `test` has only one class.
///
/// ```
/// use evaluating::tabular::{CodedRecords, Learner, learned_auc};
/// let train = CodedRecords::new(&[0, 0, 1, 0, 2, 1, 3, 1], &[5, 2], &[5, 0])?;
/// // The order tells that the code that was not seen belongs to the high ones.
/// let test = CodedRecords::new(&[0, 0, 2, 1, 4, 1], &[5, 2], &[5, 0])?;
/// assert_eq!(learned_auc(Learner::Logistic, &train, &test, 1)?, Some(1.0));
///
/// // The label is whether both columns are equal: no column by itself tells it.
/// let codes: Vec<u16> = (0..400).flat_map(|i| [i / 5 % 2, i / 10 % 2, u16::from(i / 5 % 2 == i / 10 % 2)]).collect();
/// let table = CodedRecords::new(&codes[..1170], &[2, 2, 2], &[0, 0, 0])?;
/// assert_eq!(learned_auc(Learner::Trees, &table, &table, 2)?, Some(1.0));
/// # Ok::<(), evaluating::EvaluateError>(())
/// ```
///
/// # Errors
///
/// Tables without records, or with different columns; a label that is no column.
pub fn learned_auc(
    learner: Learner,
    train: &CodedRecords<'_>,
    test: &CodedRecords<'_>,
    label: usize,
) -> Result<Option<f64>, EvaluateError> {
    train.comparable(test)?;
    let model = TableModel::learn(learner, train, label)?;
    auc(&model, test)
}

/// Returns the area under the curve of a model on the records of `test`, as [`learned_auc`] does.
///
/// # Errors
///
/// Records with other columns.
pub fn auc(model: &TableModel, test: &CodedRecords<'_>) -> Result<Option<f64>, EvaluateError> {
    let scores = model.scores(test)?;
    let truth = test.column(model.label());
    let first = usize::from(scores.len() == 1);
    let each = scores.iter().enumerate().map(|(place, scores)| {
        let of_class = |&label: &u16| usize::from(label) == first + place;
        rank_auc(scores, &truth.iter().map(of_class).collect::<Vec<_>>())
    });
    let each: Vec<Option<f64>> = each.collect::<Result<_, _>>()?;
    let found: Vec<f64> = each.into_iter().flatten().collect();
    Ok((!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64))
}
