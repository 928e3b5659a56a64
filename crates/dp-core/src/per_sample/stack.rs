//! A sequence of layers, on any backend.

use std::marker::PhantomData;

use burn::tensor::Tensor;

use super::{FusionHint, HostLayer, HostStack, Layer, Needs, ParameterSlot, Rows};
use crate::per_sample::LayerError;

/// Layers that are applied one after the other.
pub struct Stack<'a> {
    /// They borrow nothing, so that dropping a stack does not count as a use of the model, whose last use is the last call.
    layers: Vec<Box<dyn Layer>>,
    model: PhantomData<&'a ()>,
}

/// The activations of a forward pass: the input, then the output of each layer.
pub struct Activations {
    values: Vec<Tensor<2>>,
}

impl Activations {
    /// The output of the last layer, `[n, d_out]`.
    pub fn output(&self) -> Tensor<2> {
        self.values[self.values.len() - 1].clone()
    }

    /// The number of scalars kept for one record.
    pub fn scalars(&self) -> usize {
        self.values.iter().map(|value| value.dims()[1]).sum()
    }
}

/// The results of a backward pass with `g` rows for each record.
pub struct PullBack {
    /// `G_i = J_i J_i^T` over all parameters of the stack, `[n, g, g]`.
    pub gram: Tensor<3>,
    /// The cotangents at the stack's input, `[n, g, d_in]`, if the pass was asked for them.
    pub input: Option<Tensor<3>>,
    /// The parts of the weighted sum, for each layer with parameters.
    parts: Vec<Option<Kept>>,
}

/// The parts of a layer's Gram matrix, kept for the weighted sum.
#[allow(clippy::large_enum_variant)] // Nearly all are the large one.
pub(crate) enum Kept {
    /// The cotangents at the layer's output: its Gram matrix and its sum are functions of them and of the input alone.
    Cotangents(Tensor<3>),
    /// The rows of each record's Jacobian: another pass may draw other random numbers.
    Rows(Vec<Rows>),
    /// The passes of the stacks inside the layer.
    Inner(Vec<(Activations, PullBack)>),
}

impl Kept {
    /// The number of scalars kept for one of `n` records, without the cotangents of a stack's own layers.
    fn beside_cotangents(&self, n: usize) -> usize {
        match self {
            Self::Cotangents(_) => 0,
            Self::Rows(rows) => rows.iter().map(Rows::scalars).sum::<usize>() / n.max(1),
            Self::Inner(passes) => {
                let of =
                    |(seen, pulled): &(Activations, PullBack)| seen.scalars() + pulled.scalars();
                passes.iter().map(of).sum()
            }
        }
    }
}

impl PullBack {
    /// The number of scalars kept for one record, without the cotangents of the stack's own layers: those of layers
    /// inside them and those of formed rows.
    pub fn beside_cotangents(&self) -> usize {
        let n = self.gram.dims()[0];
        let parts = self.parts.iter().flatten();
        parts.map(|kept| kept.beside_cotangents(n)).sum()
    }

    /// The number of scalars kept for one record, with all cotangents.
    fn scalars(&self) -> usize {
        let own = self.parts.iter().flatten().map(|kept| match kept {
            Kept::Cotangents(delta) => delta.dims()[1..].iter().product(),
            Kept::Rows(_) | Kept::Inner(_) => 0,
        });
        own.sum::<usize>() + self.beside_cotangents()
    }
}

impl Stack<'_> {
    /// Makes a stack of `layers`, first to last.
    pub(super) fn new(layers: Vec<Box<dyn Layer>>) -> Self {
        let model = PhantomData;
        Self { layers, model }
    }

    /// All parameters, layer by layer.
    pub fn parameters(&self) -> Vec<ParameterSlot> {
        self.layers.iter().flat_map(|l| l.parameters()).collect()
    }

    /// The layers whose gradients are formed record by record, by autodiff: these make a step slow.
    pub fn formed_by_record(&self) -> Vec<&'static str> {
        let layers = self.layers.iter();
        layers.flat_map(|layer| layer.formed_by_record()).collect()
    }

    /// Runs the layers on `input`, `[n, d_in]`, and keeps every activation.
    ///
    /// No autodiff is needed: the activations drop the graph of an input that has one.
    pub fn forward(&self, input: Tensor<2>) -> Activations {
        let mut values = vec![input.without_autodiff()];
        for layer in &self.layers {
            let output = layer.forward(values[values.len() - 1].clone());
            values.push(output);
        }
        Activations { values }
    }

    /// Runs the layers and returns the output alone, `[n, d_out]`, with the graph of the module if the input has one.
    pub fn output(&self, input: Tensor<2>) -> Tensor<2> {
        self.layers.iter().fold(input, |x, layer| layer.forward(x))
    }

    /// Pulls `delta`, `[n, g, d_out]`, back through the stack and collects the Gram matrices.
    pub fn pull_back(&self, activations: &Activations, delta: Tensor<3>, needs: Needs) -> PullBack {
        let [n, g, _] = delta.dims();
        let mut gram = Tensor::<3>::zeros([n, g, g], &delta.device().without_autodiff());
        let mut parts: Vec<Option<Kept>> = self.layers.iter().map(|_| None).collect();
        let mut delta = Some(delta.without_autodiff());
        // Below the first layer with parameters no cotangent is needed unless the caller wants the one at the input.
        let first = self
            .layers
            .iter()
            .position(|l| !l.parameters().is_empty())
            .unwrap_or(self.layers.len());
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let Some(current) = delta.take() else { break };
            let input = &activations.values[index];
            if !layer.parameters().is_empty() {
                let mut kept = None;
                if needs.gram
                    && let Some(part) = layer.gram(input, &current)
                {
                    gram = gram + part.values;
                    kept = part.kept;
                }
                parts[index] = Some(kept.unwrap_or_else(|| Kept::Cotangents(current.clone())));
            }
            if needs.input || index > first {
                let output = &activations.values[index + 1];
                delta = Some(layer.backward(input, output, current));
            }
        }
        PullBack {
            gram,
            input: delta.filter(|_| needs.input),
            parts,
        }
    }

    /// Sums `sum_i J_i^T w_i` for weights `[n, g]`: one flat tensor for each of [`Stack::parameters`].
    pub fn gradient(
        &self,
        activations: &Activations,
        pulled: &PullBack,
        weights: Tensor<2>,
    ) -> Vec<Tensor<1>> {
        // A record of weight zero must contribute exact zeros even if its activations or
        // cotangents are not finite: 0 * NaN would spread to every record's sum.
        let weights = weights.without_autodiff();
        let none = weights.clone().equal_elem(0.0);
        let dead = weights.clone().abs().sum_dim(1).equal_elem(0.0);
        let mut parts = Vec::new();
        for (index, layer) in self.layers.iter().enumerate() {
            match &pulled.parts[index] {
                None => {}
                Some(Kept::Cotangents(delta)) => {
                    let [n, g, features] = delta.dims();
                    let none = none.clone().unsqueeze_dim::<3>(2).expand([n, g, features]);
                    // By a product: some GPUs (SwiftShader) sum otherwise if a mask is fused with the sum.
                    let shares = weights.clone().unsqueeze_dim::<3>(1);
                    let combined = shares
                        .matmul(delta.clone().mask_fill(none, 0.0))
                        .reshape([n, features]);
                    let input = activations.values[index].clone();
                    let shape = input.dims();
                    let input = input.mask_fill(dead.clone().expand(shape), 0.0);
                    parts.extend(layer.gradient(&input, combined));
                }
                Some(Kept::Rows(rows)) => {
                    parts.extend(Rows::weighted(rows, &weights, &layer.parameters()));
                }
                Some(Kept::Inner(passes)) => {
                    for (stack, (seen, pulled)) in layer.inner().into_iter().zip(passes) {
                        parts.extend(stack.gradient(seen, pulled, weights.clone()));
                    }
                }
            }
        }
        parts
    }

    /// Builds the host kernels of this stack over a snapshot of the weights.
    ///
    /// # Errors
    ///
    /// [`LayerError::NoHostKernels`] names the first layer that has none. A stack without layers is refused too,
    /// because its number of features is unknown.
    pub fn host(&self) -> Result<HostStack, LayerError> {
        if self.layers.is_empty() {
            return Err(LayerError::NoHostKernels {
                layer: "none at all".into(),
            });
        }
        let hints: Vec<FusionHint> = self
            .layers
            .iter()
            .map(|layer| layer.fusion_hint())
            .collect();
        let mut layers: Vec<Box<dyn HostLayer>> = Vec::new();
        let mut index = 0;
        while index < self.layers.len() {
            let layer = &self.layers[index];
            let (host, taken) =
                layer
                    .host_fused(&hints[index + 1..])
                    .ok_or_else(|| LayerError::NoHostKernels {
                        layer: layer.name().to_string(),
                    })?;
            layers.push(host);
            index += 1 + taken;
        }
        Ok(HostStack::new(layers))
    }
}
