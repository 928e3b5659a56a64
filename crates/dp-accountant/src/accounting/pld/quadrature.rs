//! Masses of a pair over a range of its coordinate.

use super::pair::Pair;
use crate::numerics::gauss_legendre::panel;

/// Calls `visit(loss, mass)` at nodes that cover the coordinates between `from` and `to`.
///
/// Panels are at most `0.5` of the pair's smooth length, where the relative error of five nodes is
/// below `1e-15`; short panels need only three nodes.
pub(super) fn visit(pair: &Pair, from: f64, to: f64, mut visit: impl FnMut(f64, f64)) {
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
        panel(at, next, next - at < 0.1 * smooth, |x, weight| {
            let mass = weight * pair.density(x);
            if mass > 0.0 {
                visit(pair.loss(x), mass);
            }
        });
        at = next;
    }
}
