//! The host form of each layer.

/// The methods of [`HostLayer`](super::HostLayer) for a layer without parameters. They have no defaults in the trait:
/// a layer that merely forgot its Gram matrix would be clipped as if it had no gradient.
macro_rules! without_parameters {
    () => {
        fn parameters(&self) -> usize {
            0
        }

        fn gram(
            &self,
            _: usize,
            _: &SavedActivations,
            _: &[Lanes8],
            _: &mut [Lanes8],
            _: &mut [Lanes8],
        ) {
        }

        fn gradient(&self, _: &SavedActivations, _: &[Lanes8], _: &mut [f32]) {}
    };
}

mod activation;
mod convolution;
mod linear;
mod max_pool;
mod planes;
mod pooled_conv;
mod same_conv;

pub(crate) use activation::{Function, HostLeakyRelu, HostPointwise, Slope};
pub(crate) use convolution::{HostConvolution, Parameters, Sliding};
pub(crate) use linear::HostLinear;
pub(crate) use max_pool::HostMaxPool;
pub(crate) use planes::{Along, HostPlanes};
pub(crate) use pooled_conv::HostConvPool;
pub(crate) use same_conv::HostConv;

use super::{LANES, Lanes8};

/// Adds `group` to `total`, lane by lane.
fn add(total: &mut Lanes8, group: &Lanes8) {
    for lane in 0..LANES {
        total.0[lane] += group.0[lane];
    }
}

/// Adds the records of `row`, one in each lane, to `totals` and clears it. Only sums of whole records are added here,
/// so that the rounding does not grow with the places of a record.
fn add_records(row: &mut [Lanes8], totals: &mut [f32]) {
    for (total, sum) in totals.iter_mut().zip(row) {
        *total += sum.0.iter().sum::<f32>();
        *sum = Lanes8::default();
    }
}
