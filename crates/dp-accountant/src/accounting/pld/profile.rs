//! The privacy profile of a composed loss distribution.

use super::side::Side;
use crate::accounting::error::{AccountingError, Result};
use crate::numerics::bisection::{Until, bracket};

/// A bound on `delta(epsilon)`, exact for the lattice distribution it holds.
///
/// The mass at `bottom + j * spacing` is `values[j] * exp(ln_scale - tilt * loss)`.
#[derive(Debug)]
pub(crate) struct Profile {
    pub side: Side,
    pub tilt: f64,
    pub ln_scale: f64,
    pub spacing: f64,
    pub bottom: f64,
    pub values: Vec<f64>,
    /// Bound on the error of each value.
    pub noise: f64,
    /// Bound on the tilted mass outside of the window, which wraps into it.
    pub aliased: f64,
    /// Mass above the window and at infinity, added to an upper bound.
    pub extra: f64,
    /// Natural logarithm of the relative error allowed for the masses.
    pub ln_relative: f64,
}

/// A value read from a profile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    pub value: f64,
    /// How fast the logarithm of delta falls with epsilon there; 0 where it was not looked at.
    pub slope: f64,
}

/// Running sums down to one lattice point.
#[derive(Debug, Clone, Copy)]
struct Scan {
    /// Delta at this point, from the masses above it.
    delta: f64,
    /// Sum over masses at or above it of `mass * exp(point - loss)`.
    weight: f64,
}

impl Profile {
    fn loss(&self, j: usize) -> f64 {
        self.bottom + j as f64 * self.spacing
    }

    /// The tilted mass at a point, with its error taken to this profile's side.
    fn value(&self, j: usize) -> f64 {
        match self.side {
            Side::Upper => self.values[j].max(0.0) + self.noise,
            Side::Lower => (self.values[j] - self.noise).max(0.0),
        }
    }

    /// What turns a tilted mass at a point into a mass.
    fn untilt(&self, j: usize) -> f64 {
        (self.ln_scale - self.tilt * self.loss(j)).exp()
    }

    /// Delta at `epsilon` from the lattice's own delta.
    fn total(&self, lattice: f64, epsilon: f64) -> f64 {
        match self.side {
            Side::Upper => (lattice * self.ln_relative.exp() + self.extra).min(1.0),
            Side::Lower => {
                // Wrapped mass weighs at most e^(ln_scale - tilt epsilon).
                let aliased = self.aliased * (self.ln_scale - self.tilt * epsilon).exp();
                ((lattice - aliased) * (-self.ln_relative).exp()).max(0.0)
            }
        }
    }

    /// How often [`Self::untilt`] is taken afresh: so that roundings do not add up, and so that what
    /// has underflowed at the top of the window comes back before it could weigh more than `e^-600`.
    fn afresh_every(&self) -> usize {
        (100.0 / (self.tilt * self.spacing)).clamp(1.0, 128.0) as usize
    }

    /// Visits the points from the top down until `stop` says so; gives the last two scans.
    fn scan(&self, mut stop: impl FnMut(f64, &Scan) -> bool) -> Option<(usize, Scan, Scan)> {
        let step = -(-self.spacing).exp_m1();
        let decay = (-self.spacing).exp();
        let last = self.values.len() - 1;
        let rise = (self.tilt * self.spacing).exp();
        let every = self.afresh_every();
        let mut untilt = self.untilt(last);
        let mut here = Scan {
            delta: 0.0,
            weight: self.value(last) * untilt,
        };
        for j in (0..last).rev() {
            untilt = if j % every == 0 {
                self.untilt(j)
            } else {
                untilt * rise
            };
            let value = self.value(j);
            let mass = if value == 0.0 { 0.0 } else { value * untilt };
            let next = Scan {
                delta: here.delta + step * here.weight,
                weight: mass + decay * here.weight,
            };
            if stop(self.loss(j), &next) {
                return Some((j + 1, here, next));
            }
            here = next;
        }
        None
    }

    /// Delta at `epsilon`, and the slope of its logarithm there.
    pub(crate) fn delta(&self, epsilon: f64) -> Reading {
        let flat = |value| Reading { value, slope: 0.0 };
        let top = self.loss(self.values.len() - 1);
        if epsilon >= top {
            return flat(self.total(0.0, epsilon));
        }
        let found = self.scan(|loss, _| loss <= epsilon);
        match found {
            Some((j, above, _)) => {
                let below = (self.loss(j) - epsilon).max(0.0);
                let lattice = above.delta - (-below).exp_m1() * above.weight;
                Reading {
                    value: self.total(lattice, epsilon),
                    slope: above.weight / lattice,
                }
            }
            // Below the window: bound by the trivial 1, or by nothing.
            None => flat(match self.side {
                Side::Upper => 1.0,
                Side::Lower => self.total(self.at_bottom(), epsilon),
            }),
        }
    }

    /// Delta at each of `epsilons`, given in rising order, in one pass.
    pub(crate) fn deltas(&self, epsilons: &[f64]) -> Vec<f64> {
        let mut deltas = vec![0.0; epsilons.len()];
        let mut waiting = epsilons.len();
        let mut above = Scan {
            delta: 0.0,
            weight: 0.0,
        };
        let mut start = f64::INFINITY;
        self.scan(|loss, scan| {
            while waiting > 0 && epsilons[waiting - 1] >= loss {
                waiting -= 1;
                let epsilon = epsilons[waiting];
                let below = (start - epsilon).clamp(0.0, self.spacing);
                let lattice = above.delta - (-below).exp_m1() * above.weight;
                deltas[waiting] = self.total(lattice, epsilon);
            }
            (above, start) = (*scan, loss);
            waiting == 0
        });
        for k in 0..waiting {
            deltas[k] = self.delta(epsilons[k]).value;
        }
        deltas
    }

    fn at_bottom(&self) -> f64 {
        let mut delta = 0.0;
        self.scan(|_, scan| {
            delta = scan.delta;
            false
        });
        delta
    }

    /// Smallest epsilon, not below 0, at which delta is at most `delta`, and the slope there.
    pub(crate) fn epsilon(&self, delta: f64) -> Result<Reading> {
        let flat = |value| Ok(Reading { value, slope: 0.0 });
        let at_top = self.total(0.0, self.loss(self.values.len() - 1));
        if at_top > delta {
            return Err(AccountingError::Unresolved {
                delta,
                resolution: at_top,
            });
        }
        let exceeds = |epsilon: f64, lattice: f64| {
            !lattice.is_finite() || self.total(lattice, epsilon) > delta
        };
        let found = self.scan(|loss, scan| loss <= 0.0 || exceeds(loss, scan.delta));
        let Some((j, above, _)) = found else {
            // Epsilon lies below the window.
            return flat(match self.side {
                Side::Upper => self.bottom.max(0.0),
                Side::Lower => 0.0,
            });
        };
        let start = self.loss(j);
        if start <= 0.0 {
            return flat(0.0);
        }
        // Within the cell delta is known in closed form; bisection keeps to the safe side.
        let lattice = |epsilon: f64| above.delta - (epsilon - start).exp_m1() * above.weight;
        let low = self.loss(j - 1).max(0.0);
        if !exceeds(low, lattice(low)) {
            return flat(low);
        }
        let (low, high) = bracket((low, start), Until::Halvings(60), |epsilon| {
            exceeds(epsilon, lattice(epsilon))
        });
        Ok(Reading {
            value: match self.side {
                Side::Upper => high,
                Side::Lower => low,
            },
            slope: above.weight / delta,
        })
    }
}
