//! Scores and pictures of generated latents, on public test records alone.

use lab::diagnostic::{Failure, OrFailed};
use lab::evaluate::transport::sliced_w2_squared;
use lab::session::Session;
use model::latent::LatentSpace;
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_chacha::ChaCha20Rng;
use swd::Slices;

use crate::pictures::{grid, samples};
use crate::scores::{ScoreFlags, Scored, score_records};

use private_synth::images::{Space, normalise};

use super::baseline::{Baseline, baseline};
use super::mechanisms::{Generated, Snapshot};
use super::run::Flow;
use crate::records::Records;
use crate::space::{decode_as, encode_records};
use crate::variation::Variation;

/// Slices of the reported distance between latents.
const SLICES: usize = 200;

/// Pictures by file name and caption.
type Pictures = Vec<(&'static str, String, Vec<u8>)>;

/// What is reported of a flow.
pub(crate) struct Outcome {
    /// Squared sliced distance between generated latents and those of test records.
    pub latent_sliced: f64,
    /// Scores of decoded images; none where they were not asked for.
    pub images: Option<Scored>,
    /// Scores of the public records alone, where these show the same classes.
    pub baseline: Option<Baseline>,
    /// Pictures by file name and caption.
    pub pictures: Pictures,
}

/// What a mechanism made, and what it is judged by.
struct Judge<'a> {
    space: &'a Space,
    test: &'a Records,
    /// Private records, for `--memorisation` alone.
    private: &'a Records,
    strip: &'a [Snapshot],
    variation: Variation,
    score: &'a ScoreFlags,
    session: &'a Session,
}

/// Scores and pictures.
pub(crate) fn look(
    run: &Flow,
    session: &Session,
    generated: &Generated,
) -> Result<Outcome, Failure> {
    let space = run.space.as_ref();
    let judge = Judge {
        space: space.ok_or_else(|| Failure::failed("the autoencoder is not trained"))?,
        test: &run.split.test,
        private: &run.split.private,
        strip: &run.strip,
        variation: run.shared.variation(),
        score: &run.score,
        session,
    };
    let mut outcome = judge.outcome(generated)?;
    if let (Some(_), Some(test)) = (&outcome.images, run.split.test.labelled()?) {
        outcome.baseline = baseline(run, &test, session)?;
    }
    Ok(outcome)
}

impl Judge<'_> {
    fn outcome(&self, generated: &Generated) -> Result<Outcome, Failure> {
        let d = self.space.latent();
        let test = self.encode(self.test)?;
        let latent_sliced = sliced(&generated.rows, &test, d)?;
        let total = generated.rows.len() / d;
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        let chosen = sample(&mut rng, total, total.min(self.score.count())).into_vec();
        let rows: Vec<f32> = chosen
            .iter()
            .flat_map(|&i| &generated.rows[i * d..(i + 1) * d])
            .copied()
            .collect();
        let labels: Option<Vec<usize>> = generated
            .labels
            .as_ref()
            .map(|labels| chosen.iter().map(|&i| labels[i]).collect());
        let mut images = self.decode(&rows)?;
        self.variation
            .apply(&mut images, self.test.shape(), &mut rng);
        let scores = if self.score.quick_scores {
            None
        } else {
            let records = [self.test, self.private];
            let of = labels.as_deref();
            Some(score_records(
                records,
                &images,
                of,
                self.score,
                self.session,
            )?)
        };
        Ok(Outcome {
            latent_sliced,
            images: scores,
            baseline: None,
            pictures: self.pictures(&images, labels.as_deref())?,
        })
    }

    fn encode(&self, records: &Records) -> Result<Vec<f32>, Failure> {
        encode_records(self.space, records, self.session)
    }

    fn decode(&self, latents: &[f32]) -> Result<Vec<f32>, Failure> {
        let shape = self.test.shape();
        decode_as(self.space, latents, shape, self.session)
    }

    fn pictures(&self, images: &[f32], labels: Option<&[usize]>) -> Result<Pictures, Failure> {
        let shape = self.test.shape();
        let mut pictures = vec![samples(images, labels, shape)?];
        if !self.strip.is_empty() {
            let mut rows = Vec::new();
            let mut steps = Vec::new();
            for snapshot in self.strip {
                rows.extend_from_slice(&snapshot.rows);
                steps.push(snapshot.step.to_string());
            }
            normalise(&mut rows, self.space.latent());
            let decoded = self.decode(&rows)?;
            let columns = rows.len() / self.space.latent() / self.strip.len();
            pictures.push((
                "strip.png",
                format!(
                    "The same particles over time, decoded: a row each at steps {}",
                    steps.join(", ")
                ),
                grid(&decoded, shape, columns)?,
            ));
        }
        let firsts = self.rebuilt()?;
        pictures.push((
            "reconstructions.png",
            "Test images, and what is left of them in their latents".to_string(),
            firsts,
        ));
        Ok(pictures)
    }

    /// The first test image of each class, or the first ten, above what the autoencoder makes of it.
    fn rebuilt(&self) -> Result<Vec<u8>, Failure> {
        let shape = self.test.shape();
        let labels = self.test.labels();
        let firsts: Vec<usize> = match labels.iter().max() {
            Some(&most) => (0..=most)
                .filter_map(|c| labels.iter().position(|&l| l == c))
                .collect(),
            None => (0..self.test.len().min(10)).collect(),
        };
        let first = self.test.only(&firsts);
        let originals = first.gather(&(0..first.len()).collect::<Vec<_>>())?;
        let latents = self.encode(&first)?;
        let rebuilt = self.decode(&latents)?;
        grid(&[originals, rebuilt].concat(), shape, firsts.len())
    }
}

/// The squared sliced distance between two sets of points, in fixed slices.
fn sliced(a: &[f32], b: &[f32], d: usize) -> Result<f64, Failure> {
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let slices = Slices::tight(d, SLICES.max(d), &mut rng).or_failed()?;
    sliced_w2_squared(a, b, &slices).or_failed()
}
