//! How far one record moves the gradient of a cost on the line, beside the distance `W_1`, which has no bound that falls
//! (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, appendix F).

use lab::diagnostic::Failure;
use swd::Cost;
use swd::sensitivity::cost_bound;

const WIDTHS: [f64; 4] = [0.01, 0.03, 0.1, 0.3];

/// What the counterexample does to `W_1`: records `u`, each just above its own of the points `v`, whose largest moves below all.
///
/// Each record's coefficient is the sign of `u - v` over `n`, and all signs turn; Jacobians have norm 1 and add up, and those of
/// the two records are unrelated.
fn counterexample(n: usize) -> f64 {
    let step = 2.0 / (n as f64 + 1.0);
    let v: Vec<f64> = (1..=n).map(|r| -1.0 + step * r as f64).collect();
    let u: Vec<f64> = v.iter().map(|v| v + step / 2.0).collect();
    // In order, the records that stay are one place higher after the move.
    let mut moved = vec![-1.0];
    moved.extend_from_slice(&u[..n - 1]);
    let signs =
        |u: &[f64]| -> Vec<f64> { u.iter().zip(&v).map(|(u, v)| (u - v).signum()).collect() };
    let (before, after) = (signs(&u), signs(&moved));
    let stayed = before[..n - 1].iter().zip(&after[1..]);
    let others: f64 = stayed.map(|(a, b)| (a - b).abs()).sum();
    (others + before[n - 1].abs() + after[0].abs()) / n as f64
}

/// Prints a line a number of records.
pub(crate) fn print() -> Result<(), Failure> {
    println!(
        "Sensitivity of the gradient on the line towards public points, M = 1, L = 1 (W_1: of the counterexample)\n"
    );
    let widths = WIDTHS.map(|t| format!("Huber, t = {t}")).join(" | ");
    println!("| records | W_1 | {widths} | square |");
    println!("|---|---|{}---|", "---|".repeat(WIDTHS.len()));
    let costs = WIDTHS.map(Cost::Huber).into_iter().chain([Cost::Square]);
    let costs: Vec<Cost> = costs.collect();
    for n in [10, 100, 1000, 10_000] {
        let mut row = format!("| {n} | {:.4} |", counterexample(n));
        for &cost in &costs {
            let bound = cost_bound(cost, 1.0, 1.0, 0.0, n, None).map_err(Failure::failed)?;
            row += &format!(" {} |", dp_core::decimal::upper(bound));
        }
        println!("{row}");
    }
    Ok(())
}
