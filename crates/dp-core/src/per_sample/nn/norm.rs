//! Normalisations within a record.

use burn::module::{Module, Param};
use burn::nn;
use burn::tensor::Tensor;

use super::pull::pulled;
use super::rows::{gram_of_rows, together};
use super::weight::Weight;
use crate::per_sample::{Gram, Layer, ParameterSlot};

/// `y = gamma * h(x) + beta`, with `h` without parameters and one `gamma` and one `beta` for each of `C` channels.
///
/// The rows of a record's Jacobian are the sums of `delta * h(x)` and of `delta` over a channel's places.
pub(super) struct Norm {
    name: &'static str,
    gamma: Option<Weight<1>>,
    beta: Option<Weight<1>>,
    /// The function `h`.
    normalised: Box<dyn Fn(Tensor<2>) -> Tensor<2>>,
    /// The shape of a record as `[before, C, behind]`.
    axes: [usize; 3],
}

impl Norm {
    /// Normalises over the last axis of a record, which has `places` rows of the module's features.
    pub(super) fn layer(module: &nn::LayerNorm, places: usize) -> Self {
        let width = module.gamma.val().dims()[0];
        let gamma = Weight::of(&module.gamma);
        // A copy of the module, because its epsilon is private to burn.
        let mut plain = module.valid();
        plain.gamma = Param::from_tensor(gamma.value.ones_like());
        plain.beta = None;
        Self {
            name: "LayerNorm",
            beta: module.beta.as_ref().map(Weight::of),
            gamma: Some(gamma),
            normalised: Box::new(move |x| {
                let n = x.dims()[0];
                let rows = x.reshape([n * places, width]);
                plain.forward(rows).reshape([n, places * width])
            }),
            axes: [places, width, 1],
        }
    }

    /// Scales over the last axis of a record, which has `places` rows of the module's features.
    pub(super) fn rms(module: &nn::RmsNorm, places: usize) -> Self {
        let width = module.gamma.val().dims()[0];
        let gamma = Weight::of(&module.gamma);
        let mut plain = module.valid();
        plain.gamma = Param::from_tensor(gamma.value.ones_like());
        Self {
            name: "RmsNorm",
            gamma: Some(gamma),
            beta: None,
            normalised: Box::new(move |x| {
                let n = x.dims()[0];
                let rows = x.reshape([n * places, width]);
                plain.forward(rows).reshape([n, places * width])
            }),
            axes: [places, width, 1],
        }
    }

    /// Normalises over groups of the channels of a record, each of `area` places.
    pub(super) fn group(module: &nn::GroupNorm, area: usize) -> Self {
        let channels = module.num_channels;
        let mut plain = module.valid();
        plain.affine = false;
        Self {
            name: "GroupNorm",
            gamma: module.gamma.as_ref().map(Weight::of),
            beta: module.beta.as_ref().map(Weight::of),
            normalised: Box::new(move |x| {
                let n = x.dims()[0];
                plain.forward(x.reshape([n, channels, area])).flatten(1, 2)
            }),
            axes: [1, channels, area],
        }
    }

    /// Repeats a parameter of each channel for each of its values, `[1, features]`.
    fn spread(&self, parameter: Tensor<1>) -> Tensor<2> {
        let [before, channels, behind] = self.axes;
        let channelled = parameter.reshape([1, channels, 1]);
        channelled
            .expand([before, channels, behind])
            .reshape([1, before * channels * behind])
    }

    /// Sums over the places of each channel, `[m, features] -> [m, C]`.
    fn sums(&self, values: Tensor<2>) -> Tensor<2> {
        let [before, channels, behind] = self.axes;
        let m = values.dims()[0];
        let values = values.reshape([m, before, channels, behind]);
        values.sum_dim(3).sum_dim(1).reshape([m, channels])
    }
}

fn trained(parameter: Option<&Weight<1>>) -> bool {
    parameter.is_some_and(Weight::trained)
}

impl Layer for Norm {
    fn name(&self) -> &'static str {
        self.name
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        let both = self.gamma.iter().chain(&self.beta);
        both.filter_map(|parameter| parameter.slot.clone())
            .collect()
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let mut output = (self.normalised)(input);
        if let Some(gamma) = &self.gamma {
            let gamma = self.spread(gamma.beside(&output));
            output = output * gamma;
        }
        if let Some(beta) = &self.beta {
            let beta = self.spread(beta.beside(&output));
            output = output + beta;
        }
        output
    }

    fn backward(&self, input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let delta = match &self.gamma {
            Some(gamma) => delta * self.spread(gamma.value.clone()).unsqueeze_dim(1),
            None => delta,
        };
        pulled(input, delta, &self.normalised)
    }

    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Gram> {
        let [n, g, features] = delta.dims();
        let rows = |products: Tensor<3>| {
            let sums = self.sums(products.reshape([n * g, features]));
            gram_of_rows(sums.reshape([n, g, self.axes[1]]))
        };
        let gamma = trained(self.gamma.as_ref()).then(|| {
            let normalised = (self.normalised)(input.clone());
            rows(delta.clone() * normalised.unsqueeze_dim(1))
        });
        let beta = trained(self.beta.as_ref()).then(|| rows(delta.clone()));
        together(gamma, beta).map(Gram::from)
    }

    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
        let mut parts = Vec::new();
        if trained(self.gamma.as_ref()) {
            // Without an epsilon a record of zeros does not normalise to finite values: those of cotangent 0 are left out.
            let none = delta.clone().equal_elem(0.0);
            let normalised = (self.normalised)(input.clone()).mask_fill(none, 0.0);
            let sum = self.sums(delta.clone() * normalised).sum_dim(0);
            parts.push(sum.flatten(0, 1));
        }
        if trained(self.beta.as_ref()) {
            parts.push(self.sums(delta).sum_dim(0).flatten(0, 1));
        }
        parts
    }
}
