//! Scores of a label with several classes, from scorers that tell one class from the rest.

use rayon::prelude::*;

use super::features::Features;
use super::rank::rank_auc;
use super::records::{CodedRecords, check_comparable, check_label};
use crate::EvaluateError;

/// Records that are classified at once.
const BLOCK: usize = 1 << 14;

/// Trains on `train` and returns the AUC on `test`. `scores` takes features, whether each record is of the class, and
/// second features, and returns a score for each record of these.
///
/// For two classes the result is the AUC of class 1. For more it is the mean, over the classes of `test`, of the AUC of
/// a class against the rest. It is `None` if `test` has only one class.
pub(super) fn auc(
    train: &CodedRecords<'_>,
    test: &CodedRecords<'_>,
    label: usize,
    scores: impl Fn(&Features, &[bool], &Features) -> Vec<f64> + Sync,
) -> Result<Option<f64>, EvaluateError> {
    check_comparable(train, test)?;
    check_label(train, label)?;
    let (labels, truth) = (train.column(label), test.column(label));
    let (known, asked) = (Features::of(train, label), Features::of(test, label));
    let classes: Vec<u16> = match train.sizes[label] {
        2 => vec![1],
        size => (0..size).map(|class| class as u16).collect(),
    };
    let each = classes.par_iter().map(|&class| {
        let of_class = |labels: &[u16]| labels.iter().map(|&l| l == class).collect::<Vec<bool>>();
        let positive = of_class(&truth);
        // A class that all or none of the test records have has no AUC: no scorer is trained for it.
        if !positive.contains(&true) || !positive.contains(&false) {
            return Ok(None);
        }
        rank_auc(&scores(&known, &of_class(&labels), &asked), &positive)
    });
    let each: Vec<Option<f64>> = each.collect::<Result<_, _>>()?;
    let found: Vec<f64> = each.into_iter().flatten().collect();
    Ok((!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64))
}

/// Returns a function that predicts the class with the largest score; for two classes, class 1 if its score is positive.
///
/// `learn` makes a scorer from features and whether each record is of the class. Records are classified in blocks.
pub(super) fn predictor<S: Fn(&Features) -> Vec<f64> + Send + Sync>(
    train: &CodedRecords<'_>,
    label: usize,
    learn: impl Fn(&Features, &[bool]) -> S + Sync,
) -> Result<impl Fn(&CodedRecords<'_>) -> Result<Vec<u16>, EvaluateError>, EvaluateError> {
    check_label(train, label)?;
    let labels = train.column(label);
    let known = Features::of(train, label);
    let two = train.sizes[label] == 2;
    let classes: Vec<u16> = match two {
        true => vec![1],
        false => (0..train.sizes[label]).map(|class| class as u16).collect(),
    };
    let learned = classes.par_iter().map(|&class| {
        let own: Vec<bool> = labels.iter().map(|&l| l == class).collect();
        learn(&known, &own)
    });
    let scorers: Vec<S> = learned.collect();
    let train = *train;
    Ok(move |asked: &CodedRecords<'_>| {
        check_comparable(&train, asked)?;
        let block = |codes| {
            let asked = Features::of(&CodedRecords { codes, ..*asked }, label);
            let scores: Vec<Vec<f64>> = scorers.iter().map(|scorer| scorer(&asked)).collect();
            let best = |record: usize| {
                if two {
                    return u16::from(scores[0][record] > 0.0);
                }
                let scores = classes.iter().zip(&scores).map(|(&c, s)| (c, s[record]));
                let best = scores.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
                best.map_or(0, |(class, _)| class)
            };
            (0..asked.records()).map(best).collect::<Vec<u16>>()
        };
        let blocks = asked.codes.par_chunks(BLOCK * asked.columns());
        Ok(blocks.flat_map_iter(block).collect())
    })
}
