//! Generators that map noise to points, to images of a class, or to photographs.
//!
//! They always normalise a batch by its own moments, so a generated record depends on its batch: generate in batches made like
//! those of the training.

mod dcgan;
mod images;
mod moments;
mod points;

pub use dcgan::Dcgan;
pub use images::ImageGenerator;
pub use points::MlpGenerator;

use private_training::TrainingError;

/// Refuses a side that two doublings do not reach.
fn check_side(side: usize) -> Result<(), TrainingError> {
    if side > 0 && side.is_multiple_of(4) {
        return Ok(());
    }
    Err(TrainingError::OutOfRange {
        name: "side of a generated image",
        value: side as f64,
        bound: "a multiple of 4".into(),
    })
}
