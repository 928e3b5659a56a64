//! Gradients before and after the noise.

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};

use crate::DpError;
use crate::per_sample::ParameterSlot;

/// An upper bound on the L2 distance between what two neighbouring datasets send to a mechanism.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensitivity {
    l2_upper: f64,
}

/// Clipping is done in `f32` and can exceed its bound by a few units in the last place; every
/// sensitivity is raised by this factor to cover it.
pub const F32_SLACK: f64 = 1.0 + 1e-5;

impl Sensitivity {
    /// A bound `l2_upper > 0`, finite, proved for exact arithmetic; it is raised by
    /// [`F32_SLACK`].
    ///
    /// # Errors
    ///
    /// [`DpError::OutOfRange`] for anything but a positive finite number.
    pub fn l2(l2_upper: f64) -> Result<Self, DpError> {
        if l2_upper.is_finite() && l2_upper > 0.0 {
            Ok(Self {
                l2_upper: l2_upper * F32_SLACK,
            })
        } else {
            Err(DpError::OutOfRange {
                name: "sensitivity",
                value: l2_upper,
                bound: "positive and finite".into(),
            })
        }
    }

    /// The bound, slack included.
    pub fn l2_upper(self) -> f64 {
        self.l2_upper
    }
}

/// A gradient with one flat tensor a parameter, wherever its device is.
#[derive(Debug, Clone)]
pub struct ParameterGradient {
    parts: Vec<(ParameterSlot, Tensor<1>)>,
}

impl ParameterGradient {
    /// A gradient from flat tensors, one for each slot.
    ///
    /// # Errors
    ///
    /// [`DpError::Shape`] where the numbers or the lengths differ.
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

    /// A gradient from one flat host vector in the order of `slots`.
    ///
    /// # Errors
    ///
    /// [`DpError::Shape`] where the length is not the sum of the slots'.
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

    /// All scalars on the host, parameter after parameter.
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

    /// Whether there is no scalar at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The parameters, in order.
    pub fn slots(&self) -> Vec<ParameterSlot> {
        self.parts.iter().map(|(slot, _)| slot.clone()).collect()
    }

    /// What burn's optimizers take, without any noise: **nothing is private about it**.
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

/// A gradient together with its sensitivity.
///
/// # Formal guarantee
///
/// Whoever builds one claims that for any two neighbouring batches and the same public randomness
/// the gradients differ by at most `sensitivity` in L2 norm. The mechanism trusts that claim; the
/// privacy contract tests check it for the gradients of this workspace.
///
/// Only a mechanism turns one into what an optimizer takes, with noise in it:
///
/// ```compile_fail
/// # fn step(bounded: dp_core::mechanism::BoundedGradient) -> burn::optim::GradientsParams {
/// bounded.before_noise().clone().into_params_without_privacy()
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct BoundedGradient {
    gradient: ParameterGradient,
    sensitivity: Sensitivity,
}

impl BoundedGradient {
    /// Couples a gradient with the bound proved for it.
    pub fn new(gradient: ParameterGradient, sensitivity: Sensitivity) -> Self {
        Self {
            gradient,
            sensitivity,
        }
    }

    /// The bound.
    pub fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }

    /// The scalars **before** any noise, parameter after parameter: private data, for tests and audits
    /// only. They are plain numbers, which no optimizer takes.
    pub fn before_noise(&self) -> Vec<f32> {
        self.gradient.to_host()
    }

    pub(super) fn gradient(&self) -> &ParameterGradient {
        &self.gradient
    }
}

/// A gradient that may leave: the only form that turns into what an optimizer takes.
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

    /// What burn's optimizers take.
    pub fn into_params(self) -> GradientsParams {
        self.gradient.into_params()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sensitivity_makes_room_for_clipping_in_f32() {
        let sensitivity = Sensitivity::l2(3.0).unwrap();
        assert_eq!(sensitivity.l2_upper(), 3.0 * (1.0 + 1e-5));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Sensitivity::l2(bad).is_err());
        }
    }
}
