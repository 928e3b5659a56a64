//! A generator in training: its weights, its optimizer and its average, one step, and samples.

use burn::module::Module;
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor, TensorData};
use model::generator::{Dcgan, ImageGenerator, MlpGenerator};
use model::latent::ImageShape;
use private_training::TrainingError;
use private_training::adam::ModuleAdam;
use private_training::ema::Ema;
use private_training::weights::{from_host, to_host};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

/// What a generator is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// Images: linear layers, then maps that are doubled and convolved.
    Upsampled(ImageShape),
    /// Images: transposed convolutions.
    Dcgan(ImageShape),
    /// Images: a perceptron of three hidden layers and a sigmoid.
    Perceptron(ImageShape),
}

/// The width of a generator's code, and how it is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
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
pub struct Size {
    /// The code.
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
pub struct Generator {
    /// On a device with gradients.
    network: GeneratorNetwork,
    optimizer: ModuleAdam,
    ema: Option<Ema>,
    size: Size,
    device: Device,
}

/// What was generated, with what its gradient needs.
pub struct Made {
    /// `[n, values]`, class after class.
    pub rows: Tensor<2>,
}

impl Made {
    /// The same on the host.
    pub fn values(&self) -> Vec<f32> {
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
    ///
    /// # Errors
    /// [`TrainingError`] for a shape that the architecture does not have, and for a decay outside `[0, 1)`.
    pub fn new(
        architecture: Architecture,
        size: Size,
        ema: Option<f64>,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Result<Self, TrainingError> {
        let inputs = size.code.width() + size.classes;
        Ok(Self {
            network: GeneratorNetwork::new(architecture, inputs, rng, &device.clone().autodiff())?,
            optimizer: ModuleAdam::default(),
            ema: ema.map(Ema::new).transpose()?,
            size,
            device: device.clone(),
        })
    }

    /// Classes, or one group of all images.
    pub fn groups(&self) -> usize {
        self.size.classes.max(1)
    }

    /// `each` of each class, for a step.
    pub fn make(&self, each: usize, rng: &mut impl Rng) -> Made {
        let inputs = self.inputs(each, rng, &self.device.clone().autodiff());
        let rows = self.network.forward(inputs);
        Made { rows }
    }

    /// A step of Adam down `cotangent`, the gradient of a loss in what was made.
    pub fn pull(&mut self, made: Made, cotangent: Vec<f32>, rate: f64) {
        let network = self.network.clone();
        self.network = self.optimizer.pull(rate, network, made.rows, cotangent);
        self.average();
    }

    /// A step of Adam down a loss of what was made.
    pub fn descend(&mut self, loss: Tensor<1>, rate: f64) {
        self.network = self.optimizer.descend(rate, self.network.clone(), loss);
        self.average();
    }

    fn average(&mut self) {
        if let Some(ema) = &mut self.ema {
            ema.update(&self.network.valid());
        }
    }

    /// At least `count` of them, group after group within batches of `each` a group: their values and groups. By the
    /// average of the weights, if there is one.
    ///
    /// # Errors
    /// [`TrainingError`] for an average of other weights.
    pub fn sample(
        &self,
        count: usize,
        each: usize,
        rng: &mut impl Rng,
    ) -> Result<(Vec<f32>, Vec<usize>), TrainingError> {
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
    ///
    /// # Errors
    /// As [`Generator::sample`].
    pub fn weights(&self) -> Result<Vec<f32>, TrainingError> {
        Ok(to_host(&self.averaged()?))
    }

    /// Takes what [`Generator::weights`] gave.
    ///
    /// # Errors
    /// [`TrainingError::Shape`] for another number of weights.
    pub fn set_weights(&mut self, weights: &[f32]) -> Result<(), TrainingError> {
        self.network = from_host(self.network.valid(), weights)?.train();
        Ok(())
    }

    fn averaged(&self) -> Result<GeneratorNetwork, TrainingError> {
        let network = self.network.valid();
        match &self.ema {
            Some(ema) => ema.apply(network),
            None => Ok(network),
        }
    }

    /// Codes with one-hot classes.
    fn inputs(&self, each: usize, rng: &mut impl Rng, device: &Device) -> Tensor<2> {
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

    /// What its training goes on from: weights, optimizer, average.
    pub fn state(&self) -> (Vec<f32>, Vec<u8>, Option<Vec<u8>>) {
        let weights = to_host(&self.network.valid());
        let average = self.ema.as_ref().map(Ema::to_bytes);
        (weights, self.optimizer.to_bytes(), average)
    }

    /// Takes what [`Generator::state`] gave.
    ///
    /// # Errors
    /// [`TrainingError::Shape`] for what another generator gave.
    pub fn restore(
        &mut self,
        weights: &[f32],
        optimizer: &[u8],
        average: Option<&[u8]>,
    ) -> Result<(), TrainingError> {
        self.set_weights(weights)?;
        self.optimizer = ModuleAdam::from_bytes(optimizer, &self.device)?;
        match &mut self.ema {
            Some(ema) => ema.restore(average.unwrap_or_default()),
            None => Ok(()),
        }
    }
}
