//! The interface of a layer whose per-record gradients can be bounded.

use burn::module::ParamId;
use burn::tensor::Tensor;

use super::{HostLayer, Kept, Stack};

/// The identity and the shape of one parameter of a layer.
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

    /// Whether the parameter holds no scalar.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The results of a backward pass besides the cotangents of the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Whether to compute the Gram matrices; without them the pass is an ordinary backward pass.
    pub gram: bool,
    /// Whether to compute the cotangents at the input of the stack.
    pub input: bool,
}

/// A layer's part of `G_i = J_i J_i^T`.
pub(crate) struct Gram {
    /// `[n, g, g]`.
    pub(crate) values: Tensor<3>,
    /// The parts of the sum, if [`Layer::gradient`] would compute other gradients than those measured here.
    pub(crate) kept: Option<Kept>,
}

impl From<Tensor<3>> for Gram {
    fn from(values: Tensor<3>) -> Self {
        Self { values, kept: None }
    }
}

/// The kind of a layer, by which a neighbour's host kernel may take over its work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FusionHint {
    /// A layer that no neighbour can take over.
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
/// Activations are matrices `[n, features]`: one row for each record, whatever the geometry inside. Cotangents are
/// `[n, g, features]`: `g` rows for each record, pulled back together.
///
/// # Contract
///
/// A layer treats records independently: row `i` of the output depends on row `i` of the input
/// alone. A layer that mixes records (batch normalisation) has no per-record gradient and must not
/// implement this trait.
pub(crate) trait Layer {
    /// The layer's name, for errors.
    fn name(&self) -> &'static str;

    /// The layer's parameters, in the order of [`Layer::gradient`].
    fn parameters(&self) -> Vec<ParameterSlot>;

    /// Computes the output for `input`: `[n, d_in] -> [n, d_out]`.
    fn forward(&self, input: Tensor<2>) -> Tensor<2>;

    /// Pulls cotangents at the output back to the input: `[n, g, d_out] -> [n, g, d_in]`.
    fn backward(&self, input: &Tensor<2>, output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3>;

    /// Computes this layer's part of `G_i = J_i J_i^T`; `None` without parameters.
    ///
    /// The sum must use the measured gradients: a layer whose passes need not repeat themselves keeps the rows.
    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Gram>;

    /// Sums the gradient over records for one cotangent of each record, `[n, d_out]`: one flat tensor for each of
    /// [`Layer::parameters`]. It is used if [`Layer::gram`] kept nothing or was not called.
    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>>;

    /// The kind of this layer for its neighbours.
    fn fusion_hint(&self) -> FusionHint {
        FusionHint::Other
    }

    /// The stacks inside.
    fn inner(&self) -> Vec<&Stack<'static>> {
        Vec::new()
    }

    /// The layers, this one or those inside it, without formulas, which form gradients record by record.
    fn formed_by_record(&self) -> Vec<&'static str> {
        let inner = self.inner().into_iter();
        inner.flat_map(Stack::formed_by_record).collect()
    }

    /// The host kernels of this layer over a snapshot of its weights, if it has them.
    fn host(&self) -> Option<Box<dyn HostLayer>> {
        None
    }

    /// Host kernels for this layer and the following layers that it takes over, with the number of the latter.
    ///
    /// - `next`: the hints of all layers after this one.
    fn host_fused(&self, next: &[FusionHint]) -> Option<(Box<dyn HostLayer>, usize)> {
        let _ = next;
        Some((self.host()?, 0))
    }
}
