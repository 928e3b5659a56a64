//! The networks of the tasks (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, appendices C.3 to C.5).

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::activation::{relu, sigmoid};
use burn::tensor::{Device, Tensor};
use dp_core::DpError;
use dp_core::per_sample::nn::Chain;
use model::layers::linear;
use private_training::{Forward, Layers};
use rand_chacha::ChaCha20Rng;

use super::settings::{Settings, Task};

/// Linear, or with one hidden layer of rectified units.
#[derive(Module, Debug)]
struct Part {
    first: Linear,
    last: Option<Linear>,
}

impl Part {
    fn forward(&self, rows: Tensor<2>) -> Tensor<2> {
        let first = self.first.forward(rows);
        match &self.last {
            None => first,
            Some(last) => last.forward(relu(first)),
        }
    }

    fn grow<'a>(&'a self, chain: Chain<'a>) -> Chain<'a> {
        let first = chain.linear(&self.first);
        match &self.last {
            None => first,
            Some(last) => first.relu().linear(last),
        }
    }
}

/// An encoder up to what is penalised, and the decoder above it in the task of representation.
#[derive(Module, Debug)]
pub(crate) struct Network {
    encoder: Part,
    decoder: Option<Part>,
    /// What is taken away from the logistic function of the encoder's output, where there is one.
    shift: Option<f64>,
}

impl Network {
    /// The network of the settings over `inputs` features.
    pub(crate) fn new(
        settings: &Settings,
        inputs: usize,
        rng: &mut ChaCha20Rng,
        device: &Device,
    ) -> Self {
        let (hidden, outputs) = (settings.hidden, settings.task.penalised());
        let mut part = |from: usize, to: usize| match hidden {
            0 => Part {
                first: linear(from, to, 1.0, rng, device),
                last: None,
            },
            _ => Part {
                first: linear(from, hidden, 2.0, rng, device),
                last: Some(linear(hidden, to, settings.last_gain, rng, device)),
            },
        };
        let encoder = part(inputs, outputs);
        let decoder = (settings.task == Task::Representation).then(|| part(outputs, inputs));
        Self {
            encoder,
            decoder: decoder.filter(|decoder| decoder.last.is_some()),
            shift: match settings.task {
                Task::Classification | Task::Adult => Some(0.0),
                Task::Regression2d => Some(0.5),
                Task::Regression1d | Task::Representation => None,
            },
        }
    }
}

impl private_training::Network<2> for Network {
    fn forward(&self, rows: Tensor<2>) -> Forward {
        let mut penalised = self.encoder.forward(rows);
        if let Some(shift) = self.shift {
            penalised = sigmoid(penalised) - shift;
        }
        match &self.decoder {
            None => Forward::penalised(penalised),
            Some(decoder) => {
                Forward::with_activation(decoder.forward(penalised.clone()), penalised)
            }
        }
    }

    fn layers(&self) -> Result<Option<Layers<'_>>, DpError> {
        let inputs = self.encoder.first.weight.dims()[0];
        let mut chain = self.encoder.grow(Chain::features(inputs));
        if let Some(shift) = self.shift {
            chain = chain.sigmoid();
            if shift > 0.0 {
                chain = chain.affine(1.0, -shift);
            }
        }
        Layers::chain(match &self.decoder {
            None => chain,
            Some(decoder) => decoder.grow(chain.activation()),
        })
    }
}
