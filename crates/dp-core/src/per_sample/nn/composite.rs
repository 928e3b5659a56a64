//! Chains within a chain: residual sums and concatenations.
//!
//! A backward pass runs the inner layers again, so that a chain keeps no more than one activation for each of its
//! layers. The pass whose norms are measured is kept, and its gradients are summed.

use burn::tensor::Tensor;

use crate::per_sample::{Activations, Gram, Kept, Layer, Needs, ParameterSlot, PullBack, Stack};

/// Runs one inner stack forward and pulls `delta` back through it.
fn pull_back(
    stack: &Stack,
    input: &Tensor<2>,
    delta: Tensor<3>,
    gram: bool,
) -> (Activations, PullBack) {
    let activations = stack.forward(input.clone());
    let needs = Needs { gram, input: !gram };
    let pulled = stack.pull_back(&activations, delta, needs);
    (activations, pulled)
}

fn backward(stack: &Stack, input: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
    let (_, pulled) = pull_back(stack, input, delta.clone(), false);
    // A stack without layers returns its cotangents.
    pulled.input.unwrap_or(delta)
}

/// Sums the Gram matrices of passes, one for each inner stack, and keeps the passes.
fn gram(passes: Vec<(Activations, PullBack)>) -> Option<Gram> {
    let values = passes.iter().map(|(_, pulled)| pulled.gram.clone());
    Some(Gram {
        values: values.reduce(|one, other| one + other)?,
        kept: Some(Kept::Inner(passes)),
    })
}

fn gradient(stack: &Stack, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
    if stack.parameters().is_empty() {
        return Vec::new();
    }
    // A record of cotangent 0 may still reach values inside that are not finite.
    let alive = delta.clone().abs().sum_dim(1).not_equal_elem(0.0).float();
    let (activations, pulled) = pull_back(stack, input, delta.unsqueeze_dim(1), false);
    stack.gradient(&activations, &pulled, alive)
}

/// `y = x + f(x)`.
pub(super) struct Residual {
    pub(super) inner: Stack<'static>,
}

impl Layer for Residual {
    fn name(&self) -> &'static str {
        "Residual"
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        self.inner.parameters()
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        self.inner.output(input.clone()) + input
    }

    fn backward(&self, input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        backward(&self.inner, input, delta.clone()) + delta
    }

    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Gram> {
        gram(vec![pull_back(&self.inner, input, delta.clone(), true)])
    }

    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
        gradient(&self.inner, input, delta)
    }

    fn inner(&self) -> Vec<&Stack<'static>> {
        vec![&self.inner]
    }
}

/// `y = [f(x), h(x)]`.
pub(super) struct Concat {
    pub(super) first: Stack<'static>,
    /// The number of features of the output of `first`.
    pub(super) width: usize,
    pub(super) second: Stack<'static>,
}

impl Concat {
    /// Splits the cotangents along the last axis into those of the two stacks.
    fn parts<const D: usize>(&self, delta: &Tensor<D>) -> (Tensor<D>, Tensor<D>) {
        let features = delta.dims()[D - 1];
        let first = delta.clone().narrow(D - 1, 0, self.width);
        let second = delta
            .clone()
            .narrow(D - 1, self.width, features - self.width);
        (first, second)
    }
}

impl Layer for Concat {
    fn name(&self) -> &'static str {
        "Concat"
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        let mut slots = self.first.parameters();
        slots.extend(self.second.parameters());
        slots
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let parts = vec![self.first.output(input.clone()), self.second.output(input)];
        Tensor::cat(parts, 1)
    }

    fn backward(&self, input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let (first, second) = self.parts(&delta);
        backward(&self.first, input, first) + backward(&self.second, input, second)
    }

    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Gram> {
        let (first, second) = self.parts(delta);
        gram(vec![
            pull_back(&self.first, input, first, true),
            pull_back(&self.second, input, second, true),
        ])
    }

    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
        let (first, second) = self.parts(&delta);
        let mut parts = gradient(&self.first, input, first);
        parts.extend(gradient(&self.second, input, second));
        parts
    }

    fn inner(&self) -> Vec<&Stack<'static>> {
        vec![&self.first, &self.second]
    }
}
