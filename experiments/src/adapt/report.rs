//! What is shown of a run. Pictures show test records, which are public.

use burn::tensor::Device;
use lab::diagnostic::{Failure, OrFailed};
use lab::figures::{Grid, Latents};
use lab::report::Better;
use lab::session::{Picture, Report, Scores, Session};
use serde_json::json;

use super::domains::Domain;
use super::evaluate::{Confusion, outputs};
use super::network::Path;
use super::settings::Method;
use super::train::Adapt;
use crate::random::stream;

/// Test records of each class in the picture of samples, and of each domain in that of features.
const SAMPLES: usize = 2;
const POINTS: usize = 800;
/// Of the generator of what is shown.
const STREAM: u64 = 13;
/// Screen pixels of a cell of the confusion matrix.
const CELL: usize = 24;

impl<M: Method> Adapt<M> {
    /// Scores and pictures of a run that is done.
    pub(super) fn report_of(&self, session: &Session) -> Result<Report, Failure> {
        let device = &session.chosen.device;
        let scored = self.training.averaged().or_failed()?;
        let after = scored.classifier();
        let before = self.before.as_ref().unwrap_or(&after);
        let (target, classes) = (&self.domains.target_test, self.domains.classes);
        let confusion =
            |network: &Path, test: &Domain| Confusion::of(network, test, classes, device);
        let (first, last) = (confusion(before, target)?, confusion(&after, target)?);
        let source = confusion(&after, &self.domains.source_test)?;
        let mut scores = Scores::default();
        for (key, name, found) in [
            ("accuracy", "Accuracy on the target's test records", &last),
            (
                "accuracy_of_source_classifier",
                "The same of the source's classifier",
                &first,
            ),
            (
                "source_accuracy",
                "Accuracy on the source's test records",
                &source,
            ),
        ] {
            scores = scores.with(key, name, found.accuracy(), Better::Higher);
        }
        let samples = self.domains.side.map(|side| self.samples(side));
        let mut pictures: Vec<Picture> = samples.transpose()?.into_iter().collect();
        pictures.push(matrix(&last)?);
        for (file, when, network) in [
            ("features-before.svg", "of the source's classifier", before),
            ("features-after.svg", "after adaptation", &after),
        ] {
            pictures.push(self.features(file, when, network, device)?);
        }
        let mut more = vec![("confusion", json!(last.counts))];
        if let Some(warps) = &self.warps {
            let named: serde_json::Map<_, _> = warps
                .named()
                .into_iter()
                .map(|(name, value)| (name, json!(value)))
                .collect();
            more.push(("warp", named.into()));
        }
        Ok(Report {
            pictures,
            more,
            ..scores.report()
        })
    }

    /// Test records of both domains, as the network sees them: a row a domain, classes side by side.
    fn samples(&self, side: usize) -> Result<Picture, Failure> {
        let classes = self.domains.classes;
        let (mut images, mut rng) = (Vec::new(), stream(self.settings.shared.seed, STREAM));
        let domains = [&self.domains.source_test, &self.domains.target_test];
        for (place, domain) in domains.into_iter().enumerate() {
            for class in 0..classes {
                let of_class = (0..domain.len()).filter(|&i| domain.labels[i] == class);
                let chosen: Vec<usize> = of_class.take(SAMPLES).collect();
                let mut rows = domain.gather(&chosen);
                if let (0, Some(warps)) = (place, &self.warps) {
                    let images = rows.chunks_exact(side * side);
                    rows = images
                        .flat_map(|image| warps.sample(&mut rng).of(image, side))
                        .collect();
                }
                rows.resize(SAMPLES * side * side, 0.0);
                images.extend(rows);
            }
        }
        let grid = Grid {
            images: &images,
            width: side,
            height: side,
            channels: 1,
            columns: classes * SAMPLES,
            group: SAMPLES,
            zoom: 2,
        };
        let caption = format!(
            "Test records of {}{} (above) and of {} (below)",
            self.settings.shared.source,
            if self.warps.is_some() {
                " as they are warped"
            } else {
                ""
            },
            self.settings.shared.target
        );
        Ok(("samples.png", caption, grid.draw()?.bytes))
    }

    /// Compared features of test records of both domains in their first two principal components.
    fn features(
        &self,
        name: &'static str,
        when: &str,
        network: &Path,
        device: &Device,
    ) -> Result<Picture, Failure> {
        let (mut rows, mut classes) = (Vec::new(), Vec::new());
        let tests = [&self.domains.source_test, &self.domains.target_test];
        for (place, domain) in tests.into_iter().enumerate() {
            let count = domain.len().min(POINTS);
            let (width, chain) = (domain.width, network.extractor.chain());
            rows.extend(outputs(
                chain,
                &domain.rows[..count * width],
                width,
                device,
            )?);
            classes.extend(vec![place; count]);
        }
        let shared = &self.settings.shared;
        let latents = Latents {
            points: &plane(&rows, self.sizes.compared()),
            dimension: 2,
            classes: &classes,
            names: &[shared.source.clone(), shared.target.clone()],
            radius: 1.0,
        };
        let caption = format!(
            "Compared features of test records {when}, in their first two principal components, scaled to the panel"
        );
        Ok((name, caption, latents.draw()?.bytes))
    }
}

/// The confusion matrix, each row by its share.
fn matrix(confusion: &Confusion) -> Result<Picture, Failure> {
    let shares = confusion.counts.iter().flat_map(|row| {
        let all = row.iter().sum::<u64>().max(1) as f64;
        // Rare mistakes are what one looks for: the root shows them.
        row.iter()
            .map(move |&count| (1.0 - (count as f64 / all).sqrt()) as f32)
    });
    let images: Vec<f32> = shares.collect();
    let classes = confusion.counts.len();
    let grid = Grid {
        images: &images,
        width: classes,
        height: classes,
        channels: 1,
        columns: 1,
        group: 0,
        zoom: CELL,
    };
    let caption = "Target test records: class (rows, from 0 above) by what they are taken for (columns), darker for \
                   a larger share of the row"
        .to_string();
    Ok(("confusion.png", caption, grid.draw()?.bytes))
}

/// Rows of `d` in their first two principal components, `[n, 2]`, scaled into the unit square; by 100 steps of
/// orthogonal iteration.
fn plane(rows: &[f32], d: usize) -> Vec<f32> {
    let n = (rows.len() / d) as f64;
    let column = |k: usize| rows.iter().skip(k).step_by(d).map(|&x| f64::from(x));
    let mean: Vec<f64> = (0..d).map(|k| column(k).sum::<f64>() / n).collect();
    let centred = rows.iter().zip(mean.iter().cycle());
    let centred: Vec<f64> = centred.map(|(&x, m)| f64::from(x) - m).collect();
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let add = |into: &mut [f64], row: &[f64], weight: f64| {
        let pairs = into.iter_mut().zip(row);
        pairs.for_each(|(a, x)| *a += weight * x);
    };
    let mut axes: Vec<Vec<f64>> = Vec::new();
    for first in 0..d.min(2) {
        let one = |k: usize| if k % d.min(2) == first { 1.0 } else { 0.3 };
        let mut axis: Vec<f64> = (0..d).map(one).collect();
        for _ in 0..100 {
            let mut next = vec![0.0; d];
            for row in centred.chunks_exact(d) {
                add(&mut next, row, dot(&axis, row));
            }
            for other in &axes {
                let share = dot(&next, other);
                add(&mut next, other, -share);
            }
            let norm = dot(&next, &next).sqrt();
            if norm == 0.0 {
                break;
            }
            axis = next.iter().map(|a| a / norm).collect();
        }
        axes.push(axis);
    }
    let place = |row, axis: usize| axes.get(axis).map_or(0.0, |axis| dot(axis, row));
    let points = centred.chunks_exact(d);
    let points: Vec<f64> = points
        .flat_map(|row| [place(row, 0), place(row, 1)])
        .collect();
    let largest = points.iter().fold(1e-12f64, |m, x| m.max(x.abs()));
    points.iter().map(|x| (x / largest) as f32).collect()
}
