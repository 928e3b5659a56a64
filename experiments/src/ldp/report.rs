//! What is shown of a run: generated images or points, their scores, and how far they are from clean records.

use data::stream::Chunk;
use dp_core::local::LocalMechanism;
use lab::diagnostic::{Failure, OrFailed};
use lab::evaluate::transport::exact_w2_squared;
use lab::figures::{Particles, Snapshot};
use lab::report::{Better, Metric};
use lab::session::{Picture, Report, Scores, Session, floats_to_bytes};
use serde_json::{Map, json};

use super::settings::Kind;
use super::sources::Rows;
use super::train::{Ldp, Learned};
use crate::pictures::{grid, samples};
use crate::random::stream;
use crate::scores::{READS_PRIVATE, metrics, score, warnings};

/// Points on each side of the exact distance, and in a panel.
const EXACT: usize = 1000;
const POINTS: usize = 1500;

/// Samples, their scores on public test records, and pictures.
pub(super) fn report<K: Kind>(run: &Ldp<K>, session: &Session) -> Result<Report, Failure> {
    let learned = run.learned.as_ref();
    let learned = learned.ok_or_else(|| Failure::failed("a report before the records"))?;
    // Of its own, so that the number of samples changes nothing else.
    let mut rng = stream(run.settings.seed, 5);
    let (rows, groups) = run.model.sample(run.samples, run.each(), &mut rng)?;
    let rows = run.noise_model.without_unseen(rows)?;
    let weights = floats_to_bytes(&run.model.weights()?);
    session.folder.write("weights.f32", &weights)?;

    let test = &run.clean.test;
    let n = EXACT.min(test.len()).min(groups.len());
    let distance = |clean, n| distance(run, (clean, n), &rows, &groups);
    let to_public = distance(test, n)?;
    let name = format!("Squared 2-Wasserstein distance to {n} public records in the ball");
    let (noise, scale) = (
        "Noise on each value of a record: deviation, or scale",
        run.noise_model.scale,
    );
    let scores = Scores::default().with("w2_squared", &name, to_public, Better::Lower);
    let mut report = scores.with("noise_scale", noise, scale, None).report();
    let records = json!(learned.private.len());
    report.test.insert("privatised_records".into(), records);
    report.warnings = run.score.as_ref().map(warnings).unwrap_or_default();
    if run.unconverged > 0 {
        let (off, steps) = (run.unconverged, run.settings.steps);
        let most = run.settings.iterations;
        report.warnings.push(format!(
            "{off} of {steps} steps took a plan of {most} iterations that had not converged."
        ));
    }
    let asked = run.score.as_ref().is_some_and(|flags| flags.memorisation);
    if let Some(private) = run.clean.private.as_ref().filter(|_| asked) {
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
    match test {
        Rows::Images(images) => {
            let bright = brightened(&rows, images.image_size());
            let labels = (run.noise_model.classes() > 0).then_some(&groups[..]);
            if let Some(flags) = run.score.as_ref().filter(|flags| !flags.quick_scores) {
                let private = match &run.clean.private {
                    Some(Rows::Images(private)) => Some(&**private),
                    _ => None,
                };
                let scored = score(images, &bright, labels, private, flags, session)?;
                report.metrics.extend(metrics(&scored));
                report.more.push(("images", json!(scored)));
            }
            report.pictures = pictures(run, learned, &bright, labels)?;
        }
        Rows::Points { dim, values } => {
            let mut found = Map::new();
            for (name, rows) in [
                ("generated", &rows),
                ("clean", values),
                ("privatised", &learned.private.rows),
            ] {
                let variances = variances(rows, *dim);
                for (place, variance) in variances.iter().enumerate() {
                    let name = format!("Variance of coordinate {}, {name}", place + 1);
                    report.metrics.push(Metric::new(name, *variance));
                }
                found.insert(name.into(), json!(variances));
            }
            report.test.insert("variances".into(), found.into());
            if *dim == 2 {
                report.pictures = vec![panels(&rows, values, learned)?];
            }
        }
    }
    if let Some(denoised) = &learned.denoised {
        report.warnings.push(format!(
            "Wavelets chosen on clean public records of the same distribution, as optimistic as the published baseline: {denoised}."
        ));
        report.more.push(("wavelets", json!(denoised)));
    }
    Ok(report)
}

/// Between as many samples as the first `n` clean records, scaled into the ball as private ones were: what the loss is about.
fn distance<K: Kind>(
    run: &Ldp<K>,
    (clean, n): (&Rows, usize),
    rows: &[f32],
    groups: &[usize],
) -> Result<f64, Failure> {
    let form = clean.form();
    let width = form.width;
    // Samples come class after class.
    let stride = groups.len() / n;
    let made = (0..n).flat_map(|i| &rows[i * stride * width..][..width]);
    let made: Vec<f32> = made.copied().collect();
    let Chunk { mut values, labels } = clean.first(n)?;
    for (place, row) in values.chunks_exact_mut(width).enumerate() {
        let label = labels.get(place).copied();
        let record = run.preprocessing.record(&form, row, label)?;
        let share = match run.settings.epsilon {
            Some(_) => share(run.preprocessing.mechanism(), &record)?,
            None => 1.0,
        };
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

/// The variance of each coordinate.
fn variances(rows: &[f32], dim: usize) -> Vec<f64> {
    let n = (rows.len() / dim) as f64;
    let of = |place: usize| {
        let values = || rows.iter().skip(place).step_by(dim).map(|&x| f64::from(x));
        let mean = values().sum::<f64>() / n;
        values().map(|x| (x - mean).powi(2)).sum::<f64>() / n
    };
    (0..dim).map(of).collect()
}

fn pictures<K: Kind>(
    run: &Ldp<K>,
    learned: &Learned,
    rows: &[f32],
    labels: Option<&[usize]>,
) -> Result<Vec<Picture>, Failure> {
    let Some(shape) = run.clean.test.shape() else {
        return Ok(Vec::new());
    };
    let (model, mut noisy) = (&run.noise_model, Vec::new());
    // What has left is public.
    for row in learned.private.rows.chunks_exact(model.width()).take(20) {
        noisy.extend(scaled(&model.pixels_of(row)?));
    }
    let after = match learned.denoised {
        Some(_) => "Privatised records after the wavelets, each on a scale of its own",
        None => "Privatised records, each on a scale of its own",
    };
    Ok(vec![
        samples(rows, labels, shape)?,
        ("privatised.png", after.into(), grid(&noisy, shape, 10)?),
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

fn panels(rows: &[f32], clean: &[f32], learned: &Learned) -> Result<Picture, Failure> {
    let plane = |rows: &[f32]| -> Vec<(f64, f64)> {
        let step = (rows.len() / 2 / POINTS).max(1);
        let points = rows.chunks_exact(2).step_by(step).take(POINTS);
        points.map(|p| (f64::from(p[0]), f64::from(p[1]))).collect()
    };
    let all = [
        ("clean", clean),
        ("privatised", &learned.private.rows[..]),
        ("generated", rows),
    ];
    let side = clean.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let side = f64::from(side) * 1.5;
    let snapshots = all.map(|(title, rows)| Snapshot {
        title: title.into(),
        groups: vec![plane(rows)],
    });
    let panels = Particles {
        snapshots: snapshots.into(),
        names: Vec::new(),
        density: None,
        levels: Vec::new(),
        x: -side..side,
        y: -side..side,
        columns: 3,
    };
    let caption = "Clean public points, privatised points, and generated ones";
    Ok(("points.svg", caption.into(), panels.draw()?.bytes))
}
