//! Dominating pairs of one step, in a coordinate in which the privacy loss is monotone.
//!
//! A pair `(P, Q)` is held as the distribution of its privacy loss `ln dP/dQ` under `P`: atoms, and a
//! density over a coordinate `x`. The mechanism has loss `L(x) = slope x + intercept`; sampling maps it
//! to `g(L) = ln(1 - p + p e^L)`, and adding a record instead of removing it exchanges `P` and `Q`, so the loss is `-g(L)`.
//! `docs/accounting.md` names the pairs.
//!
//! # Fixed size without replacement
//! With `mu = 1/z`, `phi` the density of `N(0, 1)`, `R = e^(mu x - mu^2/2)` the likelihood ratio before sampling and
//! `delta_mu(epsilon) = integral (R - e^epsilon)_+ phi`, lemma 5.2 of Rodriguez-Vitores et al. 2025 gives, for every
//! `epsilon >= 0`, `delta' = p delta_mu(epsilon)` at `e^epsilon' = 1 + p (e^epsilon - 1)`. Take the pair with
//!
//! - on `x > mu/2` (where `R > 1`): `dQ = phi dx`, `dP = (1 - p + p R) dQ`, so the loss is positive;
//! - on negative losses the mirror image, with `P` and `Q` exchanged;
//! - an atom of mass `(1 - p)(1 - 2 Phi(-mu/2))` at loss 0.
//!
//! Both have mass 1: with `F = Phi(-mu/2)` the positive part has `Q`-mass `F` and `P`-mass `(1 - p) F + p (1 - F)`, the
//! negative part the same exchanged. For `epsilon' >= 0` only the positive part counts:
//!
//! ```text
//! H_{e^epsilon'}(P || Q) = integral over x > mu/2 of (1 - p + p R - e^epsilon')_+ phi
//!                        = p integral (R - e^epsilon)_+ phi = p delta_mu(epsilon),
//! ```
//!
//! exactly the lemma's bound. For `epsilon' < 0`, any two distributions satisfy
//! `H_{1/a}(A || B) = 1 - 1/a + H_a(B || A) / a`; neighbours and the pair are symmetric, so the bound for `a > 1` in both
//! orders gives that for `a < 1`. For groups of different rates the largest counts: with `c = e^epsilon' - 1 >= 0`, `H` is
//! `integral (p (R - 1) - c)_+ phi`, which rises with `p`. Laplace noise has `R = e^((2x - 1)/z)` on `0 < x < 1`, with atoms
//! of `R = e^(+-1/z)` at the ends.

use std::rc::Rc;

use super::allocation;
use super::discrete::{Atom, Discrete};
use super::shifts::Shifts;
use crate::accounting::steps::{Direction, Mechanism, Sampling, Step, mixed, unmixed};
use crate::numerics::normal::{ln_density, upper_tail};

/// The distribution of one step's privacy loss.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    step: Step,
    direction: Direction,
    table: Table,
}

/// The part of a pair that is computed once.
#[derive(Debug, Clone, PartialEq)]
enum Table {
    /// Nothing: the mechanism and the rate have formulas.
    Formula,
    /// The mixture of shifts of a group.
    Shifts(Rc<Shifts>),
    /// Random allocation, the record removed or added.
    Discrete(Rc<[Discrete; 2]>),
}

impl Pair {
    /// The pair that dominates a step in a direction, which counts for [`Step::has_directions`] alone.
    pub(crate) fn dominating(step: Step, direction: Direction) -> Self {
        let table = match (step.sampling, step.mechanism) {
            (Sampling::Allocation { steps }, Mechanism::Gaussian { mu }) => {
                Table::Discrete(allocation::pairs(mu, steps))
            }
            (Sampling::PoissonGroup { rate, records }, Mechanism::Gaussian { mu }) => {
                Table::Shifts(Rc::new(Shifts::new(mu, rate, records)))
            }
            _ => Table::Formula,
        };
        let direction = if step.has_directions() {
            direction
        } else {
            Direction::Removed
        };
        Self {
            step,
            direction,
            table,
        }
    }

    /// Whether every atom and density has its mirror image: `P(-loss) = P(loss) e^-loss`.
    pub(super) fn is_mirrored(&self) -> bool {
        matches!(self.step.sampling, Sampling::Fixed { .. })
    }

    /// Whether the density is positive up to the ends of its range, with no atom there.
    pub(super) fn ends_abruptly(&self) -> bool {
        matches!(self.step.mechanism, Mechanism::Exponential { .. })
    }

    /// The point masses of random allocation.
    fn discrete(&self) -> Option<&Discrete> {
        match &self.table {
            Table::Discrete(pairs) => Some(&pairs[self.direction as usize]),
            _ => None,
        }
    }

    /// Whether it has no density.
    pub(super) fn has_atoms_alone(&self) -> bool {
        matches!(self.step.mechanism, Mechanism::Pure { .. }) || self.discrete().is_some()
    }

    /// A loss with the sign of the direction.
    fn signed(&self, loss: f64) -> f64 {
        match self.direction {
            Direction::Removed => loss,
            Direction::Added => -loss,
        }
    }

    /// The rate at which `P` is mixed with `Q`, for one record.
    fn rate(&self) -> Option<f64> {
        match self.step.sampling {
            Sampling::Fixed { rate } | Sampling::Poisson { rate } => Some(rate),
            _ => None,
        }
    }

    /// Loss at `x`.
    pub(super) fn loss(&self, x: f64) -> f64 {
        let (slope, intercept) = self.step.mechanism.loss_line();
        // At the centre of symmetry the rounding of the two terms would cancel badly.
        let plain = slope * (x + intercept / slope);
        self.signed(match (&self.table, self.rate()) {
            (Table::Shifts(shifts), _) => shifts.ln_ratio(x),
            (_, Some(rate)) => mixed(rate, plain),
            (_, None) => plain,
        })
    }

    /// The `x` at which the loss has this value, clamped to `range`.
    pub(super) fn coordinate(&self, loss: f64, range: (f64, f64)) -> f64 {
        let (slope, intercept) = self.step.mechanism.loss_line();
        let loss = self.signed(loss);
        let plain = match (&self.table, self.rate()) {
            (Table::Shifts(shifts), _) => return shifts.where_ratio_is(loss, range),
            (_, Some(rate)) => unmixed(rate, loss),
            (_, None) => loss,
        };
        let x = plain / slope - intercept / slope;
        if x.is_nan() {
            range.0
        } else {
            x.clamp(range.0, range.1)
        }
    }

    /// The density or mass of `P`, from those of the two distributions before sampling.
    fn sampled(&self, q: f64, p: f64) -> f64 {
        match (self.direction, self.rate()) {
            (Direction::Added, _) => q,
            (Direction::Removed, Some(rate)) => (1.0 - rate) * q + rate * p,
            (Direction::Removed, None) => p,
        }
    }

    /// Density of `P` over `x` (for a mirrored pair: of its positive half).
    pub(super) fn density(&self, x: f64) -> f64 {
        let (q, p) = self.step.mechanism.densities(x);
        match (&self.table, self.direction) {
            (Table::Discrete(_), _) => 0.0,
            (Table::Shifts(shifts), Direction::Removed) => {
                (shifts.ln_ratio(x) + ln_density(x)).exp()
            }
            _ => self.sampled(q, p),
        }
    }

    /// Where `x` runs, leaving out at most `exp(ln_tail)` of mass at either end, and the bound on
    /// the mass left out at the end of large losses.
    pub(super) fn range(&self, ln_tail: f64) -> ((f64, f64), f64) {
        if let Some(discrete) = self.discrete() {
            return ((0.5, 0.5), discrete.infinite);
        }
        match self.step.mechanism {
            Mechanism::Gaussian { mu } => {
                // P(X > t) <= exp(-t^2/2).
                let t = (-2.0 * ln_tail).sqrt();
                let low = match self.step.sampling {
                    Sampling::Fixed { .. } => 0.5 * mu,
                    Sampling::None => mu - t,
                    _ => -t,
                };
                let high = match (self.direction, &self.table) {
                    (Direction::Added, _) => t,
                    (_, Table::Shifts(shifts)) => shifts.furthest() + t,
                    _ => mu + t,
                };
                ((low, high.max(low)), upper_tail(t))
            }
            // Atoms alone.
            Mechanism::Pure { .. } => ((0.5, 0.5), 0.0),
            _ if self.is_mirrored() => ((0.5, 1.0), 0.0),
            _ => ((0.0, 1.0), 0.0),
        }
    }

    /// Point masses of the loss (for a mirrored pair: without the mirror images).
    pub(super) fn atoms(&self) -> Vec<Atom> {
        if let Some(discrete) = self.discrete() {
            return discrete.atoms.clone();
        }
        let mut atoms = Vec::new();
        if let Some((near, far)) = self.step.mechanism.end_masses() {
            let mut push = |x: f64, q: f64, p: f64| {
                let (loss, mass) = (self.loss(x), self.sampled(q, p));
                atoms.push(Atom { loss, mass });
            };
            push(1.0, far, near);
            if !self.is_mirrored() {
                push(0.0, near, far);
            }
        }
        if let Sampling::Fixed { rate } = self.step.sampling {
            let mass = (1.0 - rate) * self.step.mechanism.total_variation();
            atoms.push(Atom { loss: 0.0, mass });
        }
        atoms
    }

    /// A length in `x` over which density and loss change little.
    pub(super) fn smooth_length(&self, x: f64) -> f64 {
        let furthest = match &self.table {
            Table::Shifts(shifts) => Mechanism::Gaussian {
                mu: shifts.furthest(),
            },
            _ => self.step.mechanism,
        };
        furthest.smooth_length(x)
    }

    /// Largest loss of the pair.
    pub(crate) fn loss_supremum(&self) -> f64 {
        self.step.loss_supremum(self.direction)
    }

    /// Ends of `range` ordered by loss: (smallest loss, largest loss).
    pub(super) fn by_loss(&self, range: (f64, f64)) -> (f64, f64) {
        match self.direction {
            Direction::Removed => range,
            Direction::Added => (range.1, range.0),
        }
    }
}
