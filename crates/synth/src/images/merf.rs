//! DP-MERF (Harder, Adamczewski and Park 2021, arXiv 2002.11603): random Fourier features of the private images are released
//! once, class by class, and a generator learns to reproduce them. It learns from no other image.

use burn::tensor::{Device, Tensor, TensorData};
use data::Records;
use dp_core::mechanism::SensitiveVector;
use model::latent::ImageShape;
use private_queries::{Embedded, Embeddings};
use private_training::{TrainingError, cosine};
use rand::Rng;

use super::{Architecture, Code, GeneratedImages, Generator, ImageMethod, PrivateImages, Size};
use crate::{Releasing, SynthError, Work};

/// The width of the kernel, divided by the root of the number of values of an image: about the mean distance between values
/// of two images, and near the width in the paper for digits, whose square is 105.
const LENGTH: f64 = 0.36;
/// The bounds of the number of steps, a tenth of the private images: few images give less to learn.
const STEPS: [usize; 2] = [100, 2000];
const LEARNING_RATE: f64 = 0.01;
/// The decay of the average of the weights with which samples are generated.
const AVERAGE: f64 = 0.99;
/// The number of private images whose features are added at once.
const PART: usize = 2000;

/// The method of DP-MERF.
#[derive(Debug, Clone, Copy)]
pub struct Merf {
    /// Whether images have classes; the generator then takes the class as an input.
    pub labelled: bool,
}

impl Merf {
    /// The name of its one release in the plan.
    pub const RELEASE: &'static str = "embeddings";
    /// The number of frequencies, each with a cosine and a sine.
    pub const FREQUENCIES: usize = 1000;
    /// The width of the generator's code.
    pub const CODE: usize = 10;
    /// The number of images of a batch, in a step and in samples.
    pub const BATCH: usize = 100;
}

/// Returns the number of images of each class in a batch.
fn each(groups: usize) -> usize {
    (Merf::BATCH / groups).max(2)
}

/// Creates the generator before its first step.
fn untrained(
    classes: usize,
    shape: ImageShape,
    rng: &mut impl Rng,
    device: &Device,
) -> Result<Generator, TrainingError> {
    let code = Code::Gaussian(Merf::CODE);
    let size = Size { code, classes };
    let architecture = Architecture::Upsampled(shape);
    Generator::new(architecture, size, Some(AVERAGE), rng, device)
}

impl ImageMethod for Merf {
    type Fitted = GeneratedImages;

    fn releases(&self, _: &PrivateImages<'_>) -> Vec<(&'static str, f64)> {
        vec![(Self::RELEASE, 1.0)]
    }

    fn fit<R: Releasing>(
        &self,
        private: &PrivateImages<'_>,
        device: &Device,
        rng: &mut impl Rng,
        by: &mut R,
    ) -> Result<GeneratedImages, R::Error> {
        let refused = |e: TrainingError| R::failed(e.into());
        let ([channels, side, _], groups) = (private.images.shape(), private.images.classes());
        let shape = ImageShape { channels, side };
        let length = LENGTH * (shape.values() as f64).sqrt();
        let query = Embeddings::new(groups, shape.values(), Self::FREQUENCIES, length, rng);
        let query = query.map_err(|e| R::failed(e.into()))?;
        let query = query.of_units(private.most);
        let embedded = by.release(Self::RELEASE, &query, || measured(&query, private.images))?;
        let classes = if self.labelled { groups } else { 0 };
        let mut model = untrained(classes, shape, rng, device).map_err(refused)?;
        let [least, most] = STEPS;
        let steps = (private.units / 10).clamp(least, most);
        train(&mut model, &query, &embedded, steps, device, rng, by)?;
        // A class whose noisy number is below one image has none.
        let sizes = embedded.sizes.iter().map(|&size| size.max(0.0) as usize);
        GeneratedImages::new(model, sizes.collect(), each(groups)).map_err(refused)
    }
}

/// Measures the features of the private images, part by part.
fn measured(query: &Embeddings, images: &Records) -> Result<SensitiveVector, SynthError> {
    let mut read = Ok(());
    let parts = images.blocks(PART).map_while(|part| {
        let groups = part.and_then(|part| part.by_class());
        groups.map_err(|e| read = Err(e)).ok()
    });
    let measured = query.measure_parts(parts);
    read?;
    Ok(measured?)
}

/// Takes steps on `sum_c |s_c - n_c E phi(x_c)|^2 / n^2`, with the released sums `s_c` and numbers `n_c` of the classes and the
/// generated images `x_c` of each. The squared mean of `k` features, which have norm 1, is too large because it includes each
/// feature's product with itself: `|E phi|^2` is that of the mean times `k / (k - 1)`, up to a constant.
fn train<R: Releasing>(
    model: &mut Generator,
    query: &Embeddings,
    embedded: &Embedded,
    steps: usize,
    device: &Device,
    rng: &mut impl Rng,
    by: &mut R,
) -> Result<(), R::Error> {
    let device = &device.clone().autodiff();
    let (groups, width, count) = (model.groups(), query.features(), Merf::FREQUENCIES);
    let sizes = embedded.sizes.iter().map(|size| size.max(0.0));
    let all = sizes.clone().sum::<f64>().max(1.0);
    let tensor = |values: Vec<f32>, shape: [usize; 2]| {
        Tensor::<2>::from_data(TensorData::new(values, shape), device)
    };
    let sums = embedded.sums.iter().map(|sum| (sum / all) as f32);
    let sums = tensor(sums.collect(), [groups, width]);
    let weights = sizes.map(|size| (size / all) as f32);
    let weights = tensor(weights.collect(), [groups, 1]);
    let frequencies = query.frequencies().to_vec();
    let values = frequencies.len() / count;
    let frequencies = tensor(frequencies, [count, values]).transpose();
    let each = each(groups);
    let pairs = each as f64 / (each - 1) as f64;
    for step in 0..steps {
        let rows = model.make(each, rng).rows;
        let phases = rows.matmul(frequencies.clone());
        let features = Tensor::cat(vec![phases.clone().cos(), phases.sin()], 1);
        let features = features.reshape([groups, each, width]).mean_dim(1);
        let root = (count as f64).sqrt();
        let found = features.reshape([groups, width]) * weights.clone() / root;
        let own = found.clone().square().sum() * pairs;
        let loss = own - (found * sums.clone()).sum() * 2.0;
        let rate = LEARNING_RATE * cosine(step as u64, steps as u64, 0.0);
        model.descend(loss, rate);
        let (done, of) = (step + 1, steps);
        by.go_on(Work::Fitting { done, of })?;
    }
    Ok(())
}
