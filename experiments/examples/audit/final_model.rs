//! The attack on a final model: the head of `sliver classify` on images, of which the attacker sees the last weights.
//!
//! The record under attack is one pixel, where no image has any ink: it moves the ten weights of that pixel and no
//! others, in a direction that hardly changes while they are small. The weights at the end are then a sum of its gradients of
//! all steps, of which some count more than others, in noise that is added up likewise.

use std::path::Path;

use data::{Dataset, DatasetKind, LoadOptions};
use dp_core::DpError;
use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use dp_core::sampling::Sampler;
use lab::diagnostic::{Failure, OrFailed};
use private_classifiers::{Examples, HeadConfig};

use super::Arguments;

/// The bound on a record's gradient, small beside that of every image and of the record under attack.
const CLIP: f64 = 0.1;
/// How far a step goes along the mean of clipped gradients.
const RATE: f64 = 20.0;

/// Images, in place of the first of which stands the record under attack.
pub(super) struct FinalModel {
    pixels: Vec<f32>,
    labels: Vec<u16>,
    features: usize,
    classes: usize,
    /// The pixel without ink.
    pixel: usize,
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
            labels: data.labels().iter().map(|&label| label.into()).collect(),
            classes: data.classes(),
            pixels,
            features,
            pixel,
        })
    }

    pub(super) fn sampler(&self) -> Result<Sampler, DpError> {
        Sampler::all(self.labels.len())
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
        let mut ledger = Ledger::create(ledger).or_failed()?;
        let config = HeadConfig {
            max_grad_norm: CLIP,
            rate: RATE,
            steps: releaser.plan().steps(),
            most_per_unit: 1,
        };
        let (mut rows, mut labels) = (self.pixels.clone(), self.labels.clone());
        rows[..self.features].fill(0.0);
        rows[self.pixel] = adds;
        labels[0] = 0;
        let examples = Examples::new(rows, labels, self.classes).or_failed()?;
        let head = config
            .fit(&examples, &mut releaser, &mut ledger)
            .or_failed()?;
        // Against the gradient of class 0 where all classes are as likely.
        let own = &head.weights()[self.pixel * self.classes..][..self.classes];
        let even = 1.0 / self.classes as f64;
        let towards = |class: usize| if class == 0 { 1.0 - even } else { -even };
        Ok(own
            .iter()
            .enumerate()
            .map(|(class, &w)| towards(class) * w)
            .sum())
    }
}
