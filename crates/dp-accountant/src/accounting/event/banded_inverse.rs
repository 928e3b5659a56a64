//! Gaussian noise that is correlated over steps: its sensitivity, and its error in sums of steps.

use super::Event;
use crate::accounting::error::{Result, check};

/// The largest number of steps, which bounds the memory of a sensitivity.
const MOST_STEPS: u64 = 1 << 22;

/// The largest number of multiplications for a sensitivity.
const MOST_WORK: u64 = 1 << 30;

/// Noise by the banded inverse square root, for sums over steps.
///
/// Step `t` of `T` has the noise `sum_{j < p} d_j z_{t - j}`, for independent Gaussian vectors `z_1, ..., z_T`, a bandwidth `p`
/// and the coefficients `d_j` of `(1 - x)^{1/2}`. Only `d_0 = 1` is positive: later steps take back some of the noise of earlier
/// ones, so sums over steps have less noise. A bandwidth of 1 is independent noise.
///
/// With `D` the lower-triangular Toeplitz matrix of the `d_j` and `C = D^-1`, the released `G + D Z` is equivalent to `C G + Z`:
/// one Gaussian mechanism for all steps ("matrix factorization", DP-FTRL). Source: Denisov et al. 2022, arXiv 2202.08312; for
/// this `D` Kalinin, McKenna, Upadhyay and Lampert 2025, arXiv 2505.12128.
///
/// ```
/// use dp_accountant::accounting::BandedInverse;
///
/// // 1000 steps, in which a record takes part ten times, once in each hundred.
/// let error = |bandwidth| {
///     let noise = BandedInverse::new(bandwidth, 1000)?;
///     Ok::<_, dp_accountant::accounting::AccountingError>(
///         noise.sensitivity_upper(100, 10)? * noise.error_of_sums(),
///     )
/// };
/// // At the same privacy, sums of steps have about a third of the error.
/// assert!(error(64)? < 0.35 * error(1)?);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BandedInverse {
    steps: usize,
    inverse: Vec<f64>,
}

impl BandedInverse {
    /// Noise of `steps` steps, each correlated with the `bandwidth - 1` steps before it.
    ///
    /// # Errors
    /// [`AccountingError::OutOfRange`](crate::accounting::AccountingError::OutOfRange) unless the bandwidth is between 1 and
    /// the number of steps, which is at most 2^22, and their product at most 2^30.
    pub fn new(bandwidth: u64, steps: u64) -> Result<Self> {
        let ok = (1..=MOST_STEPS).contains(&steps);
        check("number of steps", steps as f64, ok, "between 1 and 2^22")?;
        let ok = (1..=steps).contains(&bandwidth);
        let bound = "between 1 and the number of steps";
        check("bandwidth", bandwidth as f64, ok, bound)?;
        check_work("number of steps times bandwidth", steps, bandwidth)?;
        // d_j = d_{j-1} (j - 3/2) / j.
        let next = |d: &mut f64, j: u64| {
            if j > 0 {
                *d *= (j as f64 - 1.5) / j as f64;
            }
            Some(*d)
        };
        Ok(Self {
            steps: steps as usize,
            inverse: (0..bandwidth).scan(1.0, next).collect(),
        })
    }

    /// The coefficients `d_0, d_1, ...`, where `d_0` belongs to the step's own noise.
    pub fn inverse(&self) -> &[f64] {
        &self.inverse
    }

    /// An upper bound on `||C U||_F`, where row `t` of `U` is a record's difference in step `t`.
    ///
    /// Rows have a norm of at most 1 in at most `participations` steps, any two of which are at least `separation` apart, and
    /// are 0 in all others. But for rounding upwards, equal differences in the steps `1, 1 + separation, ...` attain it.
    ///
    /// *Proof.* Let `c_s` be the columns of `C`. The square is `sum_{s, s'} <c_s, c_s'> <u_s, u_s'>`. The first column has
    /// `c_0 = 1` and `c_n = sum_{1 <= j < p} |d_j| c_{n - j}`, so it is not negative, no product of columns is, and equal
    /// `u_s` are the worst, of vectors too. It does not increase: below `p` it has the coefficients of `(1 - x)^{-1/2}`, and
    /// from there on `c_n - c_{n + 1} = sum_{1 <= j < p} |d_j| (c_{n - j} - c_{n + 1 - j})`, where no term is negative. So
    /// `<c_s, c_s'> = sum_{n < T - s'} c_n c_{n + s' - s}`, for `s <= s'` from 0, does not increase in `s'` or in `s' - s`; and
    /// the `i`th step of a record, from 0, is at least `separation i`, the `i'`th at least `separation (i' - i)` later. Each
    /// term is largest for the steps above (Kalinin and Lampert 2024, arXiv 2405.13763, theorem 2).
    ///
    /// Rounding: no term is negative, so that relative errors do not grow by adding.
    ///
    /// # Errors
    /// [`AccountingError::OutOfRange`](crate::accounting::AccountingError::OutOfRange) for a separation or a number of
    /// participations of 0, or for too many participations for this number of steps.
    pub fn sensitivity_upper(&self, separation: u64, participations: u64) -> Result<f64> {
        check("separation", 0.0, separation > 0, "at least 1")?;
        check("participations", 0.0, participations > 0, "at least 1")?;
        let steps = self.steps as u64;
        let most = participations.min(steps.div_ceil(separation));
        // Rows in which earlier steps of the record no longer count.
        let late = steps.saturating_sub(most.saturating_mul(separation));
        check_work("number of steps times participations", late, most)?;
        let (apart, most) = (separation.min(steps) as usize, most as usize);
        let column = self.column();
        // Row t of C u, for u of ones at 0, separation, ...
        let mut rows: Vec<f64> = Vec::with_capacity(self.steps);
        for t in 0..self.steps {
            rows.push(match t {
                _ if t < apart => column[t],
                _ if t < apart.saturating_mul(most) => column[t] + rows[t - apart],
                _ => (0..most).map(|i| column[t - i * apart]).sum(),
            });
        }
        let squares: f64 = rows.iter().map(|row| row * row).sum();
        // Of each entry of the column, of each row, of the sum and of its root: in units of 2^-53, and twice that.
        let roundings = self.steps * (self.inverse.len() + 2) + most + 4;
        Ok(squares.sqrt() * (1.0 + roundings as f64 * f64::EPSILON))
    }

    /// The one Gaussian release that all steps are, as a function of their noise multiplier. The sensitivity is computed once.
    pub(crate) fn release_of(
        &self,
        separation: u64,
        participations: u64,
    ) -> Result<impl Fn(f64) -> Event + use<>> {
        let sensitivity = self.sensitivity_upper(separation, participations)?;
        Ok(move |noise_multiplier: f64| Event::Gaussian {
            noise_multiplier: (noise_multiplier / sensitivity).next_down(),
        })
    }

    /// The error of sums of steps, `||A D||_F / sqrt(T)` for `A` the matrix of sums.
    ///
    /// This is the root mean square over `t` of the standard deviation of the noise in the sum of the first `t` steps, for `z`
    /// of standard deviation 1.
    pub fn error_of_sums(&self) -> f64 {
        let (mut sum, mut row, mut all) = (0.0, 0.0, 0.0);
        for t in 0..self.steps {
            sum += self.inverse.get(t).copied().unwrap_or(0.0);
            row += sum * sum;
            all += row;
        }
        (all / self.steps as f64).sqrt()
    }

    /// The first column of `C`.
    fn column(&self) -> Vec<f64> {
        #[cfg(test)]
        tests::COLUMNS.set(tests::COLUMNS.get() + 1);
        let mut column: Vec<f64> = Vec::with_capacity(self.steps);
        column.push(1.0);
        for _ in 1..self.steps {
            let back = column.iter().rev();
            let next = back.zip(&self.inverse[1..]).map(|(c, d)| c * -d).sum();
            column.push(next);
        }
        column
    }
}

fn check_work(name: &'static str, steps: u64, each: u64) -> Result<()> {
    let work = steps.saturating_mul(each);
    check(name, work as f64, work <= MOST_WORK, "at most 2^30")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::accounting::{Accountant, GaussianAccountant};
    use crate::plan::TrainingPlan;
    use crate::sampling::Sampler;

    thread_local! {
        /// Computed by this test.
        pub(super) static COLUMNS: Cell<u32> = const { Cell::new(0) };
    }

    /// All tries of a calibration are of one sensitivity, and what they find is what its event costs.
    #[test]
    fn a_plan_computes_its_sensitivity_once() {
        let sampler = Sampler::cyclic(1200, 60).unwrap();
        let plan = TrainingPlan::for_epsilon(2.0, 1e-5, 50, sampler).correlated(8);
        let plan = plan.check().unwrap();
        assert_eq!(COLUMNS.get(), 1);
        let spent = GaussianAccountant.epsilon(&plan.event(), 1e-5).unwrap();
        assert_eq!((spent, COLUMNS.get()), (plan.epsilon_upper(), 2));
    }
}
