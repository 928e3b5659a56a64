//! burn's own layers in chains: forward, backward, Gram matrices and gradient, against burn's autodiff on the
//! host, one record and one cotangent at a time.

use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};
use dp_core::per_sample::{Needs, Reference};
use private_training::Engine;

use super::{Case, TestDevice, Tolerance, wave, wide};
use test_support::stacks::{Draw, KINDS, Net, Part, generator};

const RECORDS: usize = 3;
const ROWS: usize = 2;
const VOCABULARY: usize = 4;

/// The same stack on any device: one with a layer of the kind in it.
fn net(kind: &str, device: &Device) -> Net {
    let mut draw = Draw {
        rng: generator(29),
        device,
        records: RECORDS,
        vocabulary: VOCABULARY,
    };
    draw.net(kind, 1, 1)
}

fn upload<const D: usize>(values: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}

fn records(net: &Net) -> Vec<f32> {
    let features: usize = net.shape.iter().product();
    match net.parts[0] {
        Part::Embedding(_) => (0..RECORDS * features)
            .map(|i| (i * i % VOCABULARY) as f32)
            .collect(),
        // Without the wave's first value, 0, where a rectifier has no one derivative.
        _ => wave(RECORDS * features + 1).split_off(1),
    }
}

fn found(net: &Net, device: &Device) -> Vec<f64> {
    let records = records(net);
    let features = records.len() / RECORDS;
    let stack = net.chain(device).build().expect("a sound chain");
    let seen = stack.forward(upload(&records, [RECORDS, features], device));
    let outputs = seen.output().dims()[1];
    let delta = upload(
        &wave(RECORDS * ROWS * outputs),
        [RECORDS, ROWS, outputs],
        device,
    );
    let needs = Needs {
        gram: true,
        input: true,
    };
    let pulled = stack.pull_back(&seen, delta, needs);
    let weights = upload(&wave(RECORDS * ROWS), [RECORDS, ROWS], device);
    let mut all: Vec<f64> = seen.output().into_data().iter().collect();
    all.extend(pulled.gram.clone().into_data().iter::<f64>());
    if let Some(input) = pulled.input.clone() {
        all.extend(input.into_data().iter::<f64>());
    }
    for part in stack.gradient(&seen, &pulled, weights) {
        all.extend(part.into_data().iter::<f64>());
    }
    all
}

/// By host kernels where all layers have them, else on tensors.
fn on_host(net: &Net) -> Vec<f64> {
    let device = Device::flex();
    let stack = net.chain(&device).build().expect("a sound chain");
    let Ok(host) = stack.host() else {
        return found(net, &device);
    };
    let activations = host.forward(RECORDS, &records(net));
    let delta = wave(RECORDS * ROWS * host.outputs());
    let needs = Needs {
        gram: true,
        input: true,
    };
    let pulled = host.pull_back(&activations, ROWS, &delta, needs);
    let mut gradient = vec![0.0; host.parameters()];
    host.add_gradient(&activations, &pulled, &wave(RECORDS * ROWS), &mut gradient);
    let mut all = wide(activations.output().iter().copied());
    all.extend(wide(pulled.gram));
    all.extend(wide(pulled.input));
    all.extend(wide(gradient));
    all
}

fn expected(net: &Net) -> Vec<f64> {
    let device = Device::flex().autodiff();
    let records = records(net);
    let features = records.len() / RECORDS;
    let weights = wave(RECORDS * ROWS);
    let reference = Reference::new(net).expect("records stay apart");
    let (mut output, mut gram, mut input) = (Vec::new(), Vec::new(), Vec::new());
    let mut sum = vec![0.0; reference.scalars()];
    for i in 0..RECORDS {
        let record = || upload(&records[i * features..][..features], [1, features], &device);
        let y = net.forward(record(), i);
        let outputs = y.dims()[1];
        output.extend(y.into_data().iter::<f64>());
        let delta = wave(RECORDS * ROWS * outputs);
        let row = |r: usize| {
            upload(
                &delta[(i * ROWS + r) * outputs..][..outputs],
                [1, outputs],
                &device,
            )
        };
        for r in 0..ROWS {
            let at = record().require_grad();
            let scalar = (net.forward(at.clone(), i) * row(r)).sum();
            let gradient = scalar.is_tracked().then(|| at.grad(&scalar.backward()));
            match gradient.flatten() {
                Some(gradient) => input.extend(gradient.into_data().iter::<f64>()),
                None => input.resize(input.len() + features, 0.0),
            }
        }
        let rows = reference.rows(|net| {
            let scalar = |r| (net.forward(record(), i) * row(r)).sum();
            (0..ROWS).map(scalar).collect()
        });
        gram.extend(wide(rows.gram()));
        rows.add_weighted(&weights[i * ROWS..][..ROWS], &mut sum);
    }
    [output, gram, input, sum].concat()
}

pub(super) fn cases() -> Vec<Case> {
    let layer = |kind: &'static str| {
        Case::new(
            "burn's layers",
            kind,
            Tolerance::Operation,
            move |on: &TestDevice| {
                let net = net(kind, &on.device);
                match on.engine {
                    Engine::Host { .. } => on_host(&net),
                    _ => found(&net, &on.device),
                }
            },
            move || expected(&net(kind, &Device::flex())),
        )
    };
    let mut cases: Vec<Case> = KINDS.into_iter().map(layer).collect();
    cases.push(parameters_alone());
    cases
}

/// burn's issue 5162: on Vulkan and Metal a backward pass of burn's that tracks nothing but parameters gives NaN.
/// Neither engine has one: formulas give the weights' gradients, and the slow reference tracks the record too.
fn parameters_alone() -> Case {
    let records = Arc::new(wave(RECORDS * 6));
    let build = |device: &Device| {
        let mut draw = Draw {
            rng: generator(31),
            device,
            records: RECORDS,
            vocabulary: VOCABULARY,
        };
        let shape = vec![6];
        let mut parts = Vec::new();
        for kind in ["Residual", "LayerNorm", "Residual", "Gelu", "Residual"] {
            parts.extend(draw.part(kind, &shape));
        }
        draw.valued(Net { parts, shape })
    };
    let jacobian = |net: &Net, records: &[f32], device: &Device| -> Vec<f64> {
        let reference = Reference::new(net).expect("records stay apart");
        let one = |record: &[f32]| {
            let record = upload(record, [1, 6], device);
            let rows = reference.jacobian(record, |net, x| net.forward(x, 0));
            wide(rows.values().concat())
        };
        records.chunks(6).flat_map(one).collect()
    };
    let there = records.clone();
    Case::new(
        "burn's layers",
        "only parameters are tracked",
        Tolerance::Operation,
        move |test_device: &TestDevice| {
            let net = build(&test_device.device);
            let mut all = found(&net, &test_device.device);
            all.extend(jacobian(&net, &there, &test_device.device));
            all
        },
        move || {
            let device = Device::flex();
            let net = build(&device);
            let mut all = expected(&net);
            all.extend(jacobian(&net, &records, &device));
            all
        },
    )
}
