//! Orthonormal wavelets of a square image, and soft thresholds on their coefficients.
//!
//! Each level filters rows, then columns, of the square that is left, with wrapping ends, and keeps the coarse quarter
//! for the next level: an orthonormal transform, so white noise stays white. A coefficient `c` that is not of the coarsest
//! square becomes `sign(c) max(|c| - t, 0)`.
//!
//! Source: Mallat 1999, A wavelet tour of signal processing, chapters 7 and 10; Donoho 1995, De-noising by
//! soft-thresholding.

use std::f64::consts::FRAC_1_SQRT_2;

/// An orthonormal low-pass filter, whose squares add up to 1, and its name on a page.
pub(super) type Wavelet = (&'static str, &'static [f64]);

/// Two taps, and Daubechies' filters of two and of four vanishing moments.
pub(super) const WAVELETS: [Wavelet; 3] = [
    ("Haar", &[FRAC_1_SQRT_2; 2]),
    (
        "Daubechies 2",
        &[
            0.482_962_913_144_534_1,
            0.836_516_303_737_807_9,
            0.224_143_868_042_013_4,
            -0.129_409_522_551_260_4,
        ],
    ),
    (
        "Daubechies 4",
        &[
            0.230_377_813_308_896_5,
            0.714_846_570_552_915_4,
            0.630_880_767_929_858_7,
            -0.027_983_769_416_859_85,
            -0.187_034_811_719_093_1,
            0.030_841_381_835_560_76,
            0.032_883_011_666_885_2,
            -0.010_597_401_785_069_032,
        ],
    ),
];

/// Soft thresholds on the coefficients of a wavelet transform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Denoiser {
    /// The filters.
    pub wavelet: Wavelet,
    /// Levels: as often as the side can be halved, at most.
    pub levels: usize,
    /// `t`, in units of the pixels.
    pub threshold: f64,
}

impl Denoiser {
    /// An image `[side, side]` without what lies below the threshold.
    pub(super) fn apply(&self, image: &[f32], side: usize) -> Vec<f32> {
        let mut values: Vec<f64> = image.iter().map(|&x| f64::from(x)).collect();
        let low = self.wavelet.1;
        let sides: Vec<usize> = (0..self.levels).map(|level| side >> level).collect();
        for &part in &sides {
            both(&mut values, side, part, |line| analysed(line, low));
        }
        let coarse = side >> self.levels;
        for (place, value) in values.iter_mut().enumerate() {
            if place / side >= coarse || place % side >= coarse {
                *value = value.signum() * (value.abs() - self.threshold).max(0.0);
            }
        }
        for &part in sides.iter().rev() {
            both(&mut values, side, part, |line| synthesised(line, low));
        }
        values.into_iter().map(|x| x as f32).collect()
    }
}

/// The most levels of a side: each needs an even one.
pub(super) fn most_levels(side: usize) -> usize {
    side.trailing_zeros() as usize
}

/// Each row, then each column, of the first `part` x `part` values of a square. The order does not matter: what is done
/// to rows and what is done to columns commute.
fn both(values: &mut [f64], side: usize, part: usize, of: impl Fn(&[f64]) -> Vec<f64>) {
    for row in 0..part {
        let line = &mut values[row * side..][..part];
        line.copy_from_slice(&of(line));
    }
    for column in 0..part {
        let line: Vec<f64> = (0..part).map(|row| values[row * side + column]).collect();
        for (row, value) in of(&line).into_iter().enumerate() {
            values[row * side + column] = value;
        }
    }
}

/// The high-pass filter of a low-pass one: `g_k = (-1)^k h_{K-1-k}`.
fn high(low: &[f64]) -> impl Iterator<Item = f64> {
    let signs = [1.0, -1.0].into_iter().cycle();
    low.iter().rev().zip(signs).map(|(h, sign)| h * sign)
}

/// The coarse half and the fine half of a line.
fn analysed(line: &[f64], low: &[f64]) -> Vec<f64> {
    let n = line.len();
    let at = |place: usize, filter: &mut dyn Iterator<Item = f64>| -> f64 {
        filter
            .enumerate()
            .map(|(k, h)| h * line[(2 * place + k) % n])
            .sum()
    };
    let coarse = (0..n / 2).map(|place| at(place, &mut low.iter().copied()));
    let fine = (0..n / 2).map(|place| at(place, &mut high(low)));
    coarse.chain(fine).collect()
}

/// The line whose halves these are: the transpose of [`analysed`].
fn synthesised(halves: &[f64], low: &[f64]) -> Vec<f64> {
    let n = halves.len();
    let mut line = vec![0.0; n];
    for place in 0..n / 2 {
        let (coarse, fine) = (halves[place], halves[n / 2 + place]);
        for (k, (h, g)) in low.iter().zip(high(low)).enumerate() {
            line[(2 * place + k) % n] += h * coarse + g * fine;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    /// Nothing is lost, and lengths are kept: the transform is orthonormal, also where a filter is longer than a line.
    #[test]
    fn transforms_are_orthonormal() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for wavelet in WAVELETS {
            for length in [2, 4, 14, 28, 32] {
                let line: Vec<f64> = (0..length).map(|_| rng.random_range(-3.0..3.0)).collect();
                let low = wavelet.1;
                let halves = analysed(&line, low);
                let energy = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>();
                assert!((energy(&halves) - energy(&line)).abs() < 1e-9);
                for (back, x) in synthesised(&halves, low).iter().zip(&line) {
                    assert!((back - x).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn an_image_below_no_threshold_stays() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let image: Vec<f32> = (0..784).map(|_| rng.random()).collect();
        for wavelet in WAVELETS {
            for levels in 0..=most_levels(28) {
                let denoiser = Denoiser {
                    wavelet,
                    levels,
                    threshold: 0.0,
                };
                for (found, x) in denoiser.apply(&image, 28).iter().zip(&image) {
                    assert!((found - x).abs() < 1e-5);
                }
            }
        }
    }

    /// Smooth images have few large coefficients, noise has many small ones.
    #[test]
    fn noise_falls_below_the_threshold() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let clean: Vec<f32> = (0..784).map(|i| ((i / 28) as f32 / 9.0).sin()).collect();
        let noisy: Vec<f32> = clean
            .iter()
            .map(|x| {
                let noise: f32 = StandardNormal.sample(&mut rng);
                x + 0.3 * noise
            })
            .collect();
        let apart = |image: &[f32]| -> f32 {
            image
                .iter()
                .zip(&clean)
                .map(|(a, b)| (a - b) * (a - b))
                .sum()
        };
        let denoiser = Denoiser {
            wavelet: WAVELETS[1],
            levels: 2,
            threshold: 0.9,
        };
        assert!(apart(&denoiser.apply(&noisy, 28)) < apart(&noisy) / 4.0);
    }
}
