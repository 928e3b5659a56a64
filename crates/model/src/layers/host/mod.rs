//! The host form of each layer.

mod activation;
mod conv;
mod linear;
mod resample;

pub(super) use activation::HostLeakyRelu;
pub(super) use conv::HostConv;
pub(super) use linear::HostLinear;
pub(super) use resample::{HostAvgPool, HostUpsample};

use super::kernels;
