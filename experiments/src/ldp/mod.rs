//! Local privacy: each record is privatised once, before anything else sees it, and a generator learns the distribution that the
//! records had before (Reshetova, Chen and Ozgur 2023, arXiv 2306.09547).
//!
//! The loss knows the distribution of the noise, so that what it learns is denoised: entropic transport with a regularisation
//! matched to the noise, or sliced transport to generated records that got noise of the same distribution. Beside them stand
//! losses that learn the noise too, and records that wavelets denoised first.

mod baseline;
mod images;
mod loss;
mod noise_model;
mod plan;
mod points;
mod private;
mod report;
mod settings;
mod sources;
mod train;
mod wavelet;

pub use images::Settings as Images;
pub use points::Settings as Points;
pub use settings::Settings;
pub use train::Ldp;
