//! Scores and pictures of generated latents, on public test records alone.

use burn::tensor::Device;
use lab::diagnostic::Failure;
use lab::figures::grid;
use model::latent::{LatentSpace, SmallAutoencoder};
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha20Rng;
use swd::{Cells, Slices};

use crate::scores::{ScoreFlags, Scored};

use super::mechanisms::Generated;
use super::sides::{Records, cropped, padded};

/// Slices of the reported distance between latents.
const SLICES: usize = 200;

/// Pictures by file name and caption.
type Pictures = Vec<(&'static str, String, Vec<u8>)>;

/// What is reported of a flow.
pub struct Outcome {
    /// Squared sliced distance between generated latents and those of test records.
    pub latent_sliced: f64,
    /// Scores of decoded images; none where they were not asked for.
    pub images: Option<Scored>,
    /// Pictures by file name and caption.
    pub pictures: Pictures,
}

/// Judges what a mechanism made.
pub struct Judge<'a> {
    /// The public decoder.
    pub space: &'a SmallAutoencoder,
    /// Public test records.
    pub test: &'a Records,
    /// Private records, for `--memorisation` alone.
    pub private: &'a Records,
    /// Where it computes.
    pub device: &'a Device,
    /// How samples are scored.
    pub score: &'a ScoreFlags,
}

impl Judge<'_> {
    /// Scores and pictures.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where a picture cannot be drawn or the classifier cannot be kept.
    pub fn look(&self, generated: &Generated) -> Result<Outcome, Failure> {
        let d = self.space.latent();
        let side = self.test.side();
        let test = self
            .space
            .encode_host(&padded(&self.test.all(), side), self.device);
        let latent_sliced = sliced(&generated.rows, &test, d)?;
        let total = generated.rows.len() / d;
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let chosen = sample(&mut rng, total, total.min(self.score.scored as usize)).into_vec();
        let rows: Vec<f32> = chosen
            .iter()
            .flat_map(|&i| &generated.rows[i * d..(i + 1) * d])
            .copied()
            .collect();
        let labels: Option<Vec<usize>> = generated
            .labels
            .as_ref()
            .map(|labels| chosen.iter().map(|&i| labels[i]).collect());
        let images = cropped(&self.space.decode_host(&rows, self.device), side);
        let scores = if self.score.quick_scores {
            None
        } else {
            Some(crate::scores::score(
                &self.test.labelled()?,
                &images,
                labels.as_deref(),
                &self.private.labelled()?,
                self.score,
                self.device,
            )?)
        };
        Ok(Outcome {
            latent_sliced,
            images: scores,
            pictures: self.pictures(generated, &images, labels.as_deref())?,
        })
    }

    fn pictures(
        &self,
        generated: &Generated,
        images: &[f32],
        labels: Option<&[usize]>,
    ) -> Result<Pictures, Failure> {
        let side = self.test.side();
        let area = side * side;
        let order: Vec<usize> = match labels {
            Some(labels) => {
                let classes = labels.iter().max().map_or(0, |&most| most + 1);
                let of = |class| {
                    (0..labels.len())
                        .filter(move |&i| labels[i] == class)
                        .take(10)
                };
                (0..classes).flat_map(of).collect()
            }
            None => (0..(images.len() / area).min(100)).collect(),
        };
        let samples: Vec<f32> = order
            .iter()
            .flat_map(|&i| &images[i * area..(i + 1) * area])
            .copied()
            .collect();
        let caption = if labels.is_some() {
            "Samples, a row a class"
        } else {
            "100 samples"
        };
        let mut pictures = vec![(
            "samples.png",
            caption.to_string(),
            grid(&samples, side, 10, 2)?,
        )];
        if !generated.strip.is_empty() {
            let mut rows = Vec::new();
            let mut steps = Vec::new();
            for snapshot in &generated.strip {
                rows.extend_from_slice(&snapshot.rows);
                steps.push(snapshot.step.to_string());
            }
            for row in rows.chunks_exact_mut(self.space.latent()) {
                let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
                row.iter_mut().for_each(|x| *x /= norm);
            }
            let decoded = cropped(&self.space.decode_host(&rows, self.device), side);
            let columns = rows.len() / self.space.latent() / generated.strip.len();
            pictures.push((
                "strip.png",
                format!(
                    "The same particles over time, decoded: a row each at steps {}",
                    steps.join(", ")
                ),
                grid(&decoded, side, columns.max(1), 2)?,
            ));
        }
        let firsts = self.rebuilt()?;
        pictures.push((
            "reconstructions.png",
            "Test images, and what the public autoencoder makes of them".to_string(),
            firsts,
        ));
        Ok(pictures)
    }

    fn rebuilt(&self) -> Result<Vec<u8>, Failure> {
        let side = self.test.side();
        let labels = self.test.labels();
        let classes = labels.iter().max().map_or(0, |&most| most + 1);
        let firsts: Vec<usize> = (0..classes)
            .filter_map(|c| labels.iter().position(|&l| l == c))
            .collect();
        let originals = self.test.gather(&firsts);
        let latents = self
            .space
            .encode_host(&padded(&originals, side), self.device);
        let rebuilt = cropped(&self.space.decode_host(&latents, self.device), side);
        grid(&[originals, rebuilt].concat(), side, firsts.len().max(1), 2)
    }
}

/// The squared sliced distance between two sets of points, in fixed slices.
fn sliced(a: &[f32], b: &[f32], d: usize) -> Result<f64, Failure> {
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let slices = Slices::tight(d, SLICES.max(d), &mut rng).map_err(Failure::run)?;
    let cells = Cells::of_sample(b, &slices, a.len() / d).map_err(Failure::run)?;
    swd::transport::host::sliced_cotangents_and_distance(a, &slices, &cells)
        .map(|(_, distance)| distance)
        .map_err(Failure::run)
}
