//! The squared smoothed sliced distance of two released sides, corrected for the bias of few rows, and its error.
//!
//! `W_2^2` of two samples is a squared difference of noisy quantile functions, so on average it is too large: two samples of one
//! distribution have a distance above 0. The estimate therefore splits the rows of each side into halves, and multiplies the
//! difference of the first halves by that of the second halves:
//!
//! `integral of (Q_A1 - Q_B1)(Q_A2 - Q_B2)`.
//!
//! Rows and their noise are independent, so the expectation is the square of the expected difference. The remaining bias is
//! that of the expected quantile functions of a half. It is of lower order, and 0 if both sides have one distribution and
//! one size. The estimate may be negative. It splits released rows, so it is post-processing.

use rand::Rng;
use rand::seq::SliceRandom;
use rayon::prelude::*;
use swd::cells::{quantile_cells, within_cell_variance};

use super::released::{Directions, Side};
use crate::query::QueryError;

/// The least number of rows of a side that can be split into halves.
pub const LEAST_ROWS: usize = 4;

/// The number of random halvings that the estimate averages.
const HALVINGS: usize = 4;
/// The number of groups of rows that the jackknife leaves out in turn.
const GROUPS: usize = 20;

/// The estimated squared distance, in squared units of the rows, with its standard errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The squared distance, corrected for the bias of few rows; it may be negative if the distance is near 0.
    pub squared: f64,
    /// The squared distance of the noisy samples as published, biased upwards.
    pub plug_in: f64,
    /// The standard error over rows and noise, by a jackknife over groups of rows.
    pub error_rows: f64,
    /// The standard error over slices.
    pub error_slices: f64,
}

impl Estimate {
    /// Returns the standard error over slices, rows and noise.
    pub fn error(&self) -> f64 {
        self.error_rows.hypot(self.error_slices)
    }

    /// Returns the distance, or 0 if its square is negative.
    pub fn distance(&self) -> f64 {
        self.squared.max(0.0).sqrt()
    }
}

/// The half and the group of each row of a side.
struct Parts {
    /// For each halving, whether each row is in the second half.
    halves: Vec<Vec<bool>>,
    /// The group with which each row is left out.
    group: Vec<usize>,
}

impl Parts {
    fn draw(rows: usize, groups: usize, rng: &mut impl Rng) -> Self {
        let mut places: Vec<usize> = (0..rows).collect();
        let mut halving = || {
            places.shuffle(rng);
            let mut second = vec![false; rows];
            for &row in places.iter().skip(1).step_by(2) {
                second[row] = true;
            }
            second
        };
        let halves: Vec<Vec<bool>> = (0..HALVINGS).map(|_| halving()).collect();
        // In the first halving, each group has as many rows in one half as in the other.
        places.shuffle(rng);
        let mut group = vec![0; rows];
        let mut seen = [0, 0];
        for row in places {
            let half = usize::from(halves[0][row]);
            group[row] = seen[half] % groups;
            seen[half] += 1;
        }
        Self { halves, group }
    }

    /// Returns the sorted values of both halves, without the rows that are left out.
    fn sorted(
        &self,
        order: &[(f64, usize)],
        halving: usize,
        left_out: Option<usize>,
    ) -> [Vec<f64>; 2] {
        let mut halves = [const { Vec::new() }; 2];
        for &(value, row) in order {
            if Some(self.group[row]) != left_out {
                halves[usize::from(self.halves[halving][row])].push(value);
            }
        }
        halves
    }
}

/// The estimate in one slice.
struct InSlice {
    plug_in: f64,
    squared: f64,
    /// The estimate without each of the groups in turn.
    left_out: Vec<f64>,
}

/// Estimates the squared distance in all directions.
///
/// - `rng`: public; it assigns the rows to halves.
///
/// # Errors
/// Returns [`QueryError::TooFew`] if a side has fewer than [`LEAST_ROWS`] rows.
pub fn estimate(
    sides: [&Side; 2],
    directions: &Directions,
    rng: &mut impl Rng,
) -> Result<Estimate, QueryError> {
    let least = sides.map(|side| side.rows).into_iter().min().unwrap_or(0);
    if least < LEAST_ROWS {
        return Err(QueryError::TooFew {
            what: "rows of a side",
            least: LEAST_ROWS,
            found: least,
        });
    }
    let groups = (least / 2).min(GROUPS);
    let parts = sides.map(|side| Parts::draw(side.rows, groups, rng));
    let slices: Vec<InSlice> = (0..directions.count())
        .into_par_iter()
        .map(|l| {
            in_slice(
                sides.map(|side| order(&directions.values(side, l))),
                &parts,
                groups,
            )
        })
        .collect::<Result<_, _>>()?;
    let k = slices.len() as f64;
    let mean = |of: &dyn Fn(&InSlice) -> f64| slices.iter().map(of).sum::<f64>() / k;
    let squared = mean(&|slice| slice.squared);
    let left_out: Vec<f64> = (0..groups)
        .map(|g| mean(&|slice| slice.left_out[g]))
        .collect();
    let centre = left_out.iter().sum::<f64>() / groups as f64;
    let spread: f64 = left_out.iter().map(|x| (x - centre).powi(2)).sum();
    let over_slices: f64 = slices.iter().map(|s| (s.squared - squared).powi(2)).sum();
    Ok(Estimate {
        squared,
        plug_in: mean(&|slice| slice.plug_in),
        error_rows: (spread * (groups as f64 - 1.0) / groups as f64).sqrt(),
        error_slices: (over_slices / (k * (k - 1.0).max(1.0))).sqrt(),
    })
}

fn in_slice(
    orders: [Vec<(f64, usize)>; 2],
    parts: &[Parts; 2],
    groups: usize,
) -> Result<InSlice, QueryError> {
    let product = |halving, left_out| {
        let [a, b] = [0, 1].map(|s| parts[s].sorted(&orders[s], halving, left_out));
        crossed(&a, &b)
    };
    let mut squared = 0.0;
    for halving in 0..HALVINGS {
        squared += product(halving, None)? / HALVINGS as f64;
    }
    let left_out: Result<_, _> = (0..groups).map(|group| product(0, Some(group))).collect();
    let [a, b] = orders.map(|order| {
        order
            .into_iter()
            .map(|(value, _)| value)
            .collect::<Vec<f64>>()
    });
    Ok(InSlice {
        plug_in: w2_squared(&a, &b)?,
        squared,
        left_out: left_out?,
    })
}

/// Sorts the values, each with the index of its row.
pub(crate) fn order(values: &[f64]) -> Vec<(f64, usize)> {
    let mut order: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    order
}

/// Computes `W_2^2` of two sorted samples exactly.
pub(crate) fn w2_squared(a: &[f64], b: &[f64]) -> Result<f64, QueryError> {
    let cells = quantile_cells(b, a.len())?;
    let within = within_cell_variance(b, &cells)?;
    let squares = a.iter().zip(&cells).map(|(a, q)| (a - q).powi(2));
    Ok(squares.sum::<f64>() / a.len() as f64 + within)
}

/// Computes `integral of (Q_A1 - Q_B1)(Q_A2 - Q_B2)`, averaged with the one that exchanges `B1` and `B2`, on cells as narrow as
/// the largest half allows.
fn crossed(a: &[Vec<f64>; 2], b: &[Vec<f64>; 2]) -> Result<f64, QueryError> {
    let n = a.iter().chain(b).map(Vec::len).max().unwrap_or(0);
    let cells = |half: &Vec<f64>| quantile_cells(half, n);
    let ([a1, a2], [b1, b2]) = (a, b);
    let (a1, a2, b1, b2) = (cells(a1)?, cells(a2)?, cells(b1)?, cells(b2)?);
    let mut sum = 0.0;
    for i in 0..n {
        sum += (a1[i] - b1[i]) * (a2[i] - b2[i]) + (a1[i] - b2[i]) * (a2[i] - b1[i]);
    }
    Ok(0.5 * sum / n as f64)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    /// Normal rows around `(shift, shift, shift)`, released with noise of known deviation.
    fn sampled(
        rows: usize,
        shift: f64,
        sigma: f64,
        of: &Directions,
        rng: &mut ChaCha20Rng,
    ) -> Side {
        let k = of.released.count();
        let mut values = vec![0.0; k * rows];
        for row in 0..rows {
            let point = [(); 3].map(|()| {
                let x: f64 = StandardNormal.sample(rng);
                shift + x
            });
            for l in 0..k {
                let products = of.released.direction(l).iter().zip(&point);
                values[l * rows + row] = products.map(|(a, b)| a * b).sum();
            }
        }
        Side::public(&values, k, sigma, rng)
    }

    /// Seed fixed; each mean of 60 is within four of its standard errors for all but one seed in 10^4.
    #[test]
    fn the_estimate_has_no_bias_where_the_plug_in_has_and_its_error_is_that_of_its_spread() {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for (shift, sizes) in [(0.0, [60, 60]), (0.5, [60, 60]), (0.5, [60, 90])] {
            let directions = Directions::draw(3, 12, &mut rng).unwrap();
            let (sigma, trials) = (2.0, 60);
            let mut found = || {
                let a = sampled(sizes[0], 0.0, sigma, &directions, &mut rng);
                let b = sampled(sizes[1], shift, sigma, &directions, &mut rng);
                estimate([&a, &b], &directions, &mut rng).unwrap()
            };
            let estimates: Vec<Estimate> = (0..trials).map(|_| found()).collect();
            // Both are normal with one variance, so the distance in a direction is that of the means; a tight frame
            // gives the mean over all directions exactly.
            let expected = shift * shift;
            let mean = |of: fn(&Estimate) -> f64| {
                estimates.iter().map(of).sum::<f64>() / f64::from(trials)
            };
            let found = mean(|e| e.squared);
            let squares = estimates.iter().map(|e| (e.squared - found).powi(2));
            let deviation = (squares.sum::<f64>() / f64::from(trials - 1)).sqrt();
            let error = deviation / f64::from(trials).sqrt();
            assert!((found - expected).abs() < 4.0 * error, "{found}, {error}");
            assert!(mean(|e| e.plug_in) > expected + 8.0 * error);
            let stated = mean(Estimate::error) / deviation;
            assert!((0.7..2.5).contains(&stated), "{stated}");
        }
    }

    #[test]
    fn a_whole_basis_shows_every_direction_with_the_noise_of_one() {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let directions = Directions::draw(3, 40, &mut rng).unwrap();
        assert_eq!((directions.released.count(), directions.count()), (3, 40));
        let side = Side::public(&vec![0.0; 3 * 20_000], 3, 2.0, &mut rng);
        for l in [0, 17, 39] {
            let values = directions.values(&side, l);
            let variance = values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64;
            // 20 000 squares: a relative 0.01 of standard error, so five of them.
            assert!((variance / 4.0 - 1.0).abs() < 0.05, "{variance}");
        }
        let few = Directions::draw(30, 4, &mut rng).unwrap();
        assert_eq!((few.released.count(), few.count()), (4, 4));
    }

    #[test]
    fn the_distance_of_samples_is_exact_for_any_sizes() {
        assert!((w2_squared(&[0.0, 1.0], &[1.0, 2.0]).unwrap() - 1.0).abs() < 1e-12);
        assert!((w2_squared(&[0.0], &[-1.0, 1.0]).unwrap() - 1.0).abs() < 1e-12);
        assert!(w2_squared(&[], &[1.0]).is_err());
    }
}
