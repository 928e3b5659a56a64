//! Private sliced marginals: noisy histograms of every slice around each group's private Gaussian, released once; then any number of
//! steps.

use lab::prelude::*;
use private_queries::marginals::Bins;
use private_queries::{GroupMarginals, LabelledMarginals, MarginalQuery, Moments};
use private_synth::images::apportion;
use rand::RngExt;
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};
use swd::{NormBound, Particles};

use super::super::run::Synth;
use super::super::settings::Settings;
use super::super::space::encode_records;
use super::particles::{Stored, boxed, share};
use super::{CopyMethod, Making, RELEASE};
use crate::records::NO_IMAGES;
use private_synth::images::SpaceForm;

/// The moments that marginals are measured around, by their name in the plan.
const MOMENTS: &str = "moments";
/// Their share of the budget (of `1/z^2`).
const MOMENTS_SHARE: f64 = 0.3;
/// The last step as a share of the first.
const LAST: f64 = 0.05;
/// Public records whose latents are looked at, at least, if there are as many.
const PUBLIC_LATENTS: usize = 30_000;

/// What a neighbour may differ in, if images have classes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LabelPrivacy {
    /// In one record and its label: the sizes of the classes are released with the rest.
    #[default]
    Private,
    /// In one record, replaced by another of its class: the sizes of the classes are public.
    Public,
}

/// Where particles start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Uniform on the sphere.
    Sphere,
    /// At samples of each group's private Gaussian.
    Gaussian,
    /// At public latents, of the group's class if public records show the same classes, carried to each group's private Gaussian.
    Public,
}

impl Settings {
    /// Where particles of marginals start: at public latents if synthetic digits stand beside private ones.
    pub(in super::super) fn starts(&self) -> Start {
        self.start.unwrap_or(match self.synthetic_classes() {
            true => Start::Public,
            false => Start::Gaussian,
        })
    }
}

pub(super) const METHOD: CopyMethod = CopyMethod {
    optional: &["start"],
    defaults: "labels = \"private\"\nbins = 32\nslices = 144\nslices-per-step = 48\nsteps = 600\nlearning-rate = 8.0",
    releases: |_| vec![(MOMENTS, MOMENTS_SHARE), (RELEASE, 1.0 - MOMENTS_SHARE)],
    within_classes: |settings| settings.labels == Some(LabelPrivacy::Public),
    check,
    ..CopyMethod::new(
        |_| "moments and histograms of every slice, of each class".into(),
        start,
    )
};

fn check(settings: &Settings, _: &SpaceForm, _: usize) -> Result<(), Failure> {
    let holds = settings.starts() != Start::Public || settings.public != NO_IMAGES;
    let bound = "public records for --start public: there are none";
    bounded("public", &settings.public, holds, bound)
}

fn start(run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure> {
    let (start, dim) = (run.settings.starts(), run.form.latent);
    let public = match start {
        Start::Public => public_latents(run, session)?,
        _ => Vec::new(),
    };
    run.encode(false, session)?;
    let within = run.within_classes();
    let query = moments(&run.sizes, dim, within);
    let (gaussians, _) = run.release_latents(MOMENTS, &query, session)?;
    let bins = run.settings.bins.unwrap_or(32);
    let sphere = NormBound::sphere(1.0).or_failed()?;
    let mut queries = Vec::new();
    for group in 0..run.sizes.len() {
        let slices = run.frame()?;
        let query = match gaussians.gaussian(group) {
            Some((mean, factor)) => {
                MarginalQuery::around_gaussian(slices, sphere, mean, factor, bins)
            }
            None => {
                Bins::uniform(1.0, bins).and_then(|bins| MarginalQuery::new(slices, sphere, bins))
            }
        };
        queries.push(query.or_failed()?);
    }
    let (targets, counts) = match within {
        true => {
            let query = GroupMarginals::new(queries, run.sizes.clone()).or_failed()?;
            let targets = boxed(run.release_latents(RELEASE, &query, session)?);
            (targets, share(&run.sizes, run.total()))
        }
        false => {
            let query = LabelledMarginals::from_queries(queries).or_failed()?;
            let (marginals, sizes) = run.release_latents(RELEASE, &query, session)?;
            (boxed(marginals), apportion(&sizes, run.total()))
        }
    };
    let mut particles = Vec::new();
    for (group, &n) in counts.iter().enumerate() {
        let known = gaussians.gaussian(group).is_some();
        let first = match start {
            Start::Gaussian if known => {
                Particles::new(&gaussians.sample(group, n, &mut run.rng), dim)
            }
            Start::Public if known => {
                let mut rows = public_rows(&public, group, n, run);
                gaussians.carry(group, &mut rows);
                Particles::new(&rows, dim)
            }
            _ => Particles::gaussian(n, dim, 1.0, &mut run.rng),
        };
        let mut first = first.or_failed()?;
        first.project_onto(sphere);
        particles.push(first);
    }
    Ok(Box::new(Stored {
        particles,
        targets,
        last: LAST,
    }))
}

/// The moments of groups, with the sizes of the groups unless these are public.
fn moments(sizes: &[usize], dim: usize, within: bool) -> Moments {
    let query = match within {
        true => Moments::of_groups(sizes.to_vec(), dim, 1.0),
        false => Moments::labelled(sizes.len(), dim, 1.0),
    };
    query.on_the_sphere()
}

/// Latents of public records, by class if these show the classes of the private ones.
fn public_latents(run: &Synth, session: &Session) -> Result<Vec<Vec<f32>>, Failure> {
    let public = &run.public.records;
    let most = public.count.min(PUBLIC_LATENTS.max(run.total()));
    let first = public.first(most);
    let latents = encode_records(run.space()?, &first, session)?;
    let (labels, classes) = match run.public_shows_classes() {
        true => (first.labels(), run.sizes.len()),
        false => (vec![0; most], 1),
    };
    let mut groups = vec![Vec::new(); classes];
    for (row, &label) in latents.chunks_exact(run.form.latent).zip(&labels) {
        groups[label].extend_from_slice(row);
    }
    Ok(groups)
}

/// Public latents for the `n` particles of a group: of its class if there are enough, else of all. Each once as long as there are
/// some, and none on another.
fn public_rows(public: &[Vec<f32>], group: usize, n: usize, run: &mut Synth) -> Vec<f32> {
    const ENOUGH: usize = 100;
    const APART: f32 = 0.01;
    let d = run.form.latent;
    let class = if public.len() == 1 { 0 } else { group };
    let rows = match &public[class] {
        rows if rows.len() >= ENOUGH * d => rows.clone(),
        _ => public.concat(),
    };
    let count = rows.len() / d;
    let mut places = sample(&mut run.rng, count, n.min(count)).into_vec();
    places.extend((count..n).map(|_| run.rng.random_range(0..count)));
    let chosen = places.iter().flat_map(|&place| &rows[place * d..][..d]);
    let mut chosen: Vec<f32> = chosen.copied().collect();
    for x in &mut chosen {
        *x += run.rng.random_range(-APART..APART);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use private_queries::Query;
    use private_synth::images::Encoded;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use swd::Slices;

    use super::*;

    const CLASSES: usize = 3;
    const RECORDS: usize = 8;

    /// How far a query of two data sets is apart, as a share of what it declares.
    fn moved(query: &impl Query<Records = [Vec<f32>]>, pair: [&Encoded; 2]) -> f64 {
        let [a, b] = pair.map(|latents| latents.measured(query).unwrap());
        assert_eq!(a.before_noise().len(), b.before_noise().len());
        let pairs = a.before_noise().iter().zip(b.before_noise());
        let squared = pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        squared.sqrt() / a.sensitivity_upper()
    }

    /// Latents of records with these labels, in blocks of at most `most` records.
    fn latents(most: usize, rows: &[f32], labels: &[usize]) -> Encoded {
        let mut latents = Encoded::new(CLASSES, most.saturating_mul(2));
        for (row, &label) in rows.chunks_exact(2).zip(labels) {
            latents.add(label, row).unwrap();
        }
        latents
    }

    /// Two data sets that differ in one record, its label included: both releases of them are within what is declared. A record
    /// that moves to another group attains it, so that half of it would be exceeded.
    #[test]
    fn neighbours_with_other_labels_are_within_what_is_declared() {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let sphere = NormBound::sphere(1.0).unwrap();
        // The largest share of what is declared, of moments and of marginals.
        let mut attained = [0.0_f64; 2];
        for number in 0..60 {
            let mut draw = |n: usize| {
                (0..n)
                    .map(|_| rng.random_range(-1.0..1.0))
                    .collect::<Vec<f32>>()
            };
            let mut one = draw(2 * RECORDS);
            let mut other = one.clone();
            let mut far = draw(2);
            // Outside of the sphere that latents are put on: the moments of the record are as large as they get.
            for row in [&mut one[..2], &mut far] {
                row.iter_mut().for_each(|x| *x *= 30.0);
            }
            other[..2].copy_from_slice(match number % 4 {
                0 => &[f32::NAN, 0.1],
                1 => &one[..2],
                _ => &far,
            });
            let mut labels: Vec<usize> = (0..RECORDS).map(|i| i % CLASSES).collect();
            let first = latents(usize::MAX, &one, &labels);
            labels[0] = rng.random_range(0..CLASSES);
            // In blocks of 1 to 8 records: most of the others lie in other blocks than the record.
            let second = latents(1 + number % RECORDS, &other, &labels);
            let pair = [&first, &second];
            let share = moved(&moments(&[0; CLASSES], 2, false), pair);
            assert!(share <= 1.0 + 1e-6, "{share}");
            attained[0] = attained[0].max(share);
            let queries = (0..CLASSES).map(|_| {
                let slices = Slices::tight(2, 6, rng).unwrap();
                let (mean, factor) = (&[0.1, 0.0], &[0.3, 0.0, 0.1, 0.2]);
                MarginalQuery::around_gaussian(slices, sphere, mean, factor, 8).unwrap()
            });
            let share = moved(
                &LabelledMarginals::from_queries(queries.collect()).unwrap(),
                pair,
            );
            assert!(share <= 1.0, "{share}");
            attained[1] = attained[1].max(share);
        }
        assert!(attained.iter().all(|&share| share > 0.99), "{attained:?}");
    }
}
