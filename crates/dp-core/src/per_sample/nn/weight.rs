//! A parameter and its value in a layer.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use crate::per_sample::ParameterSlot;

/// The value of a parameter, with and without the module's graph, and its slot if it is trained.
///
/// The value is the effective one: a reparameterisation freezes the parameter itself.
pub(super) struct Weight<const D: usize> {
    pub(super) value: Tensor<D>,
    own: Tensor<D>,
    pub(super) slot: Option<ParameterSlot>,
}

impl<const D: usize> Weight<D> {
    pub(super) fn of(param: &Param<Tensor<D>>) -> Self {
        Self {
            value: param.val().without_autodiff(),
            own: param.val(),
            slot: slot(param),
        }
    }

    /// Reshapes the parameter.
    pub(super) fn reshaped<const E: usize>(self, shape: [usize; E]) -> Weight<E> {
        Weight {
            value: self.value.reshape(shape),
            own: self.own.reshape(shape),
            slot: self.slot,
        }
    }

    /// The value to use with an input: it has the module's graph if the input has a graph.
    pub(super) fn beside<const E: usize>(&self, input: &Tensor<E>) -> Tensor<D> {
        match input.is_autodiff() {
            true => self.own.clone(),
            false => self.value.clone(),
        }
    }

    /// Copies the value to the host, in memory order.
    pub(super) fn on_host(&self) -> Vec<f32> {
        self.value.to_data().iter::<f32>().collect()
    }

    pub(super) fn trained(&self) -> bool {
        self.slot.is_some()
    }
}

/// The slot of a parameter, if it is trained.
///
/// A tensor knows this only on a device with autodiff, so the parameter is moved there first.
pub(crate) fn slot<const D: usize>(param: &Param<Tensor<D>>) -> Option<ParameterSlot> {
    param
        .clone()
        .train()
        .is_require_grad()
        .then(|| ParameterSlot {
            id: param.id,
            shape: param.lazy_shape().as_slice().to_vec(),
        })
}

/// Copies a bias to the host, empty for `None`, and tells whether it is trained.
pub(super) fn bias_on_host(bias: Option<&Weight<1>>) -> (Vec<f32>, bool) {
    bias.map_or((Vec::new(), false), |bias| (bias.on_host(), bias.trained()))
}

/// The slots of a weight and of a bias, if they are trained.
pub(super) fn slots<const D: usize>(
    weight: &Weight<D>,
    bias: Option<&Weight<1>>,
) -> Vec<ParameterSlot> {
    let bias = bias.and_then(|bias| bias.slot.clone());
    weight.slot.iter().cloned().chain(bias).collect()
}
