//! The smoothed distance between particles and a release, and its gradient in the particles.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::NoisyProjections;
use crate::SwdError;
use crate::transport::host::shifted_cotangents_and_distance;

/// Draws the smoothing of the particles: `N(0, sigma^2)` for each of `count` particles in each
/// slice of the release, `[k, count]`, with the release's own `sigma`.
pub fn smoothing_noise(target: &NoisyProjections, count: usize, rng: &mut impl Rng) -> Vec<f32> {
    let draws = count * target.slices().count();
    (0..draws)
        .map(|_| {
            let noise: f64 = StandardNormal.sample(rng);
            (target.deviation() * noise) as f32
        })
        .collect()
}

/// Computes the squared smoothed sliced distance between particles and a release, and its gradient.
///
/// `D = (1/k) sum_l W_2^2(x theta_l + xi_l, v_l)`, exact for any number of particles and of released
/// rows, in squared units of the particles. The gradient, `[n, d]`, in particle `i` is
/// `(2/(n k)) sum_l theta_l (<x_i, theta_l> + xi_{l,i} - q_{l, rank})`.
///
/// - `particles`: `[n, d]`, row by row;
/// - `smoothing`: `[k, n]`, sampled anew for each call ([`smoothing_noise`]), a constant for the gradient.
///
/// At `sigma = 0` this is the ordinary distance and gradient of [`crate::transport::host`], bit for
/// bit. To train a generator, backpropagate the gradient as the cotangent of the generator's output.
///
/// # Errors
/// Lengths that do not fit each other, or a value that is not finite.
///
/// Source: Sebag et al. 2023, arXiv 2312.08227, equations 9 and 21; Rodriguez-Vitores et al. 2025,
/// arXiv 2502.01701, propositions 3.1 and 3.2.
pub fn smoothed_distance_and_gradient(
    particles: &[f32],
    smoothing: &[f32],
    target: &NoisyProjections,
) -> Result<(f64, Vec<f32>), SwdError> {
    let slices = target.slices();
    crate::check::check_shape("particles", particles.len(), slices.dim())?;
    let cells = target.cells(particles.len() / slices.dim())?;
    let (gradient, distance) =
        shifted_cotangents_and_distance(particles, Some(smoothing), slices, &cells)?;
    Ok((distance, gradient))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::host::sliced_cotangents_and_distance;
    use crate::{NormBound, Slices, TargetQuantiles};
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    struct Instance {
        particles: Vec<f32>,
        rows: Vec<f32>,
        slices: Slices,
        dim: usize,
        rng: ChaCha20Rng,
    }

    fn instance(seed: u64) -> Instance {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let dim = rng.random_range(1..5_usize);
        let k = rng.random_range(1..7_usize);
        let slices = Slices::iid(dim, k, &mut rng).unwrap();
        let mut points = |most| -> Vec<f32> {
            let n = rng.random_range(1..most);
            (0..n * dim).map(|_| rng.random_range(-0.4..0.4)).collect()
        };
        let (particles, rows) = (points(12_usize), points(17));
        Instance {
            particles,
            rows,
            slices,
            dim,
            rng,
        }
    }

    impl Instance {
        /// A release with the given deviation, with noise that is no secret here.
        fn release(&mut self, deviation: f64) -> NoisyProjections {
            let region = NormBound::ball(1.0).unwrap();
            let projected = region.project(&self.rows, &self.slices).unwrap();
            let mut noise = || -> f64 { StandardNormal.sample(&mut self.rng) };
            let noise = projected.iter().map(|x| x + deviation * noise()).collect();
            NoisyProjections::from_released(noise, self.slices.clone(), deviation).unwrap()
        }
    }

    proptest! {
        #[test]
        fn the_gradient_is_the_slope_of_the_distance(seed in any::<u64>(), deviation in 0.0..1.0) {
            let mut it = instance(seed);
            let target = it.release(deviation);
            let n = it.particles.len() / it.dim;
            let smoothing = smoothing_noise(&target, n, &mut it.rng);
            let (_, gradient) =
                smoothed_distance_and_gradient(&it.particles, &smoothing, &target).unwrap();
            for place in 0..it.particles.len() {
                let ends = [-1.0, 1.0].map(|sign| {
                    let mut moved = it.particles.clone();
                    moved[place] += sign * 2.0_f32.powi(-12);
                    let (distance, gradient) =
                        smoothed_distance_and_gradient(&moved, &smoothing, &target).unwrap();
                    (f64::from(moved[place]), distance, f64::from(gradient[place]))
                });
                let slope = (ends[1].1 - ends[0].1) / (ends[1].0 - ends[0].0);
                // Where two projections change places in between, the gradient jumps, and the
                // slope lies between the gradients at the ends.
                let gradient = f64::from(gradient[place]);
                prop_assert!(slope > ends[0].2.min(ends[1].2).min(gradient) - 1e-3);
                prop_assert!(slope < ends[0].2.max(ends[1].2).max(gradient) + 1e-3);
            }
        }

        #[test]
        fn without_noise_it_is_the_ordinary_distance(seed in any::<u64>()) {
            let mut it = instance(seed);
            let target = it.release(0.0);
            let n = it.particles.len() / it.dim;
            let smoothing = smoothing_noise(&target, n, &mut it.rng);
            let (distance, gradient) =
                smoothed_distance_and_gradient(&it.particles, &smoothing, &target).unwrap();
            let cells = target.cells(n).unwrap();
            let (expected, value) =
                sliced_cotangents_and_distance(&it.particles, &it.slices, &cells).unwrap();
            prop_assert_eq!((distance, &gradient), (value, &expected));
            let sample = TargetQuantiles::of_sample(&it.rows, &it.slices, n).unwrap();
            let (_, value) =
                sliced_cotangents_and_distance(&it.particles, &it.slices, &sample).unwrap();
            prop_assert!((distance - value).abs() < 1e-9);
        }

        #[test]
        fn the_order_of_particles_and_rows_does_not_matter(seed in any::<u64>()) {
            let mut it = instance(seed);
            let target = it.release(0.3);
            let (d, k) = (it.dim, it.slices.count());
            let n = it.particles.len() / d;
            let smoothing = smoothing_noise(&target, n, &mut it.rng);
            let (distance, gradient) =
                smoothed_distance_and_gradient(&it.particles, &smoothing, &target).unwrap();
            let turn = it.rng.random_range(0..n);
            let mut particles = it.particles.clone();
            particles.rotate_left(turn * d);
            let mut shifted = smoothing.clone();
            shifted.chunks_exact_mut(n).for_each(|row| row.rotate_left(turn));
            let (value, mut found) =
                smoothed_distance_and_gradient(&particles, &shifted, &target).unwrap();
            found.rotate_right(turn * d);
            prop_assert!((value - distance).abs() < 1e-12);
            prop_assert_eq!(found, gradient);
            let rows = target.rows();
            let mut values: Vec<f64> = (0..k * rows).map(|_| it.rng.random()).collect();
            let one = NoisyProjections::from_released(values.clone(), it.slices.clone(), 0.3);
            values.chunks_exact_mut(rows).for_each(|row| row.reverse());
            let two = NoisyProjections::from_released(values, it.slices.clone(), 0.3);
            prop_assert_eq!(
                smoothed_distance_and_gradient(&it.particles, &smoothing, &one.unwrap()),
                smoothed_distance_and_gradient(&it.particles, &smoothing, &two.unwrap())
            );
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let mut it = instance(3);
        let target = it.release(0.1);
        let n = it.particles.len() / it.dim;
        let smoothing = smoothing_noise(&target, n, &mut it.rng);
        assert!(smoothed_distance_and_gradient(&[], &[], &target).is_err());
        assert!(smoothed_distance_and_gradient(&it.particles, &[], &target).is_err());
        let mut bad = smoothing.clone();
        bad[0] = f32::NAN;
        assert!(smoothed_distance_and_gradient(&it.particles, &bad, &target).is_err());
        let mut bad = it.particles.clone();
        bad[0] = f32::INFINITY;
        assert!(smoothed_distance_and_gradient(&bad, &smoothing, &target).is_err());
    }
}
