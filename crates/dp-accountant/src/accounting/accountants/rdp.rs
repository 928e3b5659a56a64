//! Accounting by Renyi divergence: valid, and looser than [`super::PldAccountant`].

use super::Accountant;
use super::renyi::Renyi;
use crate::accounting::error::{Result, check_delta};
use crate::accounting::event::Event;
use crate::accounting::steps::{RENYI, Steps, alternatives, worst, worst_profile};

/// Orders tried between 1 and 11, where they matter most; whole numbers follow.
const FRACTIONAL: u32 = 100;

/// Largest whole order tried one by one; powers of two follow.
const WHOLE: u32 = 256;

/// Largest order tried.
const LARGEST: u32 = 1 << 20;

/// An accountant that adds up Renyi divergences over steps, and converts the sum at the best order.
///
/// Unsampled releases have closed forms, and discrete Gaussian noise has that of Gaussian noise. Poisson samples have the
/// divergences of their two pairs. Batches without replacement have the strengthened bound for Gaussian noise (Wang, Balle and
/// Kasiviswanathan 2019, theorem 27), if it is above the divergence of the dominating pair. Conversion to delta: Canonne, Kamath
/// and Steinke 2020, proposition 12.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RdpAccountant;

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

/// The divergences of an event at rising orders, the worst over its alternatives. The orders are a prefix of one sequence.
pub(super) fn divergences(event: &Event) -> Result<Vec<(f64, f64)>> {
    let alternatives = alternatives(event, RENYI)?;
    // With failures no divergence is finite.
    worst_of(
        alternatives
            .iter()
            .map(|steps| match steps.non_private || steps.failure > 0.0 {
                true => Ok(Vec::new()),
                false => Ok(curve(steps, |_, divergence| divergence < 500.0)),
            }),
    )
}

/// The largest divergence of some curves at each order that all of them have.
pub(super) fn worst_of(
    curves: impl Iterator<Item = Result<Vec<(f64, f64)>>>,
) -> Result<Vec<(f64, f64)>> {
    let larger = |one: Vec<(f64, f64)>, other: Vec<(f64, f64)>| {
        let both = one.into_iter().zip(other);
        both.map(|((order, one), (_, other))| (order, one.max(other)))
            .collect()
    };
    let worst = curves.reduce(|one, other| Ok(larger(one?, other?)));
    worst.unwrap_or_else(|| Ok(Vec::new()))
}

pub(super) fn epsilon_at(order: f64, divergence: f64, delta: f64) -> f64 {
    divergence + (-1.0 / order).ln_1p() - (delta.ln() + order.ln()) / (order - 1.0)
}

fn delta_at(order: f64, divergence: f64, epsilon: f64) -> f64 {
    ((order - 1.0) * (divergence - epsilon + (-1.0 / order).ln_1p()) - order.ln()).exp()
}

/// Epsilon of these steps and their failures at `delta`.
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
        return steps.loss_supremum();
    }
    let best = std::cell::Cell::new(f64::INFINITY);
    curve(steps, |order, divergence| {
        best.set(best.get().min(epsilon_at(order, divergence, delta)));
        divergence < best.get() + 1.0
    });
    best.get().max(0.0).min(steps.loss_supremum())
}

/// Delta of these steps, without their failures, at each of `epsilons`.
pub(super) fn deltas_of(steps: &Steps, epsilons: &[f64]) -> Vec<f64> {
    let largest = epsilons.iter().copied().fold(0.0, f64::max);
    let pure = steps.loss_supremum();
    let curve = curve(steps, |_, divergence| divergence < largest + 1.0);
    let delta = |epsilon: &f64| {
        if steps.non_private {
            1.0
        } else if *epsilon >= pure {
            0.0
        } else {
            let deltas = curve
                .iter()
                .map(|(order, d)| delta_at(*order, *d, *epsilon));
            deltas.fold(1.0, f64::min)
        }
    };
    epsilons.iter().map(delta).collect()
}

impl Accountant for RdpAccountant {
    fn name(&self) -> &'static str {
        RENYI
    }

    fn is_upper_bound(&self) -> bool {
        true
    }

    fn epsilon(&self, event: &Event, delta: f64) -> Result<f64> {
        check_delta(delta)?;
        worst(event, RENYI, |steps| Ok(epsilon_of(steps, delta)))
    }

    fn delta(&self, event: &Event, epsilon: f64) -> Result<f64> {
        Ok(self.profile(event, &[epsilon])?[0])
    }

    fn profile(&self, event: &Event, epsilons: &[f64]) -> Result<Vec<f64>> {
        worst_profile(event, RENYI, epsilons, |steps| {
            Ok(deltas_of(steps, epsilons))
        })
    }
}
