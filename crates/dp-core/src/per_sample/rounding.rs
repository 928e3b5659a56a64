//! How exact the products of a device are, and what that costs.

use burn::tensor::Device;

use super::GRAM_ROUNDING;
use crate::per_sample::LayerError;

/// What the rounding of a device's products may cost.
///
/// On a device every bound is tightened by [`Rounding::relative`] before it is applied. This allows for
/// what is rounded record by record; the sensitivity of a step pays for sums over records of parts that are one record's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounding {
    /// The error of a Gram matrix against its trace.
    pub gram: f64,
    /// The error of a norm and of a scaling against themselves.
    pub relative: f64,
}

impl Rounding {
    /// `f32` throughout.
    pub const SINGLE: Self = Self {
        gram: GRAM_ROUNDING,
        relative: 1.0 / 65536.0,
    };

    /// The allowance for `device`.
    ///
    /// # Errors
    ///
    /// [`LayerError::CoarseProducts`] unless the device's backend is known to keep the 24 bits of `f32` in
    /// its products. CubeCL rounds their factors to the 11 bits of TF32 where the runtime has that type,
    /// which is CUDA alone; a backend of another maker may do so without saying. When one record is
    /// replaced, the weights of all others move a little: with 11 bits each of their parts may then be
    /// rounded another way, by 2^-11 of itself, and together these are not small against the
    /// sensitivity.
    pub fn of_device(device: &Device) -> Result<Self, LayerError> {
        Self::of_name(format!("{:?}", device.clone().without_autodiff()))
    }

    /// By what burn calls the device.
    fn of_name(device: String) -> Result<Self, LayerError> {
        let exact = ["Flex", "NdArray", "Wgpu", "Cpu"];
        if exact.iter().any(|known| device.contains(known)) && !device.contains("Cuda") {
            return Ok(Self::SINGLE);
        }
        Err(LayerError::CoarseProducts { device })
    }

    /// A bound tightened by the relative error.
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
