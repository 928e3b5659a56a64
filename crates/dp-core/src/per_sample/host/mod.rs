//! Layers on the host: eight records side by side.

mod buffer;
mod kernels;
mod layer;
pub(super) mod layers;
mod octet;
mod stack;

pub use buffer::Buffer;
pub(super) use kernels::Plane;
pub use layer::{HostLayer, Seen};
pub use octet::{LANES, Octet};
pub use stack::{HostActivations, HostPullBack, HostStack};
