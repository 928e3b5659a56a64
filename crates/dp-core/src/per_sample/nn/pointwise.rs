//! Activations, which apply one function to each value.

use std::f64::consts::{FRAC_2_SQRT_PI, SQRT_2};
use std::sync::Arc;

use burn::tensor::{Tensor, activation};

use super::pull::gradient_at;
use crate::per_sample::host::layers::{Function, HostLeakyRelu, HostPointwise, Slope};
use crate::per_sample::{FusionHint, Gram, HostLayer, Layer, ParameterSlot};

type SlopeOnTensors = Box<dyn Fn(&Tensor<2>, &Tensor<2>) -> Tensor<2>>;
type OnTensors = Box<dyn Fn(Tensor<2>) -> Tensor<2>>;

/// The host form of an activation.
#[derive(Clone)]
enum OnHost {
    LeakyRelu { slope: f32 },
    Pointwise(Function, Slope),
}

impl OnHost {
    fn pointwise(
        function: impl Fn(f32) -> f32 + Send + Sync + 'static,
        slope: impl Fn(f32, f32) -> f32 + Send + Sync + 'static,
    ) -> Option<Self> {
        Some(Self::Pointwise(Arc::new(function), Arc::new(slope)))
    }
}

/// The density of a standard Gaussian at zero.
const DENSITY: f32 = (0.5 * FRAC_2_SQRT_PI / SQRT_2) as f32;

/// The probability that a standard Gaussian is at most `x`.
fn below_normal(x: f32) -> f32 {
    0.5 * (1.0 + libm::erff(x / SQRT_2 as f32))
}

/// `y = f(x)` for each value.
pub(super) struct Pointwise {
    name: &'static str,
    function: OnTensors,
    /// The number of values of one record.
    features: usize,
    on_host: Option<OnHost>,
    /// `f'(x)` from `x` and `f(x)`; `None` uses autodiff.
    slope: Option<SlopeOnTensors>,
}

impl Pointwise {
    pub(super) fn new(
        name: &'static str,
        function: impl Fn(Tensor<2>) -> Tensor<2> + 'static,
    ) -> Self {
        Self {
            name,
            function: Box::new(function),
            features: 0,
            on_host: None,
            slope: None,
        }
    }

    /// Sets the number of values of a record.
    pub(super) fn over(self, features: usize) -> Self {
        Self { features, ..self }
    }

    pub(super) fn relu() -> Self {
        Self {
            on_host: Some(OnHost::LeakyRelu { slope: 0.0 }),
            slope: Some(Box::new(|_, y| y.clone().greater_elem(0.0).float())),
            ..Self::new("Relu", activation::relu)
        }
    }

    pub(super) fn leaky_relu(module: &burn::nn::LeakyRelu) -> Self {
        let module = module.clone();
        let slope = module.negative_slope as f32;
        Self {
            on_host: Some(OnHost::LeakyRelu { slope }),
            slope: Some(Box::new(move |x, _| {
                let slope = f64::from(slope);
                x.clone().greater_elem(0.0).float() * (1.0 - slope) + slope
            })),
            ..Self::new("LeakyRelu", move |x| module.forward(x))
        }
    }

    pub(super) fn softplus(module: &burn::nn::Softplus) -> Self {
        let module = module.clone();
        let beta = module.beta as f32;
        Self {
            on_host: OnHost::pointwise(
                move |x| {
                    let z = beta * x;
                    (z.max(0.0) + (-z.abs()).exp().ln_1p()) / beta
                },
                move |x, _| 1.0 / (1.0 + (-beta * x).exp()),
            ),
            ..Self::new("Softplus", move |x| module.forward(x))
        }
    }

    pub(super) fn affine(scale: f64, offset: f64) -> Self {
        let (a, b) = (scale as f32, offset as f32);
        Self {
            on_host: OnHost::pointwise(move |x| a * x + b, move |_, _| a),
            slope: Some(Box::new(move |x, _| x.full_like(scale))),
            ..Self::new("Affine", move |x| x * scale + offset)
        }
    }

    pub(super) fn silu() -> Self {
        Self {
            on_host: OnHost::pointwise(
                |x| x / (1.0 + (-x).exp()),
                |x, _| {
                    let s = 1.0 / (1.0 + (-x).exp());
                    s + x * s * (1.0 - s)
                },
            ),
            ..Self::new("SiLU", activation::silu)
        }
    }

    pub(super) fn gelu() -> Self {
        Self {
            on_host: OnHost::pointwise(
                |x| x * below_normal(x),
                |x, _| below_normal(x) + x * (-0.5 * x * x).exp() * DENSITY,
            ),
            // burn's derivative is that of the tanh approximation on most backends.
            slope: Some(Box::new(|x, _| {
                let below = x.clone().div_scalar(SQRT_2).erf().add_scalar(1.0) * 0.5;
                let density = x.clone().square().mul_scalar(-0.5).exp() * f64::from(DENSITY);
                below + x.clone() * density
            })),
            ..Self::new("Gelu", activation::gelu)
        }
    }

    pub(super) fn sigmoid() -> Self {
        Self {
            on_host: OnHost::pointwise(|x| 1.0 / (1.0 + (-x).exp()), |_, y| y - y * y),
            slope: Some(Box::new(|_, y| y.clone() - y.clone().square())),
            ..Self::new("Sigmoid", activation::sigmoid)
        }
    }

    pub(super) fn tanh() -> Self {
        Self {
            on_host: OnHost::pointwise(f32::tanh, |_, y| 1.0 - y * y),
            slope: Some(Box::new(|_, y| y.clone().square().neg() + 1.0)),
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
        let slope = match &self.slope {
            Some(slope) => slope(input, output),
            None => gradient_at(input.clone(), input.ones_like(), &self.function),
        };
        delta * slope.unsqueeze_dim::<3>(1)
    }

    fn gram(&self, _input: &Tensor<2>, _delta: &Tensor<3>) -> Option<Gram> {
        None
    }

    fn gradient(&self, _input: &Tensor<2>, _delta: Tensor<2>) -> Vec<Tensor<1>> {
        Vec::new()
    }

    fn fusion_hint(&self) -> FusionHint {
        match self.on_host {
            Some(OnHost::LeakyRelu { slope }) => FusionHint::LeakyRelu { slope },
            _ => FusionHint::Other,
        }
    }

    fn host(&self) -> Option<Box<dyn HostLayer>> {
        let features = self.features;
        Some(match self.on_host.clone()? {
            OnHost::LeakyRelu { slope } => Box::new(HostLeakyRelu { slope, features }),
            OnHost::Pointwise(function, slope) => Box::new(HostPointwise {
                function,
                slope,
                features,
            }),
        })
    }
}
