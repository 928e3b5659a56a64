//! What is trained: any burn module that says what it computes of one record.

use std::collections::BTreeSet;

use burn::module::Module;
use burn::tensor::Tensor;
use dp_core::per_sample::nn::Chain;
use dp_core::per_sample::{Activations, LayerError, Needs, ParameterSlot, Stack, parameters_of};

use crate::{Objective, TrainingError};

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

/// A burn module that can be trained privately: it says once what it computes.
///
/// # Contract
///
/// What a record gives depends on that record alone. A [`Chain`] only has layers that keep to it; for [`Layers::any`] the engine sees
/// to it, by one record at a time.
///
/// # Example
///
/// ```
/// use burn::{module::Module, nn::Linear};
/// use private_training::prelude::*;
///
/// #[derive(Module, Debug)]
/// struct Classifier {
///     linear: Linear,
/// }
///
/// impl Network<2> for Classifier {
///     fn layers(&self) -> Result<Layers<'_, 2>, LayerError> {
///         Layers::chain(Chain::features(4).linear(&self.linear))
///     }
/// }
/// ```
pub trait Network<const D: usize>: Module {
    /// The network's layers, of records `[n, ...]`.
    ///
    /// # Errors
    ///
    /// Layers that do not fit each other.
    fn layers(&self) -> Result<Layers<'_, D>, LayerError>;

    /// What the layers compute of records `[n, ...]`: row `i` of every answer from record `i`.
    ///
    /// # Errors
    ///
    /// As [`Network::layers`].
    fn forward(&self, inputs: Tensor<D>) -> Result<Forward, LayerError> {
        Ok(match self.layers()?.0 {
            Said::Known(known) => known.forward(rows_of(inputs)),
            Said::Any(forward) => forward(inputs),
        })
    }
}

/// Records `[n, ...]` as rows `[n, features]`.
pub(crate) fn rows_of<const D: usize>(records: Tensor<D>) -> Tensor<2> {
    let dims = records.dims();
    records.reshape([dims[0], dims[1..].iter().product()])
}

/// What a network computes of records `[n, ...]`, a tensor of `D` dimensions.
pub struct Layers<'a, const D: usize>(Said<'a, D>);

enum Said<'a, const D: usize> {
    Known(KnownLayers<'a>),
    Any(Box<dyn Fn(Tensor<D>) -> Forward + 'a>),
}

impl<'a, const D: usize> Layers<'a, D> {
    /// Layers that know their per-record gradients. Those up to [`Chain::mark_latent`] make the activation that penalties look at;
    /// without a mark that is the output.
    ///
    /// # Errors
    ///
    /// Layers that do not fit each other.
    pub fn chain(chain: Chain<'a>) -> Result<Self, LayerError> {
        let (encoder, head) = chain.split()?;
        Ok(Self(Said::Known(KnownLayers {
            encoder,
            head,
            conditioning: 0,
        })))
    }

    /// Layers up to the penalised activation, and those from there to the output. The last `conditioning` features of each record
    /// pass by the encoder: the head sees them behind the activation, as a class label in a conditional decoder.
    pub fn with_activation(encoder: Stack<'a>, head: Stack<'a>, conditioning: usize) -> Self {
        Self(Said::Known(KnownLayers {
            encoder,
            head: Some(head),
            conditioning,
        }))
    }

    /// Anything that burn can compute: each record goes through autodiff alone, once for each loss and each number of a penalised
    /// activation, many times slower than a chain.
    pub fn any(forward: impl Fn(Tensor<D>) -> Forward + 'a) -> Self {
        Self(Said::Any(Box::new(forward)))
    }

    /// Layers that know their per-record gradients; none of [`Layers::any`].
    pub(crate) fn known(self) -> Option<KnownLayers<'a>> {
        match self.0 {
            Said::Known(known) => Some(known),
            Said::Any(_) => None,
        }
    }
}

/// Layers that know their per-record gradients: `head(encoder(x))`, with the encoder's output, `[n, d]`, for penalties.
pub(crate) struct KnownLayers<'a> {
    /// Up to the penalised activation.
    pub(crate) encoder: Stack<'a>,
    /// From there to the output; none if that is the activation itself.
    pub(crate) head: Option<Stack<'a>>,
    /// Features that pass by the encoder.
    pub(crate) conditioning: usize,
}

impl KnownLayers<'_> {
    /// All parameters, the encoder's first.
    pub(crate) fn parameters(&self) -> Vec<ParameterSlot> {
        let mut slots = self.encoder.parameters();
        if let Some(head) = &self.head {
            slots.extend(head.parameters());
        }
        slots
    }

    /// Refuses layers without a parameter of `network`, which would stay as it is, and nobody would know.
    pub(crate) fn check_all_of(&self, network: &impl Module) -> Result<(), TrainingError> {
        let own: BTreeSet<u64> = self.parameters().iter().map(|slot| slot.id.val()).collect();
        let all = parameters_of(network);
        let found = all.iter().filter(|slot| own.contains(&slot.id.val()));
        crate::error::same(
            "parameters of the network in its layers",
            all.len(),
            found.count(),
        )
    }

    /// Bytes that host kernels keep of one record in a step.
    ///
    /// # Errors
    ///
    /// The first layer that has none.
    pub(crate) fn host_bytes(&self, objective: &Objective) -> Result<usize, LayerError> {
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
            let seen = head.forward(self.head_input(encoded.output(), &row));
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

    /// What the head sees of rows with an activation.
    fn head_input(&self, activation: Tensor<2>, rows: &Tensor<2>) -> Tensor<2> {
        match self.conditioning {
            0 => activation,
            conditioning => {
                let own = rows.dims()[1] - conditioning;
                let passing = rows.clone().narrow(1, own, conditioning);
                Tensor::cat(vec![activation, passing], 1)
            }
        }
    }

    /// What the layers compute of rows `[n, features]`.
    fn forward(&self, rows: Tensor<2>) -> Forward {
        let own = rows.dims()[1] - self.conditioning;
        let activation = self.encoder.output(rows.clone().narrow(1, 0, own));
        let Some(head) = &self.head else {
            return Forward::penalised(activation);
        };
        let output = head.output(self.head_input(activation.clone(), &rows));
        Forward::with_activation(output, activation)
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
