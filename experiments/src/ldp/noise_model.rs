//! What is public of privatised records: how they are laid out, and the distribution of their noise.

use burn::tensor::{Device, Tensor, TensorData};
use data::privatised::{Header, LabelEncoding, NoiseKind};
use data::transform::Dct;
use dp_core::local::LocalNoise;
use lab::diagnostic::{Failure, OrFailed};
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use swd::Slices;
use swd::sinkhorn::Cost;

/// How a record was made from clean values and their class, and its noise.
pub(crate) struct NoiseModel {
    /// What stands in the file.
    pub header: Header,
    /// The standard deviation of Gaussian noise, the scale of Laplace noise, 0 for none, in units of the records.
    pub scale: f64,
    dct: Option<Dct>,
    /// The transform as a matrix `[pixels, coefficients]`, where gradients pass it.
    coefficients: Option<Tensor<2>>,
}

impl NoiseModel {
    /// That of a header, or without its noise.
    pub(crate) fn new(header: Header, noisy: bool, device: &Device) -> Result<Self, Failure> {
        let refuse = |e: data::DataError| Failure::input(e.to_string(), "privatise anew");
        let dct = header.dct().map_err(refuse)?;
        let coefficients = dct.as_ref().map(|dct| {
            let data = TensorData::new(dct.matrix(), [dct.width(), dct.pixels()]);
            Tensor::from_data(data, &device.clone().autodiff()).transpose()
        });
        Ok(Self {
            scale: if noisy { header.noise_scale } else { 0.0 },
            dct,
            coefficients,
            header,
        })
    }

    /// Values of a record, its class included.
    pub(crate) fn width(&self) -> usize {
        self.header.width
    }

    /// Classes that stand behind a record; 0 for none.
    pub(crate) fn classes(&self) -> usize {
        self.header.classes()
    }

    /// Values of a clean record.
    pub(crate) fn pixels(&self) -> usize {
        self.dct
            .as_ref()
            .map_or(self.header.features(), Dct::pixels)
    }

    pub(crate) fn noise(&self) -> LocalNoise {
        match self.header.mechanism {
            NoiseKind::Gaussian => LocalNoise::Gaussian,
            NoiseKind::Laplace => LocalNoise::Laplace,
        }
    }

    /// The cost whose entropic transport takes this noise away.
    pub(crate) fn cost(&self) -> Cost {
        match self.noise() {
            LocalNoise::Gaussian => Cost::SquaredEuclidean,
            LocalNoise::Laplace => Cost::Manhattan,
        }
    }

    /// The values of an image, or their coefficients, in the numbers of a privatised record.
    pub(crate) fn pixels_of(&self, row: &[f32]) -> Result<Vec<f32>, Failure> {
        let features = &row[..self.header.features()];
        match &self.dct {
            None => Ok(features.to_vec()),
            Some(dct) => dct.inverse(features).or_failed(),
        }
    }

    /// Generated images without the frequencies that no privatised record has: nothing is known of them.
    pub(crate) fn without_unseen(&self, rows: Vec<f32>) -> Result<Vec<f32>, Failure> {
        let Some(dct) = &self.dct else {
            return Ok(rows);
        };
        let rows = rows.chunks_exact(dct.pixels());
        let seen = rows.map(|row| dct.inverse(&dct.forward(row)?));
        let seen: Result<Vec<_>, _> = seen.collect();
        Ok(seen.or_failed()?.concat())
    }

    /// Generated values, `[classes each, pixels]`, class after class, as privatised records are laid out.
    pub(crate) fn laid_out(&self, rows: Tensor<2>, each: usize) -> Tensor<2> {
        let rows = match &self.coefficients {
            None => rows,
            Some(coefficients) => rows.matmul(coefficients.clone()),
        };
        let LabelEncoding::OneHot { weight, classes } = self.header.labels else {
            return rows;
        };
        let mut behind = vec![0.0; classes * each * classes];
        for (place, row) in behind.chunks_exact_mut(classes).enumerate() {
            row[place / each] = weight as f32;
        }
        let data = TensorData::new(behind, [classes * each, classes]);
        let behind = Tensor::from_data(data, &rows.device());
        Tensor::cat(vec![rows, behind], 1)
    }

    /// Slices of privatised records: smooth over an image, with a share of its class.
    pub(crate) fn directions(
        &self,
        count: usize,
        rng: &mut ChaCha20Rng,
    ) -> Result<Slices, Failure> {
        let width = self.width();
        let Some(shape) = self.header.source_shape else {
            return Slices::iid(width, count, rng).or_failed();
        };
        let smooth = Slices::smooth(shape, count, rng).or_failed()?;
        let mut directions = Vec::with_capacity(count * width);
        for l in 0..count {
            let image: Vec<f32> = smooth.direction(l).iter().map(|&x| x as f32).collect();
            let image = match &self.dct {
                None => image,
                Some(dct) => dct.forward(&image).or_failed()?,
            };
            // From all image to all class.
            let share = match self.classes() {
                0 => 0.0,
                _ => rng.random_range(0.0..1.0),
            };
            let image = image.into_iter().map(f64::from).collect();
            let class = (0..self.classes()).map(|_| StandardNormal.sample(rng));
            let class: Vec<f64> = class.collect();
            for (part, share) in [(image, 1.0 - share), (class, share)] {
                let norm = part.iter().map(|x: &f64| x * x).sum::<f64>().sqrt();
                directions.extend(part.iter().map(|x| f64::sqrt(share) * x / norm));
            }
        }
        Slices::from_directions(width, &directions).or_failed()
    }
}
