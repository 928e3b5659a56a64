//! Modules that draw at random while they are differentiated: what is summed is what was measured.

use burn::module::Module;
use burn::nn::attention::{MhaInput, MultiHeadAttention, MultiHeadAttentionConfig};
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use dp_core::per_sample::nn::Chain;

use crate::common::added;
use test_support::stacks::{generator, uniform};

/// Two tokens of four numbers.
const SHAPE: [usize; 2] = [2, 4];
const FEATURES: usize = 8;
const BOUND: f64 = 0.01;
const DRAWS: usize = 60;

#[derive(Module, Debug)]
struct Dropped {
    one: Linear,
    dropout: Dropout,
    other: Linear,
}

fn tokens(x: Tensor<2>) -> Tensor<3> {
    x.reshape([1, SHAPE[0], SHAPE[1]])
}

fn flat(x: Tensor<3>) -> Tensor<2> {
    x.reshape([1, FEATURES])
}

fn attention<'a>(chain: Chain<'a>, module: &'a MultiHeadAttention) -> Chain<'a> {
    chain.by_record("MultiHeadAttention", module, SHAPE, |module, x| {
        flat(module.forward(MhaInput::self_attn(tokens(x))).context)
    })
}

fn encoder<'a>(chain: Chain<'a>, module: &'a TransformerEncoder) -> Chain<'a> {
    chain.by_record("TransformerEncoder", module, SHAPE, |module, x| {
        flat(module.forward(TransformerEncoderInput::new(tokens(x))))
    })
}

fn dropped<'a>(chain: Chain<'a>, module: &'a Dropped) -> Chain<'a> {
    chain.by_record("Dropped", module, SHAPE, |module, x| {
        let x = module.dropout.forward(module.one.forward(x).tanh());
        module.other.forward(x)
    })
}

fn check<'a>(name: &str, inner: impl Fn(Chain<'a>) -> Chain<'a>) {
    let mut rng = generator(11);
    let chain = || Chain::new(SHAPE);
    let stacks = [
        ("alone", inner(chain())),
        ("in a sum", chain().residual(&inner)),
        ("in both", chain().concat(|x| x, |x| x.residual(&inner))),
    ];
    for (place, chain) in stacks {
        let outputs = chain.shape().iter().product();
        let stack = chain.build().unwrap();
        let x = uniform(FEATURES, &mut rng);
        let delta = uniform(outputs, &mut rng);
        let draws = (0..DRAWS).map(|_| added(&stack, &x, &delta, BOUND));
        let (norms, measured): (Vec<f64>, Vec<f64>) = draws.unzip();
        let longest = norms.iter().copied().fold(0.0, f64::max);
        assert!(longest <= BOUND * (1.0 + 1e-5), "{name} {place}: {longest}");
        assert!(longest > 0.99 * BOUND, "{name} {place}: {longest}");
        let drawn = measured.iter().any(|&m| m != measured[0]);
        assert!(drawn, "{name} draws nothing");
    }
}

/// Of burn's own modules with dropout, alone and within other layers. No draw may break the bound, so there are no false
/// alarms; that all draws of one place are alike has a probability below `2^-50`.
#[test]
fn dropout_by_record_sums_what_it_measured() {
    let device = Device::flex();
    let heads = MultiHeadAttentionConfig::new(4, 2).with_dropout(0.5);
    let heads = heads.init(&device);
    check("MultiHeadAttention", |chain| attention(chain, &heads));
    let transformer = TransformerEncoderConfig::new(4, 8, 2, 1).init(&device);
    check("TransformerEncoder", |chain| encoder(chain, &transformer));
    let linear = || LinearConfig::new(FEATURES, FEATURES).init(&device);
    let module = Dropped {
        one: linear(),
        dropout: DropoutConfig::new(0.5).init(),
        other: linear(),
    };
    check("Dropped", |chain| dropped(chain, &module));
}
