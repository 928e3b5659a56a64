//! Adaptive composition: powers of the tilted loss distributions by FFT, every error bounded and counted.

use super::collapse::lower;
use super::convolution::{Spectrum, UNIT, forward_plan};
use super::lattice::{Focus, Lattice};
use super::pair::Pair;
use super::plan::Plan;
use super::profile::Profile;
use super::side::Side;
use crate::accounting::error::Result;

/// Round-off of an exponent of three terms and of the scale in it, per unit of the largest of them.
const EXPONENT: f64 = 8.0;

/// Composes the counted pairs (at least one) as planned.
pub(crate) fn compose(pairs: &[(Pair, u64)], plan: &Plan, side: Side) -> Result<Profile> {
    let n = plan.points;
    let h = plan.spacing;
    let forward = forward_plan(n);

    // One step is what its lattice says: no transform rounds it.
    let one = matches!(pairs, [(_, 1)]);
    let mut spectrum = Spectrum::new(n);
    let mut input = forward.make_input_vec();
    let mut output = forward.make_output_vec();
    let mut scratch = forward.make_scratch_vec();
    let (mut total_ln_scale, mut relative, mut infinite) = (0.0_f64, 0.0, 0.0);
    let (mut lowest, mut highest, mut offset) = (0.0, 0.0, 0.0);
    let mut lattices = vec![];
    for ((pair, count), ln_scale) in pairs.iter().zip(&plan.ln_scales) {
        let focus = Focus {
            spacing: h,
            tilt: plan.tilt,
            ln_scale: *ln_scale,
            ln_tail: plan.ln_tail,
            widest: plan.widest,
        };
        let lattice = match side {
            Side::Upper => Lattice::upper(pair, &focus)?,
            Side::Lower => lower(pair, &focus)?,
        };
        let count = *count as f64;
        let ln_scale = lattice.cumulant(plan.tilt);
        total_ln_scale += count * ln_scale;
        if let (Some(low), Some(high)) = (lattice.masses.first(), lattice.masses.last()) {
            lowest += count * low.0 as f64;
            highest += count * high.0 as f64;
        }
        offset += count * lattice.offset;
        infinite += count * lattice.infinite;
        input.fill(0.0);
        let mut largest = ln_scale.abs();
        for (index, mass) in &lattice.masses {
            let loss = *index as f64 * h + lattice.offset;
            let at = index.rem_euclid(n as i64) as usize;
            let (ln_mass, tilted) = (mass.ln(), plan.tilt * loss);
            largest = largest.max(ln_mass.abs()).max(tilted.abs());
            input[at] += (ln_mass + tilted - ln_scale).exp();
        }
        relative += count * (lattice.defect + 1e-14 + EXPONENT * UNIT * largest);
        if !one {
            // Lengths come from the planner, so the transform cannot fail.
            let _ = forward.process_with_scratch(&mut input, &mut output, &mut scratch);
            spectrum.multiply(&output, count);
        }
        lattices.push((lattice, count));
    }
    let (mut values, noise) = if one {
        (input, 0.0)
    } else {
        let (values, noise, _) = spectrum.into_values();
        (values, noise)
    };

    // Rotate so that index 0 is the first point of the window.
    values.rotate_left(plan.first.rem_euclid(n as i64) as usize);
    let bottom = plan.first as f64 * h + offset;
    let top = (plan.first + n as i64 - 1) as f64 * h + offset;
    // Chernoff bounds on the tilted mass on either side of the window.
    let outside =
        |from: f64, edge: f64| (ln_beyond(&lattices, plan.tilt, from, edge) - total_ln_scale).exp();
    let mut tilted_above = 0.0;
    if highest > (plan.first + n as i64 - 1) as f64 {
        tilted_above = outside(plan.tail_tilt, top);
    }
    let mut tilted_below = 0.0;
    if lowest < plan.first as f64 {
        tilted_below = outside(plan.bottom_tilt, bottom);
    }
    // Masses are weighed back by exponents of this size.
    let largest = total_ln_scale.abs() + plan.tilt * bottom.abs().max(top.abs());
    relative += EXPONENT * UNIT * largest;
    // Every loss above the window weighs less than its end.
    let above = tilted_above * (total_ln_scale - plan.tilt * top).exp();
    Ok(Profile {
        side,
        tilt: plan.tilt,
        ln_scale: total_ln_scale,
        spacing: h,
        bottom,
        values,
        noise,
        aliased: tilted_above + tilted_below,
        extra: above + infinite,
        ln_relative: relative,
    })
}

/// Logarithm of a bound on the mass beyond `edge` after weighing by `e^(tilt loss)`: the best of
/// the Chernoff bounds at `from` and at tilts between it and `tilt`.
fn ln_beyond(lattices: &[(Lattice, f64)], tilt: f64, from: f64, edge: f64) -> f64 {
    let mut best = f64::INFINITY;
    let mut distance = from - tilt;
    for _ in 0..24 {
        let t = tilt + distance;
        let cumulant: f64 = lattices
            .iter()
            .map(|(lattice, count)| count * lattice.cumulant(t))
            .sum();
        let bound = cumulant - distance * edge;
        if bound >= best {
            // It is convex in the tilt: past its least value.
            break;
        }
        best = best.min(bound);
        distance *= 0.5;
    }
    best
}
