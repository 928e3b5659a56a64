//! Clipping over all of `f32`: whatever a record holds, what it adds is within the norm.

use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use dp_core::DpError;
use dp_core::local::LocalMechanism;
use dp_core::mechanism::{BoundedGradient, NoiseSource, ParameterGradient, Sensitivity};
use dp_core::per_sample::nn::Chain;
use dp_core::per_sample::{
    JacobianClip, NORMS, Needs, Rounding, Stack, check_norm, norm_clip_weight, norm_clip_weights,
};
use dp_core::plan::TrainingPlan;
use dp_core::sampling::Sampler;
use proptest::prelude::*;

use crate::common::{added, length, row, wide};

const NEEDS: Needs = Needs {
    gram: true,
    input: false,
};

/// Numbers of all sizes, signs and both zeros; not all of them are finite once they are multiplied.
fn numbers(count: usize) -> impl Strategy<Value = Vec<f32>> {
    let size = prop_oneof![-149..128, -70..-50, 50..70];
    let spread = prop::collection::vec((-1.0_f32..1.0, 0..12), count);
    (size, spread).prop_map(|(size, spread)| {
        let each = spread.into_iter().map(|(x, less)| {
            let two = f64::powi(2.0, size - less);
            (f64::from(x) * two) as f32
        });
        each.collect()
    })
}

/// A norm of any size that is allowed.
fn norms() -> impl Strategy<Value = f64> {
    (NORMS.start().ln()..NORMS.end().ln())
        .prop_map(|ln| ln.exp().clamp(*NORMS.start(), *NORMS.end()))
}

/// What one record adds on tensors and on host kernels.
fn contributions(stack: &Stack, x: &[f32], delta: &[f32], bound: f64) -> [f64; 2] {
    let (tensors, _) = added(stack, x, delta, bound);
    let host = stack.host().unwrap();
    let seen = host.forward(1, x);
    let pulled = host.pull_back(&seen, 1, delta, NEEDS);
    let squared = f64::from(pulled.gram[0]) * (1.0 + Rounding::SINGLE.gram);
    let weights = [norm_clip_weight(squared, bound)];
    let mut sum = vec![0.0; host.parameters()];
    host.add_gradient(&seen, &pulled, &weights, &mut sum);
    [tensors, length(wide(&sum))]
}

fn linear(bias: bool) -> Linear {
    LinearConfig::new(6, 3)
        .with_bias(bias)
        .init(&Device::flex())
}

fn conv(bias: bool) -> Conv2d {
    Conv2dConfig::new([1, 3], [2, 3])
        .with_bias(bias)
        .init(&Device::flex())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The factors of a gradient may be as far apart as `f32` goes: the square of one is then nothing, and the other large.
    #[test]
    fn no_record_adds_more_than_the_norm(
        x in numbers(6), delta in numbers(3), bound in norms(), bias in any::<bool>(),
    ) {
        let (linear, conv) = (linear(bias), conv(bias));
        let stacks = [
            Chain::features(6).linear(&linear),
            // One place, as a linear layer.
            Chain::image([1, 2, 3]).conv2d(&conv),
        ];
        for (layer, chain) in stacks.into_iter().enumerate() {
            let stack = chain.flatten().build().unwrap();
            for (engine, added) in contributions(&stack, &x, &delta, bound).into_iter().enumerate() {
                prop_assert!(added <= bound * (1.0 + 1e-5), "{layer} {engine}: {added} of {bound}");
            }
        }
    }

    /// The same of rows of a Jacobian.
    #[test]
    fn no_jacobian_moves_more_than_its_bound(
        first in numbers(4), other in numbers(4), c in numbers(2), bound in norms(),
    ) {
        let rows = [&first, &other];
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let gram: Vec<f32> = rows.iter().flat_map(|a| rows.map(|b| dot(a, b))).collect();
        // A cotangent that is nearly no number of `f32` is rounded to one: the least sensitivity has room for that.
        let rounded = f64::powi(2.0, -149) * rows.map(|row| length(wide(row))).iter().sum::<f64>();
        let most = bound * length(wide(&c)) * (1.0 + 1e-5) + rounded;
        for mode in [JacobianClip::Rows, JacobianClip::Spectral] {
            let clipped = mode.apply(&gram, &c, bound);
            let on_tensors = mode.apply_all(
                row(&gram).reshape([1, 2, 2]), row(&c), bound, Rounding::SINGLE,
            );
            let on_tensors: Vec<f64> = on_tensors.into_data().iter().collect();
            for (engine, clipped) in [clipped, on_tensors].iter().enumerate() {
                let moved = (0..4).map(|j| {
                    rows.iter().zip(clipped).map(|(row, c)| f64::from(row[j]) * c).sum::<f64>()
                });
                let moved = length(moved);
                prop_assert!(moved <= most, "{mode:?} {engine}: {moved} of {most}");
            }
        }
    }
}

/// The record of the first report: of squares that are nothing, and a norm that was let through 424 times.
#[test]
fn a_norm_whose_square_is_lost_is_refused() {
    for bad in [1e-26, 9.9e-10, 1.1e18, 0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = check_norm("norm", bad).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("norm = {bad} is refused")),
            "{error}"
        );
        assert!(error.contains("from 1e-9 to 1e18"), "{error}");
        assert_eq!(norm_clip_weight(0.0, bad), 0.0);
        let squared = Tensor::<1>::from_data([0.0_f32], &Device::flex());
        let weight = norm_clip_weights(squared, bad, Rounding::SINGLE);
        assert_eq!(weight.into_scalar::<f32>(), 0.0);
        for mode in [JacobianClip::Rows, JacobianClip::Spectral] {
            assert_eq!(mode.apply(&[0.0], &[1.0], bad), [0.0]);
        }
        assert!(LocalMechanism::laplace(1.0, bad).is_err());
        assert!(LocalMechanism::gaussian(1.0, 1e-5, bad).is_err());
        assert!(LocalMechanism::gaussian_published(1.0, 1e-5, bad).is_err());
    }
    for lost in [1e39, f64::INFINITY, f64::NAN] {
        assert_eq!(norm_clip_weight(lost, 1.0), 0.0);
    }
    for good in [1e-9, 1.0, 1e18] {
        assert!(check_norm("norm", good).is_ok());
        assert_eq!(norm_clip_weight(0.0, good), 1.0);
    }
}

/// Noise that `f32` cannot hold is no noise.
#[test]
fn a_sensitivity_that_32_bits_cannot_keep_to_is_refused() {
    let sampler = Sampler::fixed_size(100, 10).unwrap();
    let plan = TrainingPlan::for_epsilon(1.0, 1e-6, 10, sampler)
        .check()
        .unwrap();
    let mut releaser = plan.releaser(NoiseSource::insecure(1));
    for (sensitivity, good) in [(1e-45, false), (9e-19, false), (1e-17, true), (1e29, false)] {
        let gradient = ParameterGradient::from_host(Vec::new(), &[], &Device::flex()).unwrap();
        let sensitivity = Sensitivity::l2(sensitivity).unwrap();
        let draw = releaser.draw().unwrap();
        let bounded = BoundedGradient::new(gradient, sensitivity, &[10], draw);
        match bounded {
            Ok(_) => assert!(good),
            Err(DpError::OutOfRange { name, .. }) => {
                assert!(!good && name == "sensitivity of a gradient");
            }
            Err(other) => panic!("{other}"),
        }
    }
}
