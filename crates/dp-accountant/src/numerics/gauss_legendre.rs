//! Gauss-Legendre nodes on `[-1, 1]`, as (node, weight).

pub(crate) const FIVE: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.0, 128.0 / 225.0),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.906_179_845_938_664, 0.236_926_885_056_189_08),
];

const THREE: [(f64, f64); 3] = [
    (-0.774_596_669_241_483_4, 5.0 / 9.0),
    (0.0, 8.0 / 9.0),
    (0.774_596_669_241_483_4, 5.0 / 9.0),
];

/// Calls `visit(x, weight)` at five nodes of `[from, to]`, or at three if `short`.
pub(crate) fn panel(from: f64, to: f64, short: bool, mut visit: impl FnMut(f64, f64)) {
    let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
    let nodes: &[(f64, f64)] = if short { &THREE } else { &FIVE };
    for (node, weight) in nodes {
        visit(centre + half * node, half * weight);
    }
}
