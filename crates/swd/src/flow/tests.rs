use super::*;
use crate::smoothed::{NoisyProjections, smoothed_distance_and_gradient, smoothing_noise};
use crate::{Slices, TargetQuantiles};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

const NO_DIFFUSION: f64 = 0.0;

fn size(step: f64, diffusion: f64) -> StepSize {
    StepSize { step, diffusion }
}

fn points(n: usize, d: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
    (0..n * d).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// The smoothing that a step draws: one generator a chosen slice, each seeded by the given one.
fn step_smoothing(n: usize, k: usize, deviation: f64, rng: &ChaCha20Rng) -> Vec<f32> {
    let mut rng = rng.clone();
    let mut children: Vec<_> = (0..k).map(|_| step::Child::from_rng(&mut rng)).collect();
    let draws = children.iter_mut().flat_map(|child| {
        let mut noise = || -> f32 { StandardNormal.sample(child) };
        (0..n)
            .map(|_| deviation as f32 * noise())
            .collect::<Vec<f32>>()
    });
    draws.collect()
}

proptest! {
    /// A step is `x - h (n/2) grad` with the gradient of the reference in `f64`.
    #[test]
    fn a_step_follows_the_gradient_of_the_smoothed_distance(
        seed in any::<u64>(),
        n in prop_oneof![1_usize..40, Just(513), Just(1024), Just(1700)],
        d in 1_usize..9,
        k in 1_usize..6,
        m in 1_usize..30,
        deviation in prop_oneof![Just(0.0), 0.1..1.0],
        step in 0.0..3.0,
    ) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let slices = Slices::iid(d, k, &mut rng).unwrap();
        let released: Vec<f64> = (0..k * m).map(|_| rng.random_range(-1.0..1.0)).collect();
        let target = NoisyProjections::from_released(released, slices, deviation).unwrap();
        let x = points(n, d, &mut rng);
        let smoothing = step_smoothing(n, k, deviation, &rng);
        let mut particles = Particles::new(&x, d).unwrap();
        prop_assert_eq!(particles.rows(), x.clone());
        let chosen: Vec<usize> = (0..k).collect();
        let size = size(step, NO_DIFFUSION);
        let squares = particles.step(&target, &chosen, size, &mut rng).unwrap();
        let (distance, gradient) = smoothed_distance_and_gradient(&x, &smoothing, &target).unwrap();
        let within = target.cells(n).unwrap().mean_within_cell_variance();
        prop_assert!((squares + within - distance).abs() < 1e-5 * (1.0 + distance));
        // Projections that agree to rounding may change places in f32: the two particles then
        // swap cells in one slice, which is seen in the mean but not in their sum.
        let mut far = 0;
        for ((after, before), g) in particles.rows().iter().zip(&x).zip(&gradient) {
            let expected = f64::from(*before) - step * n as f64 / 2.0 * f64::from(*g);
            far += usize::from((f64::from(*after) - expected).abs() > 1e-4);
        }
        prop_assert!(far <= n * d / 100, "{far} of {}", n * d);
    }
}

#[test]
fn a_subset_of_the_slices_is_stepped_over() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let slices = Slices::tight(3, 9, &mut rng).unwrap();
    let chosen = [7, 0, 4, 4];
    let few = chosen.map(|l| slices.direction(l)).concat();
    let few = Slices::from_directions(3, &few).unwrap();
    let (x, y) = (points(50, 3, &mut rng), points(33, 3, &mut rng));
    let all = StoredCells::of_sample(&y, slices, 50).unwrap();
    let some = StoredCells::of_sample(&y, few, 50).unwrap();
    let size = size(2.5, NO_DIFFUSION);
    let mut one = Particles::new(&x, 3).unwrap();
    let mut two = one.clone();
    let a = one.step(&all, &chosen, size, &mut rng).unwrap();
    let b = two.step(&some, &[0, 1, 2, 3], size, &mut rng).unwrap();
    // Directions that were rounded to 32 bits are scaled and rounded again.
    assert!((a - b).abs() < 1e-6);
    for (a, b) in one.rows().iter().zip(&two.rows()) {
        assert!((a - b).abs() < 1e-5);
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let slices = Slices::tight(5, 150, &mut rng).unwrap();
    let released: Vec<f64> = (0..150 * 40).map(|_| rng.random_range(-1.0..1.0)).collect();
    let target = NoisyProjections::from_released(released, slices, 0.4).unwrap();
    let x = points(1300, 5, &mut rng);
    let chosen: Vec<usize> = (0..150).rev().collect();
    let run = |threads| {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let mut particles = Particles::new(&x, 5).unwrap();
        let size = size(5.0, 0.01);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let mut step = || particles.step(&target, &chosen, size, &mut rng).unwrap();
        let distances = pool.build().unwrap().install(|| [step(), step(), step()]);
        (distances, particles.rows())
    };
    assert_eq!(run(1), run(7));
}

/// Diffusion alone: after `t` steps the variance has grown by `2 lambda h t`. 6000 coordinates, six
/// standard deviations: a false alarm in 2e-9 of all seeds.
#[test]
fn diffusion_has_the_variance_of_the_wiener_process() {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let slices = Slices::iid(3, 2, &mut rng).unwrap();
    let target = StoredCells::new(
        slices,
        TargetQuantiles::shared(vec![0.0; 2000], 0.0).unwrap(),
    )
    .unwrap();
    let mut particles = Particles::new(&[0.0; 6000], 3).unwrap();
    let size = size(1e-12, 1e12);
    for _ in 0..4 {
        particles.step(&target, &[0, 1], size, &mut rng).unwrap();
    }
    let rows = particles.rows();
    let squares: f64 = rows.iter().map(|&x| f64::from(x * x)).sum();
    let (variance, n) = (squares / rows.len() as f64, rows.len() as f64);
    let off = (variance / 8.0 - 1.0).abs();
    assert!(off < 6.0 * (2.0 / n).sqrt(), "{variance}");
}

#[test]
fn particles_are_put_into_a_region() {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let mut particles = Particles::gaussian(700, 4, 2.0, &mut rng).unwrap();
    particles.project_onto(NormBound::sphere(1.5).unwrap());
    for row in particles.rows().chunks(4) {
        let norm: f64 = row.iter().map(|&x| f64::from(x).powi(2)).sum();
        assert!((norm.sqrt() - 1.5).abs() < 1e-6);
    }
}

#[test]
fn bad_input_is_refused() {
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let slices = Slices::tight(2, 4, &mut rng).unwrap();
    let target = StoredCells::of_sample(&[0.5; 4], slices, 3).unwrap();
    let mut particles = Particles::new(&[0.0; 6], 2).unwrap();
    let good = size(1.0, 0.0);
    let mut step = |chosen: &[usize], step, diffusion| {
        let stepped = particles.step(&target, chosen, size(step, diffusion), &mut rng);
        stepped.is_err()
    };
    assert!(!step(&[0, 3], 1.0, 0.0));
    assert!(step(&[], 1.0, 0.0));
    assert!(step(&[4], 1.0, 0.0));
    assert!(step(&[0], -1.0, 0.0));
    assert!(step(&[0], f64::NAN, 0.0));
    assert!(step(&[0], 1.0, -1.0));
    // Far too large a step ends in an error, not in particles that are not numbers.
    assert!((0..60).any(|_| step(&[0, 1, 2, 3], 1e6, 0.0)));
    let mut wrong = Particles::new(&[0.0; 6], 3).unwrap();
    assert!(wrong.step(&target, &[0], good, &mut rng).is_err());
    assert!(Particles::new(&[], 2).is_err());
    assert!(Particles::new(&[0.0; 3], 2).is_err());
    assert!(Particles::new(&[f32::NAN], 1).is_err());
    assert!(Particles::gaussian(0, 2, 1.0, &mut rng).is_err());
    assert!(Particles::gaussian(2, 0, 1.0, &mut rng).is_err());
    assert!(Particles::gaussian(2, 2, -1.0, &mut rng).is_err());
    // The smoothing of a release without noise is nothing.
    let slices = Slices::from_directions(1, &[1.0, 1.0]).unwrap();
    let noisy = NoisyProjections::from_released(vec![0.0; 4], slices, 0.0);
    assert_eq!(smoothing_noise(&noisy.unwrap(), 2, &mut rng), [0.0; 4]);
}
