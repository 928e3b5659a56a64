//! Scores and pictures on the public test records.

use burn::tensor::Device;
use data::Records;
use lab::diagnostic::{Failure, OrFailed};
use lab::figures;
use lab::session::Picture;
use model::swae::Swae;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::{Slices, UniformBall};

use super::latents::{PART, decode, encode, with_labels};
use super::samples::Sampler;

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

/// A model, and the test records that it is looked at by.
pub(crate) struct Tested<'a> {
    pub model: &'a Swae,
    pub test: &'a Records,
    pub device: &'a Device,
}

impl Tested<'_> {
    /// Reconstruction and distance to the prior.
    pub(crate) fn scores(&self, last: bool) -> Result<Scores, Failure> {
        let records = self.test.len().min(if last { FINAL } else { INTERIM });
        let all: Vec<usize> = (0..records).collect();
        let (mut total, mut latents) = (0.0, Vec::new());
        for part in all.chunks(PART) {
            let [pixels, rows, rebuilt] = self.rebuilt(part)?;
            for (&p, &x) in rebuilt.iter().zip(&pixels) {
                let p = f64::from(p).clamp(1e-7, 1.0 - 1e-7);
                let x = f64::from(x);
                total -= x * p.ln() + (1.0 - x) * (1.0 - p).ln();
            }
            latents.extend(rows);
        }
        // Fixed slices and exact cells, so that scores of different runs compare.
        let latent = self.model.latent;
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let slices = Slices::tight(latent, SLICES.max(latent), &mut rng).or_failed()?;
        let ball = UniformBall::new(latent);
        let cells = ball.and_then(|ball| ball.cells(records)).or_failed()?;
        let found = swd::transport::host::sliced_cotangents_and_distance(&latents, &slices, &cells);
        Ok(Scores {
            reconstruction: total / records as f64,
            sliced: found.or_failed()?.1,
            records,
        })
    }

    /// Test images, their latents, and what the model makes of those.
    fn rebuilt(&self, places: &[usize]) -> Result<[Vec<f32>; 3], Failure> {
        let pixels = self.test.gather(places).or_failed()?;
        let latents = encode(self.model, pixels.clone(), self.device)?;
        let inputs = self.inputs(&latents, places);
        let rebuilt = decode(self.model, inputs, self.device)?;
        Ok([pixels, latents, rebuilt])
    }

    /// Decoder inputs of the latents of test images.
    fn inputs(&self, latents: &[f32], places: &[usize]) -> Vec<f32> {
        let (latent, classes) = (self.model.latent, self.model.classes);
        with_labels(latents, latent, classes, &self.labels(places))
    }

    fn labels(&self, places: &[usize]) -> Vec<usize> {
        let label = |&place| self.test.label(place).unwrap_or(0);
        places.iter().map(label).collect()
    }

    /// Reconstructions, samples, the latent scatter and interpolations (Rodriguez-Vitores, Lalanne and Loubes 2025,
    /// figures 2, 3 and 7), as PNG.
    pub(crate) fn pictures(
        &self,
        sampler: &Sampler,
        rng: &mut impl Rng,
    ) -> Result<Vec<Picture>, Failure> {
        let side = self.test.width();
        let firsts = self.test.first_of_each_class().into_iter().flatten();
        let firsts: Vec<usize> = firsts.collect();
        let [originals, latents, rebuilt] = self.rebuilt(&firsts)?;
        let both = [originals, rebuilt].concat();
        let samples = sampler.rows(rng)?.pixels;
        let scattered: Vec<usize> = (0..self.test.len().min(SCATTER)).collect();
        let pixels = self.test.gather(&scattered).or_failed()?;
        let points = encode(self.model, pixels, self.device)?;
        let (latent, classes) = (self.model.latent, self.labels(&scattered));
        let interpolations = self.interpolations(&latents, &firsts)?;
        Ok(vec![
            (
                "reconstructions.png",
                "First test image of each class, and its reconstruction".into(),
                figures::grid(&both, [side, side, 1], firsts.len().max(1), 3)?,
            ),
            (
                "samples.png",
                "100 samples".into(),
                figures::grid(&samples, [side, side, 1], 10, 2)?,
            ),
            (
                "latents.svg",
                "Latents of test images by class, and the prior's boundary".into(),
                figures::scatter(&points, latent, &classes, 1.6)?,
            ),
            (
                "interpolations.png",
                "Interpolations in latent space between the first test images of each pair of classes".into(),
                figures::grid(&interpolations, [side, side, 1], 30, 1)?,
            ),
        ])
    }

    /// The test images as an unconditional model rebuilds them.
    pub(crate) fn rebuilt_test(&self) -> Result<Records, Failure> {
        let test = self.test;
        let all: Vec<usize> = (0..test.len()).collect();
        let byte = |p: f32| (p.clamp(0.0, 1.0) * 255.0).round() as u8;
        let mut pixels = Vec::new();
        for part in all.chunks(PART) {
            let [.., rebuilt] = self.rebuilt(part)?;
            pixels.extend(rebuilt.into_iter().map(byte));
        }
        let labels = test.labels().to_vec();
        Records::new(pixels, labels, test.height(), test.width(), test.classes()).or_failed()
    }

    /// Ten images for each pair of classes, three pairs a line.
    fn interpolations(&self, latents: &[f32], firsts: &[usize]) -> Result<Vec<f32>, Failure> {
        let ends = self.inputs(latents, firsts);
        let width = self.model.latent + self.model.classes;
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
        decode(self.model, inputs, self.device)
    }
}
