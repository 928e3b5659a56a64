//! The networks that can be trained: any burn module that describes its computation on a record.

use std::collections::BTreeSet;

use burn::module::Module;
use burn::tensor::Tensor;
use dp_core::per_sample::nn::Chain;
use dp_core::per_sample::{Activations, LayerError, Needs, ParameterSlot, Stack, parameters_of};

use crate::{Objective, TrainingError};

/// The result of a network for records, `[n, ...]`.
#[derive(Clone)]
pub struct Forward {
    /// The output that the losses see, `[n, outputs]`.
    pub output: Tensor<2>,
    /// The activations that penalties see, `[n, d]` each; a penalty selects one by its index.
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
    /// Creates the result of a network without penalised activations.
    pub fn from_output(output: Tensor<2>) -> Self {
        Self {
            output,
            activations: Vec::new(),
        }
    }

    /// Creates the result of a network whose output is also its penalised activation.
    pub fn penalised(output: Tensor<2>) -> Self {
        Self {
            activations: vec![output.clone()],
            output,
        }
    }

    /// Creates the result of a network from its output and its penalised activation.
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
/// The result for a record depends on that record alone. The layers of a [`Chain`] all keep to this; for [`Layers::any`] the
/// engine ensures it, by running one record at a time.
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
///     fn layers(&self) -> Layers<'_, 2> {
///         Layers::chain(Chain::features(4).linear(&self.linear))
///     }
/// }
/// ```
pub trait Network<const D: usize>: Module {
    /// Returns the network's layers, for records `[n, ...]`. A training refuses layers that do not fit each other before its first
    /// step.
    fn layers(&self) -> Layers<'_, D>;

    /// Computes the result for records `[n, ...]`: row `i` of every tensor comes from record `i`.
    ///
    /// # Errors
    ///
    /// Layers that do not fit each other.
    fn forward(&self, inputs: Tensor<D>) -> Result<Forward, LayerError> {
        Ok(match self.layers().0? {
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

/// The computation of a network on records `[n, ...]`, a tensor of `D` dimensions.
pub struct Layers<'a, const D: usize>(Result<Said<'a, D>, LayerError>);

enum Said<'a, const D: usize> {
    Known(KnownLayers<'a>),
    Any(Box<dyn Fn(Tensor<D>) -> Forward + 'a>),
}

impl<'a, const D: usize> Layers<'a, D> {
    /// Uses layers that know their per-record gradients. The layers up to [`Chain::mark_latent`] give the activation that
    /// penalties see; without a mark it is the output.
    pub fn chain(chain: Chain<'a>) -> Self {
        Self(chain.split().map(|(encoder, head)| {
            Said::Known(KnownLayers {
                encoder,
                head,
                conditioning: 0,
            })
        }))
    }

    /// Uses a chain up to the penalised activation, and one from there to the output. The last `conditioning` features of each
    /// record bypass the encoder: they are appended to the activation for the head, as a class label in a conditional decoder.
    pub fn with_activation(encoder: Chain<'a>, head: Chain<'a>, conditioning: usize) -> Self {
        let both = encoder
            .build()
            .and_then(|encoder| Ok((encoder, head.build()?)));
        Self(both.map(|(encoder, head)| {
            Said::Known(KnownLayers {
                encoder,
                head: Some(head),
                conditioning,
            })
        }))
    }

    /// Uses any burn computation. Each record goes through autodiff alone, once for each loss and each value of a penalised
    /// activation, so this is many times slower than a chain.
    ///
    /// ```
    /// use burn::{module::Module, nn::Linear};
    /// use private_training::prelude::*;
    ///
    /// #[derive(Module, Debug)]
    /// struct Tied {
    ///     square: Linear,
    /// }
    ///
    /// impl Network<2> for Tied {
    ///     fn layers(&self) -> Layers<'_, 2> {
    ///         Layers::any(|rows| {
    ///             let twice = self.square.forward(self.square.forward(rows));
    ///             Forward::from_output(twice)
    ///         })
    ///     }
    /// }
    /// ```
    pub fn any(forward: impl Fn(Tensor<D>) -> Forward + 'a) -> Self {
        Self(Ok(Said::Any(Box::new(forward))))
    }

    /// Returns the layers that know their per-record gradients, or `None` for [`Layers::any`].
    pub(crate) fn known(self) -> Result<Option<KnownLayers<'a>>, LayerError> {
        Ok(match self.0? {
            Said::Known(known) => Some(known),
            Said::Any(_) => None,
        })
    }
}

/// Layers that know their per-record gradients: `head(encoder(x))`; penalties see the encoder's output, `[n, d]`.
pub(crate) struct KnownLayers<'a> {
    /// The layers up to the penalised activation.
    pub(crate) encoder: Stack<'a>,
    /// The layers from there to the output, or `None` if the activation is the output.
    pub(crate) head: Option<Stack<'a>>,
    /// The number of features that bypass the encoder.
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

    /// Refuses layers that lack a parameter of `network`, which would silently stay untrained.
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

    /// The bytes that host kernels keep for one record in a step.
    ///
    /// # Errors
    ///
    /// The first layer that has no host kernels.
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

    /// An estimate of the bytes that the activations and cotangents of one record take in a step.
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
        // Each activation counts once. Each of its cotangents counts as the one that is kept, the one that is computed from it,
        // and the values that the layer between them needs.
        size_of::<f32>() * (scalars * (1 + 3 * rows) + beside)
    }

    /// Whether the gradients of some layers are formed record by record.
    pub(crate) fn formed(&self) -> bool {
        let head = self.head.iter();
        let mut stacks = std::iter::once(&self.encoder).chain(head);
        stacks.any(|stack| !stack.formed_by_record().is_empty())
    }

    /// The input of the head for these rows and their activation.
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

    /// The result of the layers for rows `[n, features]`.
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

/// The number of values that a pull-back of `g` rows keeps for the one record in `seen`, besides its layers' own cotangents.
fn kept_beside(stack: &Stack, seen: &Activations, g: usize) -> usize {
    let output = seen.output();
    let delta = Tensor::ones([1, g, output.dims()[1]], &output.device());
    let needs = Needs {
        gram: true,
        input: false,
    };
    stack.pull_back(seen, delta, needs).beside_cotangents()
}
