//! What a layer must know for its per-record gradients to be bounded.

use burn::module::ParamId;
use burn::tensor::Tensor;

use super::{HostLayer, Kept, Stack};

/// One parameter of a layer: who it is, and its shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSlot {
    /// The parameter's identity in its burn module.
    pub id: ParamId,
    /// The parameter's shape.
    pub shape: Vec<usize>,
}

impl ParameterSlot {
    /// The number of scalars in the parameter.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the parameter holds no scalar at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a backward pass is asked for, other than the cotangents of the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The Gram matrices; without them the pass is an ordinary backward pass.
    pub gram: bool,
    /// The cotangents at the input of the stack.
    pub input: bool,
}

/// A layer's part of `G_i = J_i J_i^T`.
pub(crate) struct Gram {
    /// `[n, g, g]`.
    pub(crate) values: Tensor<3>,
    /// What the sum is made of, where [`Layer::gradient`] would make it of other numbers than these are the norms of.
    pub(crate) kept: Option<Kept>,
}

impl From<Tensor<3>> for Gram {
    fn from(values: Tensor<3>) -> Self {
        Self { values, kept: None }
    }
}

/// What a layer is to its neighbours, whose host kernels may take its work over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FusionHint {
    /// Nothing that a neighbour could take over.
    Other,
    /// `y = x` for `x > 0`, else `slope x`.
    LeakyRelu {
        /// The slope on the negative side.
        slope: f32,
    },
    /// The mean over each 2x2 block of an image plane.
    AvgPool,
}

/// A layer whose per-record gradients can be bounded without being formed.
///
/// Activations are matrices `[n, features]`: one row a record, whatever the geometry inside.
/// Cotangents are `[n, g, features]`: `g` rows for each record, pulled back together.
///
/// # Contract
///
/// A layer treats records independently: row `i` of the output depends on row `i` of the input
/// alone. A layer that mixes records (batch normalisation) has no per-record gradient and must not
/// implement this trait.
pub(crate) trait Layer {
    /// The layer's name, for errors.
    fn name(&self) -> &'static str;

    /// The layer's parameters, in the order in which [`Layer::gradient`] answers.
    fn parameters(&self) -> Vec<ParameterSlot>;

    /// The output for `input`: `[n, d_in] -> [n, d_out]`.
    fn forward(&self, input: Tensor<2>) -> Tensor<2>;

    /// The cotangents at the input for those at the output: `[n, g, d_out] -> [n, g, d_in]`.
    fn backward(&self, input: &Tensor<2>, output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3>;

    /// This layer's part of `G_i = J_i J_i^T`; `None` without parameters.
    ///
    /// What is summed must be what was measured: a layer whose passes need not repeat themselves keeps the rows.
    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Gram>;

    /// The gradient summed over records for one cotangent a record, `[n, d_out]`: one flat tensor
    /// for each of [`Layer::parameters`]. The sum where [`Layer::gram`] kept nothing, or was not asked.
    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>>;

    /// What this layer is to its neighbours.
    fn fusion_hint(&self) -> FusionHint {
        FusionHint::Other
    }

    /// The stacks inside.
    fn inner(&self) -> Vec<&Stack<'static>> {
        Vec::new()
    }

    /// The layers, this one or those inside it, that have no formulas and form gradients record by record.
    fn formed_by_record(&self) -> Vec<&'static str> {
        let inner = self.inner().into_iter();
        inner.flat_map(Stack::formed_by_record).collect()
    }

    /// The same layer as host kernels over a snapshot of its weights, where it has them.
    fn host(&self) -> Option<Box<dyn HostLayer>> {
        None
    }

    /// Host kernels for this layer and the layers that follow it, as many as it takes over: with
    /// their number.
    ///
    /// - `next`: the hints of all layers behind this one.
    fn host_fused(&self, next: &[FusionHint]) -> Option<(Box<dyn HostLayer>, usize)> {
        let _ = next;
        Some((self.host()?, 0))
    }
}
