//! The uniform distribution on the unit ball as a public prior: its exact cells, and samples.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal, StandardUniform};
use std::f64::consts::{FRAC_PI_2, PI};

use crate::{SwdError, TargetQuantiles};

/// The uniform distribution on the unit ball of `R^dim`.
///
/// Every projection of it has the density `f(t) = a (1 - t^2)^((d-1)/2)` on `[-1, 1]`.
///
/// ```
/// use swd::UniformBall;
///
/// // On the line the ball is an interval: its cells are the centres of equal parts.
/// let cells = UniformBall::new(1)?.cells(4)?;
/// for (found, centre) in cells.row(0).iter().zip([-0.75, -0.25, 0.25, 0.75]) {
///     assert!((found - centre).abs() < 1e-12);
/// }
/// # Ok::<(), swd::SwdError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UniformBall {
    dim: usize,
}

impl UniformBall {
    /// Returns the distribution in dimension `dim`.
    ///
    /// # Errors
    /// `dim` is zero.
    pub fn new(dim: usize) -> Result<Self, SwdError> {
        if dim == 0 {
            return Err(SwdError::Empty { what: "dimension" });
        }
        Ok(Self { dim })
    }

    /// The dimension `d`.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the `n` exact quantile cells of the projected distribution, the same for every slice.
    ///
    /// `q_r = n [H(F^-1(r/n)) - H(F^-1((r-1)/n))]` with `H(t) = -a (1-t^2)^((d+1)/2) / (d+1)`, an
    /// antiderivative of `t f(t)`, computed to about `n` times 1e-16. The within-cell variance is the second
    /// moment `1/(d+2)` less the mean square of the cells. Unlike the cells of a sample, these do not change
    /// from step to step.
    ///
    /// # Errors
    /// `n` is zero.
    pub fn cells(&self, n: usize) -> Result<TargetQuantiles, SwdError> {
        let projected = Projected::new(self.dim);
        let (mut angle, mut before) = (-FRAC_PI_2, 0.0);
        TargetQuantiles::symmetric(n, 1.0 / (self.dim as f64 + 2.0), |r| {
            angle = projected.quantile_angle((r + 1) as f64 / n as f64, angle);
            let after = projected.partial_mean(angle);
            let cell = n as f64 * (after - before);
            before = after;
            cell.clamp(-1.0, 0.0)
        })
    }

    /// Draws `n` points, row by row (`n x d`): a Gaussian direction and the radius `U^(1/d)`.
    pub fn sample(&self, n: usize, rng: &mut impl Rng) -> Vec<f32> {
        let mut points = Vec::with_capacity(n * self.dim);
        for _ in 0..n {
            let direction: Vec<f64> = (0..self.dim).map(|_| StandardNormal.sample(rng)).collect();
            let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
            let uniform: f64 = StandardUniform.sample(rng);
            // A Gaussian vector of norm zero (probability zero) gives the centre.
            let scale = uniform.powf(1.0 / self.dim as f64) / norm.max(f64::MIN_POSITIVE);
            points.extend(direction.iter().map(|x| (x * scale) as f32));
        }
        points
    }
}

/// The projected distribution under `t = sin(angle)`: its density is `cos(angle)^d / W`, so all integrals
/// are elementary.
struct Projected {
    dim: usize,
    /// `W = integral of cos^d over [-pi/2, pi/2]`.
    mass: f64,
}

impl Projected {
    fn new(dim: usize) -> Self {
        let mut mass = if dim.is_multiple_of(2) { PI } else { 2.0 };
        for m in (2 + dim % 2..=dim).step_by(2) {
            mass *= (m - 1) as f64 / m as f64;
        }
        Self { dim, mass }
    }

    /// Returns `F(sin(angle))`, by the recurrence for the integrals of powers of the cosine.
    fn distribution(&self, angle: f64) -> f64 {
        let (sin, cos) = angle.sin_cos();
        let odd = self.dim % 2 == 1;
        let (mut integral, mut power) = if odd {
            (sin + 1.0, cos * cos)
        } else {
            (angle + FRAC_PI_2, cos)
        };
        for m in (2 + self.dim % 2..=self.dim).step_by(2) {
            let m_f = m as f64;
            integral = (power * sin + (m_f - 1.0) * integral) / m_f;
            power *= cos * cos;
        }
        integral / self.mass
    }

    /// Returns `H(sin(angle)) = integral of t f(t) from -1`.
    fn partial_mean(&self, angle: f64) -> f64 {
        let power = self.dim as i32 + 1;
        -angle.cos().powi(power) / (f64::from(power) * self.mass)
    }

    /// Finds the angle in `[from, 0]` with distribution value `p <= 1/2`, by Newton steps inside a bracket.
    fn quantile_angle(&self, p: f64, from: f64) -> f64 {
        let (mut low, mut high) = (from, 0.0_f64);
        let mut angle = 0.5 * (low + high);
        for _ in 0..200 {
            let excess = self.distribution(angle) - p;
            if excess > 0.0 {
                high = angle;
            } else {
                low = angle;
            }
            let density = angle.cos().powi(self.dim as i32) / self.mass;
            let newton = angle - excess / density;
            let next = if newton > low && newton < high {
                newton
            } else {
                0.5 * (low + high)
            };
            if (next - angle).abs() <= 1e-16 + 2e-16 * angle.abs() {
                return next;
            }
            angle = next;
        }
        angle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    /// `(F(t), integral of s f(s) over [-1, t], second moment)` of the projected distribution at the points
    /// of a fine grid, by the midpoint rule in the angle.
    fn integrate(d: usize) -> Vec<(f64, f64, f64)> {
        let steps = 400_000;
        let h = PI / f64::from(steps);
        let mut sums = vec![(0.0, 0.0, 0.0)];
        let mut total = (0.0, 0.0, 0.0);
        for step in 0..steps {
            let angle = -FRAC_PI_2 + (f64::from(step) + 0.5) * h;
            let (t, f) = (angle.sin(), angle.cos().powi(d as i32) * h);
            total = (total.0 + f, total.1 + t * f, total.2 + t * t * f);
            sums.push(total);
        }
        let mass = total.0;
        let scaled = sums.iter().map(|s| (s.0 / mass, s.1 / mass, s.2 / mass));
        scaled.collect()
    }

    #[test]
    fn cells_match_numeric_integration() {
        for d in [1, 2, 3, 6, 7, 48] {
            let table = integrate(d);
            let n = 50;
            let cells = UniformBall::new(d).unwrap().cells(n).unwrap();
            let mut before = 0.0;
            for r in 0..n {
                let p = (r + 1) as f64 / n as f64;
                let at = table.partition_point(|entry| entry.0 < p);
                let at = at.clamp(1, table.len() - 1);
                let (low, high) = (table[at - 1], table[at]);
                let part = ((p - low.0) / (high.0 - low.0)).min(1.0);
                let after = low.1 + part * (high.1 - low.1);
                let expected = n as f64 * (after - before);
                let off = (cells.row(0)[r] - expected).abs();
                assert!(off < 1e-7, "d = {d}, r = {r}");
                before = after;
            }
            let second = table.last().unwrap().2;
            let squares: f64 = cells.row(0).iter().map(|q| q * q).sum();
            assert!((squares / n as f64 + cells.mean_within_cell_variance() - second).abs() < 1e-9);
        }
    }

    #[test]
    fn cells_are_centred_monotone_and_inside_the_ball() {
        for d in [1, 2, 5, 6, 48, 1000] {
            for n in [1, 2, 3, 600, 100_001] {
                let cells = UniformBall::new(d).unwrap().cells(n).unwrap();
                let row = cells.row(0);
                assert!(row.iter().sum::<f64>().abs() < 1e-9);
                assert!((0..n).all(|r| row[r] == -row[n - 1 - r] || row[r] == 0.0));
                assert!(row.windows(2).all(|pair| pair[0] <= pair[1]));
                assert!(row.iter().all(|q| q.abs() <= 1.0));
                let within = cells.mean_within_cell_variance();
                assert!(within >= 0.0 && within <= 1.0 / (d as f64 + 2.0));
            }
        }
        // In one dimension the ball is an interval and its cells are the centres of equal parts.
        let cells = UniformBall::new(1).unwrap().cells(8).unwrap();
        for (r, q) in cells.row(0).iter().enumerate() {
            assert!((q - (2.0 * r as f64 + 1.0 - 8.0) / 8.0).abs() < 1e-14);
        }
    }

    /// The mean squared norm of a uniform point is `d/(d+2)` and its projected cells are the exact
    /// ones: six standard deviations, a false alarm in 2e-9 of all seeds for each average.
    #[test]
    fn samples_follow_the_distribution() {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        for d in [1, 2, 6] {
            let n = 100_000;
            let points = UniformBall::new(d).unwrap().sample(n, &mut rng);
            assert_eq!(points.len(), n * d);
            let norm = |x: &[f32]| x.iter().map(|x| f64::from(x * x)).sum::<f64>();
            let norms: Vec<f64> = points.chunks(d).map(norm).collect();
            let (d_f, sum) = (d as f64, norms.iter().sum::<f64>());
            let variance = d_f / (d_f + 4.0) - (d_f / (d_f + 2.0)).powi(2);
            let deviation = (variance / n as f64).sqrt();
            assert!((sum / n as f64 - d_f / (d_f + 2.0)).abs() < 6.0 * deviation);
            assert!(norms.iter().all(|norm| *norm <= 1.0 + 1e-6));

            let mut first: Vec<f64> = points.chunks(d).map(|x| f64::from(x[0])).collect();
            first.sort_by(f64::total_cmp);
            let empirical = crate::cells::quantile_cells(&first, 10).unwrap();
            let exact = UniformBall::new(d).unwrap().cells(10).unwrap();
            for (a, b) in empirical.iter().zip(exact.row(0)) {
                // The deviation of a cell's mean is below 1/sqrt(n) for a distribution on [-1, 1] whose
                // cells are at most 0.5 wide in quantile terms.
                assert!((a - b).abs() < 6.0 / (n as f64).sqrt());
            }
        }
    }

    #[test]
    fn nothing_is_refused_with_a_panic() {
        assert!(UniformBall::new(0).is_err());
        assert!(UniformBall::new(3).unwrap().cells(0).is_err());
        let mut rng = ChaCha20Rng::seed_from_u64(8);
        assert!(UniformBall::new(3).unwrap().sample(0, &mut rng).is_empty());
    }
}
