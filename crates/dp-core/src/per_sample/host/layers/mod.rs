//! The host form of each layer.

mod activation;
mod convolution;
mod linear;
mod max_pool;
mod planes;
mod pooled_conv;
mod same_conv;

pub use activation::{Function, HostLeakyRelu, HostPointwise, Slope};
pub use convolution::{HostConvolution, Parameters, Sliding};
pub use linear::HostLinear;
pub use max_pool::HostMaxPool;
pub use planes::{Along, HostPlanes};
pub use pooled_conv::HostConvPool;
pub use same_conv::HostConv;

use super::{LANES, Octet};

/// `total += octet`.
fn add(total: &mut Octet, octet: &Octet) {
    for lane in 0..LANES {
        total.0[lane] += octet.0[lane];
    }
}
