//! A generator in training: its weights, optimizer and average, its steps, and its samples.

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

/// The architecture of a generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// Images from linear layers, then feature maps that are upsampled by 2 and convolved.
    Upsampled(ImageShape),
    /// Images from transposed convolutions.
    Dcgan(ImageShape),
    /// Images from a perceptron with three hidden layers and a sigmoid.
    Perceptron(ImageShape),
}

/// The width of a generator's code, and its distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// A standard Gaussian code.
    Gaussian(usize),
    /// A code that is uniform on `[0, 1]`.
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

/// The input of a generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The code.
    pub code: Code,
    /// The number of classes, as a one-hot vector after the code; 0 without classes.
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

/// A generator in training, conditional on classes or without them.
pub struct Generator {
    /// The network on a device with gradients.
    network: GeneratorNetwork,
    optimizer: ModuleAdam,
    ema: Option<Ema>,
    size: Size,
    device: Device,
}

/// A generated batch, with the graph of its gradient.
pub struct Made {
    /// The rows, `[n, values]`, class after class.
    pub rows: Tensor<2>,
}

impl Made {
    /// Returns the rows on the host.
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
    /// Creates a generator before its first step.
    ///
    /// - `ema`: the decay of an average of its weights, with which it then generates.
    ///
    /// # Errors
    /// Returns [`TrainingError`] for a shape that the architecture does not have, or a decay outside `[0, 1)`.
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

    /// Returns the number of classes, or 1 without classes.
    pub fn groups(&self) -> usize {
        self.size.classes.max(1)
    }

    /// Generates `each` rows of each class, for a step.
    pub fn make(&self, each: usize, rng: &mut impl Rng) -> Made {
        let inputs = self.inputs(each, rng, &self.device.clone().autodiff());
        let rows = self.network.forward(inputs);
        Made { rows }
    }

    /// Takes a descent step of Adam with `cotangent`, the gradient of a loss with respect to the generated rows.
    pub fn pull(&mut self, made: Made, cotangent: Vec<f32>, rate: f64) {
        let network = self.network.clone();
        self.network = self.optimizer.pull(rate, network, made.rows, cotangent);
        self.average();
    }

    /// Takes a descent step of Adam on a loss of generated rows.
    pub fn descend(&mut self, loss: Tensor<1>, rate: f64) {
        self.network = self.optimizer.descend(rate, self.network.clone(), loss);
        self.average();
    }

    fn average(&mut self) {
        if let Some(ema) = &mut self.ema {
            ema.update(&self.network.valid());
        }
    }

    /// Generates at least `count` rows in batches of `each` per group, group after group, and returns their values and groups. It
    /// uses the average of the weights, if there is one.
    ///
    /// # Errors
    /// Returns [`TrainingError`] for an average of other weights.
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

    /// Returns the weights with which images are generated, in the order of the layers.
    ///
    /// # Errors
    /// Returns the errors of [`Generator::sample`].
    pub fn weights(&self) -> Result<Vec<f32>, TrainingError> {
        Ok(to_host(&self.averaged()?))
    }

    /// Sets the weights to those of [`Generator::weights`].
    ///
    /// # Errors
    /// Returns [`TrainingError::Shape`] for a wrong number of weights.
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

    /// Samples codes with one-hot classes.
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

    /// Returns the state from which training resumes: weights, optimizer, average.
    pub fn state(&self) -> (Vec<f32>, Vec<u8>, Option<Vec<u8>>) {
        let weights = to_host(&self.network.valid());
        let average = self.ema.as_ref().map(Ema::to_bytes);
        (weights, self.optimizer.to_bytes(), average)
    }

    /// Restores the state of [`Generator::state`].
    ///
    /// # Errors
    /// Returns [`TrainingError::Shape`] for the state of another generator.
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
