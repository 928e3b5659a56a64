//! Activations: the same function of each value.

use std::f64::consts::{FRAC_2_SQRT_PI, SQRT_2};

use burn::tensor::{Tensor, activation};

use super::pull::gradient_at;
use crate::per_sample::{Layer, ParameterSlot};

type Function = Box<dyn Fn(Tensor<2>) -> Tensor<2>>;

/// `y = f(x)` for each value.
pub(super) struct Pointwise {
    name: &'static str,
    function: Function,
    /// `f'(x)` from `x` and `f(x)`; by autodiff where there is none.
    slope: Option<fn(&Tensor<2>, &Tensor<2>) -> Tensor<2>>,
}

impl Pointwise {
    pub(super) fn new(
        name: &'static str,
        function: impl Fn(Tensor<2>) -> Tensor<2> + 'static,
    ) -> Self {
        Self {
            name,
            function: Box::new(function),
            slope: None,
        }
    }

    pub(super) fn relu() -> Self {
        Self {
            slope: Some(|_, y| y.clone().greater_elem(0.0).float()),
            ..Self::new("Relu", activation::relu)
        }
    }

    pub(super) fn gelu() -> Self {
        Self {
            // burn's own is that of the approximation by tanh on most backends.
            slope: Some(|x, _| {
                let below = x.clone().div_scalar(SQRT_2).erf().add_scalar(1.0) * 0.5;
                let density =
                    x.clone().square().mul_scalar(-0.5).exp() * (0.5 * FRAC_2_SQRT_PI / SQRT_2);
                below + x.clone() * density
            }),
            ..Self::new("Gelu", activation::gelu)
        }
    }

    pub(super) fn sigmoid() -> Self {
        Self {
            slope: Some(|_, y| y.clone() - y.clone().square()),
            ..Self::new("Sigmoid", activation::sigmoid)
        }
    }

    pub(super) fn tanh() -> Self {
        Self {
            slope: Some(|_, y| y.clone().square().neg() + 1.0),
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
        let slope = match self.slope {
            Some(slope) => slope(input, output),
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
