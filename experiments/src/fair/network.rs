//! The networks of the tasks (Rodriguez-Vitores, Lalanne and Loubes 2025, appendices C.3 to C.5).

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use dp_core::DpError;
use dp_core::per_sample::{Layer, Stack};
use model::layers::{LeakyRelu, Linear, Sigmoid};
use private_training::{Forward, Layers};
use rand_chacha::ChaCha20Rng;

use super::settings::{Settings, Task};

/// Linear, or with one hidden layer of rectified units.
#[derive(Module, Debug)]
pub struct Network {
    first: Linear,
    hidden: Option<(LeakyRelu, Linear)>,
    squash: Option<Sigmoid>,
    decoder: Option<(Linear, LeakyRelu, Linear)>,
}

impl Network {
    /// The network of the settings over `inputs` features.
    pub fn new(settings: &Settings, inputs: usize, rng: &mut ChaCha20Rng, device: &Device) -> Self {
        let (hidden, outputs) = (settings.hidden, settings.task.penalised());
        let gain = settings.last_gain;
        let mut two = |from: usize, to: usize| {
            if hidden == 0 {
                (Linear::new(from, to, 1.0, rng, device), None)
            } else {
                let first = Linear::new(from, hidden, 2.0, rng, device);
                let last = Linear::new(hidden, to, gain, rng, device);
                (first, Some((LeakyRelu::new(hidden, 0.0), last)))
            }
        };
        let (first, middle) = two(inputs, outputs);
        let decoder = (settings.task == Task::Representation).then(|| two(outputs, inputs));
        Self {
            first,
            hidden: middle,
            squash: match settings.task {
                Task::Classification | Task::Adult => Some(Sigmoid::new(1, 0.0)),
                Task::Regression2d => Some(Sigmoid::new(2, 0.5)),
                Task::Regression1d | Task::Representation => None,
            },
            decoder: decoder.and_then(|(first, rest)| {
                let (act, last) = rest?;
                Some((first, act, last))
            }),
        }
    }

    /// What is penalised, and the head above it.
    fn encoder_and_head(&self) -> Layers<'_> {
        let mut encoder: Vec<&dyn Layer> = vec![&self.first];
        if let Some((act, last)) = &self.hidden {
            encoder.push(act);
            encoder.push(last);
        }
        if let Some(squash) = &self.squash {
            encoder.push(squash);
        }
        let encoder = Stack::new(encoder);
        match &self.decoder {
            None => Layers::of(encoder),
            Some((first, act, last)) => {
                let head: Vec<&dyn Layer> = vec![first, act, last];
                Layers::tapped(encoder, Stack::new(head))
            }
        }
    }
}

impl private_training::Network<2> for Network {
    fn forward(&self, rows: Tensor<2>) -> Forward {
        self.encoder_and_head().forward(rows)
    }

    fn layers(&self) -> Result<Option<Layers<'_>>, DpError> {
        Ok(Some(self.encoder_and_head()))
    }
}
