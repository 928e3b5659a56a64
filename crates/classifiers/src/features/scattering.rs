//! Scattering: moduli of wavelet coefficients, averaged over places.

use std::f64::consts::PI;
use std::sync::Arc;

use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use super::normalise;
use crate::ClassifierError;
use crate::error::rows_of;

/// The number of scales of the wavelets; the low pass is taken every `2^SCALES` pixels.
const SCALES: usize = 2;
/// The number of angles of the wavelets.
const ANGLES: usize = 8;
const STRIDE: usize = 1 << SCALES;
/// The pixels on each side by which an image is reflected.
const BORDER: usize = STRIDE;
/// The deviation of the low pass, in pixels.
const LOW_PASS: f64 = 0.8 * (1 << (SCALES - 1)) as f64;
/// The number of periods on each side over which filters are summed.
const PERIODS: i64 = 2;
/// What is added to a value before its logarithm.
const FLOOR: f32 = 0.03;

/// The features of images by a scattering transform (Bruna and Mallat 2013; the settings of Tramèr and Boneh 2021, arXiv
/// 2011.11660, but for the order).
///
/// Order 0 is `x * phi`, order 1 `|x * psi_(j, t)| * phi` and order 2 `||x * psi_(0, t)| * psi_(1, s)| * phi`, with a Gaussian `phi` of
/// deviation 1.6 pixels and Morlet wavelets `psi` of 2 scales and 8 angles, each taken every 4 pixels. Of an image of side `s` that
/// is `(s / 4)^2` values for each of 1, 16 and 64 paths. A row holds `ln(value + 0.03)` minus the row's mean, divided by its norm.
/// Colours become luma and chroma first.
///
/// The row of an image depends on this image alone.
///
/// ```
/// use private_classifiers::Scattering;
/// let scattering = Scattering::new(1, 28, 1)?;
/// let rows = scattering.rows(&vec![0.5; 3 * 28 * 28])?;
/// assert_eq!((scattering.width(), rows.len()), (833, 3 * 833));
/// # Ok::<(), private_classifiers::ClassifierError>(())
/// ```
#[derive(Clone)]
pub struct Scattering {
    channels: usize,
    side: usize,
    order: usize,
    /// The real Fourier transform of each wavelet, scale after scale.
    wavelets: Vec<Vec<f32>>,
    /// The low pass along one axis, `[places, padded]`.
    low_pass: Vec<f32>,
    forward: Arc<dyn Fft<f32>>,
    inverse: Arc<dyn Fft<f32>>,
}

impl std::fmt::Debug for Scattering {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Scattering");
        shown.field("channels", &self.channels);
        shown.field("side", &self.side);
        shown.field("order", &self.order);
        shown.finish_non_exhaustive()
    }
}

impl PartialEq for Scattering {
    fn eq(&self, other: &Self) -> bool {
        (self.channels, self.side, self.order) == (other.channels, other.side, other.order)
    }
}

impl Scattering {
    /// Creates the features of square images of `channels` colours, 1 or 3, of `side` pixels, up to `order` 1 or 2.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for other channels or orders, and for a side that is not a multiple of 4 from 8 to 256.
    pub fn new(channels: usize, side: usize, order: usize) -> Result<Self, ClassifierError> {
        let refuse = |name, value: usize, bound: &str| {
            let value = value as f64;
            Err(ClassifierError::range(name, value, bound))
        };
        if channels != 1 && channels != 3 {
            return refuse("the number of channels", channels, "1 or 3");
        }
        if !(8..=256).contains(&side) || !side.is_multiple_of(STRIDE) {
            return refuse(
                "the side of an image",
                side,
                "a multiple of 4 from 8 to 256",
            );
        }
        if order != 1 && order != 2 {
            return refuse("the order of scattering", order, "1 or 2");
        }
        let padded = side + 2 * BORDER;
        let mut planner = FftPlanner::new();
        let (forward, inverse) = (
            planner.plan_fft_forward(padded),
            planner.plan_fft_inverse(padded),
        );
        let wavelets = (0..SCALES * ANGLES).map(|path| {
            let mut values = wavelet(path / ANGLES, path % ANGLES, padded);
            transform(&mut values, padded, &forward);
            values.iter().map(|value| value.re).collect()
        });
        Ok(Self {
            channels,
            side,
            order,
            wavelets: wavelets.collect(),
            low_pass: low_pass(side, padded),
            forward,
            inverse,
        })
    }

    /// Returns the number of values of an image.
    pub(super) fn size(&self) -> usize {
        self.channels * self.side * self.side
    }

    /// Returns the number of features of an image.
    pub fn width(&self) -> usize {
        self.channels * self.paths() * (self.side / STRIDE).pow(2)
    }

    fn paths(&self) -> usize {
        let first = SCALES * ANGLES;
        1 + first + if self.order == 2 { ANGLES * ANGLES } else { 0 }
    }

    /// Returns the features, `[n, width]`, of images `[n, channels, side, side]` with values in [0, 1].
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for another number of values.
    pub fn rows(&self, images: &[f32]) -> Result<Vec<f32>, ClassifierError> {
        let size = self.size();
        let n = rows_of("the number of values of images", images.len(), size)?;
        let width = self.width();
        let mut rows = vec![0.0; n * width];
        let each = rows
            .par_chunks_exact_mut(width)
            .zip(images.par_chunks_exact(size));
        each.for_each(|(row, image)| {
            row.copy_from_slice(&self.values(image));
            let logarithms = row.iter_mut().map(|value| {
                *value = (*value + FLOOR).ln();
                *value
            });
            let mean = logarithms.sum::<f32>() / width as f32;
            row.iter_mut().for_each(|value| *value -= mean);
            normalise(row, width);
        });
        Ok(rows)
    }

    /// Returns the scattering coefficients of one image, `[channels, paths, side / 4, side / 4]`.
    pub fn values(&self, image: &[f32]) -> Vec<f32> {
        let planes: Vec<Vec<f32>> = match image
            .chunks_exact(self.side * self.side)
            .collect::<Vec<_>>()[..]
        {
            [red, green, blue] => luma_and_chroma(red, green, blue).into(),
            _ => vec![image.to_vec()],
        };
        let mut values = Vec::with_capacity(self.width());
        for plane in planes {
            self.scatter(&self.reflected(&plane), &mut values);
        }
        values
    }

    /// A plane with reflected borders, without its edge twice.
    fn reflected(&self, plane: &[f32]) -> Vec<f32> {
        let (side, padded) = (self.side as i64, self.side + 2 * BORDER);
        let inside = |place: usize| {
            let place = (place as i64 - BORDER as i64).abs();
            (if place >= side {
                2 * side - 2 - place
            } else {
                place
            }) as usize
        };
        let mut reflected = Vec::with_capacity(padded * padded);
        for y in 0..padded {
            let row = &plane[inside(y) * self.side..][..self.side];
            reflected.extend((0..padded).map(|x| row[inside(x)]));
        }
        reflected
    }

    fn scatter(&self, plane: &[f32], values: &mut Vec<f32>) {
        self.average(plane, values);
        let seen = self.transformed(plane);
        let first: Vec<Vec<f32>> = self
            .wavelets
            .iter()
            .map(|wavelet| self.moduli(&seen, wavelet))
            .collect();
        first.iter().for_each(|plane| self.average(plane, values));
        if self.order == 1 {
            return;
        }
        let (fine, coarse) = (&first[..ANGLES], &self.wavelets[ANGLES..]);
        for plane in fine {
            let seen = self.transformed(plane);
            for wavelet in coarse {
                self.average(&self.moduli(&seen, wavelet), values);
            }
        }
    }

    fn transformed(&self, plane: &[f32]) -> Vec<Complex<f32>> {
        let mut values: Vec<Complex<f32>> = plane.iter().map(|&x| Complex::new(x, 0.0)).collect();
        transform(&mut values, self.side + 2 * BORDER, &self.forward);
        values
    }

    /// The moduli of the inverse transform of `seen * wavelet`.
    fn moduli(&self, seen: &[Complex<f32>], wavelet: &[f32]) -> Vec<f32> {
        let padded = self.side + 2 * BORDER;
        let mut values: Vec<Complex<f32>> = seen.iter().zip(wavelet).map(|(x, &w)| x * w).collect();
        transform(&mut values, padded, &self.inverse);
        let scale = 1.0 / (padded * padded) as f32;
        values.iter().map(|value| value.norm() * scale).collect()
    }

    /// Appends the low pass of a plane at every fourth pixel.
    fn average(&self, plane: &[f32], values: &mut Vec<f32>) {
        let padded = self.side + 2 * BORDER;
        let along = |row: &[f32], weights: &[f32]| -> f32 {
            row.iter().zip(weights).map(|(x, w)| x * w).sum()
        };
        let weights = || self.low_pass.chunks_exact(padded);
        // Along each line first, turned: `[places, padded]`.
        let mut lines = Vec::with_capacity(weights().len() * padded);
        for own in weights() {
            lines.extend(plane.chunks_exact(padded).map(|row| along(row, own)));
        }
        for own in weights() {
            values.extend(lines.chunks_exact(padded).map(|line| along(line, own)));
        }
    }
}

/// Luma and chroma of three colours (JFIF), in [0, 1].
fn luma_and_chroma(red: &[f32], green: &[f32], blue: &[f32]) -> [Vec<f32>; 3] {
    let mut planes = [(); 3].map(|()| Vec::with_capacity(red.len()));
    for ((r, g), b) in red.iter().zip(green).zip(blue) {
        let luma = 0.299 * r + 0.587 * g + 0.114 * b;
        let chroma = [0.564 * (b - luma) + 0.5, 0.713 * (r - luma) + 0.5];
        planes[0].push(luma);
        planes[1].push(chroma[0]);
        planes[2].push(chroma[1]);
    }
    planes
}

/// Transforms a square of `side x side` values along both axes.
fn transform(values: &mut [Complex<f32>], side: usize, fft: &Arc<dyn Fft<f32>>) {
    fft.process(values);
    turn(values, side);
    fft.process(values);
    turn(values, side);
}

fn turn(values: &mut [Complex<f32>], side: usize) {
    for y in 0..side {
        for x in 0..y {
            values.swap(y * side + x, x * side + y);
        }
    }
}

/// The Morlet wavelet of a scale and an angle on a torus of `side x side` pixels: a wave in a Gaussian window, minus the multiple
/// of the window that makes its sum zero.
fn wavelet(scale: usize, angle: usize, side: usize) -> Vec<Complex<f32>> {
    let size = (1 << scale) as f64;
    let (deviation, frequency, slant) = (0.8 * size, 0.75 * PI / size, 4.0 / ANGLES as f64);
    let turned = (3.0 - angle as f64) * PI / ANGLES as f64;
    let (sin, cos) = turned.sin_cos();
    let norm = 2.0 * PI * deviation * deviation / slant;
    let mut waves = Vec::with_capacity(side * side);
    let mut windows = Vec::with_capacity(side * side);
    for y in 0..side as i64 {
        for x in 0..side as i64 {
            let (mut wave, mut window) = (Complex::new(0.0, 0.0), 0.0);
            for period in 0..(2 * PERIODS + 1) * (2 * PERIODS + 1) {
                let shift = |index: i64| (index - PERIODS) * side as i64;
                let down = (y + shift(period / (2 * PERIODS + 1))) as f64;
                let right = (x + shift(period % (2 * PERIODS + 1))) as f64;
                let (along, across) = (cos * down + sin * right, cos * right - sin * down);
                let squared = along * along + (slant * across).powi(2);
                let own = (-squared / (2.0 * deviation * deviation)).exp() / norm;
                wave += Complex::from_polar(own, frequency * along);
                window += own;
            }
            waves.push(wave);
            windows.push(window);
        }
    }
    let (sum, whole): (Complex<f64>, f64) = (waves.iter().sum(), windows.iter().sum());
    let pairs = waves.into_iter().zip(windows);
    let centred = pairs.map(|(wave, window)| wave - sum / whole * window);
    centred
        .map(|value| Complex::new(value.re as f32, value.im as f32))
        .collect()
}

/// The weights of a Gaussian on a circle of `padded` pixels, around every fourth pixel of an image of `side` pixels.
fn low_pass(side: usize, padded: usize) -> Vec<f32> {
    let norm = (2.0 * PI).sqrt() * LOW_PASS;
    let mut weights = Vec::new();
    for place in 0..side / STRIDE {
        let centre = (BORDER + place * STRIDE) as i64;
        for pixel in 0..padded as i64 {
            let periods = -PERIODS..=PERIODS;
            let parts = periods.map(|period| {
                let distance = (pixel - centre + period * padded as i64) as f64 / LOW_PASS;
                (-0.5 * distance * distance).exp() / norm
            });
            weights.push(parts.sum::<f64>() as f32);
        }
    }
    weights
}
