//! A private generator of images: trained on released projections of labelled records, which any number of steps
//! may look at (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, section 5.2 and table 3).
//!
//! No record is public, but for half of a folder of photographs: slices are sampled without a look at any. In a public
//! latent space it is `flow generator`.

mod marginals;
mod projections;
mod release;
mod report;
mod samples;
mod settings;
mod train;

pub use marginals::Settings as Marginals;
pub use projections::Settings as Projections;
pub(crate) use samples::sampler;
pub use settings::Settings;
pub use train::Generate;
