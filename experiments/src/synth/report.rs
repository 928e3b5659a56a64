//! What is shown of a copy.

use lab::diagnostic::{Failure, OrFailed};
use lab::session::{Picture, Report, Session};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use super::private_score;
use super::run::Synth;
use crate::decoded;
use crate::export::{CopyOf, Sampler, Samples, Source};
use crate::pictures::grid;
use crate::scores::{metrics, score, warnings};
use crate::space::decode_as;

/// Samples that a classifier learns from whose accuracy on private images is bought.
const SCORED: usize = 10_000;

/// Keeps the latents, and gives scores and pictures of them.
pub(super) fn report(run: &mut Synth, session: &mut Session) -> Result<Report, Failure> {
    match &run.generated {
        Some(generated) => generated.keep(&session.folder)?,
        None => decoded::keep(&run.made, run.space()?, &session.folder)?,
    }
    let shape = run.form.shape;
    let variation = run.settings.variation(shape);
    let labelled = !run.input.classes.is_empty();
    let knowledge = format!(
        "{} Public: {}.{}",
        run.knowledge(),
        run.input.public,
        variation.words()
    );
    let source = Source {
        shape,
        labelled,
        classes: run.input.classes.len(),
        class_sizes: run
            .generated
            .as_ref()
            .map(|generated| generated.images.sizes().to_vec())
            .unwrap_or_default(),
        copy: Some(CopyOf {
            latent: run.form.latent,
            classes: run.input.classes.clone(),
            count: run.total(),
            formats: run.input.formats(),
            scores_are_of: match run.input.test {
                Some(_) => "samples of the same run, against public test images",
                None => "samples of the same run, against the private images, with noise that the budget covers",
            }
            .into(),
        }),
        public_knowledge: knowledge.clone(),
    };
    source.write(&session.folder)?;
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    // A score that is released once must be of the same samples whatever is asked for later.
    let count = match run.input.test {
        Some(_) => run.score.count(),
        None => SCORED,
    };
    let Samples { mut pixels, labels } = run.scored(count, &mut rng, session)?;
    let of = labels.as_deref();
    let mut pictures = vec![run.picture(&pixels, of, "samples.png", "Samples")?];
    if variation.any() {
        variation.apply(&mut pixels, shape, &mut rng);
        let caption = "The same samples as the copy has them: varied at random, for learning";
        pictures.push(run.picture(&pixels, of, "varied.png", caption)?);
    }
    let private = match run.score.reads_private() {
        Some(_) => Some(run.input.images.whole().or_failed()?),
        None => None,
    };
    let scored = match &run.input.test {
        Some(test) if !run.score.quick_scores => Some(score(
            test,
            &pixels,
            labels.as_deref(),
            private.as_ref(),
            &run.score,
            session,
        )?),
        _ => None,
    };
    let mut metrics = scored.as_ref().map(metrics).unwrap_or_default();
    let labels = labels.as_deref().unwrap_or_default();
    if let Some(counts) = run.score_privately(&pixels, labels, session)? {
        let made = labels.len();
        let classifier = format!("a convolutional network that learned from {made} samples");
        let bound = run.score_deviation_upper();
        metrics.extend(private_score::metrics(&counts, &classifier, bound));
    }
    Ok(Report {
        pictures,
        metrics,
        warnings: scored
            .as_ref()
            .map(|_| warnings(&run.score))
            .unwrap_or_default(),
        more: vec![
            ("images", json!(scored)),
            ("public_knowledge", json!(knowledge)),
        ],
        ..Report::default()
    })
}

impl Synth {
    /// Samples to score, before they vary: `count`, or as many as the copy has.
    fn scored(
        &mut self,
        count: usize,
        rng: &mut ChaCha20Rng,
        session: &Session,
    ) -> Result<Samples, Failure> {
        let total = self.total();
        if let Some(generated) = &mut self.generated {
            return generated.sample(count.min(total), rng);
        }
        let mut chosen = self.made.shuffled(rng);
        chosen.truncate(count);
        let rows = self.made.at(&chosen);
        let shape = self.form.shape;
        Ok(Samples {
            pixels: decode_as(self.space()?, &rows.rows, shape, session)?,
            labels: rows.labels,
        })
    }

    /// Ten samples of each class, a row a class.
    fn picture(
        &self,
        pixels: &[f32],
        labels: Option<&[usize]>,
        name: &'static str,
        caption: &str,
    ) -> Result<Picture, Failure> {
        let size = self.form.shape.values();
        let all = 0..pixels.len() / size;
        let class = |class| {
            let labels = labels.unwrap_or_default();
            let mut row: Vec<Option<usize>> = all
                .clone()
                .filter(|&i| labels[i] == class)
                .take(10)
                .map(Some)
                .collect();
            // A class of fewer samples leaves places blank.
            row.resize(10, None);
            row
        };
        let chosen: Vec<Option<usize>> = match labels {
            Some(_) => (0..self.input.classes.len()).flat_map(class).collect(),
            None => all.clone().take(100).map(Some).collect(),
        };
        let image = |place: Option<usize>| match place {
            Some(i) => pixels[i * size..(i + 1) * size].to_vec(),
            None => vec![0.0; size],
        };
        let images: Vec<f32> = chosen.into_iter().flat_map(image).collect();
        let caption = match labels {
            Some(_) => format!(
                "{caption}, a row a class: {}",
                self.input.classes.join(", ")
            ),
            None => caption.to_string(),
        };
        Ok((name, caption, grid(&images, self.form.shape, 10)?))
    }
}
