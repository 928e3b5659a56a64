//! Accounting by Renyi divergence: valid, and looser than [`super::PldAccountant`].

use super::accountant::Accountant;
use super::error::{Result, check_delta, check_epsilon};
use super::event::Event;
use super::renyi::Renyi;
use super::steps::{RENYI, Steps, alternatives};

/// Orders tried between 1 and 11, where they matter most; whole numbers follow.
const FRACTIONAL: u32 = 100;

/// Largest whole order tried one by one; powers of two follow.
const WHOLE: u32 = 256;

/// Largest order tried.
const LARGEST: u32 = 1 << 20;

/// Adds up Renyi divergences over steps and converts at the best order.
///
/// Gaussian and Laplace releases by their closed forms, discrete Gaussian ones by that of the Gaussian;
/// Poisson samples by the divergences of their two pairs; batches without replacement under replace-one by the strengthened bound for
/// Gaussian noise of Wang, Balle and Kasiviswanathan 2019 (theorem 27), never taken below the
/// divergence of the dominating pair. Conversion to delta by Canonne, Kamath and Steinke 2020
/// (proposition 12).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RdpAccountant;

impl RdpAccountant {
    const NAME: &'static str = RENYI;
}

/// Total divergence at each order that was worth computing.
fn curve(steps: &Steps, worth: impl Fn(f64, f64) -> bool) -> Vec<(f64, f64)> {
    let fractional = (1..FRACTIONAL).map(|k| 1.0 + f64::from(k) / 10.0);
    let whole = (11..=WHOLE).map(f64::from);
    let powers = (1..)
        .map(|k| WHOLE << k)
        .take_while(|order| *order <= LARGEST)
        .map(f64::from);
    let parts: Vec<_> = steps
        .counted
        .iter()
        .map(|(step, count)| (Renyi::new(*step), *count as f64))
        .collect();
    let mut curve = Vec::new();
    for order in fractional.chain(whole).chain(powers) {
        let total: f64 = parts
            .iter()
            .map(|(renyi, count)| count * renyi.divergence(order))
            .sum();
        curve.push((order, total));
        // Divergences rise with the order: once one alone is too large, so are the rest.
        if !worth(order, total) {
            break;
        }
    }
    curve
}

/// The divergences of an event at rising orders, the worst over its alternatives; a prefix of the same orders for all
/// events.
pub(super) fn divergences(event: &Event) -> Result<Vec<(f64, f64)>> {
    let mut worst: Option<Vec<(f64, f64)>> = None;
    for steps in alternatives(event, RdpAccountant::NAME)? {
        // What may fail has no divergence that is finite.
        let found = match steps.non_private || steps.failure > 0.0 {
            true => Vec::new(),
            false => curve(&steps, |_, divergence| divergence < 500.0),
        };
        worst = Some(match worst {
            None => found,
            Some(before) => before
                .iter()
                .zip(found)
                .map(|(&(order, one), (_, other))| (order, one.max(other)))
                .collect(),
        });
    }
    Ok(worst.unwrap_or_default())
}

pub(super) fn epsilon_at(order: f64, divergence: f64, delta: f64) -> f64 {
    divergence + (-1.0 / order).ln_1p() - (delta.ln() + order.ln()) / (order - 1.0)
}

fn delta_at(order: f64, divergence: f64, epsilon: f64) -> f64 {
    ((order - 1.0) * (divergence - epsilon + (-1.0 / order).ln_1p()) - order.ln()).exp()
}

fn delta_from(curve: &[(f64, f64)], epsilon: f64) -> f64 {
    curve
        .iter()
        .map(|(order, divergence)| delta_at(*order, *divergence, epsilon))
        .fold(1.0, f64::min)
}

/// Epsilon of these steps, what may fail among them, at `delta`.
pub(super) fn epsilon_of(steps: &Steps, delta: f64) -> f64 {
    if delta == 1.0 {
        return 0.0;
    }
    let Some(delta) = steps.left(delta) else {
        return f64::INFINITY;
    };
    if steps.counted.is_empty() && !steps.non_private {
        return 0.0;
    }
    if steps.non_private || delta == 0.0 {
        return super::pure::epsilon(steps);
    }
    let best = std::cell::Cell::new(f64::INFINITY);
    curve(steps, |order, divergence| {
        best.set(best.get().min(epsilon_at(order, divergence, delta)));
        divergence < best.get() + 1.0
    });
    best.get().max(0.0).min(super::pure::epsilon(steps))
}

/// Delta of these steps, without what may fail, at each of `epsilons`.
pub(super) fn deltas_of(steps: &Steps, epsilons: &[f64]) -> Vec<f64> {
    let largest = epsilons.iter().copied().fold(0.0, f64::max);
    let pure = super::pure::epsilon(steps);
    let curve = curve(steps, |_, divergence| divergence < largest + 1.0);
    let delta = |epsilon: &f64| {
        if steps.non_private {
            1.0
        } else if *epsilon >= pure {
            0.0
        } else {
            delta_from(&curve, *epsilon)
        }
    };
    epsilons.iter().map(delta).collect()
}

impl Accountant for RdpAccountant {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn is_upper_bound(&self) -> bool {
        true
    }

    fn epsilon(&self, event: &Event, delta: f64) -> Result<f64> {
        check_delta(delta)?;
        let mut worst = 0.0_f64;
        for steps in alternatives(event, Self::NAME)? {
            worst = worst.max(epsilon_of(&steps, delta));
        }
        Ok(worst)
    }

    fn delta(&self, event: &Event, epsilon: f64) -> Result<f64> {
        Ok(self.profile(event, &[epsilon])?[0])
    }

    fn profile(&self, event: &Event, epsilons: &[f64]) -> Result<Vec<f64>> {
        for epsilon in epsilons {
            check_epsilon(*epsilon)?;
        }
        let mut worst = vec![0.0_f64; epsilons.len()];
        for steps in alternatives(event, Self::NAME)? {
            let found = deltas_of(&steps, epsilons);
            for (worst, delta) in worst.iter_mut().zip(found) {
                *worst = worst.max(steps.with_failure(delta));
            }
        }
        Ok(worst)
    }
}
