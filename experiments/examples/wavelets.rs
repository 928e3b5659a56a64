//! The published baseline of local privacy, as a file between two commands: wavelets take noise off each privatised image, and
//! `ldp` learns what is left (Reshetova, Chen and Ozgur 2023, arXiv 2306.09547, figures 1 to 4).
//!
//! ```text
//! just privatise mnist noisy.safetensors --mechanism gaussian --epsilon 100 --delta 1e-4 --radius 12
//! cargo run --release --locked -p experiments --example wavelets -- mnist noisy.safetensors smooth.safetensors
//! just run-ldp smooth.safetensors --dataset mnist --loss w2
//! ```
//!
//! The published thresholds were chosen by the private records themselves, as near to the clean ones as they get. Here
//! public records take their place, with noise of the same distribution: as optimistic, and without reading a private record
//! again. What the file promises of each record stays: this is post-processing.
//!
//! Each level filters rows, then columns, of the square that is left, with wrapping ends, and keeps the coarse quarter
//! for the next level: an orthonormal transform, so white noise stays white. A coefficient `c` that is not of the coarsest
//! square becomes `sign(c) max(|c| - t, 0)`.
//!
//! Source: Mallat 1999, A wavelet tour of signal processing, chapters 7 and 10; Donoho 1995, De-noising by
//! soft-thresholding.

use std::f64::consts::FRAC_1_SQRT_2;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use data::privatised::{Header, LabelEncoding, NoiseKind, Privatised, Transform, Writer};
use data::{DataError, Dataset, DatasetKind, LoadOptions};
use lab::diagnostic::{self, Failure, OrFailed};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, Exp1, StandardNormal};
use rayon::prelude::*;

/// Public records that thresholds are chosen by.
const CHOSEN_BY: usize = 200;
/// Thresholds that are tried, in units of the noise.
const THRESHOLDS: [f64; 9] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0];

/// Take noise off privatised images by wavelets
#[derive(Parser)]
struct Arguments {
    /// Data set whose test images choose the wavelets: mnist, fashion-mnist, usps or glyphs
    dataset: String,
    /// What `just privatise` wrote
    noisy: PathBuf,
    /// The file to write
    out: PathBuf,
}

fn main() -> ExitCode {
    diagnostic::main(|| {
        let Arguments {
            dataset,
            noisy,
            out,
        } = Arguments::parse();
        println!("wavelets  {}", smoothed(&dataset, &noisy, &out)?);
        Ok(())
    })
}

/// Writes the images of one file to another without their noise, by the wavelets, levels and threshold that bring noisy public
/// images nearest to clean ones, in the mean Euclidean distance. Says which, and the distance.
pub(crate) fn smoothed(dataset: &str, noisy: &Path, out: &Path) -> Result<String, Failure> {
    let refused = |e: DataError| Failure::input(e.to_string(), "see `just privatise`");
    let kind: DatasetKind = dataset.parse().map_err(refused)?;
    let options = LoadOptions {
        test: Some(CHOSEN_BY),
        ..LoadOptions::default()
    };
    let public = Dataset::load_test(kind, &options).map_err(refused)?;
    let Privatised { header, mut values } = Privatised::load(noisy).map_err(refused)?;
    let side = public.width();
    let plain = header.transform == Transform::None && header.labels == LabelEncoding::Dropped;
    if !plain || header.source_shape != Some([1, side, side]) {
        return Err(Failure::input(
            format!("{}: no images of {side}x{side} pixels", noisy.display()),
            "privatise images of this data set without --keep and --label-weight",
        ));
    }
    let all: Vec<usize> = (0..public.len()).collect();
    let clean = public.gather(&all).or_failed()?;
    let (distance, best) = chosen(&clean, side, &header)
        .ok_or_else(|| Failure::failed(format!("wavelets of {side} pixels a side")))?;
    let mut writer = Writer::create(out, &header, false).map_err(refused)?;
    let rows = values.par_chunks_mut(side * side);
    rows.for_each(|row| row.copy_from_slice(&best.apply(row, side)));
    for row in values.chunks_exact(side * side) {
        writer.push(row).map_err(refused)?;
    }
    writer.finish().map_err(refused)?;
    Ok(format!(
        "{}, {} levels, threshold {:.3}; a public image is {distance:.2} off after it",
        best.wavelet.0, best.levels, best.threshold
    ))
}

/// What takes noise off public images best, and how far they are off after it.
fn chosen(clean: &[f32], side: usize, header: &Header) -> Option<(f64, Denoiser)> {
    let (size, scale) = (side * side, header.noise_scale);
    let rng = &mut ChaCha20Rng::seed_from_u64(0);
    let noisy = clean
        .iter()
        .map(|x| x + (scale * standard(header.mechanism, rng)) as f32);
    let noisy: Vec<f32> = noisy.collect();
    let mut all = Vec::new();
    for wavelet in WAVELETS {
        for levels in 1..=most_levels(side) {
            all.extend(THRESHOLDS.map(|t| Denoiser {
                wavelet,
                levels,
                threshold: t * scale,
            }));
        }
    }
    let apart = |denoiser: &Denoiser| -> f64 {
        let pairs = noisy.chunks_exact(size).zip(clean.chunks_exact(size));
        let each = pairs.map(|(noisy, clean)| {
            let found = denoiser.apply(noisy, side);
            let apart = found.iter().zip(clean).map(|(a, b)| f64::from(a - b));
            apart.map(|apart| apart.powi(2)).sum::<f64>().sqrt()
        });
        each.sum::<f64>() * size as f64 / clean.len() as f64
    };
    let tried = all
        .into_par_iter()
        .map(|denoiser| (apart(&denoiser), denoiser));
    let tried: Vec<_> = tried.collect();
    tried.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Noise of scale 1.
fn standard(noise: NoiseKind, rng: &mut impl Rng) -> f64 {
    match noise {
        NoiseKind::Gaussian => StandardNormal.sample(rng),
        NoiseKind::Laplace => {
            let size: f64 = Exp1.sample(rng);
            if rng.random() { size } else { -size }
        }
    }
}

/// An orthonormal low-pass filter, whose squares add up to 1, and its name on a page.
type Wavelet = (&'static str, &'static [f64]);

/// Two taps, and Daubechies' filters of two and of four vanishing moments.
const WAVELETS: [Wavelet; 3] = [
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
struct Denoiser {
    /// The filters.
    pub wavelet: Wavelet,
    /// Levels: as often as the side can be halved, at most.
    pub levels: usize,
    /// `t`, in units of the pixels.
    pub threshold: f64,
}

impl Denoiser {
    /// An image `[side, side]` without what lies below the threshold.
    fn apply(&self, image: &[f32], side: usize) -> Vec<f32> {
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
fn most_levels(side: usize) -> usize {
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
