//! Where to compose: exponential tilt, lattice spacing and window.
//!
//! A poor plan costs accuracy, never validity: what it leaves out is bounded and added by
//! [`super::compose`].

use super::cumulant::Cumulants;
use super::pair::Pair;
use crate::numerics::bisection::{Until, largest_that_holds, smallest_that_fails};
use crate::numerics::golden_section::minimiser;

/// Longest window, in lattice points.
const MAX_POINTS: f64 = 4_194_304.0;

/// Most cells of one step.
const MAX_CELLS: f64 = 1_048_576.0;

/// Share of the tolerance that the lattice spacing may use up.
const SHARE: f64 = 0.75;

/// Natural logarithm of the tilted mass that may lie outside of the window at either end.
const LN_OUTSIDE: f64 = -22.0;

/// How much steeper than planned a profile is taken to be at most.
const STEEPER: f64 = 30.0;

/// The value that a composition is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Goal {
    /// Epsilon for this delta.
    Epsilon { delta: f64 },
    /// Delta for this epsilon.
    Delta { epsilon: f64 },
    /// The neighbourhood of this epsilon, where delta falls as `e^(-slope epsilon)`.
    Near {
        epsilon: f64,
        slope: f64,
        delta: f64,
    },
    /// The whole profile, to an absolute accuracy of delta.
    Profile,
}

/// A planned composition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub tilt: f64,
    pub spacing: f64,
    /// Lattice index of the first point of the window.
    pub first: i64,
    /// Points in the window, of the form `2^a` or `3 * 2^a`.
    pub points: usize,
    /// Tilt at which the tail above the window is bounded.
    pub tail_tilt: f64,
    /// Tilt at which the tail below the window is bounded.
    pub bottom_tilt: f64,
    /// Cumulant of one step of each pair at the tilt.
    pub ln_scales: Vec<f64>,
    /// Natural logarithm of the mass left out of each step at either end.
    pub ln_tail: f64,
    /// Widest cell, as a loss, with which a single step still meets the accuracy.
    pub widest: f64,
    /// How fast `ln delta` is taken to fall with epsilon.
    pub slope: f64,
    /// The size of epsilon that the accuracy was taken for.
    pub scale: f64,
}

impl Plan {
    /// Plans for an absolute accuracy of `accuracy * min(epsilon, 1)`, for at least one step.
    pub(crate) fn new(pairs: &[(Pair, u64)], goal: Goal, accuracy: f64) -> Self {
        let steps: f64 = pairs.iter().map(|(_, count)| *count as f64).sum();
        let smallest = match goal {
            Goal::Epsilon { delta } | Goal::Near { delta, .. } => 1e-9 * delta,
            Goal::Delta { .. } => 1e-45,
            Goal::Profile => 1e-25,
        };
        let ln_tail = smallest.ln() - steps.ln();
        let cumulants = Cumulants::new(pairs, ln_tail);
        let tilt = match goal {
            Goal::Epsilon { delta } => tilt_for_delta(&cumulants, delta),
            Goal::Delta { epsilon } | Goal::Near { epsilon, .. } => {
                tilt_for_epsilon(&cumulants, epsilon)
            }
            Goal::Profile => 0.0,
        };
        let at = cumulants.total(tilt);
        let scale = match goal {
            Goal::Delta { epsilon } | Goal::Near { epsilon, .. } => epsilon.max(at.mean * 1e-4),
            Goal::Epsilon { .. } => at.mean,
            Goal::Profile => at.variance.sqrt(),
        };
        let (mut bottom, mut top, bottom_tilt, tail_tilt) = window(&cumulants, tilt, at.value);
        if let Goal::Delta { epsilon } | Goal::Near { epsilon, .. } = goal {
            let reach = (0.5 * epsilon).min(0.25 * (top - bottom));
            bottom = bottom.min(epsilon - reach);
            top = top.max(epsilon + reach);
        }
        let tolerance = accuracy * scale.clamp(1e-12, 1.0).max(1e-2 * scale);
        let slope = match goal {
            Goal::Near { slope, .. } => slope.max(tilt),
            _ => tilt,
        };
        // With one step that matters more than all others, its chords raise ln delta by up to
        // slope (slope + 1) h^2 / 8.
        let widest = (3.0 * tolerance / (slope + 1.0)).sqrt();
        // Losses far below 0 get no detail, see the lattice.
        let detailed = cumulants.single.1 - cumulants.single.0.max(-80.0 / (tilt + 1.0));
        let spacing = spacing(&cumulants, tilt, slope, tolerance)
            .min(0.2 / (tilt + 1.0))
            .min(widest)
            .min((top - bottom) / 512.0)
            .max((top - bottom) / (MAX_POINTS - 8.0))
            .max(detailed / MAX_CELLS);
        let spacing = common_atom(pairs)
            .filter(|loss| top - bottom < loss * (MAX_POINTS - 8.0))
            .unwrap_or(spacing);
        // Each step is rounded by at most a spacing, so that beyond this there is nothing, and all
        // but exp(LN_OUTSIDE) of the rounded distribution lies within this of the exact one (Hoeffding).
        let rounding = (steps + 2.0) * spacing;
        let spread = rounding.min((-0.5 * LN_OUTSIDE * steps).sqrt() * spacing);
        top = (top + spread).min(cumulants.support.1 + rounding);
        bottom = (bottom - spread)
            .max(cumulants.support.0 - rounding)
            .min(top);
        let first = (bottom / spacing).floor() as i64 - 2;
        let points = transform_length((top / spacing).ceil() as i64 + 3 - first);
        Self {
            tilt,
            spacing,
            first,
            points,
            tail_tilt,
            bottom_tilt,
            ln_scales: cumulants.each(tilt),
            ln_tail,
            widest: widest.max(spacing),
            slope,
            scale,
        }
    }

    /// Smallest loss in the window.
    pub(crate) fn bottom(&self) -> f64 {
        self.first as f64 * self.spacing
    }

    /// The slope to plan with after `slope` was found.
    pub(crate) fn steeper(&self, slope: f64) -> f64 {
        slope.min(STEEPER * (self.slope + 1.0))
    }

    /// Whether the plan suited what was read: epsilon and the slope of `ln delta` there.
    pub(crate) fn suits(&self, epsilon: f64, slope: f64) -> bool {
        epsilon >= 0.7 * self.scale && slope <= 1.2 * (self.slope + 1.0)
    }

    /// The same plan on a lattice `factor` times finer, as far as the longest window allows.
    pub(crate) fn finer(&self, factor: f64) -> Self {
        let factor = factor.min(MAX_POINTS / self.points as f64).max(1.0);
        let spacing = self.spacing / factor;
        Self {
            spacing,
            widest: (self.widest / (factor * factor)).max(spacing),
            first: (self.first as f64 * factor).floor() as i64,
            points: transform_length((self.points as f64 * factor).ceil() as i64),
            ..self.clone()
        }
    }
}

/// The loss at which all atoms lie, but for their signs and those at 0, of pairs that have nothing else: on a lattice with this
/// spacing no mass is split, and the composition is exact.
fn common_atom(pairs: &[(Pair, u64)]) -> Option<f64> {
    let mut common = None;
    for (pair, _) in pairs {
        if !pair.has_atoms_alone() {
            return None;
        }
        for atom in pair.atoms().iter().filter(|atom| atom.loss != 0.0) {
            let loss = atom.loss.abs();
            if *common.get_or_insert(loss) != loss {
                return None;
            }
        }
    }
    common
}

/// Smallest `2^a` or `3 * 2^a` that is at least `points`.
fn transform_length(points: i64) -> usize {
    let wanted = usize::try_from(points).unwrap_or(16).max(16);
    let power = wanted.next_power_of_two();
    if wanted <= power / 4 * 3 {
        power / 4 * 3
    } else {
        power
    }
}

/// Smallest tilt that meets a condition which all larger ones meet too.
fn smallest_tilt(met: impl Fn(f64) -> bool) -> f64 {
    if met(0.0) {
        return 0.0;
    }
    let mut high = 1e-3;
    while !met(high) && high < 1e12 {
        high *= 4.0;
    }
    let low = if high > 1e-3 { high / 4.0 } else { 0.0 };
    smallest_that_fails((low, high), Until::Halvings(30), |t| !met(t))
}

fn tilt_for_delta(cumulants: &Cumulants, delta: f64) -> f64 {
    let chernoff = |ln_bound: f64| {
        smallest_tilt(|t| {
            let at = cumulants.total(t);
            at.value - t * at.mean <= ln_bound
        })
    };
    let rough = chernoff(delta.ln());
    // The tail itself is smaller than its Chernoff bound by about t (t + 1) sqrt(2 pi variance).
    let at = cumulants.total(rough);
    let slack = (rough + 1.0) * (rough * (6.3 * at.variance).sqrt()).max(1.0);
    chernoff((delta.ln() + slack.ln()).min(0.5 * delta.ln()))
}

fn tilt_for_epsilon(cumulants: &Cumulants, epsilon: f64) -> f64 {
    smallest_tilt(|t| {
        let at = cumulants.total(t);
        at.mean >= epsilon || at.value - t * at.mean <= -90.0
    })
}

/// Losses between which all but `exp(LN_OUTSIDE)` of the tilted mass lies at either end, and the
/// tilts of the two Chernoff bounds that show it: (bottom, top, bottom tilt, top tilt).
fn window(cumulants: &Cumulants, tilt: f64, value: f64) -> (f64, f64, f64, f64) {
    let deviation = cumulants.total(tilt).variance.sqrt().max(1e-12);
    let above = |t: f64| (cumulants.total(tilt + t).value - value - LN_OUTSIDE) / t;
    let below = |t: f64| (cumulants.total(tilt - t).value - value - LN_OUTSIDE) / t;
    let up = minimiser(8.0 / deviation, 8.0, 18, above);
    let down = minimiser(8.0 / deviation, 8.0, 18, below);
    (-below(down), above(up), tilt - down, tilt + up)
}

/// Largest lattice spacing whose connect-the-dots error moves epsilon by at most `tolerance`.
///
/// Splitting a loss between the ends of its cell adds `tilt (tilt + 1) / 2` times the product of
/// its distances from them to the cumulant, and so `(slope + 1) / 2` times it to epsilon where delta
/// falls as `e^(-slope epsilon)`; the slope is the tilt where the saddle point is right. A part of
/// the tolerance is left for wider cells where little depends on them.
fn spacing(cumulants: &Cumulants, tilt: f64, slope: f64, tolerance: f64) -> f64 {
    let error = |h: f64| 0.5 * (slope + 1.0) * cumulants.spread(tilt, h);
    let fine = |h: f64| error(h) <= SHARE * tolerance;
    if fine(10.0) {
        return 10.0;
    }
    largest_that_holds((1e-18, 10.0), Until::Ratio(1.05), fine)
}
