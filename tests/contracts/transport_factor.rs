//! What is private where only the transport's factor of a gradient is noisy: nothing, for the map's inputs
//! (Rodriguez-Vitores, Lalanne and Loubes 2025, arXiv 2502.01701, appendix D.1).
//!
//! The map is a hard sigmoid `g(x) = max(0, min(1, theta_1 x + theta_2))`, the target one point. Outside of
//! `(0, 1)` the Jacobian of `g` is 0. Where all records lie there the gradient with a noisy transport factor is 0
//! whatever the noise, and after one record moved into `(0, 1)` it is almost surely not: who sees it tells
//! neighbours apart without an error.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use swd::Slices;
use swd::smoothed::{NoisyProjections, smoothed_distance_and_gradient, smoothing_noise};

/// Records, and the standard deviation of the noise in the transport's factor.
const RECORDS: usize = 8;
const SIGMA: f64 = 3.0;
/// Releases of each data set.
const RELEASES: usize = 400;

/// Records outside of `(0, 1)`, and the same with the first one inside.
fn neighbours() -> [Vec<f32>; 2] {
    let outside: Vec<f32> = (0..RECORDS)
        .map(|i| if i % 2 == 0 { 1.5 } else { -0.5 })
        .collect();
    let mut inside = outside.clone();
    inside[0] = 0.5;
    [outside, inside]
}

/// The gradient in `(theta_1, theta_2)` by the chain rule, its transport factor from noisy projections of both sides.
fn with_noisy_transport(records: &[f32], rng: &mut ChaCha20Rng) -> [f64; 2] {
    let slices = Slices::from_directions(1, &[1.0]).unwrap();
    let noise: f64 = StandardNormal.sample(rng);
    let target = vec![0.7 + SIGMA * noise];
    let target = NoisyProjections::from_released(target, slices, SIGMA).unwrap();
    let points: Vec<f32> = records.iter().map(|x| x.clamp(0.0, 1.0)).collect();
    let smoothing = smoothing_noise(&target, RECORDS, rng);
    let (_, cotangents) = smoothed_distance_and_gradient(&points, &smoothing, &target).unwrap();
    let mut gradient = [0.0; 2];
    for (&x, c) in records.iter().zip(cotangents) {
        if 0.0 < x && x < 1.0 {
            gradient[0] += f64::from(c) * f64::from(x);
            gradient[1] += f64::from(c);
        }
    }
    gradient
}

#[test]
fn a_noisy_transport_factor_alone_tells_neighbours_apart_with_certainty() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let [outside, inside] = neighbours();
    for _ in 0..RELEASES {
        // No false alarm, ever: the claim is exact, and no rate has to be stated.
        assert_eq!(with_noisy_transport(&outside, &mut rng), [0.0, 0.0]);
        assert_ne!(with_noisy_transport(&inside, &mut rng), [0.0, 0.0]);
    }
}
