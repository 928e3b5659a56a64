//! The sliced Wasserstein distance of two tables.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::EvaluateError;
use crate::error::check_count;
use private_classifiers::CodedRecords;

/// Returns the sliced Wasserstein distance between a copy and real records,
/// `(mean over slices theta of W_2^2(theta . x, theta . y))^(1/2)`, on unit slices.
///
/// A record is encoded as one number for each column with ordered codes, from 0 for the first to 1 for the last, and as a
/// one-hot vector divided by `sqrt 2` for the other codes, so that two of these are at distance 1.
///
/// # Errors
///
/// Tables without records, or with different columns; zero slices.
///
/// Source: Bonneel et al. 2015, definition 2, with the Monte Carlo mean over slices.
pub fn sliced_distance(
    copy: &CodedRecords<'_>,
    real: &CodedRecords<'_>,
    slices: usize,
    rng: &mut impl Rng,
) -> Result<f64, EvaluateError> {
    copy.comparable(real)?;
    check_count("slices", slices, 1)?;
    let lengths = copy.sizes.iter().zip(copy.ordered);
    // One coordinate for the ordered codes, if any, then one for each other code.
    let starts: Vec<usize> = lengths
        .clone()
        .scan(0, |start, (&size, &ordered)| {
            let own = *start;
            *start += usize::from(ordered > 0) + size - ordered;
            Some(own)
        })
        .collect();
    let dim: usize = lengths
        .map(|(&size, &ordered)| usize::from(ordered > 0) + size - ordered)
        .sum();
    let mut total = 0.0;
    for _ in 0..slices {
        let normal: Vec<f64> = (0..dim).map(|_| StandardNormal.sample(rng)).collect();
        let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
        let direction: Vec<f64> = normal.iter().map(|x| x / length).collect();
        // The contribution of each code of each column to the projection of a record.
        let adds: Vec<Vec<f64>> = starts
            .iter()
            .zip(copy.sizes.iter().zip(copy.ordered))
            .map(|(&start, (&size, &ordered))| {
                let others = start + usize::from(ordered > 0);
                let add = |code: usize| match code < ordered {
                    true => direction[start] * code as f64 / (ordered - 1).max(1) as f64,
                    false => direction[others + code - ordered] * std::f64::consts::FRAC_1_SQRT_2,
                };
                (0..size).map(add).collect()
            })
            .collect();
        let sorted = |table: &CodedRecords<'_>| {
            let records = table.codes.chunks_exact(table.columns());
            let projected = records.map(|record| {
                let adds = record.iter().zip(&adds);
                adds.map(|(&code, adds)| adds[usize::from(code)]).sum()
            });
            let mut projected: Vec<f64> = projected.collect();
            projected.sort_unstable_by(f64::total_cmp);
            projected
        };
        total += w2_squared(&sorted(copy), &sorted(real));
    }
    Ok((total / slices as f64).sqrt())
}

/// Returns `W_2^2` of two sorted samples: the mean square of the difference of their quantile functions, which are
/// constant between the multiples of `1/n` and `1/m`.
fn w2_squared(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len(), b.len());
    let (mut i, mut j, mut at, mut sum) = (0, 0, 0, 0.0);
    while i < n && j < m {
        let ends = [(i + 1) * m, (j + 1) * n];
        let end = ends[0].min(ends[1]);
        sum += (end - at) as f64 * (a[i] - b[j]).powi(2);
        i += usize::from(ends[0] == end);
        j += usize::from(ends[1] == end);
        at = end;
    }
    sum / (n * m) as f64
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    fn distance(copy: &[u16], real: &[u16], size: usize, ordered: usize) -> f64 {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let sizes = ([size], [ordered]);
        let [copy, real] = [copy, real].map(|codes| CodedRecords::new(codes, &sizes.0, &sizes.1));
        sliced_distance(&copy.expect("a table"), &real.expect("a table"), 4000, rng)
            .expect("a distance")
    }

    #[test]
    fn numbers_move_by_their_distance_and_categories_by_their_share() {
        assert_eq!(distance(&[3, 0, 1], &[1, 3, 0], 5, 5), 0.0);
        // All of one column, whose directions are 1 and -1, by half of its range.
        let moved = distance(&[0, 1, 2], &[2, 3, 4], 5, 5);
        assert!((moved - 0.5).abs() < 1e-12, "{moved}");
        // A quarter of the records in another one of two categories: (theta_1 - theta_2)^2 / 2 is 1/2 in the mean.
        let moved = distance(&[0, 0, 0, 1], &[0, 0, 1, 1], 2, 0);
        assert!((moved / 0.125_f64.sqrt() - 1.0).abs() < 0.05, "{moved}");
        // Of three records against two, a third lies at 0 beside 0, a sixth at 1/2 beside 0, and as much at 1/2 and a third at 1 beside 1.
        let moved = distance(&[0, 2, 4], &[0, 4], 5, 5);
        assert!((moved - (0.25_f64 / 3.0).sqrt()).abs() < 1e-12, "{moved}");
        assert_eq!(distance(&[0, 0, 4, 4], &[4, 0], 5, 5), 0.0);
    }
}
