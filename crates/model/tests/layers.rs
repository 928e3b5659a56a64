//! Every layer against autodiff: cotangents, Gram matrices and gradients, tensor and host form.

mod oracle;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use dp_core::per_sample::{Layer, Needs, Reference, Stack};
use model::layers::{AvgPool, Conv, LeakyRelu, Linear, Upsample};
use oracle::{generator, host, relative_error, tensor, uniform};

const RECORDS: usize = 3;
const ROWS: usize = 4;
const TOLERANCE: f64 = 2e-5;
const NEEDS: Needs = Needs {
    gram: true,
    input: true,
};

fn check<L: Layer + Module>(build: impl Fn(&Device) -> L, inputs: usize) {
    let plain = Device::flex();
    let tracked = Device::flex().autodiff();
    let mut rng = generator(7);
    let x = uniform(RECORDS * inputs, &mut rng);
    let layer = build(&plain);
    let stack = Stack::new(vec![&layer as &dyn Layer]);
    let activations = stack.forward(tensor(&x, [RECORDS, inputs], &plain));
    let outputs = activations.output().dims()[1];
    let delta = uniform(RECORDS * ROWS * outputs, &mut rng);
    let weights = uniform(RECORDS * ROWS, &mut rng);

    // The reference: one record and one row at a time.
    let reference = Reference::new(&layer).expect("a layer that mixes no records");
    assert_eq!(reference.parameters(), layer.parameters());
    let (mut gram, mut below) = (Vec::new(), Vec::new());
    let mut sum = vec![0.0f64; reference.scalars()];
    for i in 0..RECORDS {
        let record = tensor(&x[i * inputs..(i + 1) * inputs], [1, inputs], &tracked);
        let row = |r: usize| {
            let row = &delta[(i * ROWS + r) * outputs..(i * ROWS + r + 1) * outputs];
            tensor(row, [1, outputs], &tracked)
        };
        for r in 0..ROWS {
            let input = record.clone().require_grad();
            let gradients = (layer.forward(input.clone()) * row(r)).sum().backward();
            below.extend(input.grad(&gradients).map_or(vec![0.0; inputs], host));
        }
        let rows = reference.rows(|layer| {
            let scalar = |r| (layer.forward(record.clone()) * row(r)).sum();
            (0..ROWS).map(scalar).collect()
        });
        gram.extend(rows.gram());
        rows.add_weighted(&weights[i * ROWS..(i + 1) * ROWS], &mut sum);
    }
    let parameters = reference.scalars();
    let sum: Vec<f32> = sum.into_iter().map(|x| x as f32).collect();

    let pulled = stack.pull_back(
        &activations,
        tensor(&delta, [RECORDS, ROWS, outputs], &plain),
        NEEDS,
    );
    let at_input: Tensor<3> = pulled.input.clone().expect("asked for");
    assert!(relative_error(&host(at_input), &below) < TOLERANCE);
    assert!(relative_error(&host(pulled.gram.clone()), &gram) < TOLERANCE);
    let gradient: Vec<f32> = stack
        .gradient(
            &activations,
            &pulled,
            tensor(&weights, [RECORDS, ROWS], &plain),
        )
        .into_iter()
        .flat_map(host)
        .collect();
    assert!(relative_error(&gradient, &sum) < TOLERANCE);

    let on_host = stack.host().expect("every layer here has host kernels");
    let host_activations = on_host.forward(RECORDS, &x);
    assert!(relative_error(host_activations.output(), &host(activations.output())) < TOLERANCE);
    let pulled = on_host.pull_back(&host_activations, ROWS, &delta, NEEDS);
    assert!(relative_error(&pulled.input, &below) < TOLERANCE);
    assert!(relative_error(&pulled.gram, &gram) < TOLERANCE);
    let mut gradient = vec![0.0; parameters];
    on_host.add_gradient(&host_activations, &pulled, &weights, &mut gradient);
    assert!(relative_error(&gradient, &sum) < TOLERANCE);
}

#[test]
fn linear() {
    check(
        |device| Linear::new(11, 5, 2.0, &mut generator(1), device),
        11,
    );
}

#[test]
fn convolution_with_awkward_sizes() {
    for (c_in, c_out, height, width) in [(1, 8, 9, 6), (3, 5, 7, 7), (2, 1, 5, 4), (8, 16, 14, 14)]
    {
        let build = |device: &Device| {
            Conv::new(
                [c_in, c_out],
                [height, width],
                2.0,
                0.1,
                &mut generator(2),
                device,
            )
        };
        check(build, c_in * height * width);
    }
}

#[test]
fn leaky_relu() {
    check(|_| LeakyRelu::new(13, 0.2), 13);
    check(|_| LeakyRelu::new(13, 0.0), 13);
}

#[test]
fn average_pool() {
    check(|_| AvgPool::new(3, 6, 4), 72);
}

#[test]
fn upsample() {
    check(|_| Upsample::new(3, 5, 4), 60);
}

/// The host kernels that take over what follows a convolution.
#[test]
fn convolution_with_rectifier_and_pool() {
    let device = Device::flex();
    for (c_in, c_out, height, width, g) in [
        (1, 8, 6, 8, 6),
        (3, 5, 4, 2, 4),
        (2, 2, 10, 12, 1),
        (4, 7, 14, 14, 5),
    ] {
        let (n, inputs, features) = (11, c_in * height * width, c_out * height * width);
        let conv = Conv::new(
            [c_in, c_out],
            [height, width],
            2.0,
            0.1,
            &mut generator(2),
            &device,
        );
        let act = LeakyRelu::new(features, 0.2);
        let pool = AvgPool::new(c_out, height, width);
        let stack = Stack::new(vec![&conv as &dyn Layer, &act, &pool]);
        let mut rng = generator(9);
        let x = uniform(n * inputs, &mut rng);
        let delta = uniform(n * g * features / 4, &mut rng);
        let weights = uniform(n * g, &mut rng);
        let activations = stack.forward(tensor(&x, [n, inputs], &device));
        let on_host = stack.host().expect("host kernels");
        let host_activations = on_host.forward(n, &x);
        let expected = host(activations.output());
        assert!(relative_error(host_activations.output(), &expected) < TOLERANCE);
        for gram in [true, false] {
            let needs = Needs { gram, input: true };
            let cotangents = tensor(&delta, [n, g, features / 4], &device);
            let pulled = stack.pull_back(&activations, cotangents, needs);
            let host_pulled = on_host.pull_back(&host_activations, g, &delta, needs);
            let below = host(pulled.input.clone().expect("asked for"));
            assert!(relative_error(&host_pulled.input, &below) < TOLERANCE);
            if gram {
                let expected = host(pulled.gram.clone());
                assert!(relative_error(&host_pulled.gram, &expected) < TOLERANCE);
            }
            let parts = stack.gradient(&activations, &pulled, tensor(&weights, [n, g], &device));
            let expected: Vec<f32> = parts.into_iter().flat_map(host).collect();
            let mut gradient = vec![0.0; on_host.parameters()];
            on_host.add_gradient(&host_activations, &host_pulled, &weights, &mut gradient);
            assert!(relative_error(&gradient, &expected) < TOLERANCE);
        }
    }
}

/// A record of weight zero contributes exact zeros even where it is not finite.
#[test]
fn a_dead_record_does_not_spread() {
    let device = Device::flex();
    let layer = Linear::new(4, 2, 2.0, &mut generator(3), &device);
    let stack = Stack::new(vec![&layer as &dyn Layer]);
    let x = [[1.0, 2.0, 3.0, 4.0], [f32::NAN, f32::INFINITY, 0.0, 1.0]].concat();
    let delta = vec![1.0f32, -1.0, f32::NAN, 2.0];
    let weights = vec![0.5f32, 0.0];
    let activations = stack.forward(tensor(&x, [2, 4], &device));
    let pulled = stack.pull_back(&activations, tensor(&delta, [2, 1, 2], &device), NEEDS);
    let parts = stack.gradient(&activations, &pulled, tensor(&weights, [2, 1], &device));
    let on_tensors: Vec<f32> = parts.into_iter().flat_map(host).collect();
    let on_host = stack.host().expect("host kernels");
    let activations = on_host.forward(2, &x);
    let pulled = on_host.pull_back(&activations, 1, &delta, NEEDS);
    let mut flat = vec![0.0; on_host.parameters()];
    on_host.add_gradient(&activations, &pulled, &weights, &mut flat);
    let expected = [0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.0, -2.0, 0.5, -0.5];
    assert_eq!(on_tensors, expected);
    assert_eq!(flat, expected);
}
