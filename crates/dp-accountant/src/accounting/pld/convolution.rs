//! Convolution powers by FFT, with a bound on their rounding errors.

use std::cell::RefCell;
use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

thread_local! {
    /// Keeps the tables of transforms from one composition to the next.
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

/// Unit round-off.
pub(super) const UNIT: f64 = f64::EPSILON / 2.0;

/// Round-off of one output of a transform, per level and unit of the l1 norm of its input: a
/// complex product, a sum and a tabulated twiddle factor in each level.
const PER_LEVEL: f64 = 6.0;

/// The forward transform of this length.
pub(super) fn forward_plan(n: usize) -> Arc<dyn RealToComplex<f64>> {
    PLANNER.with_borrow_mut(|planner| planner.plan_fft_forward(n))
}

/// The convolution of measures, each convolved `count` times, and a bound on the error of any sum of its values with weights in
/// `[-1, 1]`.
///
/// - `factors`: (values, count); each has a mass of at most 1, and all have one length, a power of two.
pub(super) fn convolved(factors: &[(&[f64], f64)]) -> (Vec<f64>, f64) {
    let n = factors.first().map_or(1, |(values, _)| values.len());
    let forward = forward_plan(n);
    let mut spectrum = Spectrum::new(n);
    for (values, count) in factors.iter().filter(|(_, count)| *count > 0.0) {
        let mut output = forward.make_output_vec();
        // Lengths are those of the plan, so the transform cannot fail.
        let _ = forward.process(&mut values.to_vec(), &mut output);
        spectrum.multiply(&output, *count);
    }
    let (values, _, norm) = spectrum.into_values();
    (values, norm * (n as f64).sqrt())
}

/// A product of powers of transforms, as logarithms, with a bound on its relative error.
pub(super) struct Spectrum {
    /// Length of the sequences.
    n: usize,
    /// Round-off of one output of a transform, per unit of the l1 norm of its input.
    transform_error: f64,
    ln_abs: Vec<f64>,
    argument: Vec<f64>,
    ln_error: Vec<f64>,
    /// Bound on the logarithm of the magnitude of every coefficient that was dropped.
    dropped: f64,
}

impl Spectrum {
    pub(super) fn new(n: usize) -> Self {
        let len = n / 2 + 1;
        Self {
            n,
            transform_error: PER_LEVEL * UNIT * (n as f64).log2(),
            ln_abs: vec![0.0; len],
            argument: vec![0.0; len],
            ln_error: vec![0.0; len],
            dropped: Self::NEGLIGIBLE,
        }
    }

    /// Below this logarithm of its magnitude a coefficient is dropped, and counted as error.
    const NEGLIGIBLE: f64 = -70.0;

    pub(super) fn multiply(&mut self, factor: &[Complex<f64>], count: f64) {
        let error = self.transform_error;
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
    pub(super) fn into_values(self) -> (Vec<f64>, f64, f64) {
        let inverse = PLANNER.with_borrow_mut(|planner| planner.plan_fft_inverse(self.n));
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
        let scale = 1.0 / self.n as f64;
        for value in &mut values {
            *value *= scale;
        }
        let size: f64 = values.iter().map(|value| value * value).sum();
        let norm = (squares * scale).sqrt() + 2.0 * self.transform_error * size.sqrt();
        (values, (error + self.transform_error * total) * scale, norm)
    }
}
