//! Gradients before and after the noise.

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};

use crate::DpError;
use crate::per_sample::ParameterSlot;

/// A gradient as one flat tensor for each parameter, on the parameter's device.
#[derive(Clone)]
pub struct ParameterGradient {
    parts: Vec<(ParameterSlot, Tensor<1>)>,
}

impl std::fmt::Debug for ParameterGradient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("ParameterGradient");
        let shapes = self.parts.iter().map(|(slot, _)| &slot.shape);
        shown.field("shapes", &shapes.collect::<Vec<_>>());
        shown.finish_non_exhaustive()
    }
}

impl ParameterGradient {
    /// Builds a gradient from flat tensors, one for each slot.
    ///
    /// # Errors
    ///
    /// [`DpError::Shape`] if the numbers of slots and tensors or their lengths differ.
    pub fn new(slots: Vec<ParameterSlot>, values: Vec<Tensor<1>>) -> Result<Self, DpError> {
        if slots.len() != values.len() {
            return Err(DpError::Shape {
                what: "parameters of a gradient",
                expected: slots.len(),
                found: values.len(),
            });
        }
        for (slot, value) in slots.iter().zip(&values) {
            if slot.len() != value.dims()[0] {
                return Err(DpError::Shape {
                    what: "scalars of a parameter's gradient",
                    expected: slot.len(),
                    found: value.dims()[0],
                });
            }
        }
        Ok(Self {
            parts: slots.into_iter().zip(values).collect(),
        })
    }

    /// Builds a gradient from one flat host vector in the order of `slots`.
    ///
    /// # Errors
    ///
    /// [`DpError::Shape`] if the length is not the sum of the slots' lengths.
    pub fn from_host(
        slots: Vec<ParameterSlot>,
        flat: &[f32],
        device: &Device,
    ) -> Result<Self, DpError> {
        let total: usize = slots.iter().map(ParameterSlot::len).sum();
        if total != flat.len() {
            return Err(DpError::Shape {
                what: "scalars of a flat gradient",
                expected: total,
                found: flat.len(),
            });
        }
        let mut offset = 0;
        let mut parts = Vec::with_capacity(slots.len());
        for slot in slots {
            let length = slot.len();
            let data = TensorData::new(flat[offset..offset + length].to_vec(), [length]);
            offset += length;
            parts.push((slot, Tensor::from_data(data, device)));
        }
        Ok(Self { parts })
    }

    /// Copies all scalars to the host, parameter after parameter.
    pub fn to_host(&self) -> Vec<f32> {
        self.parts
            .iter()
            .flat_map(|(_, value)| value.to_data().iter::<f32>().collect::<Vec<_>>())
            .collect()
    }

    /// The number of scalars.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|(slot, _)| slot.len()).sum()
    }

    /// Whether the gradient has no scalar.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The parameters, in order.
    pub fn slots(&self) -> Vec<ParameterSlot> {
        self.parts.iter().map(|(slot, _)| slot.clone()).collect()
    }

    /// Appends numbers that are released together with the gradient, as the gradient of no parameter.
    #[must_use]
    pub fn with(mut self, values: &[f32]) -> Self {
        let device = self.parts.first().map(|(_, first)| first.device());
        let device = device.unwrap_or_else(Device::flex);
        let slot = ParameterSlot {
            id: ParamId::new(),
            shape: vec![values.len()],
        };
        let data = TensorData::new(values.to_vec(), [values.len()]);
        self.parts.push((slot, Tensor::from_data(data, &device)));
        self
    }

    /// Converts the gradient to the type of burn's optimizers without noise. **Not private**.
    pub fn into_params_without_privacy(self) -> GradientsParams {
        self.into_params()
    }

    pub(super) fn parts(&self) -> &[(ParameterSlot, Tensor<1>)] {
        &self.parts
    }

    pub(super) fn from_parts(parts: Vec<(ParameterSlot, Tensor<1>)>) -> Self {
        Self { parts }
    }

    fn into_params(self) -> GradientsParams {
        let mut params = GradientsParams::new();
        for (slot, value) in self.parts {
            register(&mut params, slot.id, &slot.shape, value);
        }
        params
    }
}

/// burn keeps the rank of a parameter in its type; ours is a run-time shape.
fn register(params: &mut GradientsParams, id: ParamId, shape: &[usize], value: Tensor<1>) {
    match *shape {
        [a, b] => params.register(id, value.reshape([a, b])),
        [a, b, c] => params.register(id, value.reshape([a, b, c])),
        [a, b, c, d] => params.register(id, value.reshape([a, b, c, d])),
        [a, b, c, d, e] => params.register(id, value.reshape([a, b, c, d, e])),
        _ => params.register(id, value),
    }
}

/// A released gradient: the only form that turns into the type of burn's optimizers with noise in it.
#[derive(Debug)]
pub struct ReleasedGradient {
    gradient: ParameterGradient,
}

impl ReleasedGradient {
    pub(super) fn new(gradient: ParameterGradient) -> Self {
        Self { gradient }
    }

    /// The released values.
    pub fn gradient(&self) -> &ParameterGradient {
        &self.gradient
    }

    /// Splits off the last part: the numbers of [`ParameterGradient::with`], if there are any.
    pub fn split_last(mut self) -> (Self, Option<Tensor<1>>) {
        let last = self.gradient.parts.pop();
        (self, last.map(|(_, values)| values))
    }

    /// Converts the gradient to the type of burn's optimizers.
    pub fn into_params(self) -> GradientsParams {
        self.gradient.into_params()
    }
}
