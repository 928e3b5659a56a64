//! The attack on a final model: trainings of softmax regression on images, of which the attacker sees the last weights.
//!
//! The record under attack is one pixel, where no image has any ink: it moves the ten weights of that pixel and no
//! others, in a direction that hardly changes while they are small. The weights at the end are then its gradients of all
//! steps, added up, in noise that is added up too.

use std::path::Path;

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};
use data::{Dataset, DatasetKind, LoadOptions};
use dp_core::DpError;
use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use dp_core::per_sample::nn::Chain;
use dp_core::sampling::Sampler;
use lab::diagnostic::{Failure, OrFailed};
use private_training::weights::from_host;
use private_training::{Batch, Gradients, Layers, Loss, Network, Objective};

use super::Arguments;

/// The bound on a record's gradient, small beside that of every image and of the record under attack.
const CLIP: f64 = 0.1;
/// How far a step goes along the mean of clipped gradients.
const RATE: f32 = 20.0;

/// Softmax regression without a bias.
#[derive(Module, Debug)]
struct Softmax {
    linear: Linear,
}

impl Network<2> for Softmax {
    fn layers(&self) -> Layers<'_, 2> {
        let [features, _] = self.linear.weight.dims();
        Layers::chain(Chain::features(features).linear(&self.linear))
    }
}

/// Images, in place of the first of which stands the record under attack.
pub(super) struct FinalModel {
    pixels: Vec<f32>,
    labels: Vec<i64>,
    features: usize,
    classes: usize,
    /// The pixel without ink.
    pixel: usize,
    rate: f64,
}

impl FinalModel {
    pub(super) fn load(arguments: &Arguments) -> Result<Self, Failure> {
        let (kind, records) = (arguments.dataset, arguments.records);
        let glyphs = kind == DatasetKind::Glyphs;
        let options = LoadOptions {
            seed: arguments.seed,
            train: glyphs.then_some(records),
            test: glyphs.then_some(1),
            ..LoadOptions::default()
        };
        let mut data = Dataset::load(kind, &options).or_failed()?.train;
        data.truncate(records).or_failed()?;
        let all: Vec<usize> = (0..data.len()).collect();
        let (features, pixels) = (data.image_size(), data.gather(&all).or_failed()?);
        let blank = |pixel: &usize| {
            pixels
                .iter()
                .skip(*pixel)
                .step_by(features)
                .all(|&x| x == 0.0)
        };
        let pixel = (0..features).find(blank).ok_or_else(|| {
            let message = format!("--records {records}: every pixel has ink in one of the images");
            Failure::input(message, "say fewer records, or another data set")
        })?;
        Ok(Self {
            labels: data
                .labels()
                .iter()
                .map(|&label| i64::from(label))
                .collect(),
            classes: data.classes(),
            pixels,
            features,
            pixel,
            rate: arguments.rate,
        })
    }

    pub(super) fn sampler(&self) -> Result<Sampler, DpError> {
        let records = self.labels.len();
        if self.rate >= 1.0 {
            return Sampler::all(records);
        }
        let batch = (self.rate * records as f64).round() as usize;
        Sampler::fixed_size(records, batch.max(1))
    }

    /// Trains once, and says how far the weights of the pixel went where the record would take them.
    ///
    /// - `adds`: the value of the pixel; what the record adds changes its sign with it.
    pub(super) fn score(
        &self,
        adds: f32,
        mut releaser: Releaser,
        ledger: &Path,
    ) -> Result<f64, Failure> {
        let device = Device::flex();
        let mut ledger = Ledger::create(ledger).or_failed()?;
        let objective = Objective::new([Loss::cross_entropy().max_grad_norm(CLIP)]);
        let mut gradients = Gradients::new(objective);
        let config = LinearConfig::new(self.features, self.classes).with_bias(false);
        let mut weights = vec![0.0_f32; self.features * self.classes];
        for _ in 0..releaser.plan().steps() {
            let draw = releaser.draw().or_failed()?;
            let records = draw.indices();
            let mut inputs = Vec::with_capacity(records.len() * self.features);
            let mut targets = Vec::with_capacity(records.len());
            for &record in &records {
                let start = inputs.len();
                inputs.extend_from_slice(&self.pixels[record * self.features..][..self.features]);
                if record == 0 {
                    inputs[start..].fill(0.0);
                    inputs[start + self.pixel] = adds;
                }
                targets.push(if record == 0 { 0 } else { self.labels[record] });
            }
            let n = records.len();
            let network = Softmax {
                linear: config.init(&device),
            };
            let network = from_host(network, &weights).or_failed()?;
            let inputs = TensorData::new(inputs, [n, self.features]);
            let inputs = Tensor::<2>::from_data(inputs, &device);
            let targets = Tensor::<1, Int>::from_data(TensorData::new(targets, [n]), &device);
            let batch = Batch::new(inputs, targets, &[n]).or_failed()?;
            let sampler = releaser.plan().sampler().clone();
            let (clipped, _) = gradients.clipped(&network, &batch, &sampler).or_failed()?;
            let bounded = clipped.tied_to(draw).or_failed()?;
            let released = releaser.release(bounded, &mut ledger).or_failed()?;
            let step = released.gradient().to_host();
            weights
                .iter_mut()
                .zip(step)
                .for_each(|(w, g)| *w -= RATE * g);
        }
        // Against the gradient of class 0 where all classes are as likely.
        let own = &weights[self.pixel * self.classes..][..self.classes];
        let even = 1.0 / self.classes as f64;
        let towards = |class: usize| if class == 0 { 1.0 - even } else { -even };
        Ok(own
            .iter()
            .enumerate()
            .map(|(class, &w)| towards(class) * f64::from(w))
            .sum())
    }
}
