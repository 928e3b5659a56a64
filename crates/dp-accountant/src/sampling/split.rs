use std::cmp::Reverse;

use super::check_batch;
use crate::DpError;

/// Splits a batch over strata in proportion to their public sizes, by the largest remainder.
///
/// Group j gets floor(batch n_j / n) records, with n the sum of the sizes. The records that are left go one each to the strata
/// with the largest remainders, the lower stratum first among equals. The result sums to `batch`, and no stratum gets more records
/// than it has.
///
/// # Errors
/// Returns [`DpError::Empty`] without strata or with an empty one, and [`DpError::Batch`] unless `batch` is in 1..=n and every
/// stratum gets a record.
pub fn split_batch(batch: usize, sizes: &[usize]) -> Result<Vec<usize>, DpError> {
    if sizes.is_empty() {
        return Err(DpError::Empty {
            what: "the list of stratum sizes".into(),
            expected: "stratum",
        });
    }
    if let Some(stratum) = sizes.iter().position(|&size| size == 0) {
        return Err(DpError::Empty {
            what: format!("stratum {stratum}"),
            expected: "record",
        });
    }
    let total: u128 = sizes.iter().map(|&size| size as u128).sum();
    let records = usize::try_from(total).unwrap_or(usize::MAX);
    check_batch("the data", records, batch)?;

    let parts = apportion(batch, sizes);
    match parts.iter().position(|&part| part == 0) {
        None => Ok(parts),
        Some(stratum) => Err(DpError::Batch {
            what: format!("stratum {stratum}, the share of a total batch of {batch}"),
            batch: 0,
            records: sizes[stratum],
            advice: "take a larger total batch, or merge small strata",
        }),
    }
}

/// Splits `whole` over strata in proportion to `sizes`, by the largest remainder; the parts sum to `whole`. At least one size
/// must not be 0.
fn apportion(whole: usize, sizes: &[usize]) -> Vec<usize> {
    let total: u128 = sizes.iter().map(|&size| size as u128).sum();
    let quota = |stratum: usize| whole as u128 * sizes[stratum] as u128;
    let mut parts: Vec<usize> = (0..sizes.len())
        .map(|stratum| (quota(stratum) / total) as usize)
        .collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&stratum| Reverse(quota(stratum) % total));
    let left = whole - parts.iter().sum::<usize>();
    for &stratum in &order[..left] {
        parts[stratum] += 1;
    }
    parts
}
