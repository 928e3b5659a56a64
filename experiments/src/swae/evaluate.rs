//! Scores and pictures on the public test records.

use std::sync::Arc;

use burn::tensor::Device;
use data::{Dataset, LabelledImages};
use lab::diagnostic::{Failure, OrFailed};
use lab::figures;
use model::swae::Swae;
use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::{Slices, UniformBall};

use super::Settings;
use super::latents::{decode, encode, with_labels};
use super::samples::{Origin, Sampler};
use crate::variation::Variation;

/// Test records that an interim evaluation looks at.
const INTERIM: usize = 1000;
/// Test records that the last evaluation looks at.
const FINAL: usize = 10_000;
const SCATTER: usize = 2000;
/// Slices of the reported distance to the prior.
const SLICES: usize = 120;

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(crate) struct Scores {
    /// Mean binary cross-entropy summed over pixels, in nats.
    pub reconstruction: f64,
    /// Sliced squared distance from the latents to the prior's sample.
    pub sliced: f64,
    pub records: usize,
}

pub(crate) type Pictures = Vec<(&'static str, String, Vec<u8>)>;

/// What is looked at during and after a run.
pub(crate) struct Evaluator {
    data: Arc<Dataset>,
    latent: usize,
    variation: Variation,
    device: Device,
}

impl Evaluator {
    /// An evaluator over the test side of `data`.
    pub(crate) fn new(
        data: Arc<Dataset>,
        settings: &Settings,
        device: &Device,
    ) -> Result<Self, Failure> {
        if data.test.len() == 0 {
            return Err(Failure::input(
                format!("{}: 0 test records, at least 1 is needed", data.name),
                "use the data set's own test files",
            ));
        }
        Ok(Self {
            data,
            latent: settings.latent,
            variation: settings.variation(),
            device: device.clone(),
        })
    }

    fn test(&self) -> &LabelledImages {
        &self.data.test
    }

    /// Reconstruction and distance to the prior.
    pub(crate) fn scores(&self, model: &Swae, last: bool) -> Result<Scores, Failure> {
        let records = self.test().len().min(if last { FINAL } else { INTERIM });
        let mut total = 0.0;
        let mut latents = Vec::new();
        for start in (0..records).step_by(500) {
            let indices: Vec<usize> = (start..records.min(start + 500)).collect();
            let pixels = self.test().gather(&indices).unwrap_or_default();
            let u = encode(model, pixels.clone(), &self.device);
            let decoded = self.reconstruct(model, &u, &indices);
            for (&p, &x) in decoded.iter().zip(&pixels) {
                let p = f64::from(p).clamp(1e-7, 1.0 - 1e-7);
                let x = f64::from(x);
                total -= x * p.ln() + (1.0 - x) * (1.0 - p).ln();
            }
            latents.extend(u);
        }
        Ok(Scores {
            reconstruction: total / records as f64,
            sliced: self.distance_to_prior(&latents, records)?,
            records,
        })
    }

    /// Fixed slices and exact cells, so that scores of different runs compare.
    fn distance_to_prior(&self, latents: &[f32], records: usize) -> Result<f64, Failure> {
        let latent = self.latent;
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let slices = Slices::tight(latent, SLICES.max(latent), &mut rng).or_failed()?;
        let cells = UniformBall::new(latent)
            .and_then(|ball| ball.cells(records))
            .or_failed()?;
        swd::transport::host::sliced_cotangents_and_distance(latents, &slices, &cells)
            .map(|(_, distance)| distance)
            .or_failed()
    }

    fn reconstruct(&self, model: &Swae, latents: &[f32], indices: &[usize]) -> Vec<f32> {
        let labels: Vec<usize> = indices
            .iter()
            .map(|&i| self.test().label(i).unwrap_or(0))
            .collect();
        let inputs = with_labels(latents, model.latent, model.classes, &labels);
        self.decode(model, inputs)
    }

    fn decode(&self, model: &Swae, inputs: Vec<f32>) -> Vec<f32> {
        decode(model, inputs, &self.device)
    }

    /// Reconstructions, samples, the latent scatter and interpolations (Rodriguez-Vitores, Lalanne and Loubes 2025,
    /// figures 2, 3 and 7), as PNG.
    pub(crate) fn pictures(
        &self,
        model: &Swae,
        origin: &Origin,
        rng: &mut impl Rng,
    ) -> Result<Pictures, Failure> {
        let side = self.test().width();
        let firsts: Vec<usize> = self
            .test()
            .first_of_each_class()
            .into_iter()
            .flatten()
            .collect();
        let originals = self.test().gather(&firsts).unwrap_or_default();
        let latents = encode(model, originals.clone(), &self.device);
        let rebuilt = self.reconstruct(model, &latents, &firsts);
        let columns = firsts.len().max(1);
        let both = [originals, rebuilt].concat();
        let samples = self.sampler(model, origin).rows(rng)?.pixels;
        let (points, labels) = self.scatter_points(model);
        let mut pictures = Pictures::new();
        let mut show = |name, caption: &str, bytes| pictures.push((name, caption.into(), bytes));
        show(
            "reconstructions.png",
            "First test image of each class, and its reconstruction",
            figures::grid(&both, [side, side, 1], columns, 3)?,
        );
        let grid = figures::grid(&samples, [side, side, 1], 10, 2)?;
        show("samples.png", "100 samples", grid);
        show(
            "latents.svg",
            "Latents of test images by class, and the prior's boundary",
            figures::scatter(&points, model.latent, &labels, 1.6)?,
        );
        show(
            "interpolations.png",
            "Interpolations in latent space between the first test images of each pair of classes",
            self.interpolations(model, &latents, &firsts)?,
        );
        Ok(pictures)
    }

    /// The test images as an unconditional model rebuilds them.
    pub(crate) fn rebuilt_test(&self, model: &Swae) -> Result<LabelledImages, Failure> {
        let test = self.test();
        let mut pixels = Vec::with_capacity(test.pixels().len());
        let all: Vec<usize> = (0..test.len()).collect();
        for part in all.chunks(500) {
            let images = test.gather(part).unwrap_or_default();
            let latents = encode(model, images, &self.device);
            let rebuilt = self.reconstruct(model, &latents, part);
            pixels.extend(
                rebuilt
                    .iter()
                    .map(|&p| (p.clamp(0.0, 1.0) * 255.0).round() as u8),
            );
        }
        let labels = test.labels().to_vec();
        LabelledImages::new(pixels, labels, test.height(), test.width(), test.classes()).or_failed()
    }

    /// What `model` samples from.
    pub(crate) fn sampler<'a>(&'a self, model: &'a Swae, origin: &'a Origin) -> Sampler<'a> {
        Sampler {
            model,
            origin,
            device: &self.device,
            variation: self.variation,
        }
    }

    fn scatter_points(&self, model: &Swae) -> (Vec<f32>, Vec<usize>) {
        let indices: Vec<usize> = (0..self.test().len().min(SCATTER)).collect();
        let pixels = self.test().gather(&indices).unwrap_or_default();
        let labels = indices
            .iter()
            .map(|&i| self.test().label(i).unwrap_or(0))
            .collect();
        (encode(model, pixels, &self.device), labels)
    }

    /// Ten images for each pair of classes, three pairs a line.
    fn interpolations(
        &self,
        model: &Swae,
        latents: &[f32],
        firsts: &[usize],
    ) -> Result<Vec<u8>, Failure> {
        let labels: Vec<usize> = firsts
            .iter()
            .map(|&i| self.test().label(i).unwrap_or(0))
            .collect();
        let ends = with_labels(latents, model.latent, model.classes, &labels);
        let width = model.latent + model.classes;
        let mut inputs = Vec::new();
        for i in 0..firsts.len() {
            for j in i + 1..firsts.len() {
                for l in 0..10 {
                    let t = l as f32 / 9.0;
                    let (a, b) = (&ends[i * width..(i + 1) * width], &ends[j * width..]);
                    inputs.extend(a.iter().zip(b).map(|(a, b)| (1.0 - t) * a + t * b));
                }
            }
        }
        if inputs.is_empty() {
            inputs = ends;
        }
        let side = self.test().width();
        figures::grid(&self.decode(model, inputs), [side, side, 1], 30, 1)
    }
}
