//! First and second moments of groups of latents: one release gives a Gaussian for each group.
//!
//! For each group the sums of `(u, u u^T)` over all its records are released once, with `u` the latent projected onto the ball
//! of radius `M`. They give a mean and a covariance, from which samples are drawn.
//!
//! # Sensitivity
//! The sensitivity to replacing one record within its group is `sqrt(2 M^2 + 2 M^4 + 1/2)` for `M^2 >= 1/2`, else `2 M`. With
//! `a = ||u||^2`, `b = ||v||^2`, `s = <u, v>` the squared change of `(u, u u^T)` is `a + b - 2 s + a^2 + b^2 - 2 s^2`, which
//! grows with `a` and `b` and, at `a = b = M^2`, is largest at `s = -1/2` if that can be reached.
//!
//! If neighbours may differ in a record's group, the sizes of the groups are released too: `(w, u, u u^T)`, with the largest
//! `w` that leaves the sensitivity unchanged. Within a group the count does not change. Between groups the sums of one lose
//! `(w, u, u u^T)` and those of the other gain `(w, v, v v^T)`, so the squared change is at most `2 (w^2 + M^2 + M^4)`. This
//! equals the bound within a group for `w = 1/2` (`M^2 >= 1/2`), or `w^2 = M^2 - M^4`.

mod centres;
mod component;
mod gaussians;
mod mixture;
mod shrinkage;

pub use gaussians::Gaussians;
pub use mixture::Mixture;

use std::f64::consts::SQRT_2;

use dp_core::mechanism::{NoisyVector, SensitiveVector};
use rayon::prelude::*;

use crate::Query;
use crate::query::{QueryError, check_noisy, length, whole};
use gaussians::{gaussian, pooled};

/// Returns the sensitivity of the sums of groups to replacing one record, in a ball of this radius.
fn sensitivity(radius: f64) -> f64 {
    let m2 = radius * radius;
    if m2 >= 0.5 {
        (2.0 * m2 + 2.0 * m2 * m2 + 0.5).sqrt()
    } else {
        2.0 * radius
    }
}

/// Returns the weight of a record's count if sizes are released: `1/2` for `M^2 >= 1/2`, else `M sqrt(1 - M^2)`.
fn count_weight(radius: f64) -> f64 {
    let m2 = radius * radius;
    (0.5 * sensitivity(radius).powi(2) - m2 - m2 * m2).sqrt()
}

/// Returns the number of scalars of one group: `d` of the mean, `d (d + 1) / 2` of the second moment.
fn width(latent: usize) -> usize {
    latent + latent * (latent + 1) / 2
}

/// Measures the moments of groups of latents; a record is in one group.
///
/// ```
/// use dp_core::mechanism::NoisyVector;
/// use private_queries::{Moments, Query};
///
/// // Two groups in a ball of radius 1, whose sizes are released.
/// let query = Moments::labelled(2, 2, 1.0);
/// let measured = query.measure(&[vec![0.1, 0.2, 0.3, 0.2], vec![0.5, 0.5]])?;
/// assert_eq!(measured.sensitivity_upper(), 4.5_f64.sqrt());
/// // A releaser adds the noise here.
/// let (gaussians, sizes) = query.read(&NoisyVector::without_privacy(measured))?;
/// assert_eq!(sizes, [2.0, 1.0]);
/// assert_eq!(gaussians.gaussian(1).unwrap().0, [0.5, 0.5]);
/// # Ok::<(), private_queries::QueryError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    latent: usize,
    radius: f64,
    groups: usize,
    /// The public sizes; `None` if sizes are released.
    sizes: Option<Vec<usize>>,
    scale: f64,
    denoise: bool,
    pooled: bool,
    /// The maximum number of records used per unit.
    most: usize,
}

impl Moments {
    /// Creates the query for groups of public `sizes`, in which every record stays; a group of size 0 gets no Gaussian.
    ///
    /// - `radius`: `M`, that of the ball onto which latents are projected.
    pub fn of_groups(sizes: Vec<usize>, latent: usize, radius: f64) -> Self {
        Self {
            sizes: Some(sizes.clone()),
            ..Self::labelled(sizes.len(), latent, radius)
        }
    }

    /// Creates the query for groups whose sizes are released too, for neighbours that may differ in a record's group. A group
    /// whose noisy size is less than one record gets no Gaussian.
    pub fn labelled(groups: usize, latent: usize, radius: f64) -> Self {
        Self {
            latent,
            radius,
            groups,
            sizes: None,
            scale: 1.0,
            denoise: true,
            pooled: false,
            most: 1,
        }
    }

    /// Measures latents on the unit sphere, with moments in a ball of radius `radius`: a larger one leaves more of the noise to
    /// first moments.
    #[must_use]
    pub fn on_the_sphere(self) -> Self {
        Self {
            scale: self.radius,
            ..self
        }
    }

    /// Leaves the eigenvalues of the covariances as released, including the share of the noise.
    #[must_use]
    pub fn as_released(self) -> Self {
        Self {
            denoise: false,
            ..self
        }
    }

    /// Multiplies the sensitivity by `most`, for neighbours that replace a unit (such as all records of a person) of which at
    /// most `most` records count.
    ///
    /// Records of the two units form pairs, and each pair changes by at most the sensitivity of one record. A record without a
    /// partner adds `(w, u, u u^T)`, of length at most `sqrt(w^2 + M^2 + M^4)`: the sensitivity over `sqrt 2`, or less. So sizes
    /// must be released: with public sizes no unit may have more records than before, and the bound is not used.
    #[must_use]
    pub fn of_units(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Shrinks the covariance of each group, as far as its noise requires, towards the pooled covariance of all groups, which is
    /// shrunk towards its diagonal in the same way. It suits coordinates that are nearly uncorrelated, such as frequencies of
    /// images.
    #[must_use]
    pub fn pooled(self) -> Self {
        Self {
            pooled: true,
            ..self
        }
    }

    /// Returns the number of records of each group; if sizes are released, the noisy values give it.
    fn sizes(&self, noisy: &NoisyVector) -> Result<Vec<f64>, QueryError> {
        let (what, values) = ("released moments", &noisy.values);
        check_noisy(what, values, noisy.deviation, self.len())?;
        let released = values.chunks_exact(self.each());
        Ok(match &self.sizes {
            Some(sizes) => sizes.iter().map(|&size| size as f64).collect(),
            None => released
                .map(|values| values[0] / count_weight(self.radius))
                .collect(),
        })
    }

    /// Returns the number of values of a group.
    fn each(&self) -> usize {
        width(self.latent) + usize::from(self.sizes.is_none())
    }
}

impl Query for Moments {
    /// The latents of each group, `[n, d]` in rows.
    type Records = [Vec<f32>];
    /// The Gaussian of each group, and its number of records: the public number, or the noisy one.
    type Answer = (Gaussians, Vec<f64>);

    fn len(&self) -> usize {
        self.groups * self.each()
    }

    fn measure(&self, groups: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        for (rows, size) in groups.iter().zip(self.sizes.iter().flatten()) {
            length("latents of a group", rows.len(), size * self.latent)?;
        }
        self.measure_part(groups)
    }

    fn measure_part(&self, groups: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        length("groups of latents", groups.len(), self.groups)?;
        let mut values = Vec::with_capacity(self.len());
        for rows in groups {
            whole("latents of a group", rows.len(), self.latent)?;
            if self.sizes.is_none() {
                values.push(count_weight(self.radius) * (rows.len() / self.latent) as f64);
            }
            values.extend(sums(rows, self.latent, self.radius, self.scale));
        }
        let upper = match &self.sizes {
            Some(_) if self.most > 1 => f64::NAN,
            _ => self.most as f64 * sensitivity(self.radius),
        };
        Ok(SensitiveVector::l2(values, upper))
    }

    fn read(&self, noisy: &NoisyVector) -> Result<Self::Answer, QueryError> {
        let sizes = self.sizes(noisy)?;
        if self.pooled {
            let groups = noisy.values.chunks_exact(self.each());
            let sums = groups.map(|values| &values[self.each() - width(self.latent)..]);
            let groups: Vec<_> = sums.zip(sizes.iter().copied()).collect();
            let gaussians = pooled(&groups, self.latent, self.radius, noisy.deviation);
            let gaussians = Gaussians::new(self.latent, self.radius, gaussians);
            return Ok((gaussians.scaled(1.0 / self.scale), sizes));
        }
        let taken_out = if self.denoise { noisy.deviation } else { 0.0 };
        let of_group = |(values, &size): (&[f64], &f64)| {
            let sums = &values[self.each() - width(self.latent)..];
            (size >= 1.0).then(|| gaussian(sums, size, self.latent, self.radius, taken_out))
        };
        let groups = noisy.values.chunks_exact(self.each());
        let gaussians = groups.zip(&sizes).map(of_group).collect();
        let gaussians = Gaussians::new(self.latent, self.radius, gaussians);
        Ok((gaussians.scaled(1.0 / self.scale), sizes))
    }
}

/// The number of records that one thread adds up; the sums do not depend on the number of threads.
const RUN: usize = 1 << 16;

/// Returns the sums of `(u, u u^T)` of one group.
fn sums(latents: &[f32], latent: usize, radius: f64, scale: f64) -> Vec<f64> {
    let runs = latents.par_chunks(RUN * latent.max(1));
    let runs: Vec<_> = runs
        .map(|run| sums_of_run(run, latent, radius, scale))
        .collect();
    let mut runs = runs.into_iter();
    let first = runs.next().unwrap_or(vec![0.0; width(latent)]);
    runs.fold(first, |mut sums, run| {
        sums.iter_mut()
            .zip(run)
            .for_each(|(sum, more)| *sum += more);
        sums
    })
}

/// Returns the sums of `(u, u u^T)` of some records, `u` projected onto the ball of radius `radius`.
///
/// Off-diagonal entries of the second moment are packed times `sqrt 2`, so that the Euclidean norm of the packed vector is the
/// Frobenius norm. A latent that is not finite counts as the origin.
fn sums_of_run(latents: &[f32], latent: usize, radius: f64, scale: f64) -> Vec<f64> {
    let mut sums = vec![0.0; width(latent)];
    for row in latents.chunks_exact(latent) {
        let row: Vec<f64> = row.iter().map(|x| f64::from(x * scale as f32)).collect();
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if !norm.is_finite() {
            continue;
        }
        let shorter = if norm > radius { radius / norm } else { 1.0 };
        let u: Vec<f64> = row.iter().map(|x| x * shorter).collect();
        let (first, second) = sums.split_at_mut(latent);
        for (sum, u) in first.iter_mut().zip(&u) {
            *sum += u;
        }
        let mut index = 0;
        for r in 0..latent {
            for s in 0..=r {
                let factor = if r == s { 1.0 } else { SQRT_2 };
                second[index] += factor * u[r] * u[s];
                index += 1;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;
    use rand::RngExt;

    use super::*;
    use crate::tests::{apart, grouped, seeded};

    fn measured(query: &Moments, groups: &[Vec<f32>]) -> Vec<f64> {
        query.measure(groups).unwrap().before_noise().to_vec()
    }

    fn exact(query: &Moments, groups: &[Vec<f32>]) -> (Gaussians, Vec<f64>) {
        let noisy = NoisyVector::without_privacy(query.measure(groups).unwrap());
        query.read(&noisy).unwrap()
    }

    /// Brute force over neighbours with labels, of any length and not finite; opposite records of other classes attain it.
    #[test]
    fn labels_and_counts_cost_moments_nothing() {
        let rng = &mut seeded(1);
        for radius in [0.3, 0.5, 1.0, 1.5] {
            let declared = Moments::labelled(3, 1, radius).measure(&vec![Vec::new(); 3]);
            let declared = declared.unwrap().sensitivity_upper();
            let mut largest = [0.0_f64; 2];
            for _ in 0..4000 {
                let d = rng.random_range(1..4_usize);
                let mut draw = |class: Option<usize>| {
                    let length = [0.0, 0.2, 1.0, 1e3, f32::NAN][rng.random_range(0..5)];
                    let row = (0..d).map(|_| length * rng.random_range(-2.0..2.0));
                    let row: Vec<f32> = row.collect();
                    (row, class.unwrap_or(rng.random_range(0..3)))
                };
                let others: Vec<_> = (0..3).map(|_| draw(None)).collect();
                let one = draw(None);
                let same = rng.random::<bool>();
                let mut draw = |class: usize| {
                    let sign = if rng.random() { -0.5 } else { 1.0 };
                    let mut near = |x: &f32| sign * x + rng.random_range(-1.0..1.0);
                    let row: Vec<f32> = one.0.iter().map(&mut near).collect();
                    (row, class)
                };
                let two = draw(if same { one.1 } else { (one.1 + 1) % 3 });
                let sums = |last: &(Vec<f32>, usize)| {
                    let all = others.iter().chain([last]);
                    let classes = grouped(all.map(|(row, class)| (&row[..], *class)), 3);
                    measured(&Moments::labelled(3, d, radius), &classes)
                };
                let moved = apart(&sums(&one), &sums(&two));
                assert!(moved <= declared * (1.0 + 1e-6), "{radius}: {moved}");
                largest[usize::from(same)] = largest[usize::from(same)].max(moved);
            }
            let near = largest.iter().all(|most| *most > 0.9 * declared);
            assert!(near, "{radius} {largest:?}");
        }
        assert!((sensitivity(1.0) - 4.5_f64.sqrt()).abs() < 1e-12);
    }

    /// Neighbours replace all of a unit's records, of which 0 to 3 count, with others in any groups: the sums stay within
    /// three times what one record moves them, and three records on each side, opposite ones of other groups, come near.
    /// Fixed seed.
    #[test]
    fn units_move_moments_as_far_as_so_many_records() {
        const MOST: usize = 3;
        let rng = &mut seeded(9);
        for radius in [0.3, 1.0, 2.0] {
            let query = Moments::labelled(2, 2, radius).of_units(MOST);
            let none = query.measure(&[Vec::new(), Vec::new()]).unwrap();
            let declared = none.sensitivity_upper();
            let (mut largest, single) = (0.0_f64, sensitivity(radius));
            for round in 0..3000 {
                let mut unit = |from: usize| {
                    let mut groups = [vec![0.1, 0.2], vec![0.3, 0.1]];
                    for _ in 0..rng.random_range(from..=MOST) {
                        let angle = rng.random_range(0.0..std::f32::consts::TAU);
                        let length = [0.5, 5.0][usize::from(round % 2 == 0)];
                        let group = rng.random_range(0..2);
                        groups[group].extend([length * angle.cos(), length * angle.sin()]);
                    }
                    measured(&query, &groups)
                };
                let (one, two) = (unit(0), unit(0));
                largest = largest.max(apart(&one, &two));
            }
            let near = |x: f32| {
                [vec![0.1, 0.2], vec![]].map(|mut rows: Vec<f32>| {
                    rows.extend([x, 0.0].repeat(MOST * usize::from(rows.is_empty() == (x > 0.0))));
                    rows
                })
            };
            let attack = apart(
                &measured(&query, &near(9.0)),
                &measured(&query, &near(-9.0)),
            );
            assert!(largest <= declared * (1.0 + 1e-9), "{largest} {declared}");
            assert!(
                attack > 0.99 * declared && attack > 2.9 * single,
                "{attack}"
            );
        }
        let public = Moments::of_groups(vec![1], 2, 1.0).of_units(2);
        let unknown = public.measure(&[vec![0.0, 1.0]]).unwrap();
        assert!(unknown.sensitivity_upper().is_nan());
    }

    /// Groups of one covariance with noise: pooled, it is nearer to the truth than each by itself, whatever the noise, and
    /// without noise both are the truth. Fixed seed.
    #[test]
    fn groups_that_are_alike_speak_for_each_other() {
        const D: usize = 12;
        let rng = &mut seeded(4);
        let mut draw = |n: usize| -> Vec<f32> {
            let spread = |i: usize| 0.3 * 0.8_f32.powi(i as i32);
            let mut value = |i: usize| spread(i % D) * rng.random_range(-1.0..1.0_f32);
            (0..n * D).map(&mut value).collect()
        };
        let groups: Vec<Vec<f32>> = (0..8).map(|_| draw(3000)).collect();
        let truth = DMatrix::from_diagonal(&nalgebra::DVector::from_fn(D, |i, _| {
            (0.3 * 0.8_f64.powi(i as i32)).powi(2) / 3.0
        }));
        let query = Moments::labelled(8, D, 1.0);
        let error = |query: &Moments, deviation: f64| {
            let rng = &mut seeded(5);
            let mut noisy = NoisyVector::without_privacy(query.measure(&groups).unwrap());
            noisy.deviation = deviation;
            for value in &mut noisy.values {
                *value += deviation * rng.sample::<f64, _>(rand_distr::StandardNormal);
            }
            let (gaussians, _) = query.read(&noisy).unwrap();
            let one = |group| {
                let factor = DMatrix::from_column_slice(D, D, gaussians.gaussian(group).unwrap().1);
                (&factor * factor.transpose() - &truth).norm()
            };
            (0..8).map(one).sum::<f64>() / 8.0
        };
        for deviation in [3.0, 10.0, 30.0] {
            let both = [query.clone(), query.clone().pooled()];
            let [alone, pooled] = both.map(|q| error(&q, deviation));
            assert!(pooled < 0.7 * alone, "{deviation}: {pooled} {alone}");
        }
        assert!(error(&query.pooled(), 0.0) < 0.05 * truth.norm());
    }

    #[test]
    fn sizes_come_back_out_of_labelled_moments() {
        let rows = |n: usize| {
            (0..n)
                .flat_map(|i| [0.1 * i as f32, 0.2])
                .collect::<Vec<f32>>()
        };
        let classes = [rows(5), Vec::new(), rows(3)];
        let labelled = Moments::labelled(3, 2, 1.0);
        let (latents, sizes) = exact(&labelled, &classes);
        assert_eq!(sizes, [5.0, 0.0, 3.0]);
        assert_eq!(latents.present(), [0, 2]);
        let public = [classes[0].clone(), classes[2].clone()];
        let (with_sizes, sizes) = exact(&Moments::of_groups(vec![5, 3], 2, 1.0), &public);
        assert_eq!(sizes, [5.0, 3.0]);
        assert_eq!(latents.gaussian(2), with_sizes.gaussian(1));
        let (values, deviation) = (vec![0.0; labelled.len() - 1], 0.0);
        let short = NoisyVector { values, deviation };
        assert!(labelled.read(&short).is_err() && labelled.measure(&public).is_err());
    }

    /// Latents on the sphere have the same Gaussian whatever the ball of their moments.
    #[test]
    fn the_ball_of_moments_changes_no_gaussian_without_noise() {
        let rows = vec![0.6, 0.8, -1.0, 0.0, 0.0, 1.0];
        let of = |radius| {
            let query = Moments::labelled(1, 2, radius).on_the_sphere();
            exact(&query, std::slice::from_ref(&rows)).0
        };
        let (one, two) = (of(1.0), of(2.0));
        let close = |a: &[f64], b: &[f64]| assert!(apart(a, b) < 1e-9, "{a:?} {b:?}");
        close(one.gaussian(0).unwrap().0, two.gaussian(0).unwrap().0);
        close(one.gaussian(0).unwrap().1, two.gaussian(0).unwrap().1);
    }

    #[test]
    fn carried_rows_have_the_moments_of_the_class() {
        let rng = &mut seeded(3);
        let mut draw = |n: usize, at: f32, spread: f32| -> Vec<f32> {
            let mut row = || [at, -at, 0.0].map(|at| at + spread * rng.random_range(-0.5..0.5));
            (0..n).flat_map(|_| row()).collect()
        };
        let (target, mut rows) = (draw(500, 0.2, 0.6), draw(400, -0.1, 0.9));
        let latents = |rows: &[f32]| {
            let query = Moments::of_groups(vec![rows.len() / 3], 3, 2.0);
            exact(&query, &[rows.to_vec()]).0
        };
        let wanted = latents(&target);
        wanted.carry(0, &mut rows);
        let found = latents(&rows);
        let covariance = |latents: &Gaussians| {
            let (mean, factor) = latents.gaussian(0).unwrap();
            let factor = DMatrix::from_column_slice(3, 3, factor);
            let covariance = &factor * factor.transpose();
            (mean.to_vec(), covariance.as_slice().to_vec())
        };
        let ((a, b), (c, d)) = (covariance(&wanted), covariance(&found));
        assert!(apart(&a, &c) < 1e-5 && apart(&b, &d) < 1e-5);
        let before = rows.clone();
        wanted.carry(1, &mut rows);
        assert_eq!(rows, before);
    }
}
