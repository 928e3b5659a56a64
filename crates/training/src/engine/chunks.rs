//! The engines that compute a step.

use std::ops::Range;

use burn::tensor::Device;

use crate::TrainingError;

/// The most records whose gradients host kernels add in `f32` before they are added to others.
const HOST_RECORDS: usize = 16;
/// The most records whose gradients tensors add in this way.
const TENSOR_RECORDS: usize = 128;

/// The way to compute a step, and the number of records that go through it at once.
///
/// The chunk bounds memory whatever the batch size, because the gradients of chunks are added up. A chunk has at most 16 records
/// on host kernels and 128 on tensors, which keeps its rounding small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Layers on burn tensors, on the device of the network.
    Tensor {
        /// The number of records at once.
        chunk: usize,
    },
    /// Layers by host kernels, one chunk on each core.
    Host {
        /// The number of records at once on each core, best a multiple of 8: see [`dp_core::per_sample::LANES`].
        chunk: usize,
    },
    /// One record at a time through burn's autodiff: slow, but for any module.
    Autodiff,
}

impl Engine {
    /// Returns the engine of layers that suits a device: host kernels for `flex`, whose tensors live in host memory anyway, and
    /// tensors for other devices.
    pub fn for_device(device: &Device) -> Self {
        if device.clone().without_autodiff() == Device::flex() {
            Self::Host { chunk: 16 }
        } else {
            Self::Tensor { chunk: 100 }
        }
    }

    /// Runs `step`, with half as many records at once each time that the device gives no answer, down to one. `report` receives
    /// each failure and the next size. The engine keeps the size that fits.
    ///
    /// Nothing is released before a step has its gradient, so a step may be tried again.
    ///
    /// # Errors
    ///
    /// Those of `step`; [`TrainingError::Device`] if not even one record fits.
    pub(crate) fn retry_in_smaller_chunks<T>(
        &mut self,
        mut report: impl FnMut(&TrainingError, usize),
        mut step: impl FnMut(Self) -> Result<T, TrainingError>,
    ) -> Result<T, TrainingError> {
        loop {
            let failure = match step(*self) {
                Err(failure @ TrainingError::Device { .. }) => failure,
                done => return done,
            };
            let size = self.chunk();
            match self {
                Self::Tensor { chunk } | Self::Host { chunk } if size > 1 => {
                    *chunk = size / 2;
                    report(&failure, *chunk);
                }
                _ => return Err(failure),
            }
        }
    }

    /// The most additions in `f32` between the part of one record and the sum over `records` of them. It does not depend on the
    /// size of chunks: a device's lack of memory must not show in the noise.
    ///
    /// Records of a chunk are added in `f32`, in any order. On the host, chunks are added in `f64` and the sum is rounded once
    /// more; three more roundings are those of a record's own part, whose rows are weighted and added in `f64`. Tensors of chunks
    /// are added in pairs ([`Pairwise`]). Single records are added in `f64`.
    ///
    /// The positions of a record on tensors are not counted: the gradients of convolutions, and of linear layers over several
    /// positions, are reduced over records and positions at once.
    pub(crate) fn additions(self, records: usize) -> usize {
        let doublings = |records: usize| (usize::BITS - records.leading_zeros()) as usize;
        match self {
            Self::Autodiff => 1,
            Self::Host { .. } => HOST_RECORDS + 4,
            Self::Tensor { .. } => TENSOR_RECORDS + 2 * doublings(records),
        }
    }

    /// Returns this engine with one record at once.
    pub(crate) fn by_record(self) -> Self {
        match self {
            Self::Tensor { .. } => Self::Tensor { chunk: 1 },
            Self::Host { .. } => Self::Host { chunk: 1 },
            Self::Autodiff => Self::Autodiff,
        }
    }

    /// The number of records at once.
    pub(super) fn chunk(self) -> usize {
        match self {
            Self::Tensor { chunk } => chunk.clamp(1, TENSOR_RECORDS),
            Self::Host { chunk } => chunk.clamp(1, HOST_RECORDS),
            Self::Autodiff => 1,
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

/// A sum of many summands with few additions each: it adds only sums of equally many summands to each other.
pub(super) struct Pairwise<T> {
    /// Sums of `2^level` summands.
    levels: Vec<Option<T>>,
    add: fn(T, T) -> T,
}

impl<T> Pairwise<T> {
    pub(super) fn new(add: fn(T, T) -> T) -> Self {
        Self {
            levels: Vec::new(),
            add,
        }
    }

    pub(super) fn push(&mut self, summand: T) {
        let mut sum = summand;
        for level in &mut self.levels {
            match level.take() {
                None => return *level = Some(sum),
                Some(other) => sum = (self.add)(other, sum),
            }
        }
        self.levels.push(Some(sum));
    }

    /// The sum of all, or `None` without summands.
    pub(super) fn sum(self) -> Option<T> {
        self.levels.into_iter().flatten().reduce(self.add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_summand_goes_through_more_additions_than_are_counted() {
        for chunks in 1..70_usize {
            // A sum, and the most additions that one of its summands went through.
            let mut sums = Pairwise::new(|a: (usize, usize), b| (a.0 + b.0, a.1.max(b.1) + 1));
            (0..chunks).for_each(|_| sums.push((1, 0)));
            let (sum, additions) = sums.sum().unwrap();
            assert_eq!(sum, chunks);
            for chunk in [1, 7, 128] {
                let engine = Engine::Tensor { chunk };
                assert!(additions + chunk <= engine.additions(chunk * chunks));
            }
        }
        assert_eq!(Pairwise::new(|a: f32, b| a + b).sum(), None);
        assert_eq!(Engine::Host { chunk: 16 }.additions(60_000), 20);
        assert_eq!(Engine::Autodiff.additions(60_000), 1);
    }

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
        assert_eq!((engine.chunk(), tried), (25, vec![50, 25]));
        let failure = engine.retry_in_smaller_chunks(|_, _| (), fits(0));
        let failure = failure.unwrap_err().to_string();
        assert!(failure.contains("with 1 records at once"), "{failure}");
    }
}
