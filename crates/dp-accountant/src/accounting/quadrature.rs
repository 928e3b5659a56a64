//! Gauss-Legendre nodes over a range of a pair's coordinate.

use super::pair::Pair;

pub(super) const FIVE: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.0, 128.0 / 225.0),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.906_179_845_938_664, 0.236_926_885_056_189_08),
];

pub(super) const THREE: [(f64, f64); 3] = [
    (-0.774_596_669_241_483_4, 5.0 / 9.0),
    (0.0, 8.0 / 9.0),
    (0.774_596_669_241_483_4, 5.0 / 9.0),
];

/// Calls `visit(loss, mass)` at nodes that cover the coordinates between `from` and `to`.
///
/// Panels are at most `0.5` of the pair's smooth length, where the relative error of five nodes is
/// below `1e-15`; short panels need only three nodes.
pub(crate) fn visit(pair: &Pair, from: f64, to: f64, mut visit: impl FnMut(f64, f64)) {
    let (mut at, end) = if from < to { (from, to) } else { (to, from) };
    while at < end {
        let smooth = pair.smooth_length(at).max(1e-9);
        let next = if at + 0.6 * smooth >= end {
            end
        } else {
            at + 0.5 * smooth
        };
        if next <= at {
            break;
        }
        panel(pair, at, next, next - at < 0.1 * smooth, &mut visit);
        at = next;
    }
}

fn panel(pair: &Pair, from: f64, to: f64, short: bool, visit: &mut impl FnMut(f64, f64)) {
    let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
    let nodes: &[(f64, f64)] = if short { &THREE } else { &FIVE };
    for (node, weight) in nodes {
        let x = centre + half * node;
        let mass = half * weight * pair.density(x);
        if mass > 0.0 {
            visit(pair.loss(x), mass);
        }
    }
}
