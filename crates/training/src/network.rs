//! What is trained: any burn module that says what it computes of one record.

use burn::module::Module;
use burn::tensor::Tensor;
use dp_core::DpError;
use dp_core::per_sample::nn::Chain;
use dp_core::per_sample::{Activations, Needs, ParameterSlot, Stack};

use crate::Objective;

/// What a network computes of records, `[n, ...]`.
#[derive(Clone)]
pub struct Forward {
    /// What the losses look at, `[n, outputs]`.
    pub output: Tensor<2>,
    /// What penalties look at, `[n, d]` each; a penalty names its own by number.
    pub activations: Vec<Tensor<2>>,
}

impl std::fmt::Debug for Forward {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Forward");
        shown.field("activations", &self.activations.len());
        shown.finish_non_exhaustive()
    }
}

impl Forward {
    /// An output alone: no penalty.
    pub fn from_output(output: Tensor<2>) -> Self {
        Self {
            output,
            activations: Vec::new(),
        }
    }

    /// An output that is penalised itself.
    pub fn penalised(output: Tensor<2>) -> Self {
        Self {
            activations: vec![output.clone()],
            output,
        }
    }

    /// An output, and the activations that are penalised.
    pub fn with_activation(output: Tensor<2>, activation: Tensor<2>) -> Self {
        Self {
            output,
            activations: vec![activation],
        }
    }
}

/// A burn module that can be trained privately.
///
/// # Contract
///
/// What a record gives depends on that record alone. The engine of last resort sees to it, by one record
/// at a time; [`Network::layers`] only knows layers that keep to it.
pub trait Network<const D: usize>: Module {
    /// What the network computes of records `[n, ...]`: row `i` of every answer from record `i`.
    fn forward(&self, inputs: Tensor<D>) -> Forward;

    /// The same as layers that know their per-record gradients: many times faster. Without it every
    /// record goes through autodiff alone, once for each loss and each penalised activation.
    ///
    /// # Errors
    ///
    /// Layers that do not fit each other.
    fn layers(&self) -> Result<Option<Layers<'_>>, DpError> {
        Ok(None)
    }
}

/// A network as layers: `head(encoder(x))`, with the encoder's output, `[n, d]`, for penalties.
pub struct Layers<'a> {
    pub(crate) encoder: Stack<'a>,
    pub(crate) head: Option<Stack<'a>>,
    pub(crate) conditioning: usize,
}

impl<'a> Layers<'a> {
    /// The layers of a chain, cut at its activation: ready to be [`Network::layers`]' answer. Without one the last
    /// output is what losses and penalties look at.
    ///
    /// # Errors
    ///
    /// Layers that do not fit each other.
    pub fn chain(chain: Chain<'a>) -> Result<Option<Self>, DpError> {
        let (encoder, head) = chain.split()?;
        Ok(Some(Self {
            encoder,
            head,
            conditioning: 0,
        }))
    }

    /// Layers whose last output is what losses and penalties look at.
    pub fn from_stack(layers: Stack<'a>) -> Self {
        Self {
            encoder: layers,
            head: None,
            conditioning: 0,
        }
    }

    /// Layers up to the penalised activation, and those from there to the output.
    pub fn with_activation(encoder: Stack<'a>, head: Stack<'a>) -> Self {
        Self {
            encoder,
            head: Some(head),
            conditioning: 0,
        }
    }

    /// The last `features` of each record pass by the encoder: the head sees them behind the activation,
    /// as a class label in a conditional decoder.
    pub fn conditioning(mut self, features: usize) -> Self {
        self.conditioning = features;
        self
    }

    /// All parameters, the encoder's first.
    pub fn parameters(&self) -> Vec<ParameterSlot> {
        let mut slots = self.encoder.parameters();
        if let Some(head) = &self.head {
            slots.extend(head.parameters());
        }
        slots
    }

    /// Bytes that host kernels keep of one record in a step.
    ///
    /// # Errors
    ///
    /// The first layer that has none.
    pub(crate) fn host_bytes(&self, objective: &Objective) -> Result<usize, DpError> {
        let encoder = self.encoder.host()?;
        let losses = objective.losses().len();
        let penalised = match objective.penalties() {
            [] => 0,
            _ => encoder.outputs(),
        };
        let mut kept = encoder.kept(losses.max(penalised));
        if let Some(head) = &self.head {
            kept += head.host()?.kept(losses);
        }
        Ok(size_of::<f32>() * kept)
    }

    /// About how many bytes the activations and cotangents of one record take in a step.
    pub(crate) fn bytes(&self, objective: &Objective, rows: Tensor<2>) -> usize {
        let features = rows.dims()[1];
        let own = features - self.conditioning;
        let row = rows.narrow(0, 0, 1).without_autodiff();
        let encoded = self.encoder.forward(row.clone().narrow(1, 0, own));
        let d = encoded.output().dims()[1];
        let losses = objective.losses().len();
        let penalised = if objective.penalties().is_empty() {
            0
        } else {
            d
        };
        let rows = losses.max(penalised);
        let mut scalars = encoded.scalars();
        let mut beside = kept_beside(&self.encoder, &encoded, rows);
        if let Some(head) = &self.head {
            let mut head_input = encoded.output();
            if self.conditioning > 0 {
                head_input =
                    Tensor::cat(vec![head_input, row.narrow(1, own, self.conditioning)], 1);
            }
            let seen = head.forward(head_input);
            scalars += seen.scalars();
            beside += kept_beside(head, &seen, losses);
        }
        // Each activation once; of each of its cotangents one that is kept, one that is made of it, and
        // what the layer between them needs.
        size_of::<f32>() * (scalars * (1 + 3 * rows) + beside)
    }

    /// Whether gradients of some layers are formed record by record.
    pub(crate) fn formed(&self) -> bool {
        let head = self.head.iter();
        let mut stacks = std::iter::once(&self.encoder).chain(head);
        stacks.any(|stack| !stack.formed_by_record().is_empty())
    }

    /// What the layers compute of rows `[n, features]`.
    pub fn forward(&self, rows: Tensor<2>) -> Forward {
        let [n, features] = rows.dims();
        let own = features - self.conditioning;
        let activation = self.encoder.output(rows.clone().slice([0..n, 0..own]));
        let Some(head) = &self.head else {
            return Forward::penalised(activation);
        };
        let mut head_input = activation.clone();
        if self.conditioning > 0 {
            head_input = Tensor::cat(vec![head_input, rows.slice([0..n, own..features])], 1);
        }
        Forward::with_activation(head.output(head_input), activation)
    }
}

/// Numbers that a pull-back of `g` rows keeps of the one record in `seen`, beside cotangents of its own layers.
fn kept_beside(stack: &Stack, seen: &Activations, g: usize) -> usize {
    let output = seen.output();
    let delta = Tensor::ones([1, g, output.dims()[1]], &output.device());
    let needs = Needs {
        gram: true,
        input: false,
    };
    stack.pull_back(seen, delta, needs).beside_cotangents()
}
