//! The map of the paper: 2 -> 128 -> 64 -> 64 -> 2 with rectifiers.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::DpError;
use dp_core::per_sample::nn::Chain;
use model::layers::linear;
use private_training::{Forward, Layers, Network};
use rand::Rng;

/// Units from the input to the output.
const WIDTHS: [usize; 5] = [2, 128, 64, 64, 2];

/// A map of the plane.
#[derive(Module, Debug)]
pub(crate) struct Map {
    layers: Vec<Linear>,
}

impl Map {
    /// He initialisation from `rng`.
    pub(crate) fn new(rng: &mut impl Rng, device: &Device) -> Self {
        let last = WIDTHS.len() - 2;
        let layer = |(place, pair): (usize, &[usize])| {
            let gain = if place == last { 1.0 } else { 2.0 };
            linear(pair[0], pair[1], gain, rng, device)
        };
        Self {
            layers: WIDTHS.windows(2).enumerate().map(layer).collect(),
        }
    }

    /// `[n, 2] -> [n, 2]`.
    pub(crate) fn points(&self, rows: Tensor<2>) -> Tensor<2> {
        let mut layers = self.layers.iter();
        let first = layers
            .next()
            .map_or(rows.clone(), |layer| layer.forward(rows));
        layers.fold(first, |hidden, layer| layer.forward(relu(hidden)))
    }

    /// The same for points on the host.
    pub(crate) fn of(&self, points: &[f32], device: &Device) -> Vec<f32> {
        let rows = TensorData::new(points.to_vec(), [points.len() / 2, 2]);
        let made = self.points(Tensor::from_data(rows, device));
        made.into_data().iter::<f32>().collect()
    }
}

impl Network<2> for Map {
    fn forward(&self, rows: Tensor<2>) -> Forward {
        Forward::penalised(self.points(rows))
    }

    fn layers(&self) -> Result<Option<Layers<'_>>, DpError> {
        let mut chain = Chain::features(WIDTHS[0]);
        for (place, layer) in self.layers.iter().enumerate() {
            chain = if place > 0 { chain.relu() } else { chain }.linear(layer);
        }
        Layers::chain(chain)
    }
}
