//! The privacy loss of one step on a lattice, rounded so that the true pair dominates it.

use super::error::Result;
use super::lattice::{Focus, Lattice, cells, low_mass, merged};
use super::pair::Pair;
use super::quadrature;

/// Collapses the mass around each lattice point to its mean likelihood ratio, which can only hide,
/// then lowers that loss to a lattice point. The offset is chosen so that little is lost.
pub(crate) fn lower(pair: &Pair, focus: &Focus) -> Result<Lattice> {
    let h = focus.spacing;
    let (range, infinite) = pair.range(focus.ln_tail);
    let mut groups = vec![];
    cells(pair, focus, range, 0.5, |cell| {
        // The lattice point in the middle of the cell.
        let mut group = Group::new(cell.index + (cell.width + 1) / 2);
        quadrature::visit(pair, cell.from, cell.to, |loss, mass| {
            group.add(loss, mass, h);
        });
        groups.push(group);
    });
    for atom in pair.atoms() {
        let mut group = Group::new((atom.loss / h).round() as i64);
        group.add(atom.loss, atom.mass, h);
        if atom.loss == 0.0 && pair.is_mirrored() {
            // Its mirror image below is the other half.
            group.mass *= 0.5;
        }
        groups.push(group);
    }
    if pair.is_mirrored() {
        let mirror: Vec<_> = groups.iter().map(|group| group.mirrored(h)).collect();
        groups.extend(mirror);
    }
    let total: f64 = groups.iter().map(|group| group.mass).sum();
    let (offset, masses) = lowered(focus, grouped(groups));
    Lattice {
        spacing: h,
        offset,
        masses: merged(masses),
        infinite: 0.0,
        defect: (total + infinite + low_mass(pair, focus, range) - 1.0).abs(),
    }
    .checked()
}

/// The mass around one lattice point.
#[derive(Debug, Clone, Copy)]
struct Group {
    index: i64,
    mass: f64,
    /// Sum of `mass (e^-(loss - point) - 1)`: `Q` mass times `e^point`, less `mass`.
    excess: f64,
}

impl Group {
    fn new(index: i64) -> Self {
        Self {
            index,
            mass: 0.0,
            excess: 0.0,
        }
    }

    fn add(&mut self, loss: f64, mass: f64, h: f64) {
        self.mass += mass;
        self.excess += mass * (self.index as f64 * h - loss).exp_m1();
    }

    /// The image under exchange of `P` and `Q`.
    fn mirrored(&self, h: f64) -> Self {
        let scale = (-(self.index as f64) * h).exp();
        Self {
            index: -self.index,
            mass: (self.mass + self.excess) * scale,
            excess: -self.excess * scale,
        }
    }

    /// The nearest lattice point to the collapsed loss, and the loss relative to it.
    fn collapsed(&self, h: f64) -> Collapsed {
        let deviation = -(self.excess / self.mass).ln_1p();
        let shift = (deviation / h).round();
        Collapsed {
            index: self.index + shift as i64,
            deviation: deviation - shift * h,
            mass: self.mass,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Collapsed {
    index: i64,
    deviation: f64,
    mass: f64,
}

fn grouped(mut groups: Vec<Group>) -> Vec<Group> {
    groups.sort_by_key(|group| group.index);
    groups.dedup_by(|next, kept| {
        let same = next.index == kept.index;
        if same {
            kept.mass += next.mass;
            kept.excess += next.excess;
        }
        same
    });
    groups.retain(|group| group.mass > 0.0);
    groups
}

/// The offset, and the masses moved down to lattice points shifted by it.
fn lowered(focus: &Focus, groups: Vec<Group>) -> (f64, Vec<(i64, f64)>) {
    let h = focus.spacing;
    let mut masses: Vec<Collapsed> = groups.iter().map(|group| group.collapsed(h)).collect();
    masses.sort_by(|a, b| a.deviation.total_cmp(&b.deviation));
    // Those that deviate less than the offset pay a whole spacing, the others their distance.
    let weights: Vec<f64> = masses
        .iter()
        .map(|point| {
            let loss = point.index as f64 * h;
            (point.mass.ln() + focus.tilt * loss - focus.ln_scale).exp()
        })
        .collect();
    let mut distance: f64 = masses
        .iter()
        .zip(&weights)
        .map(|(point, weight)| weight * (point.deviation + 0.5 * h))
        .sum();
    let mut above: f64 = weights.iter().sum();
    let mut below = 0.0;
    let (mut offset, mut least) = (-0.5 * h, distance);
    let mut previous = -0.5 * h;
    for (point, weight) in masses.iter().zip(&weights) {
        distance -= above * (point.deviation - previous);
        previous = point.deviation;
        if distance + below * h < least {
            (offset, least) = (point.deviation, distance + below * h);
        }
        above -= weight;
        below += weight;
    }
    let lowered = masses
        .iter()
        .map(|point| {
            let down = i64::from(point.deviation < offset);
            (point.index - down, point.mass)
        })
        .collect();
    (offset, lowered)
}
