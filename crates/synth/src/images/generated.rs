//! Samples of a trained generator.

use burn::tensor::Device;
use private_training::TrainingError;
use rand::Rng;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;

use super::{Generator, ImageSampler};
use crate::SynthError;

/// A trained generator, with the relative number of samples of each class.
pub struct GeneratedImages {
    generator: Generator,
    sizes: Vec<usize>,
    each: usize,
    /// Generated images of each class that no sample has used yet.
    left: Vec<Vec<Vec<f32>>>,
}

impl GeneratedImages {
    /// Creates the sampler of a trained generator.
    ///
    /// - `sizes`: released numbers of private images of each class;
    /// - `each`: the number of images of a class in a batch, as in training, because the generator normalises by the whole batch.
    ///
    /// # Errors
    /// Returns [`TrainingError::Shape`] if the numbers of sizes and of the generator's classes differ.
    pub fn new(
        generator: Generator,
        sizes: Vec<usize>,
        each: usize,
    ) -> Result<Self, TrainingError> {
        let (what, expected, found) = ("sizes of classes", generator.groups(), sizes.len());
        if expected != found {
            return Err(TrainingError::Shape {
                what,
                expected,
                found,
            });
        }
        Ok(Self {
            left: vec![Vec::new(); found],
            generator,
            sizes,
            each,
        })
    }

    /// Returns the released numbers of private images of each class.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the weights with which images are generated.
    ///
    /// # Errors
    /// Returns the errors of [`Generator::weights`].
    pub fn weights(&self) -> Result<Vec<f32>, TrainingError> {
        self.generator.weights()
    }
}

impl ImageSampler for GeneratedImages {
    fn sample(
        &mut self,
        count: usize,
        _: &Device,
        rng: &mut impl Rng,
    ) -> Result<(Vec<f32>, Vec<usize>), SynthError> {
        let groups = self.sizes.len();
        // If noise left no class with an image, all classes are equally likely.
        let labels = WeightedIndex::new(&self.sizes)
            .unwrap_or_else(|_| WeightedIndex::new(vec![1; groups]).expect("a class"));
        let labels: Vec<usize> = (0..count).map(|_| labels.sample(rng)).collect();
        let mut pixels = Vec::new();
        for &label in &labels {
            if self.left[label].is_empty() {
                let (made, _) = self.generator.sample(1, self.each, rng)?;
                let mut made = made.chunks_exact(made.len() / (groups * self.each));
                for left in &mut self.left {
                    let made = made.by_ref().take(self.each);
                    // A rare class keeps no more images than it may soon need.
                    match left.len() < self.each {
                        true => left.extend(made.map(<[f32]>::to_vec)),
                        false => made.for_each(drop),
                    }
                }
            }
            pixels.extend(self.left[label].pop().unwrap_or_default());
        }
        Ok((pixels, labels))
    }
}
