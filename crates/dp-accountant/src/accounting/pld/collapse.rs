//! The privacy loss of one step on a lattice, rounded so that the true pair dominates it.

use super::lattice::{Focus, Lattice, cells, low_mass, merged};
use super::pair::Pair;
use super::quadrature;
use crate::accounting::error::Result;

/// Collapses the mass around each lattice point to its mean likelihood ratio, which can only hide,
/// then lowers that loss to a lattice point. The offset is chosen so that little is lost.
pub(super) fn lower(pair: &Pair, focus: &Focus) -> Result<Lattice> {
    let h = focus.spacing;
    let (range, infinite) = pair.range(focus.ln_tail);
    let mut clusters = vec![];
    cells(pair, focus, range, 0.5, |cell| {
        // The lattice point in the middle of the cell.
        let mut cluster = Cluster::new(cell.index + (cell.width + 1) / 2);
        quadrature::visit(pair, cell.from, cell.to, |loss, mass| {
            cluster.add(loss, mass, h);
        });
        clusters.push(cluster);
    });
    for atom in pair.atoms() {
        let mut cluster = Cluster::new((atom.loss / h).round() as i64);
        cluster.add(atom.loss, atom.mass, h);
        if atom.loss == 0.0 && pair.is_mirrored() {
            // Its mirror image below is the other half.
            cluster.mass *= 0.5;
        }
        clusters.push(cluster);
    }
    if pair.is_mirrored() {
        let mirror: Vec<_> = clusters.iter().map(|cluster| cluster.mirrored(h)).collect();
        clusters.extend(mirror);
    }
    let total: f64 = clusters.iter().map(|cluster| cluster.mass).sum();
    let (offset, masses) = lowered(focus, joined(clusters));
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
#[derive(Debug, Clone, Copy, Default)]
struct Cluster {
    index: i64,
    mass: f64,
    /// Sum of `mass (e^-(loss - point) - 1)`: `Q` mass times `e^point`, less `mass`.
    excess: f64,
}

impl Cluster {
    fn new(index: i64) -> Self {
        Self {
            index,
            ..Self::default()
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

    /// The loss of the collapsed mass relative to the nearest lattice point, this point, and the mass.
    fn collapsed(&self, h: f64) -> (f64, i64, f64) {
        let deviation = -(self.excess / self.mass).ln_1p();
        let shift = (deviation / h).round();
        let index = self.index + shift as i64;
        (deviation - shift * h, index, self.mass)
    }
}

fn joined(mut clusters: Vec<Cluster>) -> Vec<Cluster> {
    clusters.sort_by_key(|cluster| cluster.index);
    clusters.dedup_by(|next, kept| {
        let same = next.index == kept.index;
        if same {
            kept.mass += next.mass;
            kept.excess += next.excess;
        }
        same
    });
    clusters.retain(|cluster| cluster.mass > 0.0);
    clusters
}

/// The offset, and the masses moved down to lattice points shifted by it.
fn lowered(focus: &Focus, clusters: Vec<Cluster>) -> (f64, Vec<(i64, f64)>) {
    let h = focus.spacing;
    let mut masses: Vec<_> = clusters
        .iter()
        .map(|cluster| cluster.collapsed(h))
        .collect();
    masses.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Those that deviate less than the offset pay a whole spacing, the others their distance.
    let weight = |(_, index, mass): &(f64, i64, f64)| {
        (mass.ln() + focus.tilt * (*index as f64 * h) - focus.ln_scale).exp()
    };
    let weights: Vec<f64> = masses.iter().map(weight).collect();
    let weighed = || masses.iter().zip(&weights);
    let mut distance: f64 = weighed()
        .map(|((deviation, ..), weight)| weight * (deviation + 0.5 * h))
        .sum();
    let mut above: f64 = weights.iter().sum();
    let mut below = 0.0;
    let (mut offset, mut least) = (-0.5 * h, distance);
    let mut previous = -0.5 * h;
    for ((deviation, ..), weight) in weighed() {
        distance -= above * (deviation - previous);
        previous = *deviation;
        if distance + below * h < least {
            (offset, least) = (*deviation, distance + below * h);
        }
        above -= weight;
        below += weight;
    }
    let lower = |(deviation, index, mass)| (index - i64::from(deviation < offset), mass);
    let lowered = masses.into_iter().map(lower).collect();
    (offset, lowered)
}
