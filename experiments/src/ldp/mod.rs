//! Local privacy: a generator learns from a file of privatised records the distribution that they had before their noise
//! (Reshetova, Chen and Ozgur 2023, arXiv 2306.09547).
//!
//! The loss knows the distribution of the noise, so that what it learns is denoised: entropic transport with a regularisation
//! matched to the noise. Beside it stand losses that learn the noise too.

mod loss;
mod noise_model;
mod report;
mod settings;
mod train;

pub use settings::Settings;
pub use train::Ldp;
