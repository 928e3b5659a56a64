//! Features from Inception v3, with weights that the user supplies.
//!
//! The usual Frechet Inception Distance compares the 2048 means of the last block's channels. The
//! weights are not part of this project: `pt_inception-2015-12-05-6726825d.pth` (pytorch-fid, the
//! weights of the published FIDs) and torchvision's `inception_v3_google` are read as they are
//! published, and so is a safetensors file with the same names. Nothing of a file is executed.

mod blocks;
mod convolution;
mod file;

use std::path::Path;

use burn::tensor::module::interpolate;
use burn::tensor::ops::{InterpolateMode, InterpolateOptions};
use burn::tensor::{Device, Tensor, TensorData};

use super::EvaluateError;
use super::error::check_records;
use blocks::{Block, HALVE, POINT, Pooling, SQUARE, block_a, block_b, block_c, block_d, block_e};
use convolution::{Reader, Unit, Window, max_pool};
use file::Tensors;

/// The side of the images that the network was trained on.
const SIDE: usize = 299;
/// Images that go through the network together.
const BATCH: usize = 32;
/// Outputs of the last layer in the weights of the FID, by which they are recognised.
const FID_CLASSES: usize = 1008;
/// The first tensor of the network.
const ANCHOR: &str = "Conv2d_1a_3x3.conv.weight";

/// Which network a file of weights belongs to: they differ in how three kinds of block pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// torchvision's `inception_v3`.
    Torchvision,
    /// The network of the published FIDs, from TensorFlow by way of pytorch-fid: 1008 classes.
    Fid,
}

/// Inception v3 up to its last pooling.
#[derive(Debug)]
pub struct Inception {
    flavour: Flavour,
    first: Vec<Unit>,
    second: Vec<Unit>,
    blocks: Vec<Block>,
    features: usize,
    device: Device,
}

impl Inception {
    /// The number of features of an image.
    pub const FEATURES: usize = 2048;

    /// Reads weights from `path` onto `device`.
    ///
    /// `path` is a file of `torch.save` (`.pt`, `.pth`; of the model's `state_dict`) or of
    /// safetensors, with torchvision's names, with or without a prefix such as `module.`. Without a
    /// `flavour` it is [`Flavour::Fid`] where `fc.weight` has 1008 rows.
    ///
    /// # Errors
    ///
    /// [`EvaluateError::File`] for a file that cannot be read; [`EvaluateError::Weights`] names the
    /// tensor that is missing or has another shape.
    pub fn load(
        path: &Path,
        flavour: Option<Flavour>,
        device: &Device,
    ) -> Result<Self, EvaluateError> {
        Self::load_at_width(path, flavour, 1, device)
    }

    /// The same network with all numbers of channels divided by `divisor`.
    fn load_at_width(
        path: &Path,
        flavour: Option<Flavour>,
        divisor: usize,
        device: &Device,
    ) -> Result<Self, EvaluateError> {
        let tensors = Tensors::read(path, ANCHOR)?;
        let flavour = flavour.unwrap_or_else(|| match tensors.shape("fc.weight") {
            Some([FID_CLASSES, _]) => Flavour::Fid,
            _ => Flavour::Torchvision,
        });
        let r = Reader {
            tensors: &tensors,
            divisor,
            device,
        };
        let (mean, last) = match flavour {
            Flavour::Torchvision => (Pooling::Mean, Pooling::Mean),
            Flavour::Fid => (Pooling::MeanInside, Pooling::Largest),
        };
        let plain = Window::valid(3, 1);
        Ok(Self {
            flavour,
            first: vec![
                r.unit("Conv2d_1a_3x3", [3, 32], HALVE)?,
                r.unit("Conv2d_2a_3x3", [32, 32], plain)?,
                r.unit("Conv2d_2b_3x3", [32, 64], SQUARE)?,
            ],
            second: vec![
                r.unit("Conv2d_3b_1x1", [64, 80], POINT)?,
                r.unit("Conv2d_4a_3x3", [80, 192], plain)?,
            ],
            blocks: vec![
                block_a(r, "Mixed_5b", 192, 32, mean)?,
                block_a(r, "Mixed_5c", 256, 64, mean)?,
                block_a(r, "Mixed_5d", 288, 64, mean)?,
                block_b(r, "Mixed_6a", 288)?,
                block_c(r, "Mixed_6b", 128, mean)?,
                block_c(r, "Mixed_6c", 160, mean)?,
                block_c(r, "Mixed_6d", 160, mean)?,
                block_c(r, "Mixed_6e", 192, mean)?,
                block_d(r, "Mixed_7a")?,
                block_e(r, "Mixed_7b", 1280, mean)?,
                block_e(r, "Mixed_7c", 2048, last)?,
            ],
            features: Self::FEATURES / divisor,
            device: device.clone(),
        })
    }

    /// Which network the weights belong to.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The features of square images: `[n, channels * side * side]` in `[0, 1]` to `[n, 2048]`.
    ///
    /// Images are resized to 299 x 299 (bilinear) and scaled to `[-1, 1]`; one channel is shown as
    /// red, green and blue alike, of three each is its own. One image costs 5.7 thousand million
    /// multiplications: seconds on a few
    /// processor cores, milliseconds on a GPU.
    ///
    /// # Errors
    ///
    /// [`EvaluateError::Shape`] or [`EvaluateError::NotFinite`]; [`EvaluateError::Setting`] unless
    /// there are 1 or 3 channels; [`EvaluateError::Device`] where the features cannot be read back.
    pub fn features(
        &self,
        images: &[f32],
        channels: usize,
        side: usize,
    ) -> Result<Vec<f32>, EvaluateError> {
        if ![1, 3].contains(&channels) {
            return Err(EvaluateError::Setting {
                name: "channels",
                value: channels as f64,
                bound: "1 or 3",
            });
        }
        let size = channels * side * side;
        let n = check_records("images", images, size)?;
        let mut features = Vec::with_capacity(n * self.features);
        for chunk in images.chunks(BATCH * size) {
            let count = chunk.len() / size;
            let pixels = TensorData::new(chunk.to_vec(), [count, channels, side, side]);
            // Pixel centres correspond, and nothing is smoothed when shrinking.
            let options = InterpolateOptions::new(InterpolateMode::Bilinear)
                .with_align_corners(false)
                .with_output_size([SIDE, SIDE]);
            let images = interpolate(Tensor::from_data(pixels, &self.device), options) * 2.0 - 1.0;
            let means = self.forward(images.expand([count, 3, SIDE, SIDE]));
            let values = means.try_into_vec_as::<f32>();
            features.extend(values.map_err(|error| EvaluateError::Device(error.to_string()))?);
        }
        Ok(features)
    }

    /// `[n, 3, 299, 299]` in `[-1, 1]` to `[n, 2048]`.
    fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let run = |units: &[Unit], input| units.iter().fold(input, |x, unit| unit.forward(x));
        let x = max_pool(run(&self.first, images), 2, 0);
        let x = max_pool(run(&self.second, x), 2, 0);
        let x = self.blocks.iter().fold(x, |x, block| block.forward(x));
        let [n, channels, height, width] = x.dims();
        x.reshape([n, channels, height * width])
            .mean_dim(2)
            .reshape([n, channels])
    }
}

#[cfg(test)]
mod tests;
