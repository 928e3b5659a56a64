//! What is shown of a copy.

use std::sync::Arc;

use data::Records;
use lab::evaluate::transport::sliced_w2_squared;
use lab::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::json;
use swd::Slices;

use super::baseline::{Baseline, baseline};
use super::input;
use super::method::Made;
use super::run::Synth;
use super::samples::Latents;
use super::space::{decode_as, encode_records};
use crate::export::{self, CopyOf, Sampler, Samples};
use crate::pictures::{grid, samples};
use crate::records::{FirstRecords, Source, file_name};
use crate::scores::{self, score, taught, warnings};

/// Slices of the reported distance between latents.
const SLICES: usize = 200;

/// Samples that a classifier learns from whose accuracy on private images is bought.
const SCORED: usize = 10_000;

/// Keeps the latents, and gives scores and pictures of them.
pub(super) fn report(run: &mut Synth, session: &mut Session) -> Result<Report, Failure> {
    let mut made = run.made()?;
    let class_sizes = match &made {
        Made::Generated(generated) => {
            generated.keep(&session.folder)?;
            generated.images.sizes().to_vec()
        }
        Made::Latents(latents) => {
            latents.keep(run.space()?, &session.folder)?;
            Vec::new()
        }
    };
    let shape = run.shape();
    let variation = run.settings.variation(shape);
    let labelled = !run.input.classes.is_empty();
    let knowledge = format!(
        "{} Public: {}.{}",
        run.knowledge(),
        run.input.public,
        variation.words()
    );
    let source = export::Source {
        shape,
        labelled,
        classes: run.input.classes.len(),
        class_sizes,
        copy: Some(CopyOf {
            latent: run.form.latent,
            classes: run.input.classes.clone(),
            count: run.total(),
            formats: input::formats(&run.input),
            arrays: run.input.arrays.clone(),
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
    let Samples { mut pixels, labels } = run.scored(&mut made, count, &mut rng, session)?;
    let of = labels.as_deref();
    let mut pictures = vec![run.picture(&pixels, of, "samples.png", "Samples")?];
    if variation.any() {
        variation.apply(&mut pixels, shape, &mut rng);
        let caption = "The same samples as the copy has them: varied at random, for learning";
        pictures.push(run.picture(&pixels, of, "varied.png", caption)?);
    }
    let private = match run.score.reads_private() {
        Some(_) => Some(&run.input.images),
        None => None,
    };
    let test = run.input.test.as_ref();
    let scored = test.map(|test| score(test, &pixels, of, private, &run.score, session));
    let scored = scored.transpose()?.flatten();
    let mut metrics = Vec::new();
    let mut sliced = None;
    if let (Made::Latents(latents), Some(test)) = (&made, &run.input.test) {
        let (distance, rebuilt) = run.beside_test(latents, test, session)?;
        let name = "Squared sliced distance between generated and test latents";
        metrics.push(Metric::new(name, distance).better(Better::Lower));
        sliced = Some(distance);
        pictures.push(rebuilt);
    }
    let alone = match (&scored, &run.input.test) {
        (Some(_), Some(test)) => baseline(run, test, session)?,
        _ => None,
    };
    metrics.extend(scored.iter().flat_map(scores::metrics));
    if let Some(Baseline { images, field }) = &alone {
        let of = "public records alone, varied as the samples are";
        metrics.extend(taught(images, field.as_ref(), of, "Baseline: accuracy"));
    }
    let labels = labels.as_deref().unwrap_or_default();
    metrics.extend(run.score_privately(&pixels, labels, session)?);
    let method = name_of(run.settings.method);
    Ok(Report {
        title: Some(format!(
            "Copy of {} by {method}",
            file_name(&run.settings.input)
        )),
        pictures,
        metrics,
        warnings: {
            let passed = run.input.passed.iter();
            let passed = passed.map(|what| format!("Not in the copy: {what}"));
            let scores = scored.iter().flat_map(|_| warnings(&run.score));
            passed.chain(scores).collect()
        },
        more: vec![
            ("latent_sliced_w2_squared", json!(sliced)),
            ("images", json!(scored)),
            ("baseline", json!(alone)),
            ("public_knowledge", json!(knowledge)),
        ],
        ..Report::default()
    })
}

impl Synth {
    /// Samples to score, before they vary: `count`, or as many as the copy has.
    fn scored(
        &self,
        made: &mut Made,
        count: usize,
        rng: &mut ChaCha20Rng,
        session: &Session,
    ) -> Result<Samples, Failure> {
        let latents = match made {
            Made::Generated(generated) => return generated.sample(count.min(self.total()), rng),
            Made::Latents(latents) => latents,
        };
        let mut chosen = latents.shuffled(rng);
        chosen.truncate(count);
        let rows = latents.at(&chosen);
        Ok(Samples {
            pixels: decode_as(self.space()?, &rows.rows, self.shape(), session)?,
            labels: rows.labels,
        })
    }

    /// How far latents are from those of test images, and the first test images of each class, or the first ten, above what the
    /// latent space makes of them.
    fn beside_test(
        &self,
        latents: &Latents,
        test: &Records,
        session: &Session,
    ) -> Result<(f64, Picture), Failure> {
        let (shape, d) = (self.shape(), latents.dim);
        let records = FirstRecords {
            source: Source::Labelled(Arc::new(test.whole().or_failed()?)),
            count: test.len(),
        };
        let encoded = encode_records(self.space()?, &records, session)?;
        let rng = &mut ChaCha20Rng::seed_from_u64(0);
        let slices = Slices::tight(d, SLICES.max(d), rng).or_failed()?;
        let distance = sliced_w2_squared(&latents.rows, &encoded, &slices).or_failed()?;
        let firsts: Vec<usize> = match &latents.labels {
            Some(_) => test.first_of_each_class().into_iter().flatten().collect(),
            None => (0..test.len().min(10)).collect(),
        };
        let originals = test.gather(&firsts).or_failed()?;
        let rows = firsts.iter().flat_map(|&i| &encoded[i * d..][..d]);
        let rows: Vec<f32> = rows.copied().collect();
        let rebuilt = decode_as(self.space()?, &rows, shape, session)?;
        let picture = grid(&[originals, rebuilt].concat(), shape, firsts.len())?;
        let caption = "Test images, and what is left of them in their latents";
        Ok((distance, ("reconstructions.png", caption.into(), picture)))
    }

    /// Ten samples of each class, a row a class.
    fn picture(
        &self,
        pixels: &[f32],
        labels: Option<&[usize]>,
        name: &'static str,
        caption: &str,
    ) -> Result<Picture, Failure> {
        let classes = &self.input.classes;
        let picture = samples(pixels, labels, classes.len(), self.shape())?;
        let caption = match labels {
            Some(_) => format!("{caption}, a row a class: {}", classes.join(", ")),
            None => caption.to_string(),
        };
        Ok((name, caption, picture))
    }
}
