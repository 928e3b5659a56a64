//! Squared 2-Wasserstein distances between two sets of points: sliced, and exact on few points.

mod exact;
mod sliced;

pub use exact::{MOST_POINTS, assignment, exact_w2_squared};
pub use sliced::sliced_w2_squared;
