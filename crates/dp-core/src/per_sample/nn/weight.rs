//! A parameter as a layer sees it.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use crate::per_sample::ParameterSlot;

/// The value of a parameter, without a graph and as the module has it, and its slot if it is trained.
///
/// The value is the effective one: behind a reparameterisation the parameter itself is frozen.
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

    /// The same parameter seen in another shape of as many scalars.
    pub(super) fn reshaped<const E: usize>(self, shape: [usize; E]) -> Weight<E> {
        Weight {
            value: self.value.reshape(shape),
            own: self.own.reshape(shape),
            slot: self.slot,
        }
    }

    /// The value beside an input: with the module's graph if that has one.
    pub(super) fn beside<const E: usize>(&self, input: &Tensor<E>) -> Tensor<D> {
        match input.is_autodiff() {
            true => self.own.clone(),
            false => self.value.clone(),
        }
    }

    /// The value on the host, in the order of memory.
    pub(super) fn on_host(&self) -> Vec<f32> {
        self.value.to_data().iter::<f32>().collect()
    }

    pub(super) fn trained(&self) -> bool {
        self.slot.is_some()
    }
}

/// The slot of a parameter that is trained.
///
/// Only on a device with autodiff does a tensor know whether it is, so it is asked there.
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

/// A bias on the host, empty where there is none, and whether it is trained.
pub(super) fn bias_on_host(bias: Option<&Weight<1>>) -> (Vec<f32>, bool) {
    bias.map_or((Vec::new(), false), |bias| (bias.on_host(), bias.trained()))
}

/// The slots of a weight and of a bias, those that are trained.
pub(super) fn slots<const D: usize>(
    weight: &Weight<D>,
    bias: Option<&Weight<1>>,
) -> Vec<ParameterSlot> {
    let bias = bias.and_then(|bias| bias.slot.clone());
    weight.slot.iter().cloned().chain(bias).collect()
}
