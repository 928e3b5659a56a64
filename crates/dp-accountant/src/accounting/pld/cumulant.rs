//! Cumulants of the privacy loss, `K(t) = ln E_P[e^(t loss)]`, used to plan a composition.

use super::pair::Pair;
use super::quadrature;

/// Most panels of one pair's plan; a plan need not be exact.
const MAX_PANELS: f64 = 20_000.0;

/// Value, first and second derivative of a cumulant function.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Cumulant {
    pub value: f64,
    pub mean: f64,
    pub variance: f64,
}

/// Point masses that stand for the loss of several steps.
pub(super) struct Cumulants {
    parts: Vec<(Vec<(f64, f64)>, f64)>,
    /// Losses (smallest, largest) that the sum of all steps can take here.
    pub support: (f64, f64),
    /// Smallest and largest loss of any one step.
    pub single: (f64, f64),
}

impl Cumulants {
    /// Nodes for the counted pairs, tails of mass `exp(ln_tail)` left out.
    pub(super) fn new(pairs: &[(Pair, u64)], ln_tail: f64) -> Self {
        let mut parts = Vec::with_capacity(pairs.len());
        let mut support = (0.0, 0.0);
        let mut single = (0.0_f64, 0.0_f64);
        for (pair, count) in pairs {
            let nodes = nodes(pair, ln_tail);
            let count = *count as f64;
            let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
            for (loss, _) in &nodes {
                ends = (ends.0.min(*loss), ends.1.max(*loss));
            }
            single = (ends.0.min(single.0), ends.1.max(single.1));
            support = (support.0 + count * ends.0, support.1 + count * ends.1);
            parts.push((nodes, count));
        }
        Self {
            parts,
            support,
            single,
        }
    }

    /// Cumulant of the sum of all steps at `t`.
    pub(super) fn total(&self, t: f64) -> Cumulant {
        let mut total = Cumulant::default();
        for (nodes, count) in &self.parts {
            let part = cumulant(nodes, t);
            total.value += count * part.value;
            total.mean += count * part.mean;
            total.variance += count * part.variance;
        }
        total
    }

    /// Expectation, summed over steps and tilted by `t`, of the product of a loss's distances from
    /// the lattice points around it: `h^2 / 6` on average, less for losses close to 0.
    pub(super) fn spread(&self, t: f64, h: f64) -> f64 {
        let mut total = 0.0;
        for (nodes, count) in &self.parts {
            let scale = cumulant(nodes, t).value;
            let mut sum = 0.0;
            for (loss, ln_mass) in nodes {
                sum += (ln_mass + t * loss - scale).exp() * (h * h / 6.0).min(h * loss.abs());
            }
            total += count * sum;
        }
        total
    }

    /// Cumulant of one step of each pair at `t`, in the order given.
    pub(super) fn each(&self, t: f64) -> Vec<f64> {
        self.parts
            .iter()
            .map(|(nodes, _)| cumulant(nodes, t).value)
            .collect()
    }
}

fn nodes(pair: &Pair, ln_tail: f64) -> Vec<(f64, f64)> {
    let mut nodes = Vec::new();
    let mirrored = pair.is_mirrored();
    let mut push = |loss: f64, mass: f64, mirrored: bool| {
        nodes.push((loss, mass.ln()));
        if mirrored {
            nodes.push((-loss, mass.ln() - loss));
        }
    };
    let ((from, to), _) = pair.range(ln_tail);
    let pieces = ((to - from) / pair.smooth_length(to)).ceil();
    if pieces > MAX_PANELS {
        let width = (to - from) / MAX_PANELS;
        for k in 0..MAX_PANELS as u32 {
            let x = from + (f64::from(k) + 0.5) * width;
            let mass = width * pair.density(x);
            if mass > 0.0 {
                push(pair.loss(x), mass, mirrored);
            }
        }
    } else {
        quadrature::visit(pair, from, to, |loss, mass| push(loss, mass, mirrored));
    }
    if pair.ends_abruptly() {
        // Stand for the ends, so that the support is all of it.
        for end in [from, to] {
            push(pair.loss(end), 1e-9 * pair.density(end), mirrored);
        }
    }
    for atom in pair.atoms() {
        push(atom.loss, atom.mass, mirrored && atom.loss != 0.0);
    }
    nodes
}

/// Cumulant of point masses given as (loss, ln mass).
fn cumulant(nodes: &[(f64, f64)], t: f64) -> Cumulant {
    let shift = nodes
        .iter()
        .map(|(loss, ln_mass)| ln_mass + t * loss)
        .fold(f64::NEG_INFINITY, f64::max);
    let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
    for (loss, ln_mass) in nodes {
        let exponent = ln_mass + t * loss - shift;
        if exponent > -40.0 {
            let weight = exponent.exp();
            sum += weight;
            first += weight * loss;
            second += weight * loss * loss;
        }
    }
    let mean = first / sum;
    Cumulant {
        value: shift + sum.ln(),
        mean,
        variance: (second / sum - mean * mean).max(0.0),
    }
}
