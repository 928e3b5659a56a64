//! The host form of each layer.

mod activation;
mod conv;
mod conv_pool;
mod linear;
mod rearranged;
mod resample;
mod sigmoid;

pub(crate) use activation::HostLeakyRelu;
pub(crate) use conv::HostConv;
pub(super) use conv_pool::HostConvPool;
pub(super) use linear::HostLinear;
pub(crate) use rearranged::HostRearranged;
pub(super) use resample::{HostAvgPool, HostUpsample};
pub(super) use sigmoid::HostSigmoid;

use super::kernels;
pub(crate) use super::kernels::Plane;
