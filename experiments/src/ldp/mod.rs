//! Local privacy: each record is privatised once, before anything else sees it, and a generator learns the distribution that the
//! records had before (Reshetova, Chen and Ozgur 2023, arXiv 2306.09547).
//!
//! The loss knows the distribution of the noise, so that what it learns is denoised: entropic transport with a regularisation
//! matched to the noise. Beside it stand losses that learn the noise too.

mod loss;
mod noise_model;
mod plan;
mod private;
mod report;
mod settings;
mod sources;
mod train;

pub use settings::Settings;
pub use train::Ldp;
