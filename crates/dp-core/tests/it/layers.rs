//! burn's layers on the fast path against burn's autodiff, one record and one output at a time.

use burn::tensor::{Device, Tensor};
use dp_core::per_sample::nn::Chain;
use dp_core::per_sample::{Needs, Reference, Rows, Stack, parameters_of, refuse_mixing};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rand::{Rng, RngExt};
use test_support::relative_error;

use crate::common::{host, tensor, wide};
use test_support::stacks::{self, Draw, KINDS, Net, generator, uniform};

const RECORDS: usize = 3;
const ROWS: usize = 2;
const VOCABULARY: usize = 4;
const TOLERANCE: f64 = 1e-5;
const NEEDS: Needs = Needs {
    gram: true,
    input: true,
};

/// What tensors make of records, of cotangents at some rows of each of them and of the weights of these rows.
struct Pulled {
    output: Vec<f64>,
    gram: Vec<f64>,
    input: Vec<f64>,
    sum: Vec<f64>,
}

impl Pulled {
    fn of(stack: &Stack, records: usize, x: &[f32], delta: &[f32], weights: &[f32]) -> Self {
        let device = Device::flex();
        let (inputs, rows) = (x.len() / records, weights.len() / records);
        let seen = stack.forward(tensor(x, [records, inputs], &device));
        let outputs = seen.output().dims()[1];
        let delta = tensor(delta, [records, rows, outputs], &device);
        let pulled = stack.pull_back(&seen, delta, NEEDS);
        let parts = stack.gradient(&seen, &pulled, tensor(weights, [records, rows], &device));
        Self {
            output: host(seen.output()),
            gram: host(pulled.gram),
            input: pulled.input.map_or_else(Vec::new, host),
            sum: parts.into_iter().flat_map(host).collect(),
        }
    }
}

fn drawn(seed: u64, records: usize, device: &Device) -> Draw<'_> {
    let (rng, vocabulary) = (generator(seed), VOCABULARY);
    Draw {
        rng,
        device,
        records,
        vocabulary,
    }
}

fn outputs(net: &Net) -> usize {
    net.chain(&Device::flex()).shape().iter().product()
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
    let outputs = outputs(net);
    let delta = uniform(RECORDS * ROWS * outputs, rng);
    let weights = uniform(RECORDS * ROWS, rng);
    let found = Pulled::of(&stack, RECORDS, &x, &delta, &weights);

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
        relative_error(&found.output, &forward),
        relative_error(&found.gram, &gram),
        relative_error(&found.input, &input),
        relative_error(&found.sum, &sum),
    ]
}

#[test]
fn every_layer_in_random_stacks_is_as_autodiff_has_it() {
    let mut wrong = Vec::new();
    for kind in KINDS {
        let config = Config {
            cases: 40,
            failure_persistence: None,
            ..Config::default()
        };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let stacks = (any::<u64>(), 0..3usize, 0..4usize, any::<bool>());
        let checked = runner.run(&stacks, |(seed, before, more, autodiff)| {
            let plain = Device::flex();
            let device = if autodiff { plain.autodiff() } else { plain };
            let mut draw = drawn(seed, RECORDS, &device);
            let net = draw.net(kind, before, more);
            let found = errors(&net, &device.clone().without_autodiff(), &mut draw.rng);
            let near = found.iter().all(|error| *error < TOLERANCE);
            prop_assert!(near, "{found:?} in {:?} from {:?}", net.parts, net.shape);
            Ok(())
        });
        if let Err(error) = checked {
            wrong.push(format!("{kind}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The largest of the relative errors of host kernels against tensors: of outputs, Gram matrices, cotangents at the
/// input and weighted sum. None where a layer has no host kernels.
fn host_errors(net: &Net, device: &Device, records: usize, rng: &mut impl Rng) -> Option<[f64; 4]> {
    let features: usize = net.shape.iter().product();
    let stack = net.chain(device).build().unwrap();
    let on_host = stack.host().ok()?;
    let x = uniform(records * features, rng);
    let outputs = outputs(net);
    assert_eq!([on_host.inputs(), on_host.outputs()], [features, outputs]);
    let delta = uniform(records * ROWS * outputs, rng);
    let weights = uniform(records * ROWS, rng);
    let expected = Pulled::of(&stack, records, &x, &delta, &weights);

    let saved = on_host.forward(records, &x);
    let found = on_host.pull_back(&saved, ROWS, &delta, NEEDS);
    let mut sum = vec![0.0; on_host.parameters()];
    on_host.add_gradient(&saved, &found, &weights, &mut sum);
    // Without norms no rows are kept: the sum is taken another way.
    let plain = Needs {
        gram: false,
        ..NEEDS
    };
    let mut plain_sum = vec![0.0; on_host.parameters()];
    let plain = on_host.pull_back(&saved, ROWS, &delta, plain);
    on_host.add_gradient(&saved, &plain, &weights, &mut plain_sum);
    let sums = [sum, plain_sum].map(|sum| relative_error(&wide(&sum), &expected.sum));
    Some([
        relative_error(&wide(saved.output()), &expected.output),
        relative_error(&wide(&found.gram), &expected.gram),
        relative_error(&wide(&found.input), &expected.input),
        sums[0].max(sums[1]),
    ])
}

#[test]
fn host_kernels_in_random_stacks_are_as_tensors_have_them() {
    let device = Device::flex();
    let mut wrong = Vec::new();
    for kind in KINDS {
        let mut tried = 0;
        for seed in 0..150 {
            let mut draw = drawn(seed, 11, &device);
            let net = draw.net(kind, (seed % 2) as usize, (seed % 3) as usize);
            if let Some(found) = host_errors(&net, &device, 11, &mut draw.rng) {
                tried += 1;
                if !found.iter().all(|error| *error < TOLERANCE) {
                    wrong.push(format!("{found:?} in {:?} from {:?}", net.parts, net.shape));
                    break;
                }
            }
        }
        let without = [
            "Embedding",
            "LayerNorm",
            "GroupNorm",
            "RmsNorm",
            "Transpose",
            "Dropout",
            "Residual",
            "Concat",
        ];
        assert_eq!(tried == 0, without.contains(&kind), "{kind}: {tried}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The host kernels that take over what follows a convolution.
#[test]
fn a_convolution_with_rectifier_and_pool_on_the_host_is_as_tensors_have_it() {
    use burn::nn::conv::Conv2dConfig;
    use burn::nn::pool::AvgPool2dConfig;
    let device = Device::flex();
    let leaky = || stacks::Part::LeakyRelu(burn::nn::LeakyReluConfig::new().init());
    let pool = || stacks::Part::AvgPool2d(AvgPool2dConfig::new([2, 2]).init());
    for (channels, height, width) in [
        ([1, 8], 6, 8),
        ([3, 5], 4, 2),
        ([2, 2], 10, 12),
        ([4, 7], 14, 14),
    ] {
        let conv = Conv2dConfig::new(channels, [3, 3]);
        let conv = conv
            .with_padding(burn::nn::PaddingConfig2d::Same)
            .init(&device);
        let net = Net {
            parts: vec![stacks::Part::Conv2d(conv), leaky(), pool()],
            shape: vec![channels[0], height, width],
        };
        let found = host_errors(&net, &device, 11, &mut generator(9)).unwrap();
        assert!(found.iter().all(|error| *error < TOLERANCE), "{found:?}");
    }
}

/// Rows of a Jacobian that are too long to be kept.
#[test]
fn large_convolutions_on_the_host_are_as_tensors_have_them() {
    use burn::nn::conv::{Conv2dConfig, ConvTranspose2dConfig};
    let device = Device::flex();
    let down = Conv2dConfig::new([64, 260], [4, 2])
        .with_groups(2)
        .with_stride([2, 1]);
    let up = ConvTranspose2dConfig::new([260, 64], [3, 3]).with_groups(2);
    for part in [
        stacks::Part::Conv2d(down.with_bias(true).init(&device)),
        stacks::Part::ConvTranspose2d(up.with_stride([2, 2]).init(&device)),
    ] {
        let channels = if part.kind() == "Conv2d" { 64 } else { 260 };
        let net = Net {
            parts: vec![part],
            shape: vec![channels, 5, 4],
        };
        let found = host_errors(&net, &device, 9, &mut generator(5)).unwrap();
        assert!(found.iter().all(|error| *error < TOLERANCE), "{found:?}");
    }
}

/// A stack of each kind, the records that it is for, and the rest of the generator.
fn one_of_each(mut check: impl FnMut(&str, &Net, Vec<f32>, &mut dyn FnMut(usize) -> Vec<f32>)) {
    let device = Device::flex();
    for kind in KINDS {
        let mut draw = drawn(11, RECORDS, &device);
        let net = draw.net(kind, 1, 2);
        let x = records(&net, &mut draw.rng);
        check(kind, &net, x, &mut |count| uniform(count, &mut draw.rng));
    }
}

/// The weighted gradient of a batch and its Gram matrices.
fn step(net: &Net, x: &[f32], delta: &[f32], weights: &[f32]) -> (Vec<f64>, Vec<f64>) {
    let stack = net.chain(&Device::flex()).build().unwrap();
    let found = Pulled::of(&stack, RECORDS, x, delta, weights);
    let mut found = (found.gram, found.sum);
    if let Ok(on_host) = stack.host() {
        let saved = on_host.forward(RECORDS, x);
        let pulled = on_host.pull_back(&saved, 1, delta, NEEDS);
        let mut sum = vec![0.0; on_host.parameters()];
        on_host.add_gradient(&saved, &pulled, weights, &mut sum);
        found.0.extend(wide(&pulled.gram));
        found.1.extend(wide(&sum));
    }
    found
}

/// A record of weight zero adds exact zeros, whatever it is made of.
#[test]
fn a_record_that_is_not_finite_does_not_spread() {
    for bad in [f32::NAN, f32::INFINITY, -f32::INFINITY, f32::MAX] {
        one_of_each(|kind, net, x, draw| {
            let delta = draw(RECORDS * outputs(net));
            let weights = [0.5, 0.0, -1.5];
            let features = x.len() / RECORDS;
            let mut broken = x.clone();
            broken[features..][..features].fill(bad);
            // Only some: what is not finite meets what is.
            broken[features] = 1.0;
            let (gram, sum) = step(net, &x, &delta, &weights);
            let (broken_gram, broken_sum) = step(net, &broken, &delta, &weights);
            assert_eq!(sum, broken_sum, "{kind}: {:?}", net.parts);
            let sound = |gram: &[f64]| -> Vec<f64> {
                let records = gram.chunks(RECORDS);
                records.flat_map(|gram| [gram[0], gram[2]]).collect()
            };
            assert_eq!(sound(&gram), sound(&broken_gram), "{kind}");
        });
    }
}

/// Nor does it where the zeros that stand for it cannot be normalised.
#[test]
fn a_record_that_does_not_count_may_have_no_norm() {
    let device = Device::flex();
    let config = burn::nn::GroupNormConfig::new(1, 2).with_epsilon(0.0);
    let (one, other) = (config.init(&device), config.init(&device));
    let fc = linear(3, 3, &device);
    let stack = Chain::sequence([2, 3])
        .group_norm(&one)
        .residual(|x| x.linear(&fc).group_norm(&other))
        .build()
        .unwrap();
    let sum = |second: [f32; 6]| -> Vec<f64> {
        let first = [0.3, -0.2, 0.8, 0.1, 0.0, -0.9];
        let delta: Vec<f32> = (1..=12).map(|k| 0.5 * (1 + (k - 1) % 6) as f32).collect();
        Pulled::of(&stack, 2, &[first, second].concat(), &delta, &[1.0, 0.0]).sum
    };
    let expected = sum([0.5, 0.1, -0.4, 0.3, 0.2, 0.9]);
    assert!(expected.iter().any(|x| *x != 0.0));
    assert_eq!(sum([0.0; 6]), expected);
    assert_eq!(sum([f32::NAN; 6]), expected);
}

/// burn's backward pass of a 1D convolution in groups, whose stride leaves something over, is not the one that
/// a convolution of images of one line has; the fast path's is.
#[test]
fn grouped_sequences_are_images_of_one_line() {
    use burn::nn::conv::{Conv1dConfig, Conv2dConfig};
    let device = Device::flex();
    let line = Conv1dConfig::new(2, 2, 3).with_stride(2).with_groups(2);
    let line = line.init(&device);
    let image = Conv2dConfig::new([2, 2], [1, 3])
        .with_stride([1, 2])
        .with_groups(2);
    let mut image = image.init(&device);
    let weight = line.weight.val();
    image.weight = image.weight.map(|_| weight.reshape([2, 1, 1, 3]));
    image.bias = line.bias.clone();
    let x = uniform(6 * 2, &mut generator(5));
    let stack = Chain::sequence([2, 6]).conv1d(&line).build().unwrap();
    let delta = [0.3, -0.7, 1.1, 0.4];
    let found = Pulled::of(&stack, 1, &x, &delta, &[1.0]);
    let reference = Reference::new(&image).unwrap();
    let rows = reference.rows(|image| {
        let y = image.forward(tensor(&x, [1, 2, 1, 6], &device).autodiff());
        vec![(y * tensor(&delta, [1, 2, 1, 2], &device)).sum()]
    });
    assert!(relative_error(&found.sum, &wide(&rows.values()[0])) < TOLERANCE);
    assert!(relative_error(&found.gram, &wide(&rows.gram())) < TOLERANCE);
}

/// What one record is, no other record's Gram matrix hears of; and its cotangents neither.
#[test]
fn records_are_independent() {
    one_of_each(|kind, net, x, draw| {
        let outputs = outputs(net);
        let mut delta = draw(RECORDS * outputs);
        let (gram, _) = step(net, &x, &delta, &[1.0; RECORDS]);
        let features = x.len() / RECORDS;
        let mut other = x.clone();
        other[..features].reverse();
        delta[..outputs].reverse();
        let (changed, _) = step(net, &other, &delta, &[1.0; RECORDS]);
        for (gram, changed) in gram.chunks(RECORDS).zip(changed.chunks(RECORDS)) {
            assert_eq!(gram[1..], changed[1..], "{kind}");
        }
    });
}

mod models {
    use burn::module::{Module, RunningState};
    use burn::nn::conv::Conv2d;
    use burn::nn::{BatchNorm, Linear};
    use burn::tensor::Tensor;

    #[derive(Module, Debug)]
    pub(crate) struct Block {
        pub conv: Conv2d,
        pub norm: BatchNorm,
    }

    #[derive(Module, Debug)]
    pub(crate) struct WithBatchNorm {
        pub head: Linear,
        pub blocks: Vec<Block>,
    }

    #[derive(Module, Debug)]
    pub(crate) struct WithMemory {
        pub head: Linear,
        pub seen: RunningState<Tensor<1>>,
    }

    #[derive(Module, Debug)]
    pub(crate) struct Two {
        pub one: Linear,
        pub other: Linear,
    }
}

fn linear(inputs: usize, outputs: usize, device: &Device) -> burn::nn::Linear {
    burn::nn::LinearConfig::new(inputs, outputs).init(device)
}

#[test]
fn a_module_that_mixes_records_is_refused_by_its_path() {
    for device in [Device::flex(), Device::flex().autodiff()] {
        let conv = || burn::nn::conv::Conv2dConfig::new([1, 2], [3, 3]).init(&device);
        let norm = || burn::nn::BatchNormConfig::new(2).init(&device);
        let block = || models::Block {
            conv: conv(),
            norm: norm(),
        };
        let model = models::WithBatchNorm {
            head: linear(2, 2, &device),
            blocks: vec![block(), block()],
        };
        let error = refuse_mixing(&model).unwrap_err().to_string();
        assert!(
            error.starts_with("blocks.0.norm is a batch norm"),
            "{error}"
        );
        assert!(error.contains("GroupNorm or LayerNorm"), "{error}");
        assert!(Reference::new(&model).is_err());
        let error = refuse_mixing(&norm()).unwrap_err().to_string();
        assert!(error.starts_with("the module is a batch norm"), "{error}");
        let model = models::WithMemory {
            head: linear(2, 2, &device),
            seen: burn::module::RunningState::new(Tensor::zeros([2], &device)),
        };
        let error = refuse_mixing(&model).unwrap_err().to_string();
        assert!(error.starts_with("seen is a running state"), "{error}");
        // Parameters that are not trained are no running states.
        use burn::module::Module;
        let mut model = models::Two {
            one: linear(2, 3, &device),
            other: linear(3, 2, &device),
        };
        model.one = model.one.no_grad();
        refuse_mixing(&model).unwrap();
    }
}

#[test]
fn parameters_that_are_not_trained_have_no_gradient() {
    use burn::module::Module;
    for device in [Device::flex(), Device::flex().autodiff()] {
        let mut model = models::Two {
            one: linear(2, 3, &device),
            other: linear(3, 2, &device),
        };
        model.one.weight = model.one.weight.set_require_grad(false);
        model.other = model.other.freeze();
        let stack = Chain::features(2)
            .linear(&model.one)
            .tanh()
            .linear(&model.other)
            .build()
            .unwrap();
        let slots = parameters_of(&model);
        assert_eq!(slots.len(), 1);
        assert_eq!(slots, stack.parameters());
        let bias = model.one.bias.as_ref().map(|bias| bias.id);
        assert_eq!(Some(slots[0].id), bias);
        let plain = Device::flex();
        let (x, delta) = ([0.3, -0.7], [1.0, 2.0]);
        let found = Pulled::of(&stack, 1, &x, &delta, &[1.0]);
        let reference = Reference::new(&model).unwrap();
        let rows = reference.rows(|model| {
            let x = tensor(&x, [1, 2], &plain).autodiff();
            let y = model.other.forward(model.one.forward(x).tanh());
            vec![(y * tensor(&delta, [1, 2], &plain)).sum()]
        });
        assert!(relative_error(&found.gram, &wide(&rows.gram())) < TOLERANCE);
        assert!(relative_error(&found.sum, &wide(&rows.values()[0])) < TOLERANCE);
    }
}

/// The first error of a chain.
fn refused(chain: Chain) -> String {
    chain.build().err().map(|error| error.to_string()).unwrap()
}

#[test]
fn layers_that_do_not_fit_are_refused_with_both_numbers() {
    use burn::nn::conv::{Conv2dConfig, ConvTranspose2dConfig};
    use burn::nn::interpolate::{Interpolate2dConfig, InterpolateMode};
    use burn::nn::pool::MaxPool2dConfig;
    let device = Device::flex();
    let fc = linear(100, 10, &device);
    let conv = Conv2dConfig::new([3, 4], [5, 5]).init(&device);
    let up = ConvTranspose2dConfig::new([3, 4], [2, 2]).with_padding([1, 1]);
    let wide_up = up.clone().with_padding_out([2, 0]).init(&device);
    let up = up.init(&device);
    let pool =
        MaxPool2dConfig::new([2, 2]).with_padding(burn::nn::PaddingConfig2d::Explicit(2, 0, 2, 0));
    let pool = pool.init();
    let norm = burn::nn::GroupNormConfig::new(2, 4).init(&device);
    let linearly = Interpolate2dConfig::new()
        .with_output_size(Some([4, 4]))
        .with_mode(InterpolateMode::Linear)
        .init();
    let table = burn::nn::EmbeddingConfig::new(9, 4).init(&device);
    let cases = [
        (
            Chain::image([1, 28, 28]).flatten().linear(&fc),
            "layer 1 of the chain, Linear: takes 100 inputs, and 784 reach it",
        ),
        (
            Chain::image([1, 28, 28]).relu().linear(&fc),
            "layer 2 of the chain, Linear: takes 100 inputs, and 28 reach it along the last axis of [1, 28, 28]",
        ),
        (
            Chain::image([1, 28, 28])
                .conv2d(&conv)
                .flatten()
                .linear(&fc),
            "Conv2d: takes 3 channels, and 1 reach it",
        ),
        (
            Chain::features(784).conv2d(&conv),
            "takes images, [channels, height, width], and [784] reaches it",
        ),
        (
            Chain::image([3, 4, 28]).conv2d(&conv),
            "a window of 5 does not fit into 4, the padding included",
        ),
        (
            Chain::image([3, 1, 1]).conv_transpose2d(&up),
            "a padding of 2 on both sides leaves nothing of 2",
        ),
        (
            Chain::image([3, 4, 4]).conv_transpose2d(&wide_up),
            "an output padding of 2 is not below the stride, 1",
        ),
        (
            Chain::image([3, 4, 4]).max_pool2d(&pool),
            "has a window of padding alone",
        ),
        (
            Chain::image([3, 4, 4]).group_norm(&norm),
            "takes 4 channels, and 3 reach it",
        ),
        (
            Chain::image([3, 2, 2]).interpolate2d(&linearly),
            "takes the nearest pixel, and its mode is Linear",
        ),
        (
            Chain::image([3, 2, 2]).embedding(&table),
            "takes tokens, [length], and [3, 2, 2] reaches it",
        ),
        (
            Chain::features(6).reshape([4, 2]),
            "takes 8 numbers, and 6 reach it",
        ),
        (
            Chain::features(6).dropout(Tensor::ones([2, 5], &device)),
            "takes 5 features, and 6 reach it",
        ),
        (
            Chain::features(100).residual(|x| x.linear(&fc)),
            "adds [100], and its inner layers give [10]",
        ),
        (
            Chain::image([3, 9, 9]).concat(|x| x.conv2d(&conv), |x| x.relu()),
            "puts [4, 5, 5] and [3, 9, 9] together, which differ",
        ),
        (
            Chain::features(100).residual(|x| x.linear(&fc).linear(&fc)),
            "layer 2 of the chain, Linear: takes 100 inputs, and 10 reach it",
        ),
    ];
    for (chain, expected) in cases {
        let error = refused(chain);
        assert!(error.contains(expected), "{error}, not {expected}");
    }
    // One weight in two places has one gradient, the sum of two.
    let square = linear(4, 4, &device);
    let twice = Chain::features(4).linear(&square).tanh().linear(&square);
    assert!(refused(twice).contains("shares a parameter"));
    let within = Chain::features(4).residual(|x| x.linear(&square).tanh().linear(&square));
    assert!(refused(within).contains("shares a parameter"));
    let around = Chain::features(4)
        .linear(&square)
        .residual(|x| x.linear(&square));
    assert!(refused(around).contains("layer 2 of the chain, Residual: shares a parameter"));
}

/// A value that is no number of a token makes its record one that contributes nothing.
#[test]
fn unknown_tokens_give_no_finite_output() {
    let device = Device::flex();
    let table = burn::nn::EmbeddingConfig::new(5, 2).init(&device);
    let stack = Chain::tokens(2).embedding(&table).build().unwrap();
    let rows = [
        [4.0, 0.0],
        [5.0, 0.0],
        [1.5, 0.0],
        [-1.0, 0.0],
        [f32::NAN, 0.0],
        [1e30, 0.0],
    ];
    let output = stack.output(tensor(&rows.concat(), [6, 2], &device));
    let finite: Vec<bool> = host(output)
        .chunks(4)
        .map(|row| row.iter().all(|x| x.is_finite()))
        .collect();
    assert_eq!(finite, [true, false, false, false, false, false]);
}

#[test]
fn a_chain_is_split_at_its_tap() {
    let device = Device::flex();
    let (one, other) = (linear(3, 2, &device), linear(2, 4, &device));
    let chain = || Chain::features(3).linear(&one).tanh();
    let (encoder, head) = chain().mark_latent().linear(&other).split().unwrap();
    assert_eq!(encoder.parameters().len(), 2);
    let head = head.unwrap();
    assert_eq!(head.parameters().len(), 2);
    let x = tensor(&[0.1, 0.2, 0.3], [1, 3], &device);
    let whole = chain().linear(&other).build().unwrap();
    let split = head.output(encoder.output(x.clone()));
    assert_eq!(host(split), host(whole.output(x)));
    assert!(chain().mark_latent().split().unwrap().1.is_none());
    assert!(chain().linear(&other).split().unwrap().1.is_none());
}

/// A module without formulas in the middle of a chain.
#[test]
fn a_module_of_ones_own_is_formed_by_record() {
    let device = Device::flex();
    let (first, last) = (linear(3, 4, &device), linear(4, 2, &device));
    let two = models::Two {
        one: linear(4, 5, &device),
        other: linear(5, 4, &device),
    };
    let twice = |two: &models::Two, x: Tensor<2>| two.other.forward(two.one.forward(x).tanh());
    let formed = Chain::features(3)
        .linear(&first)
        .by_record("Two", &two, [4], twice)
        .linear(&last)
        .build()
        .unwrap();
    let chain = Chain::features(3).linear(&first).linear(&two.one).tanh();
    let fast = chain.linear(&two.other).linear(&last).build().unwrap();
    assert_eq!(formed.formed_by_record(), ["Two"]);
    assert!(fast.formed_by_record().is_empty());
    let mut rng = generator(3);
    let x = uniform(RECORDS * 3, &mut rng);
    let delta = uniform(RECORDS * ROWS * 2, &mut rng);
    let weights = uniform(RECORDS * ROWS, &mut rng);
    let all = |stack: &Stack| {
        let found = Pulled::of(stack, RECORDS, &x, &delta, &weights);
        [found.output, found.gram, found.input, found.sum].concat()
    };
    assert!(relative_error(&all(&formed), &all(&fast)) < TOLERANCE);
}
