//! The rounding of a device's products, and the slack that it costs.

use burn::tensor::Device;

use super::GRAM_ROUNDING;
use crate::per_sample::LayerError;

/// The allowed rounding errors of a device's products.
///
/// On a device every bound is tightened by [`Rounding::relative`] before it is applied. This covers the rounding
/// record by record; the sensitivity of a step covers the rounding of sums over records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounding {
    /// The error of a Gram matrix relative to its trace.
    pub gram: f64,
    /// The relative error of a norm and of a scaling.
    pub relative: f64,
}

impl Rounding {
    /// The allowance for products in `f32` throughout.
    pub const SINGLE: Self = Self {
        gram: GRAM_ROUNDING,
        relative: 1.0 / 65536.0,
    };

    /// Returns the allowance for `device`.
    ///
    /// # Errors
    ///
    /// [`LayerError::CoarseProducts`] unless the device's backend is known to keep the 24 bits of `f32` in its
    /// products. CubeCL rounds their factors to the 11 bits of TF32 if the runtime has that type, which only CUDA
    /// has; a backend of another maker may do so without saying. Replacing one record moves the weights of all others
    /// a little. With 11 bits each of their parts may then be rounded another way, by 2^-11 of itself, and together
    /// these are not small against the sensitivity.
    pub fn of_device(device: &Device) -> Result<Self, LayerError> {
        Self::of_name(format!("{:?}", device.clone().without_autodiff()))
    }

    /// Finds the allowance by burn's name of the device.
    fn of_name(device: String) -> Result<Self, LayerError> {
        let exact = ["Flex", "NdArray", "Wgpu", "Cpu"];
        if exact.iter().any(|known| device.contains(known)) && !device.contains("Cuda") {
            return Ok(Self::SINGLE);
        }
        Err(LayerError::CoarseProducts { device })
    }

    /// Returns `bound` tightened by the relative error.
    pub fn tighten(&self, bound: f64) -> f64 {
        bound * (1.0 - self.relative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_exact() {
        for device in [Device::flex(), Device::flex().autodiff()] {
            assert_eq!(Rounding::of_device(&device).unwrap(), Rounding::SINGLE);
        }
        assert!(Rounding::SINGLE.tighten(1.0) < 1.0);
    }

    #[test]
    fn coarse_and_unknown_devices_are_refused() {
        let cuda = "Cube(Cuda { index: 0 })";
        for name in [cuda, "Cube(Hip { index: 0 })", "LibTorch(Mps)", "Remote(0)"] {
            let refused = Rounding::of_name(name.into()).unwrap_err().to_string();
            assert!(refused.starts_with(name), "{refused}");
        }
        assert!(Rounding::of_name("Cube(Wgpu(DefaultDevice))".into()).is_ok());
    }
}
