//! Scores and pictures of what the generator makes.

use lab::diagnostic::{Failure, OrFailed};
use lab::session::{Report, Session, floats_to_bytes};
use serde_json::json;

use super::release::Release;
use super::samples::{WEIGHTS, source};
use super::train::Generate;
use crate::pictures::samples;
use crate::random::stream;
use crate::scores::{metrics, score_records, warnings};

/// Samples, their scores on public test records, and a picture.
pub(super) fn report<R: Release>(run: &Generate<R>, session: &Session) -> Result<Report, Failure> {
    // Of its own, so that the number of samples changes nothing else.
    let mut rng = stream(run.settings.seed, 4);
    let count = run.score.count();
    let (mut pixels, groups) = run.model.sample(count, run.each(), &mut rng).or_failed()?;
    let (variation, shape) = (run.settings.variation(), run.data.test.shape());
    variation.apply(&mut pixels, shape, &mut rng);
    let weights = floats_to_bytes(&run.model.weights().or_failed()?);
    session.folder.write(WEIGHTS, &weights)?;
    let source = source(run);
    source.write(&session.folder)?;
    let labels = (run.data.classes > 0).then_some(&groups[..]);
    let scored = match run.score.quick_scores {
        true => None,
        false => {
            let records = [&run.data.test, &run.data.records];
            Some(score_records(
                records, &pixels, labels, &run.score, session,
            )?)
        }
    };
    Ok(Report {
        pictures: vec![samples(&pixels, labels, shape)?],
        metrics: scored.as_ref().map(metrics).unwrap_or_default(),
        warnings: warnings(&run.score),
        more: vec![
            ("images", json!(scored)),
            ("public_knowledge", json!(source.public_knowledge)),
        ],
        ..Report::default()
    })
}
