//! Scores in ascending order.

pub(crate) fn sorted<'s>(scores: impl IntoIterator<Item = &'s f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = scores.into_iter().copied().collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The number of `sorted` scores that are at least `threshold`.
pub(crate) fn at_or_above(sorted: &[f64], threshold: f64) -> usize {
    sorted.len() - sorted.partition_point(|score| *score < threshold)
}
