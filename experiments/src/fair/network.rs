//! The networks of the tasks (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, appendices C.3 to C.5).

use burn::module::Module;
use burn::tensor::Device;
use dp_core::per_sample::nn::Chain;
use model::layers::Mlp;
use private_training::Layers;
use rand_chacha::ChaCha20Rng;

use super::settings::{Settings, Task};

/// An encoder up to what is penalised, and the decoder above it in the task of representation.
#[derive(Module, Debug)]
pub(crate) struct FairNetwork {
    encoder: Mlp,
    decoder: Option<Mlp>,
    /// What is taken away from the logistic function of the encoder's output, if there is one.
    shift: Option<f64>,
}

impl FairNetwork {
    /// The network of the settings over `inputs` features.
    pub(crate) fn new(
        settings: &Settings,
        inputs: usize,
        rng: &mut ChaCha20Rng,
        device: &Device,
    ) -> Self {
        let outputs = settings.task.penalised();
        let mut part = |from: usize, to: usize| match settings.hidden {
            0 => Mlp::new(&[from, to], 1.0, rng, device),
            hidden => Mlp::new(&[from, hidden, to], settings.last_gain, rng, device),
        };
        Self {
            encoder: part(inputs, outputs),
            decoder: (settings.task == Task::Representation).then(|| part(outputs, inputs)),
            shift: match settings.task {
                Task::Classification | Task::Adult => Some(0.0),
                Task::Regression2d => Some(0.5),
                Task::Regression1d | Task::Representation => None,
            },
        }
    }
}

impl private_training::Network<2> for FairNetwork {
    fn layers(&self) -> Layers<'_, 2> {
        let mut chain = self.encoder.behind(Chain::features(self.encoder.inputs()));
        if let Some(shift) = self.shift {
            chain = chain.sigmoid();
            if shift > 0.0 {
                chain = chain.affine(1.0, -shift);
            }
        }
        Layers::chain(match &self.decoder {
            None => chain,
            Some(decoder) => decoder.behind(chain.mark_latent()),
        })
    }
}
