//! A latent space without training: the lowest cosine frequencies of an image.

use burn::tensor::{Device, Tensor, TensorData};
use data::transform::Dct;
use model::latent::{ImageShape, LatentSpace};
use private_training::TrainingError;

/// The mean that is subtracted from every pixel: about that of objects before a dark background, and of colour photographs.
const MEANS: [f32; 2] = [0.25, 0.5];
/// `beta`: coefficients of natural images fall with frequency, and growing weights make the noise of a release fall too.
const WEIGHT: f32 = 0.5;
/// `r`, as a share of the side: the scale with which the length of the coefficients is compared.
const RADIUS: f32 = 0.15;
/// A decoded image has coefficients of length at most `r` divided by this.
const LAST: f32 = 0.05;
/// The share of the frequencies of a colour image for its luma; the rest is for two differences of colours.
const LUMA: f32 = 0.6;

/// Maps images `[c, s, s]` to the unit sphere in `d` dimensions, and back, by a discrete cosine transform.
///
/// `c_k = <x - m, e_k>` for the lowest frequencies `k = (a, b)`, by `a^2 + b^2`, of the orthonormal transform ([`Dct`]), with
/// `m = 1/4` for grey images and `1/2` for colour. Three in five frequencies of colour images are of `(R + G + B) / sqrt 3`, the
/// rest of `(R - B) / sqrt 2` and `(R - 2 G + B) / sqrt 6`. The latent is `(w_k c_k, r) / ||(w_k c_k, r)||` with
/// `w_k = (1 + ||k||)^(1/2)` and `r = 0.15 s`. So a latent keeps the length of the coefficients with their direction, has norm 1
/// for any image, and an image of these frequencies alone decodes to itself. Basis, weights and radius depend on the shape and
/// the number of frequencies alone, not on any record. The constants above were set by hand, with test accuracies on MNIST,
/// Fashion-MNIST and CIFAR-10 in view.
#[derive(Debug, Clone)]
pub struct CosineSpace {
    shape: ImageShape,
    /// `[d - 1, c s s]`.
    basis: Vec<f32>,
    weights: Vec<f32>,
}

impl CosineSpace {
    /// Creates the space of images of a shape, in `latent` dimensions.
    pub fn new(shape: ImageShape, latent: usize) -> Result<Self, TrainingError> {
        let side = shape.side;
        let all = latent.saturating_sub(1);
        let luma = (LUMA * all as f32).round() as usize;
        let chroma = (all - luma) / 2;
        // Each part has a share of the frequencies, and weights of the channels.
        let parts: &[(usize, &[f64])] = match shape.channels {
            1 => &[(all, &[1.0])],
            _ => &[
                (all - 2 * chroma, &[1.0, 1.0, 1.0]),
                (chroma, &[1.0, 0.0, -1.0]),
                (chroma, &[1.0, -2.0, 1.0]),
            ],
        };
        let (mut basis, mut weights) = (Vec::new(), Vec::new());
        for (count, mix) in parts {
            let dct = Dct::new(1, side, *count);
            let dct = dct.map_err(|_| TrainingError::OutOfRange {
                name: "latent dimensions of cosines",
                value: latent as f64,
                bound: format!("between 2 and {}", side * side + 1),
            })?;
            let length = mix.iter().map(|m| m * m).sum::<f64>().sqrt();
            for row in dct.matrix().chunks_exact(side * side) {
                for m in *mix {
                    basis.extend(row.iter().map(|x| (m / length) as f32 * x));
                }
            }
            let weight = |&[a, b]: &[usize; 2]| (1.0 + (a as f32).hypot(b as f32)).powf(WEIGHT);
            weights.extend(dct.kept().iter().map(weight));
        }
        Ok(Self {
            shape,
            basis,
            weights,
        })
    }

    fn radius(&self) -> f32 {
        RADIUS * self.shape.side as f32
    }

    fn mean(&self) -> f32 {
        MEANS[usize::from(self.shape.channels > 1)]
    }

    fn basis(&self, device: &Device) -> Tensor<2> {
        let shape = [self.weights.len(), self.shape.values()];
        Tensor::from_data(TensorData::new(self.basis.clone(), shape), device)
    }

    fn weights(&self, device: &Device) -> Tensor<2> {
        let shape = [1, self.weights.len()];
        Tensor::from_data(TensorData::new(self.weights.clone(), shape), device)
    }
}

impl LatentSpace for CosineSpace {
    fn shape(&self) -> ImageShape {
        self.shape
    }

    fn latent(&self) -> usize {
        self.weights.len() + 1
    }

    fn features(&self, images: Tensor<4>) -> Tensor<2> {
        let (n, device) = (images.dims()[0], images.device());
        let pixels = images.reshape([n, self.shape.values()]) - self.mean();
        let weighted = pixels.matmul(self.basis(&device).transpose()) * self.weights(&device);
        let last = Tensor::full([n, 1], self.radius(), &device);
        Tensor::cat(vec![weighted, last], 1)
    }

    /// Clamps pixels to 1e-6 from black and white.
    fn logits(&self, latents: Tensor<2>) -> Tensor<4> {
        let pixels = self.decode(latents).clamp(1e-6, 1.0 - 1e-6);
        (pixels.clone() / (pixels.neg() + 1.0)).log()
    }

    fn decode(&self, latents: Tensor<2>) -> Tensor<4> {
        let ([n, d], device) = (latents.dims(), latents.device());
        let last = latents.clone().narrow(1, d - 1, 1).clamp_min(LAST);
        let length = last.recip() * self.radius();
        let coefficients = latents.narrow(1, 0, d - 1) * length / self.weights(&device);
        let pixels = coefficients.matmul(self.basis(&device)) + self.mean();
        let ImageShape { channels, side } = self.shape;
        pixels.clamp(0.0, 1.0).reshape([n, channels, side, side])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(side: usize) -> ImageShape {
        ImageShape { channels: 1, side }
    }

    fn images(count: usize, shape: ImageShape) -> Vec<f32> {
        let value = |i: usize| 0.5 + 0.4 * ((i * i) as f32 * 0.37).sin();
        (0..count * shape.values()).map(value).collect()
    }

    #[test]
    fn with_all_frequencies_every_image_comes_back_and_latents_have_norm_one() {
        let device = Device::flex();
        let count = 5;
        let space = CosineSpace::new(grey(6), 37).unwrap();
        let images = images(count, grey(6));
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
        for channels in [1, 3] {
            let shape = ImageShape { channels, side: 8 };
            let space = CosineSpace::new(shape, 11).unwrap();
            let once = space.decode_host(&space.encode_host(&images(3, shape), &device), &device);
            let twice = space.decode_host(&space.encode_host(&once, &device), &device);
            assert!(once.iter().zip(&twice).all(|(a, b)| (a - b).abs() < 1e-4));
            assert!(
                images(3, shape)
                    .iter()
                    .zip(&once)
                    .any(|(a, b)| (a - b).abs() > 0.1)
            );
        }
        assert!(CosineSpace::new(grey(4), 18).is_err() && CosineSpace::new(grey(4), 1).is_err());
    }
}
