//! Scores of generated samples, by which every experiment is judged.
//!
//! [`evaluate_images`] computes all scores of a generator of images. Each score can also be computed by itself,
//! for any features:
//!
//! | score | reads | module |
//! |---|---|---|
//! | Frechet distance between features | public test records | [`frechet`], with the features of [`classifier`] |
//! | accuracy of a classifier trained on samples | public test records | [`downstream`], by the field's protocol [`field`] |
//! | sliced and exact squared W2 | public test records | [`transport`] |
//! | distances of counts, and what a classifier learns from a table | test records of a table | [`tabular`] |
//! | distance to the nearest training image | **private records** | [`memorisation`] |

#![forbid(unsafe_code)]

pub mod classifier;
pub mod downstream;
mod error;
pub mod field;
pub mod frechet;
mod images;
pub mod memorisation;
mod neighbours;
mod shift;
mod supervised;
pub mod tabular;
pub mod transport;

pub use error::EvaluateError;
pub use images::{GeneratedImages, ImageOptions, ImageScores, RealImages, evaluate_images};
pub use neighbours::labels_by_vote;
