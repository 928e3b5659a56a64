//! The released noisy projections of both sides, and their values in any direction.

use dp_core::DpError;
use dp_core::mechanism::{NoisyVector, SensitiveVector};
use dp_core::plan::{ReleaseNoise, TrainingPlan};
use dp_core::sampling::Sampler;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use swd::{NormBound, Slices, SwdError};

use crate::Projections;
use crate::query::{Query, QueryError, check_noisy};

/// The name of the release in the plan.
pub const RELEASE: &str = "projections";

/// The slices of a release, and the directions in which the distance is computed.
///
/// The noise of a slice is the noise multiplier times `2 r sigma_max(Theta)`, and orthonormal slices have the least
/// `sigma_max`, 1. So a release never has more slices than dimensions. If more directions are asked for, the release has a
/// whole basis, and its projection on any other direction has the same noise: further directions cost nothing.
#[derive(Debug, Clone)]
pub struct Directions {
    /// The released slices, which are orthonormal.
    pub released: Slices,
    /// The directions of the distance, as rows of weights over the released slices; `None` if they are the released slices.
    weights: Option<Vec<f64>>,
    count: usize,
}

impl Directions {
    /// Samples `count` directions in `dim` dimensions.
    ///
    /// # Errors
    /// Returns an error for no directions, or for no dimension.
    pub fn draw(dim: usize, count: usize, rng: &mut impl Rng) -> Result<Self, SwdError> {
        if count <= dim {
            let released = Slices::orthonormal(dim, count, rng)?;
            return Ok(Self {
                released,
                weights: None,
                count,
            });
        }
        let released = Slices::orthonormal(dim, dim, rng)?;
        let seen = Slices::tight(dim, count, rng)?;
        let mut weights = Vec::with_capacity(count * dim);
        for l in 0..count {
            for j in 0..dim {
                let products = seen.direction(l).iter().zip(released.direction(j));
                weights.push(products.map(|(a, b)| a * b).sum());
            }
        }
        Ok(Self {
            released,
            weights: Some(weights),
            count,
        })
    }

    /// Returns the number of directions in which the distance is computed.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the values of a side in direction `l`, in the order of its rows.
    pub fn values(&self, side: &Side, l: usize) -> Vec<f64> {
        let n = side.rows;
        let Some(weights) = &self.weights else {
            return side.values[l * n..(l + 1) * n].to_vec();
        };
        let k = self.released.count();
        let mut sum = vec![0.0; n];
        for (weight, column) in weights[l * k..].iter().zip(side.values.chunks_exact(n)) {
            for (sum, value) in sum.iter_mut().zip(column) {
                *sum += weight * value;
            }
        }
        sum
    }
}

/// The released projections of one side.
#[derive(Debug, Clone)]
pub struct Side {
    /// The values, `[k, n]`: one row of `n` per released slice.
    pub values: Vec<f64>,
    /// The number of rows, `n`.
    pub rows: usize,
}

impl Side {
    /// Creates a side from its released values.
    pub fn new(values: Vec<f64>, slices: usize) -> Self {
        let rows = values.len() / slices.max(1);
        Self { values, rows }
    }

    /// Creates a public or synthetic side: projections with noise that need not be secret.
    pub fn public(projected: &[f64], slices: usize, deviation: f64, rng: &mut impl Rng) -> Self {
        let noisy = projected.iter().map(|value| {
            let noise: f64 = StandardNormal.sample(rng);
            value + deviation * noise
        });
        Self::new(noisy.collect(), slices)
    }
}

/// The projections of the private sides, which are released together. A row lies in one side, so the sensitivity of both
/// together is that of one.
#[derive(Debug)]
pub struct Sides {
    /// The slices of the release.
    pub slices: Slices,
    /// The region into which rows are put.
    pub region: NormBound,
    /// The number of rows of each private side.
    pub rows: Vec<usize>,
}

impl Sides {
    /// Plans one release of private sides of `rows` rows with all of `epsilon`. Neighbours replace one row by another of the same
    /// side; the numbers of rows are public.
    ///
    /// # Errors
    /// Returns an error if a side has no rows.
    pub fn plan(rows: &[usize], epsilon: f64, delta: f64) -> Result<TrainingPlan, DpError> {
        let plan = match *rows {
            [n, m] => {
                let groups = vec![(0..n).collect(), (n..n + m).collect()];
                let sampler = Sampler::stratified(groups, rows)?;
                TrainingPlan::for_epsilon(epsilon, delta, 0, sampler)
            }
            _ => TrainingPlan::for_epsilon(epsilon, delta, 0, Sampler::all(rows.iter().sum())?),
        };
        Ok(plan.with_release(RELEASE, ReleaseNoise::Share(1.0)))
    }
}

impl Query for Sides {
    /// The rows of each private side.
    type Records = [Vec<f32>];
    /// The released sides, and the standard deviation of the noise.
    type Answer = (Vec<Side>, f64);

    fn len(&self) -> usize {
        self.slices.count() * self.rows.iter().sum::<usize>()
    }

    fn measure(&self, sides: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        let (slices, rows) = (self.slices.clone(), self.rows.clone());
        Projections::new(slices, self.region, rows).measure(sides)
    }

    fn read(&self, noisy: &NoisyVector) -> Result<Self::Answer, QueryError> {
        check_noisy("released sides", &noisy.values, noisy.deviation, self.len())?;
        let (mut rest, k) = (&noisy.values[..], self.slices.count());
        let sides = self.rows.iter().map(|rows| {
            let (here, after) = rest.split_at(k * rows);
            rest = after;
            Side::new(here.to_vec(), k)
        });
        Ok((sides.collect(), noisy.deviation))
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::projections::project;
    use crate::tests::{seeded, share};

    fn sides(slices: &Slices, radius: f64, files: &[Vec<f32>]) -> Sides {
        Sides {
            slices: slices.clone(),
            region: NormBound::ball(radius).unwrap(),
            rows: files.iter().map(|f| f.len() / slices.dim()).collect(),
        }
    }

    /// The largest move by a replaced row of either file, over what is declared for rows of norm `radius`, where
    /// rows are put into a ball of `enforced`.
    fn largest(enforced: f64, radius: f64) -> f64 {
        let mut rng = seeded(6);
        let mut largest = 0.0f64;
        for trial in 0..300 {
            let (dim, count) = (rng.random_range(1..6_usize), rng.random_range(1..9_usize));
            let directions = Directions::draw(dim, count, &mut rng).unwrap();
            let size = [0.1f32, 1.0, 40.0][trial % 3];
            let mut file = || -> Vec<f32> {
                let rows = rng.random_range(1..5_usize);
                (0..rows * dim)
                    .map(|_| rng.random_range(-size..size))
                    .collect()
            };
            let files = [file(), file()];
            let mut others = files.clone();
            let side = trial % 2;
            for x in &mut others[side][..dim] {
                *x = [f32::NAN, -*x, -1e3][rng.random_range(0..3)];
            }
            let [first, second] = [files, others].map(|files| {
                let sides = sides(&directions.released, enforced, &files);
                sides.measure(&files).unwrap()
            });
            largest = largest.max(share(&first, &second) * enforced / radius);
        }
        largest
    }

    #[test]
    fn a_replaced_row_of_either_file_moves_both_by_no_more_than_is_declared() {
        let ratio = largest(1.5, 1.5);
        assert!(ratio <= 1.0 && ratio > 0.8, "{ratio}");
        // Rows that are held back by another ball than the declared one break it.
        assert!(largest(15.0, 1.5) > 1.0);
    }

    #[test]
    fn what_is_released_together_is_cut_at_its_sides() {
        let directions = Directions::draw(2, 2, &mut seeded(1)).unwrap();
        let files = [vec![0.1, 0.2], vec![0.3, 0.4, 0.5, 0.6]];
        let both = sides(&directions.released, 1.0, &files);
        let measured = both.measure(&files).unwrap();
        let (found, _) = both.read(&NoisyVector::without_privacy(measured)).unwrap();
        for (side, rows) in found.iter().zip(&files) {
            let alone = project(rows, &both.slices, both.region).unwrap();
            assert_eq!(side.values, alone.before_noise());
            assert_eq!(side.rows, rows.len() / 2);
        }
        // Other rows than those of the plan are refused before anything is released.
        assert!(both.measure(&files[..1]).is_err());
        assert!(both.measure(&[vec![0.1, 0.2], vec![0.3, 0.4]]).is_err());
        let (values, deviation) = (vec![0.0; 5], 0.0);
        let short = NoisyVector { values, deviation };
        assert!(both.read(&short).is_err());
    }
}
