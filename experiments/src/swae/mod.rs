//! The private sliced-Wasserstein autoencoder, end to end.

mod arguments;
mod evaluate;
mod report;
mod settings;
mod train;

pub use arguments::Arguments;
pub use settings::{Frame, Settings};
pub use train::run;
