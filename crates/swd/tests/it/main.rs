//! The distances, and the sensitivity of their gradients.

mod adversarial;
mod common;
mod costs;
mod denoising;
mod distance;
mod losses;
mod reference;
mod sinkhorn;
