//! Zero-concentrated differential privacy: a bound `rho alpha` on every Renyi divergence, in and out.

use super::error::{AccountingError, Result, check, check_delta, check_epsilon};
use super::event::Event;
use super::steps::{Base, Sampling, Step, ZCDP, alternatives};

/// The largest rho that is covered, that of Gaussian noise with multiplier `1e-3`.
pub(crate) const LARGEST_RHO: f64 = 5e5;

/// Half the width of the search for the best order, in the logarithm of `order - 1`.
const REACH: f64 = 6.0;

/// Relative allowance for the rounding of a sum, upwards.
const ROUNDING: f64 = 1e-14;

/// An upper bound on epsilon at `delta` of everything that is rho-zCDP, rounded up.
///
/// The least over orders `alpha > 1` of `rho alpha + ln(1 - 1/alpha) - (ln delta + ln alpha) / (alpha - 1)` (Canonne,
/// Kamath and Steinke 2020, arXiv 2004.00010, proposition 12); every order gives a bound, so that a search
/// that misses the best one is loose and not wrong. For Gaussian noise, which has a curve of its own,
/// [`super::GaussianAccountant`] is smaller.
///
/// ```
/// use dp_accountant::accounting::{zcdp_to_delta, zcdp_to_epsilon};
///
/// // Below rho + 2 sqrt(rho ln(1/delta)) = 5.30, the first conversion (Bun and Steinke 2016).
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
    let least = least_near(start, |over| {
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

/// An upper bound on delta at `epsilon` of everything that is rho-zCDP, rounded up: the least over orders `alpha > 1` of
/// `e^((alpha - 1) (rho alpha - epsilon)) (1 - 1/alpha)^(alpha - 1) / alpha`, and 1 (source as [`zcdp_to_epsilon`]).
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
    let least = least_near(start, |over| {
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

/// The rho of an event that is rho-zCDP, rounded up: what its parts have adds up.
///
/// Gaussian and discrete Gaussian noise `1 / (2 z^2)` (Bun and Steinke 2016, arXiv 1605.02065, proposition 1.6; Canonne,
/// Kamath and Steinke 2020, theorem 4), an exponential mechanism `epsilon^2 / 8` (Cesar and Rogers 2021, arXiv 2004.07223),
/// Laplace noise and whatever else is purely epsilon-private `epsilon^2 / 2` (Bun and Steinke 2016, proposition 1.4).
///
/// ```
/// use dp_accountant::accounting::{Event, zcdp_of, zcdp_to_epsilon};
///
/// // Three releases with multiplier 2 beside something that is known to be 0.1-zCDP.
/// let gaussian = Event::Gaussian { noise_multiplier: 2.0 }.repeated(3);
/// let event = Event::Composed { events: vec![gaussian, Event::Zcdp { rho: 0.1 }] };
/// let rho = zcdp_of(&event)?;
/// assert!((rho - 0.475).abs() < 1e-12);
/// assert!(zcdp_to_epsilon(rho, 1e-6)? < 5.2);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
///
/// # Errors
/// [`AccountingError::NotCovered`] for samples, whose divergences are no multiple of the order, and for what may fail, and what
/// every accountant refuses.
pub fn zcdp_of(event: &Event) -> Result<f64> {
    let mut worst = 0.0_f64;
    for steps in alternatives(event, ZCDP)? {
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
            let rho = of(step).ok_or_else(|| {
                refuse("a sample's divergences are no multiple of the order; use rdp or pld")
            })?;
            total += rho * *count as f64;
        }
        worst = worst.max(total * (1.0 + ROUNDING));
    }
    Ok(worst)
}

/// `None` for samples.
fn of(step: &Step) -> Option<f64> {
    (step.sampling == Sampling::None).then(|| match step.base {
        Base::Gaussian { mu } => 0.5 * mu * mu,
        Base::Laplace { scale } => 0.5 / (scale * scale),
        Base::Exponential { epsilon } => 0.125 * epsilon * epsilon,
        Base::Pure { epsilon } => 0.5 * epsilon * epsilon,
    })
}

/// The smaller of its value at the best `over` found around `start` and nothing less: a golden-section search.
fn least_near(start: f64, value: impl Fn(f64) -> f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_9;
    let at = |u: f64| value(start * u.exp());
    let (mut low, mut high) = (-REACH, REACH);
    let mut least = at(0.0);
    for _ in 0..80 {
        let (left, right) = (high - RATIO * (high - low), low + RATIO * (high - low));
        let (at_left, at_right) = (at(left), at(right));
        least = least.min(at_left).min(at_right);
        if at_left <= at_right {
            high = right;
        } else {
            low = left;
        }
    }
    least
}

fn rounded_up(terms: &[f64]) -> f64 {
    let size: f64 = terms.iter().map(|term| term.abs()).sum();
    terms.iter().sum::<f64>() + 0.1 * ROUNDING * size
}

pub(crate) fn check_rho(rho: f64) -> Result<()> {
    check(
        "rho",
        rho,
        (0.0..=LARGEST_RHO).contains(&rho),
        "in [0, 5e5]",
    )
}
