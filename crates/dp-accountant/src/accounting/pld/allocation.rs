//! Random allocation: each record takes part in exactly one of some steps, each as likely, and in no other (balls and bins).

use std::cell::RefCell;
use std::rc::Rc;

use super::convolution::convolved;
use super::discrete::{Atom, Discrete, up_share};
use crate::numerics::gauss_legendre::panel;
use crate::numerics::normal::{density, upper_tail};

/// How far out of the shifted normal distribution a step's likelihood ratio is followed.
const REACH: f64 = 6.7;

/// Share of the deviation of one ratio that the grid is wide at most, where [`MAX_POINTS`] allow it.
const FINE: f64 = 0.005;

/// Most points of the grid.
const MAX_POINTS: f64 = 2_097_152.0;

/// The bits of mu, the steps, and their pairs.
type Known = (u64, u32, Rc<[Discrete; 2]>);

/// The pairs of an epoch of `steps` Gaussian steps, the record removed and added.
///
/// With `v_i` what the record adds to step `i`, which may depend on the steps before and has a norm of at most `mu`, `P` is the
/// mean over `i` of `Q` shifted by `v_i` in step `i`, and `R = dP/dQ` the mean of `Y_i = e^(<v_i, x_i> - |v_i|^2 / 2)`. Both
/// `H_a(P || Q) = E_Q (R - a)_+` and `H_a(Q || P) = E_Q (1 - a R)_+` are means of convex functions of `R`. Under `Q`, given the
/// steps before, `Y_i` is log-normal with mean 1 and rises in convex order with `|v_i|`; by induction from the last step to the
/// first, where a mean over an independent `Y_i` of a convex function of the sum is convex in the rest, independent `Y_i` of
/// `|v_i| = mu` are the worst. What the other records add is the same on both sides.
///
/// That mean is computed with every error upwards. `Y` is cut to 0 above a point, which costs the `P`-mass above it. Each mass of
/// what is left goes to the two points of a grid around it so that the mean is kept, which only spreads it (convex order again),
/// and the sum of `steps` of them is a convolution; under `P` one of them counts with its size. Rounding of the transforms is
/// bounded by norms (Parseval), and added, as is the mass beyond the grid (Chernoff), to the mass at infinite loss.
pub(super) fn pairs(mu: f64, steps: u32) -> Rc<[Discrete; 2]> {
    thread_local! {
        /// The last one, which each direction asks for.
        static LAST: RefCell<Option<Known>> = const { RefCell::new(None) };
    }
    let known = LAST.with_borrow(|last| match last {
        Some((bits, of, pairs)) if (*bits, *of) == (mu.to_bits(), steps) => Some(Rc::clone(pairs)),
        _ => None,
    });
    known.unwrap_or_else(|| {
        let found = Rc::new(compute(mu, steps));
        LAST.set(Some((mu.to_bits(), steps, Rc::clone(&found))));
        found
    })
}

fn compute(mu: f64, steps: u32) -> [Discrete; 2] {
    let count = f64::from(steps);
    let deviation = (mu * mu).exp_m1().sqrt();
    let last = REACH + mu;
    let cut = ratio(mu, last);
    let top = 1.25 * cut + count + 10.0 * deviation * count.sqrt();
    let points = (top / (FINE * deviation)).clamp(4096.0, MAX_POINTS) as usize;
    let points = points.next_power_of_two();
    let width = top / points as f64;
    let law = law(mu, last, width, points);
    let sized: Vec<f64> = (0..points).map(|j| j as f64 * width * law[j]).collect();

    let (under_q, noise_q) = convolved(&[(&law, count)]);
    let (under_p, noise_p) = convolved(&[(&law, count - 1.0), (&sized, 1.0)]);
    // Total mass and mean of a law are right to a few units in the last place. Errors of its single masses are larger, but lie
    // between neighbours on the grid: they change H by no more than a cell's width times them, which is less.
    let rounding = 1e-14 * (count + 10.0);
    let beyond = beyond(&law, &sized, width, count, cut, top);
    // So that the lattice of losses costs little against their deviation.
    let spacing = (0.005 * deviation / count.sqrt()).clamp(1e-5, 1e-3);
    let loss = |j: usize| (j as f64 * width / count).ln();
    let removed = under_p.iter().enumerate().skip(1);
    let added = under_q.iter().enumerate().skip(1);
    [
        Discrete {
            atoms: on_lattice(removed.map(|(j, mass)| (loss(j), *mass)), spacing),
            infinite: noise_p + rounding + beyond + upper_tail(REACH),
        },
        Discrete {
            atoms: on_lattice(added.map(|(j, mass)| (-loss(j), *mass)), spacing),
            infinite: noise_q + rounding + under_q[0].max(0.0),
        },
    ]
}

/// `e^(mu z - mu^2 / 2)`.
fn ratio(mu: f64, z: f64) -> f64 {
    (mu * (z - 0.5 * mu)).exp()
}

/// The law of one ratio up to the normal variable `last`, its masses moved to the points of the grid that keep its mean.
fn law(mu: f64, last: f64, width: f64, points: usize) -> Vec<f64> {
    let mut law = vec![0.0; points];
    law[0] = upper_tail(last);
    let mut from = -38.0;
    let mut cell = 0_usize;
    while from < last {
        let end = ((cell + 1) as f64 * width).ln() / mu + 0.5 * mu;
        let to = end.min(from + 0.25).min(last);
        if to > from {
            panel(from, to, 0.5 * (to - from) < 0.025, |z, weight| {
                let mass = weight * density(z);
                let up = (ratio(mu, z) / width - cell as f64).clamp(0.0, 1.0);
                law[cell] += mass * (1.0 - up);
                law[cell + 1] += mass * up;
            });
            from = to;
        }
        if to >= end {
            cell += 1;
        }
    }
    law
}

/// A bound on the `P`-mass of sums above `top`: the best of some of Chernoff's.
fn beyond(law: &[f64], sized: &[f64], width: f64, count: f64, cut: f64, top: f64) -> f64 {
    let most = (cut / width) as usize + 2;
    let moment = |masses: &[f64], tilt: f64| -> f64 {
        let terms = masses.iter().take(most).enumerate();
        terms
            .map(|(j, mass)| mass * (tilt * j as f64 * width).exp())
            .sum()
    };
    let tilts = (0..10).map(|k| 400.0 / cut * 0.5_f64.powi(k));
    let bound = |tilt: f64| {
        let ln = (count - 1.0) * moment(law, tilt).ln() + moment(sized, tilt).ln();
        (ln - tilt * top).exp()
    };
    tilts.map(bound).filter(|b| !b.is_nan()).fold(1.0, f64::min)
}

/// Masses on a lattice of losses, each split so that its mass under both distributions is kept.
fn on_lattice(masses: impl Iterator<Item = (f64, f64)>, spacing: f64) -> Vec<Atom> {
    let mut found = std::collections::BTreeMap::new();
    for (loss, mass) in masses.filter(|(_, mass)| *mass > 0.0) {
        let below = (loss / spacing).floor() as i64;
        let up = up_share(loss, below, 1, spacing);
        *found.entry(below).or_insert(0.0) += mass * (1.0 - up);
        *found.entry(below + 1).or_insert(0.0) += mass * up;
    }
    let atoms = found.into_iter().filter(|(_, mass)| *mass > 0.0);
    atoms
        .map(|(index, mass)| Atom {
            loss: index as f64 * spacing,
            mass,
        })
        .collect()
}
