//! Layers on the host, which compute eight records side by side.

mod buffer;
mod kernels;
mod lanes;
mod layer;
pub(super) mod layers;
mod stack;

pub(crate) use buffer::Buffer;
pub(super) use kernels::Plane;
pub use lanes::LANES;
pub(crate) use lanes::{Lanes8, Wide8};
pub(crate) use layer::{HostLayer, SavedActivations};
pub use stack::{HostActivations, HostPullBack, HostStack};
