//! The accountants, and the trait that they have in common.

pub mod gaussian;
mod gdp_clt;
mod pld;
mod rdp;
mod renyi;
mod selection;
mod zcdp;

pub use gaussian::GaussianAccountant;
pub use gdp_clt::GdpCltAccountant;
pub use pld::PldAccountant;
pub use rdp::RdpAccountant;
pub use selection::PrivateSelection;
pub use zcdp::{zcdp_of, zcdp_to_delta, zcdp_to_epsilon};

use super::error::{Result, check};
use super::event::Event;
use super::trade_off::{from_lines, grid};

/// Turns events into privacy parameters.
///
/// ```
/// use dp_accountant::accounting::{Accountant, Event, PldAccountant, RdpAccountant};
///
/// let event = Event::dp_sgd(60_000, 600, 1_000, 1.0);
/// let accountants: [&dyn Accountant; 2] = [&PldAccountant::default(), &RdpAccountant];
/// for accountant in accountants {
///     let epsilon = accountant.epsilon(&event, 1e-5)?;
///     assert!(accountant.is_upper_bound() && epsilon < 4.0);
///     // A test that accuses one in twenty non-members wrongly misses at least a tenth of the members.
///     assert!(accountant.trade_off(&event, 0.05)? > 0.1, "{}", accountant.name());
/// }
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
pub trait Accountant {
    /// The accountant's name in options and outputs.
    fn name(&self) -> &'static str;

    /// Whether its answers are upper bounds.
    fn is_upper_bound(&self) -> bool;

    /// Epsilon of the event at `delta` in `[0, 1]`; infinite if no finite epsilon holds.
    ///
    /// # Errors
    /// A parameter out of range, or an event that this accountant does not cover.
    fn epsilon(&self, event: &Event, delta: f64) -> Result<f64>;

    /// Delta of the event at `epsilon >= 0`.
    ///
    /// # Errors
    /// A parameter out of range, or an event that this accountant does not cover.
    fn delta(&self, event: &Event, epsilon: f64) -> Result<f64>;

    /// [`Accountant::delta`] at several values of epsilon.
    ///
    /// # Errors
    /// As [`Accountant::delta`].
    fn profile(&self, event: &Event, epsilons: &[f64]) -> Result<Vec<f64>> {
        epsilons
            .iter()
            .map(|epsilon| self.delta(event, *epsilon))
            .collect()
    }

    /// The trade-off function at `alpha`: the least type II error of a test with type I error `alpha` in `[0, 1]`.
    ///
    /// It is `f(alpha) = sup over epsilon >= 0 of max(1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha))` over points
    /// of [`Accountant::profile`] (Dong, Roth and Su 2019, proposition 6). If the accountant gives upper bounds, it is never
    /// above the truth.
    ///
    /// # Errors
    /// As [`Accountant::delta`], or `alpha` outside of `[0, 1]`.
    fn trade_off(&self, event: &Event, alpha: f64) -> Result<f64> {
        Ok(self.trade_off_curve(event, &[alpha])?[0])
    }

    /// [`Accountant::trade_off`] at several `alpha`.
    ///
    /// # Errors
    /// As [`Accountant::trade_off`].
    fn trade_off_curve(&self, event: &Event, alphas: &[f64]) -> Result<Vec<f64>> {
        for alpha in alphas {
            check("alpha", *alpha, (0.0..=1.0).contains(alpha), "in [0, 1]")?;
        }
        let epsilons = grid(self.epsilon(event, 1e-13)?);
        let deltas = self.profile(event, &epsilons)?;
        Ok(from_lines(&epsilons, &deltas, alphas))
    }
}
