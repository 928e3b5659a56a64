//! The privacy loss of one step on a lattice, rounded so that it dominates the true pair.

use super::discrete::{Atom, up_share};
use super::pair::Pair;
use super::quadrature;
use crate::accounting::error::{AccountingError, Result};
use crate::numerics::ln_sum_exp;

/// Largest deviation of a step's total mass from 1 that is accepted.
const MAX_DEFECT: f64 = 1e-9;

/// Natural logarithm of the tilted mass of a step whose small losses need no detail.
const LN_LOW: f64 = -40.0;

/// Point masses under `P` at losses `index * spacing + offset`.
#[derive(Debug, Clone)]
pub(super) struct Lattice {
    pub spacing: f64,
    pub offset: f64,
    /// Index and mass, by rising index.
    pub masses: Vec<(i64, f64)>,
    /// Mass at infinite loss.
    pub infinite: f64,
    /// Measured relative error of the masses, from their sum.
    pub defect: f64,
}

/// Where a lattice has to be accurate: masses are weighed by `e^(tilt loss - ln_scale)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Focus {
    pub spacing: f64,
    pub tilt: f64,
    pub ln_scale: f64,
    pub ln_tail: f64,
    /// Widest cell, as a loss.
    pub widest: f64,
}

/// A run of losses between two lattice points, and the coordinates that have them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval {
    pub index: i64,
    pub width: i64,
    pub from: f64,
    pub to: f64,
}

impl Lattice {
    /// Connect-the-dots: each mass is split between the two ends of its cell so that its mass
    /// under both `P` and `Q` is kept, which raises the hockey-stick curve between lattice points
    /// to its chord. Cells are one spacing wide where the focus is, wider where little depends on
    /// them.
    pub(super) fn upper(pair: &Pair, focus: &Focus) -> Result<Self> {
        let h = focus.spacing;
        let (range, infinite) = pair.range(focus.ln_tail);
        let mut masses = vec![];
        cells(pair, focus, range, 0.0, |cell| {
            let (mut low, mut high) = (0.0, 0.0);
            quadrature::visit(pair, cell.from, cell.to, |loss, mass| {
                let share = up_share(loss, cell.index, cell.width, h);
                low += mass * (1.0 - share);
                high += mass * share;
            });
            masses.push((cell.index, low));
            masses.push((cell.index + cell.width, high));
        });
        let lowest = masses.first().map_or(0, |(index, _)| *index);
        let (zero, others): (Vec<Atom>, _) = pair.atoms().into_iter().partition(|a| a.loss == 0.0);
        for atom in others {
            let index = (atom.loss / h).floor() as i64;
            let share = up_share(atom.loss, index, 1, h);
            masses.push((index, atom.mass * (1.0 - share)));
            masses.push((index + 1, atom.mass * share));
        }
        if pair.is_mirrored() {
            for k in 0..masses.len() {
                let (index, mass) = masses[k];
                masses.push((-index, mass * (-(index as f64) * h).exp()));
            }
        }
        masses.extend(zero.iter().map(|atom| (0, atom.mass)));
        // Losses below the detailed ones count as if they were larger.
        masses.push((lowest, infinite + low_mass(pair, focus, range)));
        let masses = merged(masses);
        let total: f64 = masses.iter().map(|(_, mass)| mass).sum();
        Self {
            spacing: h,
            offset: 0.0,
            masses,
            infinite,
            defect: (total - 1.0).abs(),
        }
        .checked()
    }

    pub(super) fn checked(self) -> Result<Self> {
        if self.defect <= MAX_DEFECT {
            Ok(self)
        } else {
            Err(AccountingError::SelfCheck {
                check: "deviation of a step's total probability from 1",
                value: self.defect,
                bound: MAX_DEFECT,
            })
        }
    }

    /// `ln sum mass e^(t loss)` over the finite losses.
    pub(super) fn cumulant(&self, t: f64) -> f64 {
        ln_sum_exp(
            self.masses
                .iter()
                .map(|(index, mass)| mass.ln() + t * (*index as f64 * self.spacing + self.offset)),
        )
    }
}

/// The coordinate below whose loss no detail is needed: `P(loss <= l) <= e^l`, so that the tilted
/// mass below `l` is at most `e^((tilt + 1) l - ln_scale)`.
fn detail_from(pair: &Pair, focus: &Focus, range: (f64, f64)) -> f64 {
    let (start, _) = pair.by_loss(range);
    // More steps need smaller remainders: the tail mass of a step already allows for them.
    let floor =
        (LN_LOW + focus.ln_scale.min(0.0) + (focus.ln_tail * 0.25).max(-20.0)) / (focus.tilt + 1.0);
    if pair.loss(start) < floor {
        pair.coordinate(floor, range)
    } else {
        start
    }
}

/// Mass of the losses below the detailed ones.
pub(super) fn low_mass(pair: &Pair, focus: &Focus, range: (f64, f64)) -> f64 {
    let (start, _) = pair.by_loss(range);
    let mut total = 0.0;
    quadrature::visit(pair, start, detail_from(pair, focus, range), |_, mass| {
        total += mass;
    });
    total
}

/// Visits the cells whose ends are `index + shift` spacings, from small losses to large ones.
pub(super) fn cells(
    pair: &Pair,
    focus: &Focus,
    range: (f64, f64),
    shift: f64,
    mut visit: impl FnMut(Interval),
) {
    let h = focus.spacing;
    let (_, end) = pair.by_loss(range);
    let mut from = detail_from(pair, focus, range);
    let mut index = (pair.loss(from) / h - shift).floor() as i64;
    while from != end {
        let mut width = cell_width(pair, focus, index as f64 + shift, from, end);
        let to = pair.coordinate(((index + width) as f64 + shift) * h, range);
        if to == end {
            // No wider than it must be, so that no loss is raised by more than a spacing there.
            let last = (pair.loss(end) / h - shift).ceil() as i64;
            width = width.min(last - index).max(1);
        }
        visit(Interval {
            index,
            width,
            from,
            to,
        });
        index += width;
        from = to;
    }
}

/// Cell width in lattice steps at `x`, so that the whole error stays that of width 1 in the focus.
fn cell_width(pair: &Pair, focus: &Focus, edge: f64, x: f64, end: f64) -> i64 {
    let h = focus.spacing;
    let loss = pair.loss(x);
    let weight = pair.density(x) * (focus.tilt * loss - focus.ln_scale).exp();
    let by_weight = (1.0 / (20.0 * weight)).sqrt();
    let by_single = focus.widest / h;
    let reach = pair.smooth_length(x) * (end - x).signum();
    let by_smoothness = pair.loss(x + reach) / h - edge;
    let width = by_weight.min(by_single).min(by_smoothness);
    // NaN and everything below 2 becomes 1.
    if width >= 2.0 { width as i64 } else { 1 }
}

/// Sorted by index, equal ones added up.
pub(super) fn merged(mut masses: Vec<(i64, f64)>) -> Vec<(i64, f64)> {
    masses.sort_by_key(|(index, _)| *index);
    masses.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    masses.retain(|(_, mass)| *mass > 0.0);
    masses
}
