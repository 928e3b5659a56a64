//! The privacy contract of a training step.
//!
//! Two batches that differ in one record go through the same step with the same public randomness;
//! what reaches the mechanism must differ by at most the declared sensitivity. The trials are
//! adversarial: saturated activations, ties, a collapsed encoder, targets with more or fewer points
//! than records, huge gradients. Each sabotage below (no clipping, a tie-break that depends on the
//! data, no noise) must be caught by the very same measurement, or the contract proves nothing.

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor};
use dp_core::DpError;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{
    BoundedGradient, NoiseSource, ParameterGradient, ReleasedGradient, Releaser, Sensitivity,
};
use dp_core::per_sample::{JacobianClip, ParameterSlot};
use dp_core::plan::{Noise, TrainingPlan};
use dp_core::sampling::AllRecords;
use model::swae::{Swae, SwaeConfig};
use private_training::penalty::Matching;
use private_training::{
    Batch, Clipping, Engine, GroupSizes, Loss, Objective, Penalty, Prior, StepObjective,
};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::{Cells, Cost, Slices, UniformBall};
use system_tests::portability::{CHUNK, available_devices};
use test_support::distance;

const PIXELS: usize = SwaeConfig::PIXELS;

/// Multiplies every weight of a module.
struct Scale(f32);

impl ModuleMapper for Scale {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|value| value * self.0)
    }
}

/// One adversarial pair of neighbours and the public side of their step.
struct Trial {
    model: Swae,
    sizes: Vec<usize>,
    step: StepObjective,
    batch: Vec<f32>,
    neighbour: Vec<f32>,
}

/// `(1 - alpha)` of the reconstruction, clipped to `bound`, and `alpha` of the transport.
fn objective(
    alpha: f64,
    cost: Cost,
    (bound, clipping): (f64, Clipping),
    matching: Matching,
    sizes: &[usize],
) -> StepObjective {
    let loss = Loss::binary_cross_entropy_with_logits();
    let penalty = Penalty::to(Prior::UniformBall)
        .cost(cost)
        .weight(alpha)
        .clipping(clipping);
    Objective::of([loss.weight(1.0 - alpha).max_grad_norm(bound)])
        .with_penalties(
            vec![penalty.with_target(matching)],
            GroupSizes::Fixed(sizes.to_vec()),
        )
        .unwrap()
}

impl Trial {
    fn new(index: u64, device: &Device) -> Self {
        Self::of(Cost::Square, index, device)
    }

    fn of(cost: Cost, index: u64, device: &Device) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(index);
        let latent = [1, 2, 6][rng.random_range(0..3)];
        let classes = [0, 3][rng.random_range(0..2)];
        let sizes: Vec<usize> = if classes == 0 {
            vec![rng.random_range(2..14)]
        } else {
            (0..classes).map(|_| rng.random_range(1..6)).collect()
        };
        let model = SwaeConfig { latent, classes }.init(&mut rng, device);
        // From a collapsed encoder over an ordinary one to one that saturates every bound.
        let factor = [0.0, 0.3, 1.0, 1.6][rng.random_range(0..4)];
        let model = model.map(&mut Scale(factor));
        let slices = if rng.random_bool(0.5) {
            Slices::tight(latent, latent * 4 + 1, &mut rng).unwrap()
        } else {
            Slices::iid(latent, 5, &mut rng).unwrap()
        };
        let ball = UniformBall::new(latent).unwrap();
        let exact = rng.random_bool(0.3);
        let cells = sizes
            .iter()
            .map(|&n| {
                if exact {
                    ball.cells(n).unwrap()
                } else {
                    let points = ball.sample(rng.random_range(1..20), &mut rng);
                    Cells::of_sample(&points, &slices, n).unwrap()
                }
            })
            .collect();
        let mode = [JacobianClip::Rows, JacobianClip::Spectral][rng.random_range(0..2)];
        let mut clipping = Clipping {
            activation: rng.random_range(0.2..2.0),
            jacobian: rng.random_range(0.1..3.0),
            mode,
        };
        // Costs whose slope levels off need no ball.
        let free = matches!(
            cost,
            Cost::Huber(_) | Cost::LogCosh(_) | Cost::PseudoHuber(_)
        );
        if free && index % 4 == 3 {
            clipping.activation = f64::INFINITY;
        }
        let bounds = (rng.random_range(0.1..3.0), clipping);
        let alpha = [0.0, 0.1, 0.5, 1.0][rng.random_range(0..4)];
        let matching = Matching::new(slices, cells);
        let n = sizes.iter().sum();
        let batch = images(n, &mut rng);
        let mut neighbour = batch.clone();
        let place = rng.random_range(0..n);
        let other = images(1, &mut rng);
        neighbour[place * PIXELS..(place + 1) * PIXELS].copy_from_slice(&other);
        Self {
            model,
            step: objective(alpha, cost, bounds, matching, &sizes),
            sizes,
            batch,
            neighbour,
        }
    }

    fn batches(&self, device: &Device) -> [Batch<2>; 2] {
        [&self.batch, &self.neighbour].map(|pixels| {
            let batch = self.model.batch(pixels.clone(), &self.sizes, device);
            batch.unwrap()
        })
    }

    /// Distance over declared sensitivity of what reaches the mechanism.
    fn ratio(&self, engine: Engine, device: &Device) -> f64 {
        let [first, second] = self.batches(device).map(|batch| {
            let step = &self.step;
            let bounded = step.clipped_gradient(&self.model, &batch, engine, device);
            bounded.unwrap().0
        });
        assert_eq!(first.sensitivity(), second.sensitivity());
        distance(&first.before_noise(), &second.before_noise()) / first.sensitivity().l2_upper()
    }

    /// The same with the clipping taken out.
    fn ratio_without_clipping(&self, engine: Engine, device: &Device) -> f64 {
        let [first, second] = self.batches(device).map(|batch| {
            let step = &self.step;
            let plain = step.gradient_without_privacy(&self.model, &batch, engine, device);
            plain.unwrap().0
        });
        let declared = self.step.sensitivity(engine).unwrap();
        distance(&first.to_host(), &second.to_host()) / declared.l2_upper()
    }
}

/// Images from blank over ordinary and saturated ones to values far outside the range of pixels;
/// one image in three repeats another, so that there are ties.
fn images(count: usize, rng: &mut impl Rng) -> Vec<f32> {
    let mut pixels: Vec<f32> = Vec::with_capacity(count * PIXELS);
    for i in 0..count {
        if i > 0 && rng.random_bool(0.33) {
            let source = rng.random_range(0..i);
            pixels.extend_from_within(source * PIXELS..(source + 1) * PIXELS);
            continue;
        }
        let (low, high) =
            [(0.0, 0.01), (0.0, 1.0), (1.0, 1.01), (-500.0, 500.0)][rng.random_range(0..4)];
        pixels.extend((0..PIXELS).map(|_| rng.random_range(low..high)));
    }
    pixels
}

#[test]
fn neighbours_stay_within_the_declared_sensitivity() {
    let device = Device::flex();
    let mut largest = 0.0f64;
    for index in 0..400 {
        let trial = Trial::new(index, &device);
        let ratio = trial.ratio(Engine::Host { chunk: 4 }, &device);
        assert!(ratio <= 1.0, "trial {index}: {ratio} times the sensitivity");
        largest = largest.max(ratio);
    }
    // A contract that is never nearly used would not notice a broken bound.
    assert!(largest > 0.5, "the worst trial used only {largest}");
}

/// Costs other than the square, by the host kernels and by tensors; each is nearly used.
#[test]
fn neighbours_stay_within_the_declared_sensitivity_of_any_cost() {
    let device = Device::flex();
    for (number, cost) in [
        Cost::Huber(0.02),
        Cost::Huber(0.5),
        Cost::LogCosh(0.1),
        Cost::PseudoHuber(0.1),
        Cost::Power(1.2),
        Cost::Power(3.0),
    ]
    .into_iter()
    .enumerate()
    {
        let mut largest = 0.0f64;
        for index in 0..100 {
            let trial = Trial::of(cost, 5000 + 100 * number as u64 + index, &device);
            let engine = match index % 5 {
                0 => Engine::Tensor { chunk: 4 },
                _ => Engine::Host { chunk: 4 },
            };
            let ratio = trial.ratio(engine, &device);
            assert!(
                ratio <= 1.0,
                "{cost:?}, trial {index}: {ratio} times the sensitivity"
            );
            largest = largest.max(ratio);
        }
        assert!(
            largest > 0.5,
            "{cost:?}: the worst trial used only {largest}"
        );
        let ties = saturated_of(cost, 300, true, &device);
        let ratio = ties.ratio(Engine::Host { chunk: 20 }, &device);
        assert!(
            ratio <= 1.0,
            "{cost:?}, ties: {ratio} times the sensitivity"
        );
    }
}

#[test]
fn neighbours_stay_within_the_declared_sensitivity_on_tensors() {
    let device = Device::flex();
    for index in 1000..1040 {
        let trial = Trial::new(index, &device);
        let ratio = trial.ratio(Engine::Tensor { chunk: 4 }, &device);
        assert!(ratio <= 1.0, "trial {index}: {ratio} times the sensitivity");
    }
}

/// The same on every device of this build that this machine has, with fewer trials: a GPU may be in
/// software here. One trial has ties at the bound.
#[test]
fn neighbours_stay_within_the_declared_sensitivity_on_every_device() {
    let test_devices = available_devices();
    for test_device in test_devices
        .iter()
        .filter(|test_device| test_device.private())
    {
        let engine = Engine::Tensor { chunk: CHUNK };
        let mut largest = 0.0f64;
        let trials = (2000..).map(|index| Trial::new(index, &test_device.device));
        let whole = trials.filter(|trial| (trial.batch.len() / PIXELS).is_multiple_of(CHUNK));
        for trial in whole.take(3) {
            let ratio = trial.ratio(engine, &test_device.device);
            assert!(ratio <= 1.0, "{}: {ratio}", test_device.name);
            largest = largest.max(ratio);
        }
        assert!(
            largest > 0.3,
            "{}: the worst used only {largest}",
            test_device.name
        );
        let trial = saturated(10 * CHUNK, true, &test_device.device);
        let ratio = trial.ratio(engine, &test_device.device);
        assert!(ratio <= 1.0, "{}: ties: {ratio}", test_device.name);
    }
}

#[test]
fn sabotage_without_clipping_is_caught() {
    let device = Device::flex();
    let caught = (0..60)
        .filter(|&index| {
            let trial = Trial::new(index, &device);
            trial.ratio_without_clipping(Engine::Host { chunk: 4 }, &device) > 1.0
        })
        .count();
    assert!(caught >= 20, "only {caught} of 60 trials exceed the bound");
}

/// `n` records whose latents all lie at the clipping bound, so that nearly every rank is a tie: at one
/// end of it, or at both. One record is replaced by a blank image.
fn saturated(n: usize, both_ends: bool, device: &Device) -> Trial {
    saturated_of(Cost::Square, n, both_ends, device)
}

fn saturated_of(cost: Cost, n: usize, both_ends: bool, device: &Device) -> Trial {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let model = SwaeConfig {
        latent: 1,
        classes: 0,
    }
    .init(&mut rng, device);
    let mut batch: Vec<f32> = Vec::with_capacity(n * PIXELS);
    for _ in 0..n {
        let sign = if both_ends && rng.random_bool(0.5) {
            -1.0
        } else {
            1.0
        };
        // Sparse images: their Jacobians point apart, so swapped ranks do not cancel.
        batch.extend((0..PIXELS).map(|_| {
            if rng.random_bool(0.05) {
                sign * rng.random_range(0.0..40.0)
            } else {
                0.0
            }
        }));
    }
    let mut neighbour = batch.clone();
    neighbour[..PIXELS].fill(0.0);
    let slices = Slices::tight(1, 1, &mut rng).unwrap();
    let points = UniformBall::new(1).unwrap().sample(n, &mut rng);
    let cells = Cells::of_sample(&points, &slices, n).unwrap();
    let clipping = Clipping {
        activation: 1e-3,
        jacobian: 1.0,
        mode: JacobianClip::Spectral,
    };
    let matching = Matching::new(slices, vec![cells]);
    Trial {
        model,
        sizes: vec![n],
        step: objective(1.0, cost, (1.0, clipping), matching, &[n]),
        batch,
        neighbour,
    }
}

#[test]
fn ties_at_the_clipping_bound_stay_within_the_sensitivity() {
    let device = Device::flex();
    // The longer rows are sorted in another way than the shorter ones.
    for (n, both_ends) in [(300, false), (300, true), (1600, true)] {
        let trial = saturated(n, both_ends, &device);
        let ratio = trial.ratio(Engine::Host { chunk: 20 }, &device);
        assert!(
            ratio <= 1.0,
            "{n}, {both_ends}: {ratio} times the sensitivity"
        );
    }
}

/// With another order among equals for each data set, as an unstable sort may give, the same
/// measurement on the same trial exceeds the bound: the gradient is a sum over records, so another
/// order of the records changes nothing but the tie-break.
#[test]
fn sabotage_of_the_tie_break_is_caught() {
    let device = Device::flex();
    let mut trial = saturated(300, false, &device);
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let mut order: Vec<usize> = (0..300).collect();
    order.shuffle(&mut rng);
    trial.neighbour = order
        .iter()
        .flat_map(|&i| trial.neighbour[i * PIXELS..(i + 1) * PIXELS].to_vec())
        .collect();
    let ratio = trial.ratio(Engine::Host { chunk: 20 }, &device);
    assert!(ratio > 1.0, "only {ratio} times the sensitivity");
}

/// A record whose gradient is not finite contributes nothing and harms no other.
#[test]
fn a_record_that_is_not_finite_contributes_nothing() {
    let device = Device::flex();
    for engine in [
        Engine::Autodiff,
        Engine::Host { chunk: 3 },
        Engine::Tensor { chunk: 3 },
    ] {
        let mut trial = Trial::new(5, &device);
        let place = 1;
        trial.neighbour = trial.batch.clone();
        trial.neighbour[place * PIXELS..(place + 1) * PIXELS].fill(f32::NAN);
        let ratio = trial.ratio(engine, &device);
        assert!(ratio <= 1.0, "{engine:?}: {ratio} times the sensitivity");
    }
}

/// A releaser of one step at this noise multiplier.
fn releaser(noise_multiplier: f64, seed: u64) -> Releaser {
    let plan = TrainingPlan {
        noise: Noise::Multiplier(noise_multiplier),
        ..TrainingPlan::within(1.0, 1e-3, 1, AllRecords::new(10).unwrap())
    };
    plan.check().unwrap().releaser(NoiseSource::insecure(seed))
}

fn release(
    mut releaser: Releaser,
    gradient: ParameterGradient,
    sensitivity: f64,
    ledger: &mut Ledger,
) -> Result<ReleasedGradient, DpError> {
    let draw = releaser.draw()?;
    let sensitivity = Sensitivity::l2(sensitivity)?;
    let bounded = BoundedGradient::new(gradient, sensitivity, &[10], draw)?;
    releaser.release(bounded, ledger)
}

fn release_once(seed: u64, deviation: f64, device: &Device) -> Vec<f32> {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).unwrap();
    let slots = vec![ParameterSlot {
        id: burn::module::ParamId::new(),
        shape: vec![1000, 1000],
    }];
    let gradient = ParameterGradient::from_host(slots, &vec![0.25; 1_000_000], device).unwrap();
    let released = release(
        releaser(deviation / 0.01, seed),
        gradient,
        0.01,
        &mut ledger,
    )
    .unwrap();
    assert_eq!(ledger.releases(), 1);
    released.gradient().to_host()
}

/// The noise is there, centred, and as large as declared, not smaller: the mean square of `n = 10^6` standardised values is
/// within five of its deviations, `sqrt(2 / n)` = 0.0014, of 1, and so within 0.7 %. The seed is fixed; over seeds the
/// false-alarm rate of both checks together is below 2e-6. Noise of 2 % less variance is fourteen deviations off.
#[test]
fn the_noise_has_the_declared_size() {
    let deviation = 0.05;
    let released = release_once(17, deviation, &Device::flex());
    let standard: Vec<f64> = released
        .iter()
        .map(|&x| (f64::from(x) - 0.25) / deviation)
        .collect();
    let n = standard.len() as f64;
    let mean = standard.iter().sum::<f64>() / n;
    let square = standard.iter().map(|x| x * x).sum::<f64>() / n;
    let off = |square: f64| (square - 1.0) / (2.0 / n).sqrt();
    assert!(mean.abs() < 5.0 / n.sqrt(), "mean {mean}");
    assert!(off(square).abs() < 5.0, "mean square {square}");
    // These values with 2 % less or more of variance would be refused.
    assert!(off(0.98 * square) < -5.0 && off(1.02 * square) > 5.0);
}

/// A gradient that is not finite never leaves, on any device; one that is, does, though the sum of its
/// sizes is not.
#[test]
fn only_what_is_finite_is_released() {
    let test_devices = available_devices();
    for test_device in &test_devices {
        for (values, leaves) in [
            (vec![0.5, f32::NAN, 1.0], false),
            (vec![0.5, f32::INFINITY, 1.0], false),
            (vec![f32::NEG_INFINITY, f32::INFINITY, 1.0], false),
            (vec![3e38, 3e38, -3e38], true),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl")).unwrap();
            let slots = vec![ParameterSlot {
                id: burn::module::ParamId::new(),
                shape: vec![3],
            }];
            let gradient =
                ParameterGradient::from_host(slots, &values, &test_device.device).unwrap();
            let released = release(releaser(1.0, 1), gradient, 1.0, &mut ledger);
            assert_eq!(released.is_ok(), leaves, "{}: {values:?}", test_device.name);
            assert_eq!(ledger.releases(), u64::from(leaves));
        }
    }
}

#[test]
fn two_sources_of_secret_noise_differ() {
    let mut first = NoiseSource::secret().unwrap();
    let mut second = NoiseSource::secret().unwrap();
    assert!(first.is_secret());
    assert_ne!(first.standard_normal(8), second.standard_normal(8));
}
