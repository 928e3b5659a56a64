//! What is shown of a run: generated images, their scores, and how far they are from clean records.

use data::Records;
use dp_core::local::LocalMechanism;
use lab::evaluate::transport::exact_w2_squared;
use lab::prelude::*;
use model::latent::ImageShape;
use serde_json::json;

use super::train::Ldp;
use crate::pictures::{grid, samples};
use crate::privatise::Form;
use crate::random::stream;
use crate::scores::{READS_PRIVATE, metrics, score, warnings};

/// Records on each side of the exact distance.
const EXACT: usize = 1000;

/// Samples, their scores on public test records, and pictures.
pub(super) fn report(run: &Ldp, session: &Session) -> Result<Report, Failure> {
    // Of its own, so that the number of samples changes nothing else.
    let mut rng = stream(run.settings.seed, 5);
    let (rows, groups) = run
        .model
        .sample(run.score.count(), run.each(), &mut rng)
        .or_failed()?;
    let rows = run.noise_model.without_unseen(rows)?;
    let weights = floats_to_bytes(&run.model.weights().or_failed()?);
    session.folder.write("weights.f32", &weights)?;

    let (test, header) = (&run.test, &run.file.header);
    let n = EXACT.min(test.len()).min(groups.len());
    let distance = |clean, n| distance(run, (clean, n), &rows, &groups);
    let to_public = distance(test, n)?;
    let name = format!("Squared 2-Wasserstein distance to {n} public records in the ball");
    let (noise, scale) = (
        "Noise on each value of a record: deviation, or scale",
        header.noise_scale,
    );
    let scores = Scores::default().with("w2_squared", &name, to_public, Better::Lower);
    let mut report = scores.with("noise_scale", noise, scale, None).report();
    let privatised = json!(header.records);
    report.test.insert("privatised_records".into(), privatised);
    report.more.push(("input", json!(header)));
    report.warnings = warnings(&run.score);
    if run.unconverged > 0 {
        let (off, steps) = (run.unconverged, run.settings.steps);
        let most = run.settings.iterations;
        report.warnings.push(format!(
            "{off} of {steps} steps took a plan of {most} iterations that had not converged."
        ));
    }
    if let Some(private) = run.private.as_ref().filter(|_| run.score.memorisation) {
        // Of fewer records it is larger, so that both sides have as many.
        let n = n.min(private.len());
        let (train, test) = (distance(private, n)?, distance(test, n)?);
        let name = format!(
            "{READS_PRIVATE}: squared 2-Wasserstein distance to its records, at most {EXACT}"
        );
        report.metrics.push(Metric::new(name, train));
        let name = "Squared 2-Wasserstein distance to as many public records";
        report.metrics.push(Metric::new(name, test));
        let distances = json!({"reads_private_records": true, "train": train, "test": test});
        report.more.push(("train_and_test", distances));
    }
    let bright = brightened(&rows, test.image_size());
    let labels = (header.classes() > 0).then_some(&groups[..]);
    let private = run.private.as_deref();
    if let Some(scored) = score(test, &bright, labels, private, &run.score, session)? {
        report.metrics.extend(metrics(&scored));
        report.more.push(("images", json!(scored)));
    }
    report.pictures = pictures(run, &bright, labels)?;
    Ok(report)
}

/// Between as many samples as the first `n` clean records, scaled into the ball as private ones were: what the loss is about.
fn distance(
    run: &Ldp,
    (clean, n): (&Records, usize),
    rows: &[f32],
    groups: &[usize],
) -> Result<f64, Failure> {
    let form = Form::of(clean, true);
    let width = form.width;
    // Samples come class after class.
    let stride = groups.len() / n;
    let made = (0..n).flat_map(|i| &rows[i * stride * width..][..width]);
    let made: Vec<f32> = made.copied().collect();
    let first: Vec<usize> = (0..n).collect();
    let mut values = clean.gather(&first).or_failed()?;
    for (place, row) in values.chunks_exact_mut(width).enumerate() {
        let label = clean.label(place);
        let record = run.preprocessing.record(&form, row, label)?;
        let share = share(run.preprocessing.mechanism(), &record)?;
        row.iter_mut().for_each(|x| *x *= share);
    }
    exact_w2_squared(&made, &values, width).or_failed()
}

/// What a record is multiplied by to lie in the ball, as its largest value is.
fn share(mechanism: &LocalMechanism, record: &[f32]) -> Result<f32, Failure> {
    let inside = mechanism.before_noise(record).or_failed()?;
    let pairs = record.iter().map(|&x| f64::from(x)).zip(inside.values);
    let largest = pairs.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let share = largest.filter(|&(before, _)| before != 0.0);
    Ok(share.map_or(1.0, |(before, after)| (after / before) as f32))
}

/// Images whose brightest pixel is 1: those that were scaled into a small ball are dark.
fn brightened(rows: &[f32], size: usize) -> Vec<f32> {
    let bright = |row: &[f32]| {
        let most = row.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        row.iter()
            .map(move |x| (x / most).clamp(0.0, 1.0))
            .collect::<Vec<_>>()
    };
    rows.chunks_exact(size).flat_map(bright).collect()
}

fn pictures(run: &Ldp, rows: &[f32], labels: Option<&[usize]>) -> Result<Vec<Picture>, Failure> {
    let shape = ImageShape {
        channels: 1,
        side: run.test.width(),
    };
    let (model, mut noisy) = (&run.noise_model, Vec::new());
    // What has left is public.
    for row in run.file.values.chunks_exact(run.file.header.width).take(20) {
        noisy.extend(scaled(&model.pixels_of(row)?));
    }
    let classes = run.file.header.classes();
    let caption = labels.map_or("100 samples", |_| "Samples, a row a class");
    let samples = samples(rows, labels, classes, shape)?;
    let of_noisy = "Privatised records, each on a scale of its own";
    Ok(vec![
        ("samples.png", caption.into(), samples),
        ("privatised.png", of_noisy.into(), grid(&noisy, shape, 10)?),
    ])
}

/// From its lowest value to its highest.
fn scaled(row: &[f32]) -> impl Iterator<Item = f32> {
    let (low, high) = row.iter().fold((f32::MAX, f32::MIN), |(low, high), &x| {
        (low.min(x), high.max(x))
    });
    row.iter()
        .map(move |x| (x - low) / (high - low).max(f32::MIN_POSITIVE))
}
