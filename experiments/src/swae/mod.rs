//! The private sliced-Wasserstein autoencoder, end to end.

mod arguments;
mod batches;
mod evaluate;
mod latents;
mod moments;
mod plan;
mod report;
mod resume;
mod run;
mod settings;
mod train;

pub use arguments::Arguments;
pub use plan::neighbours;
pub use settings::{Frame, Settings};
pub use train::run;
