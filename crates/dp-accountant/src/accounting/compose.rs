//! Adaptive composition: powers of the tilted loss distributions by FFT, every error bounded and counted.

use std::cell::RefCell;

use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

use super::collapse::lower;
use super::error::Result;
use super::lattice::{Focus, Lattice};
use super::pair::Pair;
use super::plan::Plan;
use super::profile::Profile;
use super::side::Side;

thread_local! {
    /// Keeps the tables of transforms from one composition to the next.
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

/// Unit round-off.
const UNIT: f64 = f64::EPSILON / 2.0;

/// Round-off of one output of a transform, per level and unit of the l1 norm of its input: a
/// complex product, a sum and a tabulated twiddle factor in each level.
const PER_LEVEL: f64 = 6.0;

/// Round-off of an exponent of three terms and of the scale in it, per unit of the largest of them.
const EXPONENT: f64 = 8.0;

/// Composes the counted pairs (at least one) as planned.
pub(crate) fn compose(pairs: &[(Pair, u64)], plan: &Plan, side: Side) -> Result<Profile> {
    let n = plan.points;
    let h = plan.spacing;
    let forward = PLANNER.with_borrow_mut(|planner| planner.plan_fft_forward(n));
    let transform_error = PER_LEVEL * UNIT * (n as f64).log2();

    // One step is what its lattice says: no transform rounds it.
    let one = matches!(pairs, [(_, 1)]);
    let mut spectrum = Spectrum::new(n / 2 + 1);
    let mut input = forward.make_input_vec();
    let mut output = forward.make_output_vec();
    let mut scratch = forward.make_scratch_vec();
    let mut sums = Sums::default();
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
        sums.ln_scale += count * ln_scale;
        if let (Some(low), Some(high)) = (lattice.masses.first(), lattice.masses.last()) {
            sums.lowest += count * low.0 as f64;
            sums.highest += count * high.0 as f64;
        }
        sums.offset += count * lattice.offset;
        sums.infinite += count * lattice.infinite;
        input.fill(0.0);
        let mut largest = ln_scale.abs();
        for (index, mass) in &lattice.masses {
            let loss = *index as f64 * h + lattice.offset;
            let at = index.rem_euclid(n as i64) as usize;
            let (ln_mass, tilted) = (mass.ln(), plan.tilt * loss);
            largest = largest.max(ln_mass.abs()).max(tilted.abs());
            input[at] += (ln_mass + tilted - ln_scale).exp();
        }
        sums.relative += count * (lattice.defect + 1e-14 + EXPONENT * UNIT * largest);
        if !one {
            // Lengths come from the planner, so the transform cannot fail.
            let _ = forward.process_with_scratch(&mut input, &mut output, &mut scratch);
            spectrum.multiply(&output, count, transform_error);
        }
        lattices.push((lattice, count));
    }
    let (mut values, noise) = match one {
        true => (input, 0.0),
        false => {
            let (values, noise, _) = spectrum.into_values(n, transform_error);
            (values, noise)
        }
    };

    // Rotate so that index 0 is the first point of the window.
    values.rotate_left(plan.first.rem_euclid(n as i64) as usize);
    let bottom = plan.first as f64 * h + sums.offset;
    let top = (plan.first + n as i64 - 1) as f64 * h + sums.offset;
    // Chernoff bounds on the tilted mass on either side of the window.
    let outside =
        |from: f64, edge: f64| (ln_beyond(&lattices, plan.tilt, from, edge) - sums.ln_scale).exp();
    let mut tilted_above = 0.0;
    if sums.highest > (plan.first + n as i64 - 1) as f64 {
        tilted_above = outside(plan.tail_tilt, top);
    }
    let mut tilted_below = 0.0;
    if sums.lowest < plan.first as f64 {
        tilted_below = outside(plan.bottom_tilt, bottom);
    }
    // Masses are weighed back by exponents of this size.
    let largest = sums.ln_scale.abs() + plan.tilt * bottom.abs().max(top.abs());
    sums.relative += EXPONENT * UNIT * largest;
    // Every loss above the window weighs less than its end.
    let above = tilted_above * (sums.ln_scale - plan.tilt * top).exp();
    Ok(Profile {
        side,
        tilt: plan.tilt,
        ln_scale: sums.ln_scale,
        spacing: h,
        bottom,
        values,
        noise,
        aliased: tilted_above + tilted_below,
        extra: above + sums.infinite,
        ln_relative: sums.relative,
    })
}

/// The convolution of some measures of a mass of at most 1, each as often as it says and all of one length, a power of two, and a
/// bound on the error of any sum of its values with weights in `[-1, 1]`.
pub(super) fn convolved(factors: &[(&[f64], f64)]) -> (Vec<f64>, f64) {
    let n = factors.first().map_or(1, |(values, _)| values.len());
    let forward = PLANNER.with_borrow_mut(|planner| planner.plan_fft_forward(n));
    let transform_error = PER_LEVEL * UNIT * (n as f64).log2();
    let mut spectrum = Spectrum::new(n / 2 + 1);
    for (values, count) in factors.iter().filter(|(_, count)| *count > 0.0) {
        let mut output = forward.make_output_vec();
        // Lengths are those of the plan, so the transform cannot fail.
        let _ = forward.process(&mut values.to_vec(), &mut output);
        spectrum.multiply(&output, *count, transform_error);
    }
    let (values, _, norm) = spectrum.into_values(n, transform_error);
    (values, norm * (n as f64).sqrt())
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

#[derive(Default)]
struct Sums {
    ln_scale: f64,
    lowest: f64,
    highest: f64,
    offset: f64,
    infinite: f64,
    relative: f64,
}

/// A product of powers of transforms, as logarithms, with a bound on its relative error.
struct Spectrum {
    ln_abs: Vec<f64>,
    argument: Vec<f64>,
    ln_error: Vec<f64>,
    /// Bound on the logarithm of the magnitude of every coefficient that was dropped.
    dropped: f64,
}

impl Spectrum {
    fn new(len: usize) -> Self {
        Self {
            ln_abs: vec![0.0; len],
            argument: vec![0.0; len],
            ln_error: vec![0.0; len],
            dropped: Self::NEGLIGIBLE,
        }
    }

    /// Below this logarithm of its magnitude a coefficient is dropped, and counted as error.
    const NEGLIGIBLE: f64 = -70.0;

    fn multiply(&mut self, factor: &[Complex<f64>], count: f64, error: f64) {
        // Cheap test before logarithms and angles are taken.
        let least = (2.0 * Self::NEGLIGIBLE / count).exp();
        // |z| + error bounds the true coefficient.
        let dropped = count * (least.sqrt() + error).ln();
        for (k, z) in factor.iter().enumerate() {
            let square = z.norm_sqr();
            if self.ln_abs[k] < Self::NEGLIGIBLE {
                continue;
            }
            if square <= least {
                self.ln_abs[k] = f64::NEG_INFINITY;
                self.dropped = self.dropped.max(dropped);
                continue;
            }
            self.ln_abs[k] += 0.5 * count * square.ln();
            self.argument[k] += count * z.im.atan2(z.re);
            // Transform, logarithm and angle; then |(z + e)^T - z^T| <= (|z| + e)^T - |z|^T.
            self.ln_error[k] += count * ((error + 8.0 * UNIT) / square.sqrt()).ln_1p();
            if self.ln_abs[k] < Self::NEGLIGIBLE {
                self.dropped = self.dropped.max(self.ln_abs[k] + self.ln_error[k]);
            }
        }
    }

    /// The inverse transform, a bound on the error of each of its values, and one on the root of the sum of their squares.
    fn into_values(self, n: usize, transform_error: f64) -> (Vec<f64>, f64, f64) {
        let inverse = PLANNER.with_borrow_mut(|planner| planner.plan_fft_inverse(n));
        let mut input = inverse.make_input_vec();
        let mut error = 0.0;
        let mut squares = 0.0;
        let mut total = 0.0;
        let dropped = self.dropped.exp();
        for (k, value) in input.iter_mut().enumerate() {
            let ln_abs = self.ln_abs[k];
            if ln_abs < Self::NEGLIGIBLE {
                error += 2.0 * dropped;
                squares += 2.0 * dropped * dropped;
                continue;
            }
            let abs = ln_abs.exp();
            total += 2.0 * abs;
            let one = abs * (self.ln_error[k] + 4.0 * UNIT * (1.0 - ln_abs)).exp_m1();
            error += 2.0 * one;
            squares += 2.0 * one * one;
            *value = Complex::from_polar(abs, self.argument[k]);
        }
        // The transform of a real sequence is real at both ends.
        let last = input.len() - 1;
        input[0].im = 0.0;
        input[last].im = 0.0;
        let mut values = inverse.make_output_vec();
        let mut scratch = inverse.make_scratch_vec();
        let _ = inverse.process_with_scratch(&mut input, &mut values, &mut scratch);
        let scale = 1.0 / n as f64;
        for value in &mut values {
            *value *= scale;
        }
        let size: f64 = values.iter().map(|value| value * value).sum();
        let norm = (squares * scale).sqrt() + 2.0 * transform_error * size.sqrt();
        (values, (error + transform_error * total) * scale, norm)
    }
}
