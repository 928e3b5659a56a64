//! What a record adds where numbers are as large and as small as `f32` has them, and where a module draws at random.

use burn::module::{Module, Param};
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::per_sample::nn::Chain;
use private_training::{
    Batch, Clipping, Engine, Gradients, Layers, Loss, Network, Objective, Penalty, Prior,
    StepObjective,
};
use proptest::prelude::*;
use test_support::networks::{fixed_batches, generator, uniform};

const ENGINES: [Engine; 3] = [
    Engine::Host { chunk: 8 },
    Engine::Tensor { chunk: 8 },
    Engine::Autodiff,
];

/// An encoder and a head, none of which has a bias whose gradient would show how large the cotangents are.
#[derive(Module, Debug)]
struct Line {
    encoder: Linear,
    head: Linear,
}

impl Network<2> for Line {
    fn layers(&self) -> Layers<'_, 2> {
        let chain = Chain::features(3).linear(&self.encoder);
        Layers::chain(chain.mark_latent().linear(&self.head))
    }
}

fn tensor(values: &[f32], shape: [usize; 2]) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), &Device::flex())
}

/// Of the weights of a layer.
fn linear(values: &[f32], shape: [usize; 2]) -> Linear {
    let mut linear = LinearConfig::new(shape[0], shape[1])
        .with_bias(false)
        .init(&Device::flex());
    linear.weight = Param::from_tensor(tensor(values, shape));
    linear
}

fn numbers(count: usize) -> impl Strategy<Value = Vec<f32>> {
    let size = prop_oneof![-149..128, -70..-50, -3..3, 50..70];
    let each = prop::collection::vec(-1.0_f32..1.0, count);
    (size, each).prop_map(|(size, each)| {
        let two = f64::powi(2.0, size);
        each.into_iter()
            .map(|x| (f64::from(x) * two) as f32)
            .collect()
    })
}

fn step(objective: Objective, dim: usize) -> StepObjective {
    let mut objective = objective;
    let sizes = &fixed_batches(&[1]);
    objective.draw(&[dim], sizes, &mut generator(1)).unwrap()
}

/// The gradient of the batch of one record, and its sensitivity.
fn gradient(
    step: &StepObjective,
    network: &impl Network<2>,
    batch: &Batch<2>,
    engine: Engine,
) -> (Vec<f64>, f64) {
    let clipped = step.clipped_gradient(network, batch, engine, &Device::flex());
    let (clipped, _) = clipped.unwrap();
    let values = clipped.before_noise().into_iter().map(f64::from);
    (values.collect(), clipped.sensitivity().l2_upper())
}

fn length(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(|x| x * x).sum::<f64>().sqrt()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A record adds no more than the norm, with and without a penalty beside the loss, on every engine.
    #[test]
    fn no_record_adds_more_than_the_norm(
        x in numbers(3), y in numbers(1), encoder in numbers(6), head in numbers(2),
        norm in -9.0_f64..18.0, penalised in any::<bool>(),
    ) {
        let norm = 10.0_f64.powf(norm);
        let network = Line { encoder: linear(&encoder, [3, 2]), head: linear(&head, [2, 1]) };
        let batch = Batch::new(tensor(&x, [1, 3]), tensor(&y, [1, 1]), &[1]).unwrap();
        let objective = Objective::new([Loss::squared_error().max_grad_norm(norm)]);
        let objective = match penalised {
            // It is looked at, and adds nothing.
            true => objective.penalty(Penalty::to(Prior::UniformBall).slices(4).weight(0.0)),
            false => objective,
        };
        let step = step(objective, 2);
        for engine in ENGINES {
            let (gradient, _) = gradient(&step, &network, &batch, engine);
            let added = length(gradient);
            prop_assert!(added <= norm * (1.0 + 1e-5), "{engine:?}: {added} of {norm}");
        }
    }
}

/// A linear layer, burn's encoder with its dropout, and another linear layer.
#[derive(Module, Debug)]
struct Tokens {
    first: Linear,
    encoder: TransformerEncoder,
    last: Linear,
}

fn encoded(encoder: &TransformerEncoder, x: Tensor<2>) -> Tensor<2> {
    let n = x.dims()[0];
    let tokens = TransformerEncoderInput::new(x.reshape([n, 2, 4]));
    encoder.forward(tokens).reshape([n, 8])
}

impl Network<2> for Tokens {
    fn layers(&self) -> Layers<'_, 2> {
        Layers::chain(
            Chain::features(3)
                .linear(&self.first)
                .by_record("TransformerEncoder", &self.encoder, [8], encoded)
                .linear(&self.last),
        )
    }
}

fn dropping() -> Tokens {
    let device = Device::flex();
    let encoder = TransformerEncoderConfig::new(4, 8, 2, 1).with_dropout(0.3);
    Tokens {
        first: LinearConfig::new(3, 8).init(&device),
        encoder: encoder.init(&device),
        last: LinearConfig::new(8, 2).init(&device),
    }
}

/// What a step sums of a record is what it measured, whatever dropout draws: 40 draws each, none of which may break the
/// bound, so that there are no false alarms.
#[test]
fn dropout_leaves_each_record_within_its_norm() {
    const NORM: f64 = 1e-3;
    let network = dropping();
    let device = Device::flex();
    let batch = Batch::new(
        uniform([1, 3], 2, &device),
        tensor(&[40.0, -3.0], [1, 2]),
        &[1],
    );
    let batch = batch.unwrap();
    let loss = || Loss::squared_error().max_grad_norm(NORM);
    let clipping = Clipping::new(1.0, NORM);
    let penalty = Penalty::to(Prior::UniformBall).slices(4).clipping(clipping);
    for engine in [Engine::Tensor { chunk: 8 }, Engine::Autodiff] {
        let alone = step(Objective::new([loss()]), 2);
        let both = step(Objective::new([loss()]).penalty(penalty.clone()), 2);
        let mut last: Option<Vec<f64>> = None;
        for _ in 0..40 {
            let (own, _) = gradient(&alone, &network, &batch, engine);
            let added = length(own.iter().copied());
            assert!(
                (0.99 * NORM..=NORM * (1.0 + 1e-5)).contains(&added),
                "{engine:?}: {added}"
            );
            // Two draws are as two records.
            let (own, sensitivity) = gradient(&both, &network, &batch, engine);
            if let Some(last) = last.replace(own.clone()) {
                let moved = length(own.iter().zip(&last).map(|(a, b)| a - b));
                assert!(
                    moved > 0.0 && moved <= sensitivity,
                    "{engine:?}: {moved} of {sensitivity}"
                );
            }
        }
    }
}

/// Rows that wait for their weights take memory, which a step bounds.
#[test]
fn rows_that_are_formed_count_as_memory() {
    let network = dropping();
    let device = Device::flex();
    let batch = Batch::new(
        uniform([40, 3], 2, &device),
        uniform([40, 2], 3, &device),
        &[40],
    );
    let batch = batch.unwrap();
    let bytes = |most: usize| {
        let objective = Objective::new([Loss::squared_error()]);
        let mut gradients = Gradients::new(objective).memory(most);
        let found = gradients.clipped(&network, &batch, &fixed_batches(&[40]));
        found.map(|_| gradients.used())
    };
    let parameters: usize = network.num_params();
    assert!(
        bytes(4 * parameters - 200).is_err(),
        "the rows of one record"
    );
    let used = bytes(6 * 4 * parameters).unwrap();
    assert!(
        matches!(used, Some(Engine::Tensor { chunk: 1..6 })),
        "{used:?}"
    );
}

#[test]
fn norms_whose_squares_are_lost_are_refused() {
    let refused = |objective: Objective, words: &str| {
        let message = objective.check().unwrap_err().to_string();
        assert!(
            message.contains(words) && message.contains("from 1e-9 to 1e18"),
            "{message}"
        );
    };
    for bad in [1e-26, 1e19, f64::NAN] {
        let loss = Loss::squared_error().max_grad_norm(bad);
        refused(Objective::new([loss]), "clipping norm C of a loss");
        let of =
            |clipping| Objective::default().penalty(Penalty::between_strata().clipping(clipping));
        refused(of(Clipping::new(1.0, bad)), "bound L of Jacobians");
        refused(of(Clipping::new(bad, 1.0)), "bound M of activations");
        let two = Penalty::between_strata().two_maps(bad);
        refused(Objective::default().penalty(two), "bound L2 of Jacobians");
    }
}

/// A record's part of one loss that is not finite adds nothing, and leaves that of another as it is.
#[test]
fn a_loss_that_is_not_finite_takes_no_other_with_it() {
    let network = Line {
        encoder: linear(&[0.5, -0.2, 0.1, 0.3, 0.7, -0.4], [3, 2]),
        head: linear(&[1.0, -1.0], [2, 1]),
    };
    // The logarithm of a negative number.
    let odd = Loss::new(|outputs, targets| (outputs * targets.log()).sum_dim(1).reshape([-1]));
    let batch = Batch::new(
        tensor(&[1.0, 2.0, 3.0], [1, 3]),
        tensor(&[-1.0], [1, 1]),
        &[1],
    );
    let batch = batch.unwrap();
    let alone = step(Objective::new([Loss::squared_error()]), 2);
    let both = step(Objective::new([Loss::squared_error(), odd]), 2);
    for engine in ENGINES {
        let expected = gradient(&alone, &network, &batch, engine).0;
        assert_eq!(
            gradient(&both, &network, &batch, engine).0,
            expected,
            "{engine:?}"
        );
    }
}
