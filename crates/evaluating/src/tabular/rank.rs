//! The area under the receiver operating characteristic.

use crate::EvaluateError;

/// Returns the area under the receiver operating characteristic: the probability that a positive record has a higher
/// score than a negative one, where a tie counts one half.
///
/// `AUC = (#{s+ > s-} + 1/2 #{s+ = s-}) / (n+ n-)` over all pairs (Hanley and McNeil 1982), in whole numbers up to the
/// last division. `scores` and `positive` are both `[n]`. `None` if no record is positive or none is negative.
///
/// ```
/// use evaluating::tabular::rank_auc;
/// let auc = rank_auc(&[0.1, 0.4, 0.4, 0.9], &[false, false, true, true])?;
/// assert_eq!(auc, Some(3.5 / 4.0));
/// # Ok::<(), evaluating::EvaluateError>(())
/// ```
///
/// # Errors
///
/// `scores` and `positive` of different lengths; a score that is not finite.
pub fn rank_auc(scores: &[f64], positive: &[bool]) -> Result<Option<f64>, EvaluateError> {
    if scores.len() != positive.len() {
        return Err(EvaluateError::Shape {
            what: "scores to rank by",
            expected: format!("{}, one a record", positive.len()),
            found: scores.len(),
        });
    }
    if !scores.iter().all(|score| score.is_finite()) {
        return Err(EvaluateError::NotFinite {
            what: "scores to rank by",
        });
    }
    let mut ranked: Vec<(f64, bool)> = scores
        .iter()
        .copied()
        .zip(positive.iter().copied())
        .collect();
    ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut positives, mut halves) = (0_u128, 0_u128, 0_u128);
    for tied in ranked.chunk_by(|a, b| a.0 == b.0) {
        let inside = tied.iter().filter(|(_, positive)| *positive).count() as u128;
        let negatives = tied.len() as u128 - inside;
        halves += inside * (2 * below + negatives);
        below += negatives;
        positives += inside;
    }
    let pairs = positives * below;
    Ok((pairs > 0).then(|| halves as f64 / (2 * pairs) as f64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_all_pairs(scores: &[f64], positive: &[bool]) -> Option<f64> {
        let of = |class| {
            let both = scores.iter().zip(positive);
            both.filter(move |(_, p)| **p == class).map(|(s, _)| *s)
        };
        let (mut won, mut pairs) = (0.0, 0.0);
        for high in of(true) {
            for low in of(false) {
                pairs += 1.0;
                won += f64::from(u8::from(high > low)) + 0.5 * f64::from(u8::from(high == low));
            }
        }
        (pairs > 0.0).then_some(won / pairs)
    }

    proptest! {
        #[test]
        fn it_is_the_share_of_pairs_in_order(
            records in prop::collection::vec((-4_i8..4, any::<bool>()), 0..40),
        ) {
            // A negative zero is a zero.
            let scores: Vec<f64> = records.iter().map(|r| f64::from(r.0) * 0.1 * if r.1 { -1.0 } else { 1.0 }).collect();
            let positive: Vec<bool> = records.iter().map(|r| r.1).collect();
            prop_assert_eq!(rank_auc(&scores, &positive).unwrap(), by_all_pairs(&scores, &positive));
        }

    }

    #[test]
    fn what_cannot_be_ranked_is_refused() {
        let [short, nan] =
            [&[1.0][..], &[1.0, f64::NAN]].map(|scores| rank_auc(scores, &[true, false]));
        assert!(matches!(short, Err(EvaluateError::Shape { found: 1, .. })));
        assert!(matches!(nan, Err(EvaluateError::NotFinite { .. })));
        assert_eq!(rank_auc(&[1.0, 2.0], &[true, true]).unwrap(), None);
    }
}
