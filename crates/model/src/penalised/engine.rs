//! Which kernels carry a step.

use std::ops::Range;

use burn::tensor::Device;

use crate::ModelError;

/// Which kernels carry a step, and how many records go through them at once.
///
/// The chunk bounds memory: no more than `2 chunk * latent` sets of activations are alive on a device,
/// whatever the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// burn tensors, on whatever device the model lives.
    Tensor {
        /// Records at once.
        chunk: usize,
    },
    /// Host kernels, one chunk a core.
    Host {
        /// Records at once on each core, best a multiple of 8: see [`dp_core::per_sample::LANES`].
        chunk: usize,
    },
}

impl Engine {
    /// The engine that suits a device: host kernels where the tensors of `flex` live in host
    /// memory anyway, tensors elsewhere.
    pub fn for_device(device: &Device) -> Self {
        if *device == Device::flex() {
            Self::Host { chunk: 16 }
        } else {
            Self::Tensor { chunk: 100 }
        }
    }

    /// Runs `step`, with half as many records at once each time that the device gives no answer, down to
    /// one; `report` hears of each failure and of the size that is tried next. The engine keeps the size
    /// that fits.
    ///
    /// Nothing has been released before a step has its gradient, so a step may be tried again.
    ///
    /// # Errors
    ///
    /// Those of `step`; [`ModelError::Device`] where not even one record fits.
    pub fn carry<T>(
        &mut self,
        mut report: impl FnMut(&ModelError, usize),
        mut step: impl FnMut(Self) -> Result<T, ModelError>,
    ) -> Result<T, ModelError> {
        loop {
            let failure = match step(*self) {
                Err(failure @ ModelError::Device { .. }) => failure,
                done => return done,
            };
            let (Self::Tensor { chunk } | Self::Host { chunk }) = self;
            if *chunk <= 1 {
                return Err(failure);
            }
            *chunk /= 2;
            report(&failure, *chunk);
        }
    }

    /// Records at once.
    pub(super) fn chunk(self) -> usize {
        let (Self::Tensor { chunk } | Self::Host { chunk }) = self;
        chunk.max(1)
    }

    pub(super) fn chunks(self, records: usize) -> Vec<Range<usize>> {
        let chunk = self.chunk();
        (0..records)
            .step_by(chunk)
            .map(|start| start..(start + chunk).min(records))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_memory_gets_fewer_records() {
        let device = |chunk| ModelError::Device {
            chunk,
            message: "no memory".into(),
        };
        let fits = |most: usize| {
            move |engine| match engine {
                Engine::Tensor { chunk } if chunk <= most => Ok(chunk),
                Engine::Tensor { chunk } | Engine::Host { chunk } => Err(device(chunk)),
            }
        };
        let mut engine = Engine::Tensor { chunk: 100 };
        let mut told = Vec::new();
        let carried = engine.carry(|_, next| told.push(next), fits(30));
        assert_eq!(carried.unwrap(), 25);
        assert_eq!((engine, told), (Engine::Tensor { chunk: 25 }, vec![50, 25]));
        let failure = engine.carry(|_, _| (), fits(0)).unwrap_err();
        assert!(
            failure.to_string().contains("with 1 records at once"),
            "{failure}"
        );
    }
}
