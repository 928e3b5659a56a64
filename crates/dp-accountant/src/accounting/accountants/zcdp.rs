//! Zero-concentrated differential privacy: a bound `rho alpha` on every Renyi divergence, in and out.

use crate::accounting::error::{AccountingError, Result, check_delta, check_epsilon};
use crate::accounting::event::Event;
use crate::accounting::steps::{ROUNDING, Sampling, ZCDP, check_rho, worst};
use crate::numerics::golden_section::least_value;

/// Half the width of the search for the best order, in the logarithm of `order - 1`.
const REACH: f64 = 6.0;

/// Turns of that search.
const TURNS: u32 = 80;

/// An upper bound on epsilon at `delta` of any rho-zCDP mechanism, rounded up.
///
/// It is the least over orders `alpha > 1` of `rho alpha + ln(1 - 1/alpha) - (ln delta + ln alpha) / (alpha - 1)` (Canonne,
/// Kamath and Steinke 2020, arXiv 2004.00010, proposition 12). Each order gives a bound, so a search that misses the best one
/// is loose but not wrong. For Gaussian noise [`super::GaussianAccountant`] is tighter.
///
/// ```
/// use dp_accountant::accounting::{zcdp_to_delta, zcdp_to_epsilon};
///
/// // The first conversion (Bun and Steinke 2016) gives rho + 2 sqrt(rho ln(1/delta)) = 5.30.
/// let epsilon = zcdp_to_epsilon(0.5, 1e-5)?;
/// assert!((4.72..4.73).contains(&epsilon), "{epsilon}");
/// assert!((zcdp_to_delta(0.5, epsilon)? / 1e-5 - 1.0).abs() < 1e-6);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
///
/// # Errors
/// A rho outside `[0, 5e5]`, or a delta outside `[0, 1]`.
pub fn zcdp_to_epsilon(rho: f64, delta: f64) -> Result<f64> {
    check_rho(rho)?;
    check_delta(delta)?;
    if rho == 0.0 || delta == 1.0 {
        return Ok(0.0);
    }
    if delta == 0.0 {
        return Ok(f64::INFINITY);
    }
    let start = (-delta.ln() / rho).sqrt();
    let least = least_value(start, REACH, TURNS, |over| {
        let order = 1.0 + over;
        let terms = [
            rho * order,
            -(1.0 / over).ln_1p(),
            -delta.ln() / over,
            -over.ln_1p() / over,
        ];
        rounded_up(&terms)
    });
    Ok(least.max(0.0))
}

/// An upper bound on delta at `epsilon` of any rho-zCDP mechanism, rounded up.
///
/// It is the least of 1 and, over orders `alpha > 1`, of
/// `e^((alpha - 1) (rho alpha - epsilon)) (1 - 1/alpha)^(alpha - 1) / alpha`. Source: as for [`zcdp_to_epsilon`].
///
/// # Errors
/// A rho outside `[0, 5e5]`, or an epsilon below 0.
pub fn zcdp_to_delta(rho: f64, epsilon: f64) -> Result<f64> {
    check_rho(rho)?;
    check_epsilon(epsilon)?;
    if rho == 0.0 || epsilon == f64::INFINITY {
        return Ok(0.0);
    }
    let start = (0.5 * (epsilon / rho - 1.0)).max(1.0 / (1.0 + rho));
    let least = least_value(start, REACH, TURNS, |over| {
        let order = 1.0 + over;
        let terms = [
            over * rho * order,
            -over * epsilon,
            over * -(1.0 / over).ln_1p(),
            -over.ln_1p(),
        ];
        rounded_up(&terms)
    });
    Ok(least.exp().min(1.0))
}

/// The rho for which an event is rho-zCDP, rounded up: the sum of those of its parts.
///
/// Gaussian and discrete Gaussian noise have `1 / (2 z^2)` (Bun and Steinke 2016, arXiv 1605.02065, proposition 1.6; Canonne,
/// Kamath and Steinke 2020, theorem 4), an exponential mechanism `epsilon^2 / 8` (Cesar and Rogers 2021, arXiv 2004.07223), and
/// Laplace noise and other purely epsilon-private mechanisms `epsilon^2 / 2` (Bun and Steinke 2016, proposition 1.4).
///
/// ```
/// use dp_accountant::accounting::{Event, zcdp_of, zcdp_to_epsilon};
///
/// // Three releases with multiplier 2 beside a mechanism that is 0.1-zCDP.
/// let gaussian = Event::Gaussian { noise_multiplier: 2.0 }.repeated(3);
/// let event = Event::Composed { events: vec![gaussian, Event::Zcdp { rho: 0.1 }] };
/// let rho = zcdp_of(&event)?;
/// assert!((rho - 0.475).abs() < 1e-12);
/// assert!(zcdp_to_epsilon(rho, 1e-6)? < 5.2);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
///
/// # Errors
/// [`AccountingError::NotCovered`] for samples, whose divergences are not proportional to the order, and for failures; else as
/// [`super::Accountant::epsilon`].
pub fn zcdp_of(event: &Event) -> Result<f64> {
    worst(event, ZCDP, |steps| {
        let refuse = |reason| AccountingError::NotCovered {
            accountant: ZCDP,
            event: event.words(),
            reason,
        };
        if steps.failure > 0.0 {
            return Err(refuse("what may fail is not zCDP for any rho; use rdp"));
        }
        let mut total = if steps.non_private {
            f64::INFINITY
        } else {
            0.0
        };
        for (step, count) in &steps.counted {
            if step.sampling != Sampling::None {
                return Err(refuse(
                    "a sample's divergences are no multiple of the order; use rdp or pld",
                ));
            }
            total += step.mechanism.rho() * *count as f64;
        }
        Ok(total * (1.0 + ROUNDING))
    })
}

fn rounded_up(terms: &[f64]) -> f64 {
    let size: f64 = terms.iter().map(|term| term.abs()).sum();
    terms.iter().sum::<f64>() + 0.1 * ROUNDING * size
}
