//! Dominating pairs of one step, in a coordinate in which the privacy loss is monotone.
//!
//! A pair `(P, Q)` is held as the distribution of its privacy loss `ln dP/dQ` under `P`: atoms, and a
//! density over a coordinate `x`. The base has loss `L(x) = slope x + intercept`; sampling maps it
//! to `g(L) = ln(1 - p + p e^L)`. `docs/accounting.md` names the pairs.
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

use super::allocation::{self, Discrete};
use super::normal::{density, upper_tail};
use super::shifts::Shifts;
use super::steps::{Base, Sampling, Step};

/// How the distribution over `x` becomes that of the loss.
#[derive(Debug, Clone, PartialEq)]
enum Form {
    /// Loss `L`, `P` is the shifted distribution.
    Plain,
    /// Loss `g(L)` on `L > 0`, its mirror image on negative losses, the rest an atom at 0.
    Symmetric { rate: f64 },
    /// Loss `g(L)`, `P` is the mixture (the record is removed).
    Remove { rate: f64 },
    /// Loss `-g(L)`, `P` is the unshifted distribution (the record is added).
    Add { rate: f64 },
    /// `P` is the mixture of shifts, `Q` the unshifted distribution (the group is removed).
    RemoveGroup(Rc<Shifts>),
    /// The same two exchanged (the group is added).
    AddGroup(Rc<Shifts>),
    /// Atoms alone: random allocation, the record removed or added.
    Allocation(Rc<[Discrete; 2]>, usize),
}

/// The distribution of one step's privacy loss.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    base: Base,
    form: Form,
}

/// A point mass of the loss under `P`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Atom {
    pub loss: f64,
    pub mass: f64,
}

impl Pair {
    /// The pairs that dominate a step: two (add and remove) for Poisson sampling, else one.
    pub(super) fn of(step: &Step) -> Vec<Self> {
        let form = |form| Self {
            base: step.base,
            form,
        };
        match step.sampling {
            Sampling::None => vec![form(Form::Plain)],
            Sampling::Fixed { rate } => vec![form(Form::Symmetric { rate })],
            Sampling::Poisson { rate } => {
                vec![form(Form::Remove { rate }), form(Form::Add { rate })]
            }
            Sampling::Allocation { steps } => {
                let mu = match step.base {
                    Base::Gaussian { mu } => mu,
                    // Nothing else is allocated.
                    _ => f64::INFINITY,
                };
                let pairs = allocation::pairs(mu, steps);
                let of = |which| form(Form::Allocation(Rc::clone(&pairs), which));
                vec![of(0), of(1)]
            }
            Sampling::PoissonGroup { rate, records } => {
                let shifts = Rc::new(Shifts::new(step.base, rate, records));
                let remove = Form::RemoveGroup(Rc::clone(&shifts));
                vec![form(remove), form(Form::AddGroup(shifts))]
            }
        }
    }

    /// Whether every atom and density has its mirror image: `P(-loss) = P(loss) e^-loss`.
    pub(super) fn is_mirrored(&self) -> bool {
        matches!(self.form, Form::Symmetric { .. })
    }

    /// Whether the density is positive up to the ends of its range, with no atom there.
    pub(super) fn ends_abruptly(&self) -> bool {
        matches!(self.base, Base::Exponential { .. })
    }

    /// Whether it has no density.
    pub(super) fn has_atoms_alone(&self) -> bool {
        matches!(self.base, Base::Pure { .. }) || matches!(self.form, Form::Allocation(..))
    }

    /// Whether the loss falls with `x`.
    fn is_falling(&self) -> bool {
        matches!(self.form, Form::Add { .. } | Form::AddGroup(_))
    }

    fn affine(&self) -> (f64, f64) {
        match self.base {
            Base::Gaussian { mu } => (mu, -0.5 * mu * mu),
            Base::Laplace { scale } => (2.0 / scale, -1.0 / scale),
            Base::Exponential { epsilon } | Base::Pure { epsilon } => (2.0 * epsilon, -epsilon),
        }
    }

    /// Loss at `x`.
    pub(super) fn loss(&self, x: f64) -> f64 {
        let (slope, intercept) = self.affine();
        // At the centre of symmetry the rounding of the two terms would cancel badly.
        let base = slope * (x + intercept / slope);
        match &self.form {
            Form::Plain | Form::Allocation(..) => base,
            Form::Symmetric { rate } | Form::Remove { rate } => mixed(*rate, base),
            Form::Add { rate } => -mixed(*rate, base),
            Form::RemoveGroup(shifts) => shifts.ln_ratio(x),
            Form::AddGroup(shifts) => -shifts.ln_ratio(x),
        }
    }

    /// The `x` at which the loss has this value, clamped to `range`.
    pub(super) fn coordinate(&self, loss: f64, range: (f64, f64)) -> f64 {
        let (slope, intercept) = self.affine();
        let base = match &self.form {
            Form::Plain | Form::Allocation(..) => loss,
            Form::Symmetric { rate } | Form::Remove { rate } => unmixed(*rate, loss),
            Form::Add { rate } => unmixed(*rate, -loss),
            Form::RemoveGroup(shifts) => return shifts.where_ratio_is(loss, range),
            Form::AddGroup(shifts) => return shifts.where_ratio_is(-loss, range),
        };
        let x = base / slope - intercept / slope;
        if x.is_nan() {
            range.0
        } else {
            x.clamp(range.0, range.1)
        }
    }

    /// Density of `P` over `x` (for a mirrored pair: of its positive half).
    pub(super) fn density(&self, x: f64) -> f64 {
        let (q, p) = match self.base {
            Base::Gaussian { mu } => (density(x), density(x - mu)),
            Base::Laplace { scale } => (
                0.5 / scale * (-x / scale).exp(),
                0.5 / scale * ((x - 1.0) / scale).exp(),
            ),
            Base::Exponential { epsilon } => {
                let scale = epsilon / -(-epsilon).exp_m1();
                let at = |x: f64| scale * (-epsilon * x).exp();
                (at(x), at(1.0 - x))
            }
            Base::Pure { .. } => (0.0, 0.0),
        };
        match &self.form {
            Form::Plain => p,
            Form::Symmetric { rate } | Form::Remove { rate } => (1.0 - rate) * q + rate * p,
            Form::Add { .. } | Form::AddGroup(_) => q,
            Form::RemoveGroup(shifts) => (shifts.ln_ratio(x) + ln_density(x)).exp(),
            Form::Allocation(..) => 0.0,
        }
    }

    /// Where `x` runs, leaving out at most `exp(ln_tail)` of mass at either end, and the bound on
    /// the mass left out at the end of large losses.
    pub(super) fn range(&self, ln_tail: f64) -> ((f64, f64), f64) {
        if let Form::Allocation(pairs, which) = &self.form {
            return ((0.5, 0.5), pairs[*which].infinite);
        }
        match self.base {
            Base::Gaussian { mu } => {
                // P(X > t) <= exp(-t^2/2).
                let t = (-2.0 * ln_tail).sqrt();
                let low = match self.form {
                    Form::Symmetric { .. } => 0.5 * mu,
                    Form::Plain => mu - t,
                    _ => -t,
                };
                let high = match &self.form {
                    Form::Add { .. } | Form::AddGroup(_) => t,
                    Form::RemoveGroup(shifts) => shifts.furthest() + t,
                    _ => mu + t,
                };
                ((low, high.max(low)), upper_tail(t))
            }
            // Atoms alone.
            Base::Pure { .. } => ((0.5, 0.5), 0.0),
            Base::Laplace { .. } | Base::Exponential { .. } => match self.form {
                Form::Symmetric { .. } => ((0.5, 1.0), 0.0),
                _ => ((0.0, 1.0), 0.0),
            },
        }
    }

    /// Point masses of the loss (for a mirrored pair: without the mirror images).
    pub(super) fn atoms(&self) -> Vec<Atom> {
        if let Form::Allocation(pairs, which) = &self.form {
            return pairs[*which].atoms.clone();
        }
        let mut atoms = Vec::new();
        // At the largest loss P has `near`, Q has `far`; the other way round at the smallest.
        let ends = match self.base {
            Base::Gaussian { .. } | Base::Exponential { .. } => None,
            Base::Laplace { scale } => Some((0.5, 0.5 * (-1.0 / scale).exp())),
            Base::Pure { epsilon } => {
                let near = 1.0 / (1.0 + (-epsilon).exp());
                Some((near, near * (-epsilon).exp()))
            }
        };
        if let Some((near, far)) = ends {
            let mut push = |x: f64, q: f64, p: f64| {
                let mass = match self.form {
                    Form::Plain => p,
                    Form::Symmetric { rate } | Form::Remove { rate } => (1.0 - rate) * q + rate * p,
                    _ => q,
                };
                atoms.push(Atom {
                    loss: self.loss(x),
                    mass,
                });
            };
            push(1.0, far, near);
            if !self.is_mirrored() {
                push(0.0, near, far);
            }
        }
        if let Form::Symmetric { rate } = self.form {
            atoms.push(Atom {
                loss: 0.0,
                mass: (1.0 - rate) * self.base.total_variation(),
            });
        }
        atoms
    }

    /// A length in `x` over which density and loss change little.
    pub(super) fn smooth_length(&self, x: f64) -> f64 {
        match self.base {
            Base::Gaussian { mu } => {
                let mu = match &self.form {
                    Form::RemoveGroup(shifts) | Form::AddGroup(shifts) => shifts.furthest(),
                    _ => mu,
                };
                1.0 / (1.0 + x.abs().max((x - mu).abs()) + mu)
            }
            // A tilt looks at its ends, where it has no atoms.
            Base::Exponential { epsilon } => {
                let end = x.min(1.0 - x).max(0.0);
                (0.5 / epsilon).min(0.2 * end + 1e-4)
            }
            base => (0.5 / base.loss_supremum()).min(1.0),
        }
    }

    /// Largest loss of the pair.
    pub(super) fn loss_supremum(&self) -> f64 {
        let largest = self.base.loss_supremum();
        match &self.form {
            Form::Plain | Form::RemoveGroup(_) | Form::Allocation(..) => largest,
            Form::Symmetric { rate } | Form::Remove { rate } => mixed(*rate, largest),
            Form::Add { rate } => -mixed(*rate, -largest),
            Form::AddGroup(shifts) => -shifts.ln_ratio(f64::NEG_INFINITY),
        }
    }

    /// Ends of `range` ordered by loss: (smallest loss, largest loss).
    pub(super) fn by_loss(&self, range: (f64, f64)) -> (f64, f64) {
        if self.is_falling() {
            (range.1, range.0)
        } else {
            range
        }
    }
}

/// Logarithm of the density of the standard normal distribution.
fn ln_density(x: f64) -> f64 {
    -0.5 * (x * x + (2.0 * std::f64::consts::PI).ln())
}

/// `ln(1 - rate + rate e^loss)`.
fn mixed(rate: f64, loss: f64) -> f64 {
    if loss > 30.0 {
        loss + rate.ln() + ((1.0 - rate) / rate * (-loss).exp()).ln_1p()
    } else {
        (rate * loss.exp_m1()).ln_1p()
    }
}

/// The inverse of [`mixed`]; minus infinity below its range.
fn unmixed(rate: f64, loss: f64) -> f64 {
    if loss > 30.0 {
        loss - rate.ln() + (-(1.0 - rate) * (-loss).exp()).ln_1p()
    } else {
        let odds = loss.exp_m1() / rate;
        if odds <= -1.0 {
            f64::NEG_INFINITY
        } else {
            odds.ln_1p()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_maps_are_inverse_to_each_other() {
        for rate in [1e-4, 0.1, 0.9] {
            for loss in [-3.0, -1e-6, 0.0, 1e-6, 0.5, 20.0, 40.0, 2000.0] {
                let back = unmixed(rate, mixed(rate, loss));
                let tolerance = 1e-13 * (1.0_f64).max(loss.abs()) / rate;
                assert!((back - loss).abs() < tolerance, "{rate} {loss} {back}");
            }
        }
    }
}
