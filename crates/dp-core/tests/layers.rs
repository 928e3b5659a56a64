//! burn's layers on the fast path against burn's autodiff, one record and one output at a time.

mod stacks;

use burn::tensor::{Device, Tensor, TensorData};
use dp_core::per_sample::{Needs, Reference, Rows};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rand::{Rng, RngExt};
use stacks::{Draw, KINDS, Net, generator, uniform};

const RECORDS: usize = 3;
const ROWS: usize = 2;
const VOCABULARY: usize = 4;
const TOLERANCE: f64 = 1e-5;
const NEEDS: Needs = Needs {
    gram: true,
    input: true,
};

fn tensor<const D: usize>(values: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}

fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

/// `||found - expected|| / ||expected||`.
fn relative_error(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let pairs = found.iter().zip(expected);
    let difference: f64 = pairs.map(|(a, b)| (a - b).powi(2)).sum();
    let size: f64 = expected.iter().map(|b| b * b).sum();
    if size == 0.0 {
        return difference.sqrt();
    }
    (difference / size).sqrt()
}

/// Records for a net: numbers of tokens where it begins with them.
fn records(net: &Net, rng: &mut impl Rng) -> Vec<f32> {
    let features: usize = net.shape.iter().product();
    match net.parts[0] {
        stacks::Part::Embedding(_) => (0..RECORDS * features)
            .map(|_| rng.random_range(0..VOCABULARY) as f32)
            .collect(),
        _ => uniform(RECORDS * features, rng),
    }
}

/// The largest of the relative errors of outputs, Gram matrices, cotangents at the input and weighted sum.
fn errors(net: &Net, device: &Device, rng: &mut impl Rng) -> [f64; 4] {
    let features: usize = net.shape.iter().product();
    let x = records(net, rng);
    let stack = net.chain(device).build().unwrap();
    let seen = stack.forward(tensor(&x, [RECORDS, features], device));
    let outputs = seen.output().dims()[1];
    let delta = uniform(RECORDS * ROWS * outputs, rng);
    let weights = uniform(RECORDS * ROWS, rng);
    let pulled = stack.pull_back(
        &seen,
        tensor(&delta, [RECORDS, ROWS, outputs], device),
        NEEDS,
    );
    let weighted = tensor(&weights, [RECORDS, ROWS], device);
    let gradient: Vec<f64> = stack
        .gradient(&seen, &pulled, weighted)
        .into_iter()
        .flat_map(host)
        .collect();

    let reference = Reference::new(net).unwrap();
    assert_eq!(reference.parameters(), stack.parameters());
    let tracked = device.clone().autodiff();
    let (mut forward, mut gram, mut input) = (Vec::new(), Vec::new(), Vec::new());
    let mut sum = vec![0.0; reference.scalars()];
    for i in 0..RECORDS {
        let record = tensor(&x[i * features..][..features], [1, features], &tracked);
        forward.extend(host(net.forward(record.clone(), i)));
        let row = |r: usize| {
            let row = &delta[(i * ROWS + r) * outputs..][..outputs];
            tensor(row, [1, outputs], &tracked)
        };
        for r in 0..ROWS {
            let at = record.clone().require_grad();
            let scalar = (net.forward(at.clone(), i) * row(r)).sum();
            let gradient = scalar.is_tracked().then(|| at.grad(&scalar.backward()));
            input.extend(gradient.flatten().map_or(vec![0.0; features], host));
        }
        let rows: Rows = reference.rows(|net| {
            let scalar = |r| (net.forward(record.clone(), i) * row(r)).sum();
            (0..ROWS).map(scalar).collect()
        });
        gram.extend(wide(&rows.gram()));
        rows.add_weighted(&weights[i * ROWS..][..ROWS], &mut sum);
    }
    [
        relative_error(&host(seen.output()), &forward),
        relative_error(&host(pulled.gram.clone()), &gram),
        relative_error(&host(pulled.input.clone().unwrap()), &input),
        relative_error(&gradient, &sum),
    ]
}

#[test]
fn every_layer_in_random_stacks_is_as_autodiff_has_it() {
    let mut wrong = Vec::new();
    for kind in KINDS {
        let config = Config {
            cases: 10,
            failure_persistence: None,
            ..Config::default()
        };
        let mut runner = TestRunner::new_with_rng(
            config,
            proptest::test_runner::TestRng::deterministic_rng(
                proptest::test_runner::RngAlgorithm::ChaCha,
            ),
        );
        let stacks = (any::<u64>(), 0..3usize, 0..4usize, any::<bool>());
        let checked = runner.run(&stacks, |(seed, before, more, autodiff)| {
            let device = match autodiff {
                true => Device::flex().autodiff(),
                false => Device::flex(),
            };
            let mut draw = Draw {
                rng: generator(seed),
                device: &device,
                records: RECORDS,
                vocabulary: VOCABULARY,
            };
            let net = draw.net(kind, before, more);
            let found = errors(&net, &device.clone().without_autodiff(), &mut draw.rng);
            let names: Vec<&str> = net.parts.iter().map(stacks::Part::kind).collect();
            prop_assert!(
                found.iter().all(|error| *error < TOLERANCE),
                "{found:?} in {names:?} from {:?}",
                net.shape
            );
            Ok(())
        });
        if let Err(error) = checked {
            wrong.push(format!("{kind}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
