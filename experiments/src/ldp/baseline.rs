//! The published baseline: wavelets take noise off each record, and a generator learns what is left.
//!
//! The published thresholds were chosen by the private records themselves, as near to the clean ones as they get. Here
//! public records take their place, with noise of the same distribution: as optimistic, and without reading a private record again.

use dp_core::local::LocalNoise;
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;

use super::loss::standard;
use super::private::Privatised;
use super::wavelet::{Denoiser, Wavelet, most_levels};

/// Public records that thresholds are chosen by.
const CHOSEN_BY: usize = 200;
/// Thresholds that are tried, in units of the noise.
const THRESHOLDS: [f64; 9] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0];

/// The wavelets, levels and threshold that bring noisy images nearest to the clean ones, in the mean Euclidean distance,
/// and that distance.
pub(crate) fn choose(
    clean: &[f32],
    side: usize,
    (noise, scale): (LocalNoise, f64),
    rng: &mut ChaCha20Rng,
) -> (Denoiser, f64) {
    let clean = &clean[..clean.len().min(CHOSEN_BY * side * side)];
    let noisy = clean
        .iter()
        .map(|x| x + (scale * standard(noise, rng)) as f32);
    let noisy: Vec<f32> = noisy.collect();
    let size = side * side;
    let mut all = Vec::new();
    for wavelet in Wavelet::ALL {
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
            let squares = found
                .iter()
                .zip(clean)
                .map(|(a, b)| f64::from(a - b).powi(2));
            squares.sum::<f64>().sqrt()
        });
        each.sum::<f64>() * size as f64 / clean.len() as f64
    };
    let tried = all
        .into_par_iter()
        .map(|denoiser| (denoiser, apart(&denoiser)));
    let tried: Vec<(Denoiser, f64)> = tried.collect();
    let best = tried.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
    best.unwrap_or((
        Denoiser {
            wavelet: Wavelet::Haar,
            levels: 0,
            threshold: 0.0,
        },
        f64::NAN,
    ))
}

/// Takes noise off every privatised image.
pub(crate) fn denoise(private: &mut Privatised, side: usize, denoiser: Denoiser) {
    private
        .rows
        .par_chunks_mut(side * side)
        .for_each(|row| row.copy_from_slice(&denoiser.apply(row, side)));
}
