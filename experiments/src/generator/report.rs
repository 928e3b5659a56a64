//! Scores and pictures of what the generator makes.

use lab::diagnostic::Failure;
use lab::session::{Report, Session, floats_to_bytes};
use serde_json::json;

use super::release::Release;
use super::samples::{WEIGHTS, source};
use super::train::Generate;
use crate::pictures::samples;
use crate::random::stream;
use crate::scores::{Scored, metrics, score, score_photographs, warnings};

/// Samples, their scores on public test records, and a picture.
pub(super) fn report<R: Release>(run: &Generate<R>, session: &Session) -> Result<Report, Failure> {
    // Of its own, so that the number of samples changes nothing else.
    let mut rng = stream(run.settings.seed, 4);
    let count = run.score.count();
    let (mut pixels, groups) = run.model.sample(count, run.each(), &mut rng)?;
    let (variation, shape) = (run.settings.variation(), run.data.test.shape());
    variation.apply(&mut pixels, shape, &mut rng);
    let weights = floats_to_bytes(&run.model.weights()?);
    session.folder.write(WEIGHTS, &weights)?;
    let source = source(run);
    source.write(&session.folder)?;
    let scored = match run.score.quick_scores {
        true => None,
        false => Some(scores(run, session, &pixels, &groups)?),
    };
    Ok(Report {
        pictures: vec![samples(&pixels, &groups, run.data.classes, shape)?],
        metrics: scored.as_ref().map(metrics).unwrap_or_default(),
        warnings: warnings(&run.score),
        more: vec![
            ("images", json!(scored)),
            ("public_knowledge", json!(source.public_knowledge)),
        ],
        ..Report::default()
    })
}

fn scores<R: Release>(
    run: &Generate<R>,
    session: &Session,
    pixels: &[f32],
    groups: &[usize],
) -> Result<Scored, Failure> {
    if let (Some(test), Some(private)) = (run.data.test.labelled()?, run.data.records.labelled()?) {
        return score(&test, pixels, Some(groups), &private, &run.score, session);
    }
    let shape = run.data.test.shape();
    let most = run.data.test.len().min(run.score.count());
    let real = run.data.test.gather(&(0..most).collect::<Vec<_>>())?;
    score_photographs(
        [&real, pixels],
        (shape.channels, shape.side),
        &run.score,
        session,
    )
}
