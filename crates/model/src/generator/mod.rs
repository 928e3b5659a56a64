//! Generators: noise to points, to grey images of a class, to photographs.
//!
//! All of them normalise a batch by its own moments, always, so what they generate depends on the batch that it is
//! generated in: generate in batches made like those of the training.

mod dcgan;
mod images;
mod moments;
mod points;

pub use dcgan::Dcgan;
pub use images::ImageGenerator;
pub use points::Generator;
