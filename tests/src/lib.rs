//! Tests that need more than one crate: privacy contracts, and parity across backends.

pub mod portability;

/// The Euclidean distance of two vectors of one length.
pub fn distance(a: &[f32], b: &[f32]) -> f64 {
    let pairs = a.iter().zip(b);
    let squares = pairs.map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2));
    squares.sum::<f64>().sqrt()
}
