//! A two-sample test on released rows.
//!
//! Under the null hypothesis the rows of both sides are independent samples of one distribution. The noise is independent
//! across rows and has the same distribution for all, so the released rows of both sides are exchangeable, for any
//! distribution. The rank of the statistic among those of random labellings is uniform, and
//!
//! `p = (1 + labellings whose statistic is at least as large) / (1 + labellings)`
//!
//! is at most `alpha` with probability at most `alpha`, exactly, for any sizes and any noise. The test permutes released rows
//! alone, so it is post-processing and costs no budget.

use rand::Rng;
use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::estimate::{order, w2_squared};
use super::released::{Directions, Side};
use crate::query::QueryError;

/// The result of a permutation test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    /// The squared sliced distance of the released samples.
    pub statistic: f64,
    /// The mean of the statistic over labellings: its level if both sides have one distribution.
    pub null_mean: f64,
    /// The standard deviation of the statistic over labellings.
    pub null_deviation: f64,
    /// The p-value: at most `alpha` with probability at most `alpha` if both sides have one distribution.
    pub p_value: f64,
}

/// Tests whether the released rows of both sides have one distribution, with `permutations` labellings sampled from the
/// public `rng`.
///
/// # Errors
/// Returns an error if a side has no rows.
pub fn permutation_test(
    sides: [&Side; 2],
    directions: &Directions,
    permutations: u64,
    rng: &mut impl Rng,
) -> Result<Tested, QueryError> {
    let [n, m] = sides.map(|side| side.rows);
    // The first labelling is the observed one.
    let mut labels: Vec<bool> = (0..n + m).map(|row| row >= n).collect();
    let mut labellings = vec![labels.clone()];
    for _ in 0..permutations {
        labels.shuffle(rng);
        labellings.push(labels.clone());
    }
    let in_slices: Vec<Vec<f64>> = (0..directions.count())
        .into_par_iter()
        .map(|l| {
            in_slice(
                &sides.map(|side| directions.values(side, l)).concat(),
                &labellings,
            )
        })
        .collect::<Result<_, _>>()?;
    let k = in_slices.len() as f64;
    let statistics: Vec<f64> = (0..labellings.len())
        .map(|p| in_slices.iter().map(|slice| slice[p]).sum::<f64>() / k)
        .collect();
    let (statistic, null) = (statistics[0], &statistics[1..]);
    let count = null.len().max(1) as f64;
    let above = null.iter().filter(|&&other| other >= statistic).count();
    let null_mean = null.iter().sum::<f64>() / count;
    let squares: f64 = null.iter().map(|x| (x - null_mean).powi(2)).sum();
    Ok(Tested {
        statistic,
        null_mean,
        null_deviation: (squares / (count - 1.0).max(1.0)).sqrt(),
        p_value: (1.0 + above as f64) / (1.0 + null.len() as f64),
    })
}

/// Computes the statistic of each labelling in one slice; the pooled values are sorted once.
fn in_slice(pooled: &[f64], labellings: &[Vec<bool>]) -> Result<Vec<f64>, QueryError> {
    let order = order(pooled);
    let of = |labels: &Vec<bool>| {
        let mut sides = [const { Vec::new() }; 2];
        for &(value, row) in &order {
            sides[usize::from(labels[row])].push(value);
        }
        w2_squared(&sides[0], &sides[1])
    };
    labellings.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    fn sampled(rows: usize, shift: f64, rng: &mut ChaCha20Rng) -> Side {
        let mut value = || {
            let x: f64 = StandardNormal.sample(rng);
            // Heavy on one side, so that nothing rests on a normal distribution.
            x.exp() + shift
        };
        let values: Vec<f64> = (0..2 * rows).map(|_| value()).collect();
        Side::public(&values, 2, 0.5, rng)
    }

    /// 400 tests at level 0.1 of sides with one distribution and other sizes: 64 alarms or more have probability
    /// 5e-5 at the level, so that is the false-alarm rate of this test; the seed is fixed.
    #[test]
    fn the_level_holds_where_both_sides_have_one_distribution() {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let directions = Directions::draw(2, 2, &mut rng).unwrap();
        let alarms = |shift: f64, rng: &mut ChaCha20Rng| {
            let mut alarm = || {
                let (a, b) = (sampled(25, 0.0, rng), sampled(40, shift, rng));
                permutation_test([&a, &b], &directions, 39, rng)
                    .unwrap()
                    .p_value
                    <= 0.1
            };
            (0..400).filter(|_| alarm()).count()
        };
        let false_alarms = alarms(0.0, &mut rng);
        assert!((20..64).contains(&false_alarms), "{false_alarms} of 400");
        let found = alarms(1.5, &mut rng);
        assert!(found > 200, "only {found} of 400");
    }
}
