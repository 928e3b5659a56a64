//! The private sliced-Wasserstein autoencoder, end to end (Rodriguez-Vitores, Lalanne and Loubes 2025,
//! arXiv 2502.01701, section 6).

mod batches;
mod evaluate;
mod latents;
mod moments;
mod report;
mod samples;
mod settings;
mod train;

pub(crate) use samples::sampler;
pub use settings::{Flags, Settings};
pub(crate) use train::SwaeRun;
