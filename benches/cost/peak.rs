//! What a device reaches at its simplest: the measure that other work on it is held against.

use std::hint::black_box;

use burn::tensor::{Device, Distribution, Tensor};
use lab::diagnostic::{Failure, OrFailed};

use super::median;

/// Rates of the two simplest operations, measured in the same run as what is compared with them.
pub(crate) struct Peak {
    /// Bytes a second, in 1e9, of adding 1 to a vector: each entry is read and written once.
    pub gigabytes: f64,
    /// Multiplications and additions a second, in 1e9, of a product of two square matrices in `f32`.
    pub gigaflops: f64,
}

impl Peak {
    /// Measures with vectors of at most `most` numbers.
    pub(crate) fn measure(device: &Device, repeat: u64, most: usize) -> Result<Self, Failure> {
        let length = most.min(1 << 26);
        let vector = Tensor::<1>::zeros([length], device);
        let ms = median(repeat, || {
            black_box(vector.clone() + 1.0);
            device.sync().or_failed()
        })?;
        let gigabytes = 8.0 * length as f64 / ms / 1e6;
        // Large enough to fill the device, small enough for a host.
        let side = match (most < 1 << 22, *device == Device::flex()) {
            (true, _) => 256,
            (false, true) => 1024,
            (false, false) => 4096,
        };
        let matrix = Tensor::<2>::random([side, side], Distribution::Default, device);
        let ms = median(repeat, || {
            black_box(matrix.clone().matmul(matrix.clone()));
            device.sync().or_failed()
        })?;
        let gigaflops = 2.0 * (side as f64).powi(3) / ms / 1e6;
        Ok(Self {
            gigabytes,
            gigaflops,
        })
    }

    /// The two rates in words.
    pub(crate) fn words(&self) -> String {
        format!(
            "Beside it: {:.1} GB/s adding 1 to a vector, {:.1} GFLOP/s multiplying matrices.",
            self.gigabytes, self.gigaflops
        )
    }
}
