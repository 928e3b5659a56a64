//! Splits a whole number in proportion to sizes, by the largest remainder.

use std::cmp::Reverse;

/// Splits `whole` over groups in proportion to `sizes`, by the largest remainder. The parts sum to
/// `whole`. At least one size must not be 0.
pub(crate) fn apportion(whole: usize, sizes: &[usize]) -> Vec<usize> {
    let total: u128 = sizes.iter().map(|&size| size as u128).sum();
    let quota = |group: usize| whole as u128 * sizes[group] as u128;
    let mut parts: Vec<usize> = (0..sizes.len())
        .map(|group| (quota(group) / total) as usize)
        .collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&group| Reverse(quota(group) % total));
    let left = whole - parts.iter().sum::<usize>();
    for &group in &order[..left] {
        parts[group] += 1;
    }
    parts
}
