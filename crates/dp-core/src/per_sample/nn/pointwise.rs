//! Activations: the same function of each value.

use burn::tensor::{Tensor, activation};

use super::pull::gradient_at;
use crate::per_sample::{Layer, ParameterSlot};

type Function = Box<dyn Fn(Tensor<2>) -> Tensor<2>>;

/// `y = f(x)` for each value.
pub(super) struct Pointwise {
    name: &'static str,
    function: Function,
    /// `f'` as a function of `f`; by autodiff where there is none.
    slope_of_output: Option<fn(Tensor<2>) -> Tensor<2>>,
}

impl Pointwise {
    pub(super) fn new(
        name: &'static str,
        function: impl Fn(Tensor<2>) -> Tensor<2> + 'static,
    ) -> Self {
        Self {
            name,
            function: Box::new(function),
            slope_of_output: None,
        }
    }

    pub(super) fn relu() -> Self {
        Self {
            slope_of_output: Some(|y| y.greater_elem(0.0).float()),
            ..Self::new("Relu", activation::relu)
        }
    }

    pub(super) fn sigmoid() -> Self {
        Self {
            slope_of_output: Some(|y| y.clone() - y.square()),
            ..Self::new("Sigmoid", activation::sigmoid)
        }
    }

    pub(super) fn tanh() -> Self {
        Self {
            slope_of_output: Some(|y| y.square().neg() + 1.0),
            ..Self::new("Tanh", activation::tanh)
        }
    }
}

impl Layer for Pointwise {
    fn name(&self) -> &'static str {
        self.name
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        Vec::new()
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        (self.function)(input)
    }

    fn backward(&self, input: &Tensor<2>, output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let slope = match self.slope_of_output {
            Some(slope) => slope(output.clone()),
            None => gradient_at(input.clone(), input.ones_like(), &self.function),
        };
        delta * slope.unsqueeze_dim::<3>(1)
    }

    fn gram(&self, _input: &Tensor<2>, _delta: &Tensor<3>) -> Option<Tensor<3>> {
        None
    }

    fn gradient(&self, _input: &Tensor<2>, _delta: Tensor<2>) -> Vec<Tensor<1>> {
        Vec::new()
    }
}
