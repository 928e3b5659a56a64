//! What is public of privatised records: how they are laid out, and the distribution of their noise.

use burn::tensor::{Device, Tensor, TensorData};
use data::privatised::{Header, LabelEncoding, NoiseKind};
use data::transform::Dct;
use lab::diagnostic::{Failure, OrFailed};
use swd::sinkhorn::Cost;

/// How a record was made from clean values and their class, and its noise.
pub(crate) struct NoiseModel {
    pub header: Header,
    dct: Option<Dct>,
    /// The transform as a matrix `[pixels, coefficients]` that gradients pass.
    coefficients: Option<Tensor<2>>,
}

impl NoiseModel {
    /// The model that a header describes.
    pub(crate) fn new(header: Header, device: &Device) -> Result<Self, Failure> {
        let dct = header.dct().or_failed()?;
        let coefficients = dct.as_ref().map(|dct| {
            let data = TensorData::new(dct.matrix(), [dct.width(), dct.pixels()]);
            Tensor::from_data(data, &device.clone().autodiff()).transpose()
        });
        Ok(Self {
            dct,
            coefficients,
            header,
        })
    }

    /// Values of a clean record.
    pub(crate) fn pixels(&self) -> usize {
        self.dct
            .as_ref()
            .map_or(self.header.features(), Dct::pixels)
    }

    /// The cost whose entropic transport takes this noise away.
    pub(crate) fn cost(&self) -> Cost {
        match self.header.mechanism {
            NoiseKind::Gaussian => Cost::SquaredEuclidean,
            NoiseKind::Laplace => Cost::Manhattan,
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
}
