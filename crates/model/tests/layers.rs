//! Every layer against autodiff: cotangents, Gram matrices and gradients, tensor and host form.

mod oracle;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use dp_core::per_sample::{Layer, Needs, Stack};
use model::layers::{AvgPool, Conv, LeakyRelu, Linear, Upsample};
use oracle::{dot, flat_gradient, generator, host, relative_error, tensor, uniform};

const RECORDS: usize = 3;
const ROWS: usize = 4;
const TOLERANCE: f64 = 2e-5;
const NEEDS: Needs = Needs {
    gram: true,
    input: true,
};

/// `build` makes the same layer, weights included, on any device.
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
    let reference = build(&tracked);
    let slots = reference.parameters();
    let parameters: usize = slots.iter().map(|s| s.len()).sum();
    let mut jacobians = Vec::new();
    let mut below = Vec::new();
    for i in 0..RECORDS {
        for r in 0..ROWS {
            let row = &delta[(i * ROWS + r) * outputs..(i * ROWS + r + 1) * outputs];
            let input =
                tensor(&x[i * inputs..(i + 1) * inputs], [1, inputs], &tracked).require_grad();
            let output = reference.forward(input.clone());
            let scalar = (output * tensor(row, [1, outputs], &tracked)).sum();
            let gradients = scalar.clone().backward();
            let at_input = input.grad(&gradients);
            below.extend(at_input.map_or(vec![0.0; inputs], host));
            let output = reference.forward(input.detach());
            let scalar = (output * tensor(row, [1, outputs], &tracked)).sum();
            if parameters > 0 {
                jacobians.push(flat_gradient(scalar, &reference, &slots));
            }
        }
    }
    let mut gram = vec![0.0f32; RECORDS * ROWS * ROWS];
    let mut sum = vec![0.0f32; parameters];
    if parameters > 0 {
        for i in 0..RECORDS {
            for r in 0..ROWS {
                for s in 0..ROWS {
                    gram[(i * ROWS + r) * ROWS + s] =
                        dot(&jacobians[i * ROWS + r], &jacobians[i * ROWS + s]) as f32;
                }
                for (t, j) in sum.iter_mut().zip(&jacobians[i * ROWS + r]) {
                    *t += weights[i * ROWS + r] * j;
                }
            }
        }
    }

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
