//! What is private where only the transport's factor of a gradient is noisy: nothing, for the map's inputs
//! (Rodriguez-Vitores, Lalanne and Loubes 2025, arXiv 2502.01701, appendix D.1).
//!
//! The map is a hard sigmoid `g(x) = max(0, min(1, theta_1 x + theta_2))`, the target one point. Outside of
//! `(0, 1)` the Jacobian of `g` is 0. Where all records lie there the gradient with a noisy transport factor is 0
//! whatever the noise, and after one record moved into `(0, 1)` it is almost surely not: who sees it tells
//! neighbours apart without an error. The inner-clipped gradient with its noise gives the most powerful test no
//! more than the trade-off curve of its plan.

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::{Noise, TrainingPlan};
use dp_core::sampling::GroupSampler;
use model::layers::linear;
use private_training::{Batch, Clipping, Engine, Forward, GroupSizes, Network, Objective, Penalty};
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
/// The false-alarm rate of the most powerful test.
const LEVEL: f64 = 0.05;

/// `max(0, min(1, theta_1 x + theta_2))`, `theta = (1, 0)`.
#[derive(Module, Debug)]
struct HardSigmoid {
    linear: Linear,
}

impl Network<2> for HardSigmoid {
    fn forward(&self, rows: Tensor<2>) -> Forward {
        Forward::penalised(self.linear.forward(rows).clamp(0.0, 1.0))
    }
}

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

/// The standard normal distribution function, by the error function of a plain series.
fn normal(x: f64) -> f64 {
    let steps = 20_000;
    let (from, width) = (-10.0, (x + 10.0) / f64::from(steps));
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let middle = |i: i32| density(from + (f64::from(i) + 0.5) * width);
    (0..steps).map(middle).sum::<f64>() * width
}

/// The false-alarm rate of this test is below 1e-4: the seed is fixed, each of the two counts of 400 is within
/// four standard deviations of its expectation for all but one seed in 10^4, and the power is computed of the
/// gradients exactly.
#[test]
fn the_inner_clipped_gradient_tells_no_more_than_its_plan() {
    let device = Device::flex();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let mut network = HardSigmoid {
        linear: linear(1, 1, 1.0, &mut rng, &device),
    };
    network.linear.weight = Param::from_data([[1.0]], &device);
    // L as in the appendix: records lie in [-L/2, L/2], and |(x, 1)| is at most L for L >= 2.
    let penalty = Penalty::to_private_sample(1.0).slices(1);
    let step = Objective::default()
        .penalty(penalty.clipping(Clipping::new(1.0, 3.0)))
        .draw(&[1], GroupSizes::Fixed(vec![RECORDS, 1]), &mut rng)
        .unwrap();
    let batches = neighbours().map(|records| {
        let rows = Tensor::from_data(TensorData::new(records, [RECORDS, 1]), &device);
        let batch =
            Batch::new(rows, Tensor::<2>::zeros([RECORDS, 1], &device), &[RECORDS]).unwrap();
        batch.with_private_sample(vec![0.7], 1).unwrap()
    });
    let gradient = |which: usize| {
        let clipped = step.clipped_gradient(&network, &batches[which], Engine::Autodiff, &device);
        clipped.unwrap().0
    };
    let multiplier = 1.0;
    let place = tempfile::tempdir().unwrap();
    let mut counts = [0_usize; 2];
    let values = [0, 1].map(|which| -> Vec<f64> {
        let values = gradient(which).before_noise();
        values.into_iter().map(f64::from).collect()
    });
    let pairs = values[0].iter().zip(&values[1]);
    let moved = pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    assert!(moved > 0.0, "the neighbours differ, or nothing is tested");
    let sensitivity = gradient(0).sensitivity().l2_upper();
    // What the most powerful test at this level reaches, and what the plan lets any test reach.
    let critical = -1.644_853_626_951_472_7;
    assert!((normal(critical) - LEVEL).abs() < 1e-6);
    let power = normal(critical + moved / (multiplier * sensitivity));
    let most = normal(critical + 1.0 / multiplier);
    assert!(power <= most, "{power} above {most}");
    for (which, count) in counts.iter_mut().enumerate() {
        let groups = vec![(0..RECORDS).collect(), vec![RECORDS]];
        let sampler = GroupSampler::new(groups, &[RECORDS, 1]).unwrap();
        let mut plan = TrainingPlan::within(1.0, 1e-3, RELEASES as u64, sampler);
        plan.noise = Noise::Multiplier(multiplier);
        let seed = 11 + which as u64;
        let mut releaser = plan.check().unwrap().releaser(NoiseSource::insecure(seed));
        let path = place.path().join(format!("{which}.jsonl"));
        let mut ledger = Ledger::create(&path).unwrap();
        for _ in 0..RELEASES {
            let draw = releaser.draw().unwrap();
            let bounded = gradient(which).of(draw).unwrap();
            let released = releaser.release(bounded, &mut ledger).unwrap();
            let released = released.gradient().to_host();
            let released: Vec<f64> = released.into_iter().map(f64::from).collect();
            // Neyman and Pearson: along the difference of the two gradients.
            let along = |v: &[f64]| -> f64 {
                let direction = values[1].iter().zip(&values[0]);
                let terms = v
                    .iter()
                    .zip(direction)
                    .map(|(v, (b, a))| v * (b - a) / moved);
                terms.sum()
            };
            let threshold = along(&values[0]) - critical * multiplier * sensitivity;
            *count += usize::from(along(&released) > threshold);
        }
    }
    for (count, expected) in counts.into_iter().zip([LEVEL, power]) {
        let n = RELEASES as f64;
        let found = count as f64 / n;
        let spread = (expected * (1.0 - expected) / n).sqrt();
        assert!(
            (found - expected).abs() < 4.0 * spread,
            "{found} for {expected}"
        );
    }
}
