//! The classifier: two convolutions, what is compared of both domains, and two layers behind it.

use burn::module::Module;
use burn::nn::Linear;
use burn::nn::conv::Conv2d;
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::tensor::Device;
use model::layers::{Mlp, Window, conv2d, linear};
use private_training::Layers;
use private_training::prelude::*;
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;

use super::Failed;
use super::domains::Labelled;

/// Units of the hidden layer.
const HIDDEN: usize = 100;
/// Filters of both convolutions, and their size.
const FILTERS: [usize; 2] = [24, 48];
const KERNEL: usize = 5;
/// Records that a core takes at once.
const CHUNK: usize = 32;

/// From images to the features that are compared: a rectifier and a pool behind each convolution, then, if features are
/// compared at all, a logistic layer.
#[derive(Module, Debug)]
pub(super) struct Extractor {
    first: Conv2d,
    second: Conv2d,
    pool: MaxPool2d,
    bottleneck: Option<Linear>,
    side: usize,
}

/// From images to classes.
#[derive(Module, Debug)]
pub(super) struct Classifier {
    pub extractor: Extractor,
    head: Mlp,
}

impl Classifier {
    /// With fresh weights, for images of `side` pixels, which are compared by this number of features.
    pub(super) fn new(
        side: usize,
        classes: usize,
        compared: Option<usize>,
        rng: &mut ChaCha20Rng,
        device: &Device,
    ) -> Self {
        let behind = |side: usize| (side + 1).saturating_sub(KERNEL) / 2;
        let extracted = FILTERS[1] * behind(behind(side)).pow(2);
        let window = Window::new(KERNEL, 1, 0);
        let extractor = Extractor {
            first: conv2d([1, FILTERS[0]], window, 2.0, 0.0, rng, device),
            second: conv2d(FILTERS, window, 2.0, 0.0, rng, device),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            // Logistic features are half on: more of them vary the sum less.
            bottleneck: compared.map(|features| linear(extracted, features, 4.0, rng, device)),
            side,
        };
        let first = linear(compared.unwrap_or(extracted), HIDDEN, 8.0, rng, device);
        let last = linear(HIDDEN, classes, 1.0, rng, device);
        Self {
            extractor,
            head: Mlp::from_layers(vec![first, last]),
        }
    }

    fn chain(&self) -> Chain<'_> {
        self.head.behind(self.extractor.chain().mark_latent())
    }

    /// The share of the records whose class has the largest logit, the first of equals.
    pub(super) fn accuracy(&self, test: &Labelled) -> Result<f64, Failed> {
        let stack = self.chain().build()?;
        let host = stack.host()?;
        let width = self.extractor.side.pow(2);
        let rows = test.rows.par_chunks(CHUNK * width);
        let right = rows
            .zip(test.labels.par_chunks(CHUNK))
            .map(|(rows, labels)| {
                let saved = host.forward(labels.len(), rows);
                let logits = saved.output();
                let taken = logits.chunks_exact(logits.len() / labels.len()).map(|row| {
                    let first = (0, f32::NEG_INFINITY);
                    let best = row.iter().enumerate().fold(first, |best, (class, &x)| {
                        if x > best.1 { (class, x) } else { best }
                    });
                    best.0
                });
                taken
                    .zip(labels)
                    .filter(|(taken, label)| taken == *label)
                    .count()
            });
        Ok(right.sum::<usize>() as f64 / test.labels.len() as f64)
    }
}

impl Extractor {
    /// The features of images, `[n, d]` of `[n, side * side]`: logistic ones lie within `[-1/2, 1/2]`.
    fn chain(&self) -> Chain<'_> {
        let features = Chain::image([1, self.side, self.side])
            .conv2d(&self.first)
            .relu()
            .max_pool2d(&self.pool)
            .conv2d(&self.second)
            .relu()
            .max_pool2d(&self.pool)
            .flatten();
        match &self.bottleneck {
            Some(layer) => features.linear(layer).sigmoid().affine(1.0, -0.5),
            None => features,
        }
    }
}

impl Network<2> for Extractor {
    fn layers(&self) -> Layers<'_, 2> {
        Layers::chain(self.chain().mark_latent())
    }
}

impl Network<2> for Classifier {
    fn layers(&self) -> Layers<'_, 2> {
        Layers::chain(self.chain())
    }
}
