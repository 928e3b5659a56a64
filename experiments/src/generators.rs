//! A generator in training: its weights, its optimizer and its average, one step, and samples.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor, TensorData};
use lab::checkpoint::RestoredCheckpoint;
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{floats_of_bytes, floats_to_bytes};
use model::generator::{Dcgan, ImageGenerator, MlpGenerator};
use model::latent::ImageShape;
use private_training::TrainingError;
use private_training::adam::ModuleAdam;
use private_training::ema::Ema;
use private_training::weights::{from_host, to_host};
use rand::{Rng, RngExt};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::Serialize;
use serde::de::DeserializeOwned;

const WEIGHTS: &str = "weights.bin";
const OPTIMIZER: &str = "optimizer.bin";
const AVERAGE: &str = "average.f32";
const STATE: &str = "state.json";

/// What a generator is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Architecture {
    /// Images: linear layers, then maps that are doubled and convolved.
    Upsampled(ImageShape),
    /// Images: transposed convolutions.
    Dcgan(ImageShape),
    /// Images: a perceptron of three hidden layers and a sigmoid.
    Perceptron(ImageShape),
}

/// The width of a generator's code, and how it is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Standard Gaussian.
    Gaussian(usize),
    /// Uniform on `[0, 1]`.
    Uniform(usize),
}

impl Code {
    fn width(self) -> usize {
        match self {
            Self::Gaussian(width) | Self::Uniform(width) => width,
        }
    }

    fn draw(self, rng: &mut impl Rng) -> impl Iterator<Item = f32> {
        (0..self.width()).map(move |_| match self {
            Self::Gaussian(_) => {
                let x: f64 = StandardNormal.sample(rng);
                x as f32
            }
            Self::Uniform(_) => rng.random(),
        })
    }
}

/// What a generator is fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub code: Code,
    /// Classes, as a one-hot vector behind the code; 0 for none.
    pub classes: usize,
}

#[allow(clippy::large_enum_variant)] // There is one in a run.
#[derive(Module, Debug)]
enum GeneratorNetwork {
    Upsampled(ImageGenerator),
    Dcgan(Dcgan),
    Perceptron(MlpGenerator),
}

impl GeneratorNetwork {
    fn new(
        architecture: Architecture,
        inputs: usize,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Result<Self, TrainingError> {
        Ok(match architecture {
            Architecture::Upsampled(shape) => {
                Self::Upsampled(ImageGenerator::new(inputs, shape, rng, device)?)
            }
            Architecture::Dcgan(shape) if shape.channels == 1 => {
                Self::Dcgan(Dcgan::grey(inputs, shape.side, rng, device)?)
            }
            Architecture::Dcgan(_) => Self::Dcgan(Dcgan::photographs(rng, device)),
            Architecture::Perceptron(shape) => {
                let values = shape.values();
                Self::Perceptron(MlpGenerator::new(inputs, values, rng, device))
            }
        })
    }

    fn forward(&self, inputs: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Upsampled(network) => network.forward(inputs),
            Self::Dcgan(network) => network.forward(inputs),
            Self::Perceptron(network) => sigmoid(network.forward(inputs)),
        }
    }
}

/// A generator in training, of a class each or without classes.
pub(crate) struct Generator {
    /// On a device with gradients.
    network: GeneratorNetwork,
    optimizer: ModuleAdam,
    ema: Option<Ema>,
    size: Size,
    device: Device,
}

/// What was generated, with what its gradient needs.
pub(crate) struct Made {
    /// `[n, values]`, class after class.
    pub rows: Tensor<2>,
}

impl Made {
    /// The same on the host.
    pub(crate) fn values(&self) -> Vec<f32> {
        self.rows
            .clone()
            .inner()
            .into_data()
            .iter::<f32>()
            .collect()
    }
}

impl Generator {
    /// Before its first step.
    ///
    /// - `ema`: the decay of an average of its weights, by which it then generates.
    pub(crate) fn new(
        architecture: Architecture,
        size: Size,
        ema: Option<f64>,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Result<Self, Failure> {
        let inputs = size.code.width() + size.classes;
        let network = GeneratorNetwork::new(architecture, inputs, rng, &device.clone().autodiff());
        let refuse = |e| Failure::input(format!("{e}"), "choose another data set");
        Ok(Self {
            network: network.map_err(refuse)?,
            optimizer: ModuleAdam::default(),
            ema: ema.map(Ema::new).transpose().or_failed()?,
            size,
            device: device.clone(),
        })
    }

    /// Classes, or one group of all images.
    pub(crate) fn groups(&self) -> usize {
        self.size.classes.max(1)
    }

    /// `each` of each class, for a step.
    pub(crate) fn make(&self, each: usize, rng: &mut ChaCha20Rng) -> Made {
        let inputs = self.inputs(each, rng, &self.device.clone().autodiff());
        let rows = self.network.forward(inputs);
        Made { rows }
    }

    /// A step of Adam down `cotangent`, the gradient of a loss in what was made.
    pub(crate) fn pull(&mut self, made: Made, cotangent: Vec<f32>, rate: f64) {
        let network = self.network.clone();
        self.network = self.optimizer.pull(rate, network, made.rows, cotangent);
        self.average();
    }

    /// A step of Adam down a loss of what was made.
    pub(crate) fn descend(&mut self, loss: Tensor<1>, rate: f64) {
        self.network = self.optimizer.descend(rate, self.network.clone(), loss);
        self.average();
    }

    fn average(&mut self) {
        if let Some(ema) = &mut self.ema {
            ema.update(&self.network.valid());
        }
    }

    /// At least `count` of them, group after group within batches of `each` a group: their values and groups. By the
    /// average of the weights, where there is one.
    pub(crate) fn sample(
        &self,
        count: usize,
        each: usize,
        rng: &mut ChaCha20Rng,
    ) -> Result<(Vec<f32>, Vec<usize>), Failure> {
        let network = self.averaged()?;
        let (mut pixels, mut groups) = (Vec::new(), Vec::new());
        while groups.len() < count {
            let images = network.forward(self.inputs(each, rng, &self.device));
            pixels.extend(images.into_data().iter::<f32>());
            let labels = (0..self.groups()).flat_map(|group| std::iter::repeat_n(group, each));
            groups.extend(labels);
        }
        Ok((pixels, groups))
    }

    /// The weights that images are generated by, in the order of the layers.
    pub(crate) fn weights(&self) -> Result<Vec<f32>, Failure> {
        Ok(to_host(&self.averaged()?))
    }

    /// Takes what [`Generator::weights`] gave.
    pub(crate) fn set_weights(&mut self, weights: &[f32]) -> Result<(), TrainingError> {
        self.network = from_host(self.network.valid(), weights)?.train();
        Ok(())
    }

    fn averaged(&self) -> Result<GeneratorNetwork, Failure> {
        let network = self.network.valid();
        match &self.ema {
            Some(ema) => ema.apply(network).or_failed(),
            None => Ok(network),
        }
    }

    /// Codes with one-hot classes.
    fn inputs(&self, each: usize, rng: &mut ChaCha20Rng, device: &Device) -> Tensor<2> {
        let Size { code, classes } = self.size;
        let width = code.width() + classes;
        let mut values = Vec::with_capacity(each * self.groups() * width);
        for group in 0..self.groups() {
            for _ in 0..each {
                values.extend(code.draw(rng));
                values.extend((0..classes).map(|c| f32::from(u8::from(c == group))));
            }
        }
        let data = TensorData::new(values, [each * self.groups(), width]);
        Tensor::from_data(data, device)
    }

    /// What a checkpoint keeps of it, and `state`: what else its steps depend on.
    pub(crate) fn files(
        &self,
        state: &impl Serialize,
    ) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let mut files = kept(&self.network, &self.optimizer);
        let state = serde_json::to_vec(state).or_failed()?;
        files.insert(STATE.to_string(), state);
        if let Some(ema) = &self.ema {
            files.insert(AVERAGE.to_string(), ema.to_bytes());
        }
        Ok(files)
    }

    /// Takes the place of what a checkpoint holds, and gives the `state` of it.
    pub(crate) fn restore<T: DeserializeOwned>(
        &mut self,
        checkpoint: &RestoredCheckpoint,
    ) -> Result<T, Failure> {
        (self.network, self.optimizer) = restored(&self.network, checkpoint, &self.device)?;
        if let Some(ema) = &mut self.ema {
            let average = ema.restore(checkpoint.file(AVERAGE)?);
            average.map_err(|e| checkpoint.damaged(&e))?;
        }
        checkpoint.json(STATE)
    }
}

/// What a checkpoint keeps of a network in training.
pub(crate) fn kept<M: Module>(network: &M, optimizer: &ModuleAdam) -> BTreeMap<String, Vec<u8>> {
    let weights = floats_to_bytes(&to_host(&network.valid()));
    let optimizer = optimizer.to_bytes();
    BTreeMap::from([(WEIGHTS.into(), weights), (OPTIMIZER.into(), optimizer)])
}

/// The network with its optimizer that a checkpoint keeps.
pub(crate) fn restored<M: Module>(
    network: &M,
    checkpoint: &RestoredCheckpoint,
    device: &Device,
) -> Result<(M, ModuleAdam), Failure> {
    let damaged = |e: TrainingError| checkpoint.damaged(&e);
    let weights = floats_of_bytes(checkpoint.file(WEIGHTS)?);
    let network = from_host(network.valid(), &weights).map_err(damaged)?;
    let optimizer = ModuleAdam::from_bytes(checkpoint.file(OPTIMIZER)?, device);
    Ok((network.train(), optimizer.map_err(damaged)?))
}
