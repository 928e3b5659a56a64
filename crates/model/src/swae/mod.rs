//! The sliced-Wasserstein autoencoder of paper 004, section 6, and its private gradient.
//!
//! `L_alpha = (1 - alpha) (1/n) sum_i BCE(decode(encode(x_i)), x_i) + alpha SW2^2(encode(X), Z)`
//! with `Z` uniform in the unit ball (paper 004, equation 6).

mod architecture;
mod batch;
mod gradient;
mod initialisation;
mod matching;
mod moments;

pub use architecture::{Decoder, Encoder, Swae, SwaeConfig};
pub use batch::Batch;
pub use gradient::{bounded_gradient, paper_sensitivity, plain_gradient, sensitivity};
pub use initialisation::framework_initialisation;
pub use matching::{ExactCells, Matching, Prior};
pub use moments::{ClassLatents, class_moments, moment_sensitivity};

pub use crate::penalised::{Clipped, Clipping, Engine, Objective, StepLosses};
