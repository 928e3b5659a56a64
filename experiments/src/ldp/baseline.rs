//! The published baseline: wavelets take noise off each record, and a generator learns what is left.
//!
//! The published thresholds were chosen by the private records themselves, as near to the clean ones as they get. Here
//! public records take their place, with noise of the same distribution: as optimistic, and without reading a private record again.

use lab::diagnostic::Failure;
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;

use super::loss::standard;
use super::noise_model::NoiseModel;
use super::private::Privatised;
use super::sources::Rows;
use super::wavelet::{Denoiser, WAVELETS, most_levels};

/// Public records that thresholds are chosen by.
const CHOSEN_BY: usize = 200;
/// Thresholds that are tried, in units of the noise.
const THRESHOLDS: [f64; 9] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0];

/// Takes noise off every privatised image, by the wavelets, levels and threshold that bring noisy public images nearest
/// to the `clean` ones, in the mean Euclidean distance. Says which, and the distance.
pub(super) fn denoise(
    private: &mut Privatised,
    clean: &Rows,
    noise_model: &NoiseModel,
    rng: &mut ChaCha20Rng,
) -> Result<String, Failure> {
    let side = clean.shape().map_or(0, |shape| shape.side);
    let (clean, size) = (clean.first(CHOSEN_BY)?.values, side * side);
    let (noise, scale) = (noise_model.noise(), noise_model.scale);
    let noisy = clean
        .iter()
        .map(|x| x + (scale * standard(noise, rng)) as f32);
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
    let best = tried.collect::<Vec<_>>().into_iter();
    let best = best.min_by(|a, b| a.0.total_cmp(&b.0));
    let odd = || Failure::failed(format!("wavelets of images of {side} pixels a side"));
    let (distance, best) = best.ok_or_else(odd)?;
    let rows = private.rows.par_chunks_mut(size);
    rows.for_each(|row| row.copy_from_slice(&best.apply(row, side)));
    Ok(format!(
        "{}, {} levels, threshold {:.3}; a public image is {distance:.2} off after it",
        best.wavelet.0, best.levels, best.threshold
    ))
}
