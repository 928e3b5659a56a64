//! Random stacks of burn's layers, as a chain and as burn runs them.

// A layer is what its name says.
#![allow(missing_docs)]

use burn::module::{Module, ModuleMapper, Param};
use burn::nn;
use burn::nn::conv::{
    Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, ConvTranspose2d, ConvTranspose2dConfig,
};
use burn::nn::interpolate::{Interpolate2d, Interpolate2dConfig};
use burn::nn::pool::{
    AdaptiveAvgPool1d, AdaptiveAvgPool1dConfig, AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig,
    AvgPool1d, AvgPool1dConfig, AvgPool2d, AvgPool2dConfig, MaxPool1d, MaxPool1dConfig, MaxPool2d,
    MaxPool2dConfig,
};
use burn::nn::{PaddingConfig1d, PaddingConfig2d};
use burn::tensor::{Device, Tensor, TensorData, activation};
use dp_core::per_sample::nn::{Chain, dropout_mask};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// A layer of a stack.
#[derive(Module, Debug)]
pub enum Part {
    Linear(nn::Linear),
    Conv1d(Conv1d),
    Conv2d(Conv2d),
    ConvTranspose2d(ConvTranspose2d),
    Embedding(nn::Embedding),
    LayerNorm(nn::LayerNorm),
    GroupNorm(nn::GroupNorm),
    RmsNorm(nn::RmsNorm),
    Relu(nn::Relu),
    LeakyRelu(nn::LeakyRelu),
    Gelu(nn::Gelu),
    Silu(nn::activation::SiLU),
    Sigmoid(nn::Sigmoid),
    Tanh(nn::Tanh),
    Softplus(nn::Softplus),
    MaxPool1d(MaxPool1d),
    MaxPool2d(MaxPool2d),
    AvgPool1d(AvgPool1d),
    AvgPool2d(AvgPool2d),
    AdaptiveAvgPool1d(AdaptiveAvgPool1d),
    AdaptiveAvgPool2d(AdaptiveAvgPool2d),
    Interpolate2d(Interpolate2d),
    Flatten(Flatten),
    Transpose(Transpose),
    Dropout(Masked),
    Residual(Net),
    Concat(Net),
}

/// The names of [`Part`], in its order.
pub const KINDS: [&str; 27] = [
    "Linear",
    "Conv1d",
    "Conv2d",
    "ConvTranspose2d",
    "Embedding",
    "LayerNorm",
    "GroupNorm",
    "RmsNorm",
    "Relu",
    "LeakyRelu",
    "Gelu",
    "Silu",
    "Sigmoid",
    "Tanh",
    "Softplus",
    "MaxPool1d",
    "MaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "Interpolate2d",
    "Flatten",
    "Transpose",
    "Dropout",
    "Residual",
    "Concat",
];

#[derive(Module, Debug)]
pub struct Flatten {}

#[derive(Module, Debug)]
pub struct Transpose {}

/// Dropout with the masks of a batch, one row a record.
#[derive(Module, Debug)]
pub struct Masked {
    #[module(skip)]
    pub rows: Vec<Vec<f32>>,
}

/// Parts in sequence; of two, side by side, in a concatenation.
#[derive(Module, Debug)]
pub struct Net {
    pub parts: Vec<Part>,
    #[module(skip)]
    pub shape: Vec<usize>,
}

impl Net {
    /// The parts as a chain.
    pub fn chain(&self, device: &Device) -> Chain<'_> {
        self.grow(Chain::new(self.shape.clone()), device)
    }

    fn grow<'a>(&'a self, chain: Chain<'a>, device: &Device) -> Chain<'a> {
        let parts = self.parts.iter();
        parts.fold(chain, |chain, part| part.grow(chain, device))
    }

    /// As burn runs the parts, for records from number `first` on: `[n, features] -> [n, features]`.
    pub fn forward(&self, input: Tensor<2>, first: usize) -> Tensor<2> {
        let (x, _) = self.run((input, self.shape.clone()), first);
        x
    }

    fn run(&self, x: (Tensor<2>, Vec<usize>), first: usize) -> (Tensor<2>, Vec<usize>) {
        self.parts.iter().fold(x, |x, part| part.run(x, first))
    }
}

fn flat<const D: usize>(x: Tensor<D>) -> (Tensor<2>, Vec<usize>) {
    let shape = x.dims()[1..].to_vec();
    (x.flatten(1, D - 1), shape)
}

fn shaped<const D: usize>(x: Tensor<2>, shape: &[usize]) -> Tensor<D> {
    let mut dims = [x.dims()[0]; D];
    dims[1..].copy_from_slice(shape);
    x.reshape(dims)
}

impl Part {
    fn grow<'a>(&'a self, chain: Chain<'a>, device: &Device) -> Chain<'a> {
        match self {
            Self::Linear(module) => chain.linear(module),
            Self::Conv1d(module) => chain.conv1d(module),
            Self::Conv2d(module) => chain.conv2d(module),
            Self::ConvTranspose2d(module) => chain.conv_transpose2d(module),
            Self::Embedding(module) => chain.embedding(module),
            Self::LayerNorm(module) => chain.layer_norm(module),
            Self::GroupNorm(module) => chain.group_norm(module),
            Self::RmsNorm(module) => chain.rms_norm(module),
            Self::Relu(_) => chain.relu(),
            Self::LeakyRelu(module) => chain.leaky_relu(module),
            Self::Gelu(module) => chain.gelu(module),
            Self::Silu(_) => chain.silu(),
            Self::Sigmoid(_) => chain.sigmoid(),
            Self::Tanh(_) => chain.tanh(),
            Self::Softplus(module) => chain.softplus(module),
            Self::MaxPool1d(module) => chain.max_pool1d(module),
            Self::MaxPool2d(module) => chain.max_pool2d(module),
            Self::AvgPool1d(module) => chain.avg_pool1d(module),
            Self::AvgPool2d(module) => chain.avg_pool2d(module),
            Self::AdaptiveAvgPool1d(module) => chain.adaptive_avg_pool1d(module),
            Self::AdaptiveAvgPool2d(module) => chain.adaptive_avg_pool2d(module),
            Self::Interpolate2d(module) => chain.interpolate2d(module),
            Self::Flatten(_) => chain.flatten(),
            Self::Transpose(_) => chain.transpose(),
            Self::Dropout(masked) => {
                let shape = [masked.rows.len(), masked.rows[0].len()];
                let data = TensorData::new(masked.rows.concat(), shape);
                chain.dropout(Tensor::from_data(data, device))
            }
            Self::Residual(net) => chain.residual(|inner| net.grow(inner, device)),
            Self::Concat(net) => chain.concat(
                |inner| net.parts[0].grow(inner, device),
                |inner| net.parts[1].grow(inner, device),
            ),
        }
    }

    fn run(&self, (x, shape): (Tensor<2>, Vec<usize>), first: usize) -> (Tensor<2>, Vec<usize>) {
        let n = x.dims()[0];
        let pointwise = |f: &dyn Fn(Tensor<2>) -> Tensor<2>| (f(x.clone()), shape.clone());
        // Over the last axis.
        let rows = |f: &dyn Fn(Tensor<3>) -> Tensor<3>| {
            let last = shape[shape.len() - 1];
            let features: usize = shape.iter().product();
            let y = f(x.clone().reshape([n, features / last, last]));
            let width = y.dims()[2];
            let mut shape = shape.clone();
            *shape.last_mut().unwrap() = width;
            (y.flatten(1, 2), shape)
        };
        match self {
            Self::Linear(module) => rows(&|x| module.forward(x)),
            Self::LayerNorm(module) => rows(&|x| module.forward(x)),
            Self::RmsNorm(module) => rows(&|x| module.forward(x)),
            Self::GroupNorm(module) => {
                let area = shape[1..].iter().product();
                let y = module.forward(x.reshape([n, shape[0], area]));
                (y.flatten(1, 2), shape)
            }
            Self::Conv1d(module) => flat(module.forward(shaped(x, &shape))),
            Self::Conv2d(module) => flat(module.forward(shaped(x, &shape))),
            Self::ConvTranspose2d(module) => flat(module.forward(shaped(x, &shape))),
            Self::Embedding(module) => flat(module.forward(x.without_autodiff().int())),
            Self::Relu(module) => pointwise(&|x| module.forward(x)),
            Self::LeakyRelu(module) => pointwise(&|x| module.forward(x)),
            Self::Gelu(module) => pointwise(&|x| module.forward(x)),
            Self::Silu(_) => pointwise(&activation::silu),
            Self::Sigmoid(module) => pointwise(&|x| module.forward(x)),
            Self::Tanh(module) => pointwise(&|x| module.forward(x)),
            Self::Softplus(module) => pointwise(&|x| module.forward(x)),
            Self::MaxPool1d(module) => flat(module.forward(shaped(x, &shape))),
            Self::MaxPool2d(module) => flat(module.forward(shaped(x, &shape))),
            Self::AvgPool1d(module) => flat(module.forward(shaped(x, &shape))),
            Self::AvgPool2d(module) => flat(module.forward(shaped(x, &shape))),
            Self::AdaptiveAvgPool1d(module) => flat(module.forward(shaped(x, &shape))),
            Self::AdaptiveAvgPool2d(module) => flat(module.forward(shaped(x, &shape))),
            Self::Interpolate2d(module) => flat(module.forward(shaped(x, &shape))),
            Self::Flatten(_) => {
                let features = shape.iter().product();
                (x, vec![features])
            }
            Self::Transpose(_) => flat(shaped::<3>(x, &shape).swap_dims(1, 2)),
            Self::Dropout(masked) => {
                let rows = masked.rows[first..first + n].concat();
                let mask = Tensor::from_data(TensorData::new(rows, x.dims()), &x.device());
                (x * mask, shape)
            }
            Self::Residual(net) => {
                let (y, _) = net.run((x.clone(), shape.clone()), first);
                (x + y, shape)
            }
            Self::Concat(net) => {
                let (one, front) = net.parts[0].run((x.clone(), shape.clone()), first);
                let (other, behind) = net.parts[1].run((x, shape), first);
                let mut shape = front;
                shape[0] += behind[0];
                (Tensor::cat(vec![one, other], 1), shape)
            }
        }
    }
}

/// What every layer is sampled from.
pub struct Draw<'a> {
    pub rng: ChaCha20Rng,
    pub device: &'a Device,
    pub records: usize,
    pub vocabulary: usize,
}

impl Draw<'_> {
    fn from(&mut self, low: usize, high: usize) -> usize {
        self.rng.random_range(low..=high)
    }

    fn two(&mut self, low: usize, high: usize) -> [usize; 2] {
        [self.from(low, high), self.from(low, high)]
    }

    fn yes(&mut self) -> bool {
        self.rng.random()
    }

    /// A number that divides both.
    fn groups(&mut self, one: usize, other: usize) -> usize {
        let all: Vec<usize> = (1..=one.min(other))
            .filter(|&g| one.is_multiple_of(g) && other.is_multiple_of(g))
            .collect();
        all[self.rng.random_range(0..all.len())]
    }

    fn padding(&mut self, most: usize) -> PaddingConfig2d {
        match self.from(0, 3) {
            0 => PaddingConfig2d::Valid,
            1 => PaddingConfig2d::Same,
            2 => {
                let [down, across] = self.two(0, most);
                PaddingConfig2d::Explicit(down, across, down, across)
            }
            _ => {
                let ([top, left], [bottom, right]) = (self.two(0, most), self.two(0, most));
                PaddingConfig2d::Explicit(top, left, bottom, right)
            }
        }
    }

    fn padding_1d(&mut self, most: usize) -> PaddingConfig1d {
        match self.from(0, 2) {
            0 => PaddingConfig1d::Valid,
            1 => PaddingConfig1d::Same,
            _ => PaddingConfig1d::Explicit(self.from(0, most), self.from(0, most)),
        }
    }

    /// A shape at which the kind may stand first.
    pub fn shape(&mut self, kind: &str) -> Vec<usize> {
        match kind {
            "Conv1d" | "MaxPool1d" | "AvgPool1d" | "AdaptiveAvgPool1d" | "Transpose" => {
                vec![2 * self.from(1, 2), self.from(5, 9)]
            }
            "Embedding" => vec![self.from(2, 6)],
            "Conv2d" | "ConvTranspose2d" | "GroupNorm" | "MaxPool2d" | "AvgPool2d"
            | "AdaptiveAvgPool2d" | "Interpolate2d" | "Flatten" => {
                vec![2 * self.from(1, 2), self.from(4, 7), self.from(4, 7)]
            }
            _ => match self.from(0, 2) {
                0 => vec![self.from(4, 12)],
                1 => vec![2 * self.from(1, 2), self.from(5, 9)],
                _ => vec![2 * self.from(1, 2), self.from(4, 7), self.from(4, 7)],
            },
        }
    }

    /// A layer of the kind that takes records of the shape, if there is one.
    pub fn part(&mut self, kind: &str, shape: &[usize]) -> Option<Part> {
        let on = self.device.clone();
        let last = *shape.last()?;
        let rank = shape.len();
        let (image, sequence) = (rank == 3, rank == 2);
        Some(match kind {
            "Linear" => {
                let config = nn::LinearConfig::new(last, self.from(3, 6));
                Part::Linear(config.with_bias(self.yes()).init(&on))
            }
            "Conv1d" if sequence => {
                let out = 2 * self.from(1, 2);
                let kernel = self.from(1, 3);
                let groups = self.groups(shape[0], out);
                // burn's backward pass of groups puts gradients in the wrong place where a stride leaves
                // something over.
                let stride = if groups == 1 { self.from(1, 2) } else { 1 };
                let config = Conv1dConfig::new(shape[0], out, kernel)
                    .with_stride(stride)
                    .with_dilation(self.from(1, 2))
                    .with_groups(groups)
                    .with_padding(self.padding_1d(2))
                    .with_bias(self.yes());
                Part::Conv1d(config.init(&on))
            }
            "Conv2d" if image => {
                let out = 2 * self.from(1, 2);
                let config = Conv2dConfig::new([shape[0], out], self.two(1, 3))
                    .with_stride(self.two(1, 2))
                    .with_dilation(self.two(1, 2))
                    .with_groups(self.groups(shape[0], out))
                    .with_padding(self.padding(2))
                    .with_bias(self.yes());
                Part::Conv2d(config.init(&on))
            }
            "ConvTranspose2d" if image => {
                let out = 2 * self.from(1, 2);
                let stride = self.two(1, 3);
                let beyond = stride.map(|stride| self.from(0, stride - 1));
                let config = ConvTranspose2dConfig::new([shape[0], out], self.two(1, 3))
                    .with_stride(stride)
                    .with_padding_out(beyond)
                    .with_padding(self.two(0, 1))
                    .with_dilation(self.two(1, 2))
                    .with_groups(self.groups(shape[0], out))
                    .with_bias(self.yes());
                Part::ConvTranspose2d(config.init(&on))
            }
            "LayerNorm" if last >= 4 => {
                let config = nn::LayerNormConfig::new(last).with_bias(self.yes());
                Part::LayerNorm(config.init(&on))
            }
            "RmsNorm" if last >= 4 => Part::RmsNorm(nn::RmsNormConfig::new(last).init(&on)),
            "GroupNorm" if rank > 1 && shape.iter().skip(1).product::<usize>() >= 4 => {
                let groups = self.groups(shape[0], shape[0]);
                let config = nn::GroupNormConfig::new(groups, shape[0]);
                Part::GroupNorm(config.with_affine(self.yes()).init(&on))
            }
            "Relu" => Part::Relu(nn::Relu::new()),
            "LeakyRelu" => Part::LeakyRelu(nn::LeakyReluConfig::new().init()),
            "Gelu" if self.yes() => Part::Gelu(nn::Gelu::new()),
            "Gelu" => Part::Gelu(nn::Gelu::new_approximate()),
            "Silu" => Part::Silu(nn::activation::SiLU::new()),
            "Sigmoid" => Part::Sigmoid(nn::Sigmoid::new()),
            "Tanh" => Part::Tanh(nn::Tanh::new()),
            "Softplus" => Part::Softplus(nn::SoftplusConfig::new().with_beta(1.5).init()),
            "MaxPool1d" if sequence => {
                let config = MaxPool1dConfig::new(self.from(2, 3))
                    .with_stride(self.from(1, 3))
                    .with_padding(self.padding_1d(1))
                    .with_dilation(self.from(1, 2))
                    .with_ceil_mode(self.yes());
                Part::MaxPool1d(config.init())
            }
            "MaxPool2d" if image => {
                let config = MaxPool2dConfig::new(self.two(2, 3))
                    .with_strides(self.two(1, 3))
                    .with_padding(self.padding(1))
                    .with_dilation(self.two(1, 2))
                    .with_ceil_mode(self.yes());
                Part::MaxPool2d(config.init())
            }
            "AvgPool1d" if sequence => {
                let config = AvgPool1dConfig::new(self.from(2, 3))
                    .with_stride(self.from(1, 3))
                    .with_padding(self.padding_1d(1))
                    .with_count_include_pad(self.yes())
                    .with_ceil_mode(self.yes());
                Part::AvgPool1d(config.init())
            }
            "AvgPool2d" if image => {
                let config = AvgPool2dConfig::new(self.two(2, 3))
                    .with_strides(self.two(1, 3))
                    .with_padding(self.padding(1))
                    .with_count_include_pad(self.yes())
                    .with_ceil_mode(self.yes());
                Part::AvgPool2d(config.init())
            }
            "AdaptiveAvgPool1d" if sequence => {
                Part::AdaptiveAvgPool1d(AdaptiveAvgPool1dConfig::new(self.from(1, 4)).init())
            }
            "AdaptiveAvgPool2d" if image => {
                Part::AdaptiveAvgPool2d(AdaptiveAvgPool2dConfig::new(self.two(1, 4)).init())
            }
            "Interpolate2d" if image && self.yes() => {
                let [down, across] = self.two(2, 3);
                let config = Interpolate2dConfig::new();
                let factor = [down as f32, across as f32];
                Part::Interpolate2d(config.with_scale_factor(Some(factor)).init())
            }
            "Interpolate2d" if image => {
                let config = Interpolate2dConfig::new();
                let size = self.two(5, 11);
                Part::Interpolate2d(config.with_output_size(Some(size)).init())
            }
            "Flatten" => Part::Flatten(Flatten {}),
            "Transpose" if sequence => Part::Transpose(Transpose {}),
            "Dropout" => {
                let features = shape.iter().product();
                let mask = dropout_mask([self.records, features], 0.4, &mut self.rng, &on);
                let values: Vec<f32> = mask.into_data().iter().collect();
                let rows = values.chunks(features).map(<[f32]>::to_vec).collect();
                Part::Dropout(Masked { rows })
            }
            "Residual" => {
                let kinds: &[&str] = if image {
                    &["GroupNorm", "Tanh", "Dropout"]
                } else {
                    &["LayerNorm", "Silu", "Residual"]
                };
                let mut parts = Vec::new();
                if sequence || rank == 1 {
                    parts.push(Part::Linear(nn::LinearConfig::new(last, last).init(&on)));
                }
                for kind in kinds
                    .iter()
                    .filter(|kind| **kind != "Residual" || rank == 1)
                {
                    parts.extend(match *kind {
                        "Residual" => Some(Part::Residual(Net {
                            parts: vec![Part::Linear(nn::LinearConfig::new(last, last).init(&on))],
                            shape: shape.to_vec(),
                        })),
                        kind => self.part(kind, shape),
                    });
                }
                Part::Residual(Net {
                    parts,
                    shape: shape.to_vec(),
                })
            }
            "Concat" => {
                let one = match rank {
                    3 => Part::Conv2d(
                        Conv2dConfig::new([shape[0], 3], [3, 3])
                            .with_padding(PaddingConfig2d::Same)
                            .init(&on),
                    ),
                    2 => Part::Linear(nn::LinearConfig::new(last, last).init(&on)),
                    _ => self.part("Linear", shape)?,
                };
                let kind = ["Sigmoid", "LeakyRelu"][self.from(0, 1)];
                let other = self.part(kind, shape)?;
                Part::Concat(Net {
                    parts: vec![one, other],
                    shape: shape.to_vec(),
                })
            }
            _ => return None,
        })
    }

    /// A stack that has a layer of the kind in it, behind as many others as fit and in front of `more`.
    pub fn net(&mut self, kind: &str, before: usize, more: usize) -> Net {
        let mut net = Net {
            parts: Vec::new(),
            shape: self.shape(kind),
        };
        if kind == "Embedding" {
            let config = nn::EmbeddingConfig::new(self.vocabulary, self.from(4, 5));
            net.parts.push(Part::Embedding(config.init(self.device)));
        } else {
            let others = ["Linear", "Conv1d", "Conv2d", "Tanh", "Residual"];
            for _ in 0..before {
                let other = others[self.from(0, others.len() - 1)];
                self.extend(&mut net, other, 2);
            }
            // Where it does not fit, it does without those in front.
            while !self.extend(&mut net, kind, 50) {
                assert!(net.parts.pop().is_some(), "{kind} at {:?}", net.shape);
            }
        }
        for _ in 0..more {
            let other = KINDS[self.from(0, KINDS.len() - 1)];
            self.extend(&mut net, other, 2);
        }
        self.valued(net)
    }

    /// The same with weights of this generator.
    pub fn valued(&mut self, net: Net) -> Net {
        net.map(&mut Values(&mut self.rng))
    }

    /// Tries to add a layer of the kind.
    fn extend(&mut self, net: &mut Net, kind: &str, tries: usize) -> bool {
        for _ in 0..tries {
            let shape = net.chain(self.device).shape().to_vec();
            let Some(part) = self.part(kind, &shape) else {
                continue;
            };
            net.parts.push(part);
            let device = self.device;
            let sound = {
                let chain = net.chain(device);
                let sizes: usize = chain.shape().iter().product();
                (1..600).contains(&sizes) && chain.build().is_ok()
            };
            if sound {
                return true;
            }
            net.parts.pop();
        }
        false
    }
}

/// Values of this test's own generator, of the usual sizes.
struct Values<'a>(&'a mut ChaCha20Rng);

impl ModuleMapper for Values<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let shape = param.dims();
        let count: usize = shape.iter().product();
        let (middle, reach) = match D {
            1 => (0.7, 0.5),
            _ => (
                0.0,
                (3.0 * shape[D - 1] as f32 / count as f32).sqrt().max(0.4),
            ),
        };
        let values: Vec<f32> = (0..count)
            .map(|_| middle + self.0.random_range(-reach..reach))
            .collect();
        param.map(|old| Tensor::from_data(TensorData::new(values, shape), &old.device()))
    }
}

pub fn generator(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

pub fn uniform(count: usize, rng: &mut impl Rng) -> Vec<f32> {
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

impl Part {
    /// Its name in [`KINDS`].
    pub fn kind(&self) -> &'static str {
        let all = format!("{self:?}");
        let name = all.split('(').next().unwrap_or_default();
        KINDS
            .iter()
            .find(|kind| **kind == name)
            .copied()
            .unwrap_or("?")
    }
}
