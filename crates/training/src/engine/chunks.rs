//! Which kernels take a step.

use std::ops::Range;

use burn::tensor::Device;

use crate::TrainingError;

/// Which kernels take a step, and how many records go through them at once.
///
/// The chunk bounds memory, whatever the batch: the gradients of chunks are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Layers on burn tensors, on whatever device the network lives.
    Tensor {
        /// Records at once.
        chunk: usize,
    },
    /// Layers by host kernels, one chunk a core.
    Host {
        /// Records at once on each core, best a multiple of 8: see [`dp_core::per_sample::LANES`].
        chunk: usize,
    },
    /// One record at a time through burn's autodiff: slow, and for any module.
    Alone,
}

impl Engine {
    /// The engine of layers that suits a device: host kernels where the tensors of `flex` live in host
    /// memory anyway, tensors elsewhere.
    pub fn for_device(device: &Device) -> Self {
        if device.clone().without_autodiff() == Device::flex() {
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
    /// Those of `step`; [`TrainingError::Device`] where not even one record fits.
    pub fn retry_in_smaller_chunks<T>(
        &mut self,
        mut report: impl FnMut(&TrainingError, usize),
        mut step: impl FnMut(Self) -> Result<T, TrainingError>,
    ) -> Result<T, TrainingError> {
        loop {
            let failure = match step(*self) {
                Err(failure @ TrainingError::Device { .. }) => failure,
                done => return done,
            };
            match self {
                Self::Tensor { chunk } | Self::Host { chunk } if *chunk > 1 => {
                    *chunk /= 2;
                    report(&failure, *chunk);
                }
                _ => return Err(failure),
            }
        }
    }

    /// Records at once.
    pub(super) fn chunk(self) -> usize {
        match self {
            Self::Tensor { chunk } | Self::Host { chunk } => chunk.max(1),
            Self::Alone => 1,
        }
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
        let device = |chunk| TrainingError::Device {
            chunk,
            message: "no memory".into(),
        };
        let fits = |most: usize| {
            move |engine: Engine| match engine.chunk() {
                chunk if chunk <= most => Ok(chunk),
                chunk => Err(device(chunk)),
            }
        };
        let mut engine = Engine::Tensor { chunk: 100 };
        let mut tried = Vec::new();
        let carried = engine.retry_in_smaller_chunks(|_, next| tried.push(next), fits(30));
        assert_eq!(carried.unwrap(), 25);
        assert_eq!(
            (engine, tried),
            (Engine::Tensor { chunk: 25 }, vec![50, 25])
        );
        let failure = engine.retry_in_smaller_chunks(|_, _| (), fits(0));
        let failure = failure.unwrap_err().to_string();
        assert!(failure.contains("with 1 records at once"), "{failure}");
    }
}
