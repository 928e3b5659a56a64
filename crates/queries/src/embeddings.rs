//! Mean embeddings of groups of rows by random Fourier features: one release describes the distribution of each group.
//!
//! With public frequencies `w_1, ..., w_m` from `N(0, I / l^2)` a row becomes
//! `phi(x) = (cos w_1 x, ..., cos w_m x, sin w_1 x, ..., sin w_m x) / sqrt(m)`, of norm 1, and `<phi(x), phi(y)>` estimates the
//! Gaussian kernel `exp(-|x - y|^2 / (2 l^2))`. The release has the size of each group and the sum of its `phi`.
//!
//! # Sensitivity
//! Replacing one record, also by one of another group, moves the values by at most 2. Within a group the size stays and the sum
//! moves by `|phi - phi'| <= 2`. Between groups one loses `(1, phi)` and the other gains `(1, phi')`, a squared change of
//! `2 (1 + 1) = 4` for any rows. So the sizes cost nothing.
//!
//! Source: Harder, Adamczewski and Park 2021, arXiv 2002.11603 (DP-MERF), section 4. Their embeddings are means, so their
//! sensitivity is that of these sums divided by the number of records.

use dp_core::mechanism::{NoisyVector, SensitiveVector};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use crate::query::{QueryError, check_noisy, length, whole};
use crate::{Query, ROUNDING};

/// The sensitivity of sizes and sums to replacing one record.
const SENSITIVITY: f64 = 2.0;
/// Features are multiples of `1 / GRID`, so sums of 2^23 rows are exact in any order.
const GRID: f64 = (1_u64 << 30) as f64;
/// The number of rows that are multiplied by a frequency while it is in cache.
const TOGETHER: usize = 16;
/// The number of partial sums of a scalar product; their order does not depend on the other rows.
const LANES: usize = 8;

/// Sums random Fourier features of groups of rows and counts the rows; a record lies in one group.
///
/// ```
/// use dp_core::mechanism::NoisyVector;
/// use private_queries::{Embeddings, Query};
/// use rand::SeedableRng;
///
/// let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// // Two groups of rows of three values, by 500 frequencies for a kernel of width 0.5.
/// let query = Embeddings::new(2, 3, 500, 0.5, &mut rng)?;
/// let near = vec![0.1, 0.2, 0.3, 0.1, 0.2, 0.4];
/// let measured = query.measure(&[near, vec![3.0, -2.0, 1.0]])?;
/// assert!((measured.sensitivity_upper() - 2.0).abs() < 1e-6);
/// // A releaser adds the noise here; what follows is post-processing.
/// let embedded = query.read(&NoisyVector::without_privacy(measured))?;
/// assert_eq!(embedded.sizes, [2.0, 1.0]);
/// let product = |a: usize, b: usize| -> f64 {
///     let [a, b] = [a, b].map(|group| embedded.sum(group));
///     a.iter().zip(b).map(|(a, b)| a * b).sum()
/// };
/// // Rows that are alike have a kernel near 1, others near 0.
/// assert!(product(0, 0) > 3.8 && product(0, 1).abs() < 0.3);
/// # Ok::<(), private_queries::QueryError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    groups: usize,
    dim: usize,
    /// `[m, d]` in rows.
    frequencies: Vec<f32>,
    /// The maximum number of records used per unit.
    most: usize,
}

/// The noisy sizes and feature sums of the groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// The number of rows of each group; noise can make it negative.
    pub sizes: Vec<f64>,
    /// The sums of the features of all groups, `[groups, 2 m]` in rows.
    pub sums: Vec<f64>,
}

impl Embedded {
    /// Returns the sum of the features of one group, `[2 m]`: cosines, then sines.
    ///
    /// # Panics
    /// Panics if the group does not exist.
    pub fn sum(&self, group: usize) -> &[f64] {
        let width = self.sums.len() / self.sizes.len();
        &self.sums[group * width..(group + 1) * width]
    }
}

impl Embeddings {
    /// Creates the embeddings of groups of rows of `dim` values; samples `m = frequencies` frequencies from public randomness.
    ///
    /// - `length`: the width of the kernel `l`, above 0; public, so never computed from the private rows.
    ///
    /// # Errors
    /// Returns an error for a number that is 0, or for a length that is not above 0.
    pub fn new(
        groups: usize,
        dim: usize,
        frequencies: usize,
        length: f64,
        rng: &mut impl Rng,
    ) -> Result<Self, QueryError> {
        for (what, count) in [
            ("groups of rows", groups),
            ("values of a row", dim),
            ("frequencies", frequencies),
        ] {
            if count == 0 {
                return Err(QueryError::Empty { what });
            }
        }
        if !(length > 0.0 && length.is_finite()) {
            return Err(QueryError::NotFinite {
                what: "inverse of the width of a kernel",
                index: 0,
                value: 1.0 / length,
            });
        }
        let mut draw = || {
            let normal: f64 = StandardNormal.sample(rng);
            (normal / length) as f32
        };
        Ok(Self {
            groups,
            dim,
            frequencies: (0..frequencies * dim).map(|_| draw()).collect(),
            most: 1,
        })
    }

    /// Multiplies the sensitivity by `most`, for neighbours that replace a unit (such as all records of a person) of which at
    /// most `most` records count.
    ///
    /// Records of the two units form pairs, and each pair changes by at most the sensitivity of one record. A record without a
    /// partner adds `(1, phi)`, of length `sqrt 2`, which is less.
    #[must_use]
    pub fn of_units(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Returns the public frequencies, `[m, d]` in rows.
    pub fn frequencies(&self) -> &[f32] {
        &self.frequencies
    }

    /// Returns the number of features of a row, `2 m`.
    pub fn features(&self) -> usize {
        2 * self.frequencies.len() / self.dim
    }

    /// Measures records that arrive in parts, each with rows of every group, so that memory need not hold them all. Sums are
    /// exact, so the result does not depend on the parts.
    ///
    /// # Errors
    /// Returns the errors of [`Query::measure`].
    pub fn measure_parts(
        &self,
        parts: impl IntoIterator<Item = Vec<Vec<f32>>>,
    ) -> Result<SensitiveVector, QueryError> {
        let mut values = vec![0.0; self.len()];
        for part in parts {
            self.add(&part, &mut values)?;
        }
        let upper = self.most as f64 * SENSITIVITY * (1.0 + ROUNDING);
        Ok(SensitiveVector::l2(values, upper))
    }

    /// Adds the sizes and features of the rows of each group.
    fn add(&self, groups: &[Vec<f32>], values: &mut [f64]) -> Result<(), QueryError> {
        length("groups of rows", groups.len(), self.groups)?;
        let width = self.features();
        for (rows, values) in groups.iter().zip(values.chunks_exact_mut(1 + width)) {
            whole("rows of a group", rows.len(), self.dim)?;
            values[0] += (rows.len() / self.dim) as f64;
            let sums = rows
                .par_chunks(TOGETHER * self.dim)
                .fold(
                    || vec![0.0; width],
                    |mut sums, rows| {
                        self.embed(rows, &mut sums);
                        sums
                    },
                )
                .reduce(|| vec![0.0; width], added);
            for (value, sum) in values[1..].iter_mut().zip(sums) {
                *value += sum;
            }
        }
        Ok(())
    }

    /// Adds `phi` of a few rows. A row that is not finite counts as the origin.
    fn embed(&self, rows: &[f32], sums: &mut [f64]) {
        let count = sums.len() / 2;
        let root = (count as f64).sqrt();
        let (cosines, sines) = sums.split_at_mut(count);
        let finite: Vec<bool> = rows
            .chunks_exact(self.dim)
            .map(|row| row.iter().all(|x| x.is_finite()))
            .collect();
        // Truncation towards zero never increases a norm.
        let on_grid = |value: f64| (value / root * GRID).trunc() / GRID;
        for (place, frequency) in self.frequencies.chunks_exact(self.dim).enumerate() {
            for (row, &finite) in rows.chunks_exact(self.dim).zip(&finite) {
                let phase = if finite { dot(row, frequency) } else { 0.0 };
                let (sine, cosine) = phase.sin_cos();
                cosines[place] += on_grid(cosine);
                sines[place] += on_grid(sine);
            }
        }
    }
}

fn added(mut one: Vec<f64>, other: Vec<f64>) -> Vec<f64> {
    for (one, other) in one.iter_mut().zip(other) {
        *one += other;
    }
    one
}

/// Computes the scalar product of finite values in `f32`, or in `f64` if `f32` overflows.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0_f32; LANES];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| a * b);
    let sum = lanes.into_iter().chain(rest).sum::<f32>();
    match sum.is_finite() {
        true => f64::from(sum),
        false => a
            .iter()
            .zip(b)
            .map(|(&a, &b)| f64::from(a) * f64::from(b))
            .sum(),
    }
}

impl Query for Embeddings {
    /// The rows of each group, `[n, d]`.
    type Records = [Vec<f32>];
    type Answer = Embedded;

    fn len(&self) -> usize {
        self.groups * (1 + self.features())
    }

    fn measure(&self, groups: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        self.measure_parts([groups.to_vec()])
    }

    fn measure_part(&self, records: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        self.measure(records)
    }

    fn read(&self, noisy: &NoisyVector) -> Result<Embedded, QueryError> {
        let what = "released embeddings";
        check_noisy(what, &noisy.values, noisy.deviation, self.len())?;
        let groups = noisy.values.chunks_exact(1 + self.features());
        Ok(Embedded {
            sizes: groups.clone().map(|values| values[0]).collect(),
            sums: groups.flat_map(|values| &values[1..]).copied().collect(),
        })
    }

    /// Returns one value of each frequency; another seed gives other values.
    fn made_of(&self) -> Vec<f64> {
        let firsts = self.frequencies.iter().step_by(self.dim);
        firsts.map(|&value| f64::from(value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::f32::consts::PI;

    use rand::RngExt;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::tests::{apart, grouped, seeded};

    fn values(query: &Embeddings, groups: &[Vec<f32>]) -> Vec<f64> {
        query.measure(groups).unwrap().before_noise().to_vec()
    }

    fn declared(query: &Embeddings) -> f64 {
        let none = vec![Vec::new(); query.groups];
        query.measure(&none).unwrap().sensitivity_upper()
    }

    /// A row like others, or so large that its products overflow, or that is not finite.
    fn row(d: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
        let length = [0.1, 1.0, 50.0, f32::MAX, f32::INFINITY, f32::NAN][rng.random_range(0..6)];
        (0..d)
            .map(|_| length * rng.random_range(-1.0..1.0_f32))
            .collect()
    }

    /// Brute force over neighbours with labels, near and far, too large and not finite; rows whose phases are opposite attain
    /// the bound within a class, all rows of other classes between classes. Fixed seed.
    #[test]
    fn a_replaced_record_moves_embeddings_by_two() {
        let rng = &mut seeded(1);
        let mut largest = [0.0_f64; 2];
        for _ in 0..3000 {
            let (d, m) = (rng.random_range(1..12), [1, 2, 20][rng.random_range(0..3)]);
            let query = Embeddings::new(3, d, m, 0.7, rng).unwrap();
            let mut record = || (row(d, rng), rng.random_range(0..3_usize));
            let others = [record(), record(), record()];
            let (one, class) = record();
            let same = rng.random::<bool>();
            let two = match rng.random::<bool>() {
                true => row(d, rng),
                // One frequency turns by half a circle.
                false => {
                    let w = &query.frequencies[..d];
                    let square: f32 = w.iter().map(|w| w * w).sum();
                    let pairs = one.iter().zip(w);
                    pairs.map(|(x, w)| x + PI * w / square).collect()
                }
            };
            let other = if same { class } else { (class + 1) % 3 };
            let of = |last: (Vec<f32>, usize)| {
                let all = others
                    .iter()
                    .chain([&last])
                    .map(|(row, class)| (&row[..], *class));
                values(&query, &grouped(all, 3))
            };
            let moved = apart(&of((one, class)), &of((two, other)));
            assert!(moved <= declared(&query), "{moved}");
            largest[usize::from(same)] = largest[usize::from(same)].max(moved);
        }
        assert!(largest.iter().all(|&most| most > 1.99), "{largest:?}");
    }

    /// Neighbours replace all of a unit's records, of which 0 to 3 count: within three times the bound, which three on each
    /// side, of other groups, attain. Fixed seed.
    #[test]
    fn units_move_embeddings_as_far_as_so_many_records() {
        const MOST: usize = 3;
        let rng = &mut seeded(2);
        let query = Embeddings::new(2, 4, 1, 1.0, rng).unwrap().of_units(MOST);
        let mut largest = 0.0_f64;
        for _ in 0..3000 {
            let mut unit = || {
                let mut groups = [vec![0.1, 0.2, 0.0, 0.0], vec![0.3; 4]];
                let (alike, group) = (rng.random::<bool>(), rng.random_range(0..2));
                for _ in 0..rng.random_range(0..=MOST) {
                    let row = if alike { vec![0.5; 4] } else { row(4, rng) };
                    groups[group].extend(row);
                }
                values(&query, &groups)
            };
            largest = largest.max(apart(&unit(), &unit()));
        }
        let bound = declared(&query);
        assert!((bound - 6.0).abs() < 1e-6);
        assert!(largest <= bound && largest > 0.9 * bound, "{largest}");
    }

    /// Features have norm 1 to the grid and never more, and the kernel is Gaussian. Fixed seed; of 20000 frequencies the
    /// deviation of a product is 1/200.
    #[test]
    fn products_of_features_are_a_gaussian_kernel() {
        let query = Embeddings::new(2, 3, 20_000, 1.5, &mut seeded(3)).unwrap();
        let (x, y) = ([0.3_f32, -0.4, 1.0], [1.0_f32, 0.5, 0.2]);
        let measured = query.measure(&[x.to_vec(), y.to_vec()]).unwrap();
        let embedded = query.read(&NoisyVector::without_privacy(measured)).unwrap();
        let product = |a, b| -> f64 {
            let pairs = embedded.sum(a).iter().zip(embedded.sum(b));
            pairs.map(|(a, b)| a * b).sum()
        };
        assert!(product(0, 0) <= 1.0 && product(0, 0) > 1.0 - 1e-5);
        let squared: f32 = x.iter().zip(&y).map(|(x, y)| (x - y).powi(2)).sum();
        let kernel = (-f64::from(squared) / (2.0 * 1.5 * 1.5)).exp();
        assert!((product(0, 1) - kernel).abs() < 0.02, "{kernel}");
    }

    /// Records in any parts and in any order give the same to the last bit.
    #[test]
    fn parts_and_order_do_not_matter() {
        let rng = &mut seeded(4);
        let query = Embeddings::new(2, 5, 7, 0.5, rng).unwrap();
        let rows: Vec<Vec<f32>> = (0..90).map(|_| row(5, rng)).collect();
        let groups = |rows: &[Vec<f32>]| vec![rows.concat(), rows.concat()];
        let whole = values(&query, &groups(&rows));
        let parts = rows.rchunks(13).map(groups);
        let parts = query.measure_parts(parts).unwrap();
        assert_eq!(parts.before_noise(), whole);
    }

    #[test]
    fn others_are_refused_and_another_seed_is_another_query() {
        let of = |seed| Embeddings::new(2, 3, 4, 1.0, &mut seeded(seed)).unwrap();
        assert_eq!(of(1).made_of(), of(1).made_of());
        assert_ne!(of(1).made_of(), of(2).made_of());
        for (counts, length) in [
            ([0, 1, 1], 1.0),
            ([1, 0, 1], 1.0),
            ([1, 1, 0], 1.0),
            ([1; 3], 0.0),
        ] {
            let [groups, dim, frequencies] = counts;
            assert!(Embeddings::new(groups, dim, frequencies, length, &mut seeded(1)).is_err());
        }
        let query = of(1);
        assert!(query.measure(&[vec![0.0; 3]]).is_err());
        assert!(query.measure(&[vec![0.0; 3], vec![0.0; 2]]).is_err());
        let deviation = 1.0;
        let read = |values| query.read(&NoisyVector { values, deviation });
        assert!(read(vec![0.0; 18]).is_ok());
        assert!(read(vec![0.0; 17]).is_err() && read(vec![f64::NAN; 18]).is_err());
    }
}
