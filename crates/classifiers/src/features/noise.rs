//! Images of noise.

use std::f64::consts::PI;

use rand::{Rng, RngExt};
use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

/// Samples images of pink noise, `[count, channels, side, side]` with values in [0, 1]: at frequency `f` of a Fourier series the
/// amplitude is `1 / |f|`, as it roughly is in photographs, with a random phase. The channels of an image are independent.
///
/// Each plane has mean 1/2 and deviation 1/4 before it is cut to [0, 1].
pub fn pink_noise(count: usize, channels: usize, side: usize, rng: &mut impl Rng) -> Vec<f32> {
    let fft = FftPlanner::<f32>::new().plan_fft_inverse(side);
    let mut images = Vec::with_capacity(count * channels * side * side);
    for _ in 0..count * channels {
        let mut plane: Vec<Complex<f32>> = Vec::with_capacity(side * side);
        for place in 0..side * side {
            let frequency = |index: usize| index.min(side - index) as f64;
            let length = frequency(place / side).hypot(frequency(place % side));
            let phase = rng.random_range(0.0..2.0 * PI);
            let value = match length > 0.0 {
                true => Complex::from_polar(1.0 / length, phase),
                false => Complex::new(0.0, 0.0),
            };
            plane.push(Complex::new(value.re as f32, value.im as f32));
        }
        super::scattering::transform(&mut plane, side, &fft);
        let squared: f32 = plane.iter().map(|value| value.re * value.re).sum();
        let scale = 0.25 / (squared / (side * side) as f32).sqrt();
        images.extend(
            plane
                .iter()
                .map(|value| (0.5 + scale * value.re).clamp(0.0, 1.0)),
        );
    }
    images
}
