//! Fits a mixture of products to all noisy counts at once.
//!
//! The loss is weighted least squares with an information penalty,
//!
//! `1/2 sum_t sum_x (p_t(x) - y_t(x) / n)^2 n^2 / s_t^2 + lambda n (sum_j I(k; x_j) + I(k; c))`,
//!
//! over tables `t` of noisy counts `y_t` of deviation `s_t`. `p_t` is the mixture's table and `I` the mutual information of the
//! component with a column, or with the label. Without the penalty a mixture of many components fits the noise. Adam takes a
//! fixed number of steps on the logits of all distributions.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::Products;
use super::gradient::Work;
use super::noisy_shares::{Blocks, NoisyShares};
use private_queries::NoisyCounts;

/// The number of steps. Adam's second moments decay fast, because gradients are exact and fall by orders of magnitude.
pub(crate) const STEPS: usize = 500;
const RATE: f32 = 0.3;
const WARM_UP: usize = 20;
const MOMENTS: [f32; 2] = [0.9, 0.95];
/// The standard deviations of the first logits of columns and of weights; equal components would stay equal.
const SPREAD: [f32; 2] = [0.7, 1.5];
/// The least probability from which a logit starts.
const LEAST: f64 = 1e-4;

/// Settings of the fit of a mixture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    /// The number of components, `K`.
    pub(crate) components: usize,
    /// The weight of the penalty, `lambda`.
    pub(crate) penalty: f64,
}

/// Fits a mixture to the noisy `tables` of `records` records: of columns, of pairs, and of pairs with the label.
///
/// - `sizes`: the number of values of each column, including the label; `label`: its index;
/// - `step`: called after each step; its error ends the fit.
///
/// The result depends on the arguments and the generator alone, not on the number of threads.
///
/// # Errors
/// Returns the error of `step`.
///
/// # Panics
/// Panics for tables of columns that do not exist, or of three columns without the label.
pub(crate) fn fit<E>(
    tables: &[NoisyCounts],
    sizes: &[usize],
    label: Option<usize>,
    records: usize,
    how: Fit,
    rng: &mut impl Rng,
    mut step: impl FnMut() -> Result<(), E>,
) -> Result<Products, E> {
    let own: Vec<usize> = (0..sizes.len()).filter(|&j| Some(j) != label).collect();
    let own_sizes: Vec<usize> = own.iter().map(|&j| sizes[j]).collect();
    let classes = label.map_or(1, |label| sizes[label]);
    let blocks = Blocks::new(&own_sizes);
    let target = NoisyShares::new(tables, &own, &blocks, label, classes, records as f64);
    let mut normal = || -> f32 { StandardNormal.sample(rng) };
    let start = |[share, weight]: [f32; 2], size: usize| -> f32 {
        match weight > 0.0 {
            true => f64::from(share).max(LEAST).ln() as f32,
            false => -(size as f32).ln(),
        }
    };
    let mut logits = Vec::new();
    for _ in 0..how.components {
        let all = target.classes.iter();
        logits.extend(all.map(|&share| start(share, classes) + SPREAD[1] * normal()));
    }
    for _ in 0..how.components {
        for (j, &size) in own_sizes.iter().enumerate() {
            let all = target.single[blocks.of(j)].iter();
            logits.extend(all.map(|&share| start(share, size) + SPREAD[0] * normal()));
        }
    }
    let penalty = (how.penalty * records as f64) as f32;
    let mut work = Work::new(&blocks, classes, how.components);
    let mut adam = Adam::new(logits.len());
    for at in 0..STEPS {
        let gradient = work.gradient(&logits, &blocks, &target, penalty);
        adam.step(&mut logits, gradient, rate(at));
        step()?;
    }
    work.distributions(&logits, &blocks);
    Ok(Products {
        sizes: own_sizes,
        label: label.map(|label| (label, classes)),
        weights: work.weights,
        values: work.values,
    })
}

/// Returns the learning rate at a step: a warm-up, then a cosine down to 0.
fn rate(at: usize) -> f32 {
    let done = at as f32 / STEPS as f32;
    let warm = ((at + 1) as f32 / WARM_UP as f32).min(1.0);
    RATE * warm * 0.5 * (1.0 + (std::f32::consts::PI * done).cos())
}

struct Adam {
    first: Vec<f32>,
    second: Vec<f32>,
    steps: i32,
}

impl Adam {
    fn new(count: usize) -> Self {
        Self {
            first: vec![0.0; count],
            second: vec![0.0; count],
            steps: 0,
        }
    }

    fn step(&mut self, values: &mut [f32], gradient: &[f32], rate: f32) {
        self.steps += 1;
        let [a, b] = MOMENTS;
        let rate = rate * (1.0 - b.powi(self.steps)).sqrt() / (1.0 - a.powi(self.steps));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((value, &g), (first, second)) in values.iter_mut().zip(gradient).zip(moments) {
            *first = a * *first + (1.0 - a) * g;
            *second = b * *second + (1.0 - b) * g * g;
            *value -= rate * *first / (second.sqrt() + 1e-8);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    const SIZES: [usize; 4] = [3, 2, 4, 2];
    const LABEL: usize = 1;

    fn tables(rng: &mut ChaCha20Rng, sets: &[&[usize]]) -> Vec<NoisyCounts> {
        let table = |columns: &&[usize]| {
            let cells = columns.iter().map(|&j| SIZES[j]).product::<usize>();
            NoisyCounts {
                columns: columns.to_vec(),
                counts: (0..cells).map(|_| rng.random_range(-5.0..60.0)).collect(),
                deviation: rng.random_range(2.0..9.0),
                joined: (0..cells).map(|_| rng.random_range(1..4)).collect(),
            }
        };
        sets.iter().map(table).collect()
    }

    const SETS: [&[usize]; 9] = [
        &[0],
        &[1],
        &[3],
        &[0, 2],
        &[2, 3],
        &[0, 1],
        &[1, 3],
        &[0, 1, 2],
        &[1, 2, 3],
    ];

    /// The loss by brute force over all cells of the whole table, in `f64`.
    fn loss(logits: &[f64], tables: &[NoisyCounts], k: usize, n: f64, penalty: f64) -> f64 {
        let c = SIZES[LABEL];
        let own = [0, 2, 3];
        let soft = |logits: &[f64]| -> Vec<f64> {
            let sum: f64 = logits.iter().map(|l| l.exp()).sum();
            logits.iter().map(|l| l.exp() / sum).collect()
        };
        let a = soft(&logits[..k * c]);
        let m: usize = own.iter().map(|&j| SIZES[j]).sum();
        let theta = |k0: usize| {
            let mut start = k * c + k0 * m;
            own.map(|j| {
                start += SIZES[j];
                soft(&logits[start - SIZES[j]..start])
            })
        };
        let theta: Vec<[Vec<f64>; 3]> = (0..k).map(theta).collect();
        let cell = |cell: usize| {
            let mut rest = cell;
            let mut codes = [0; 4];
            for (code, size) in codes.iter_mut().zip(SIZES) {
                (*code, rest) = (rest % size, rest / size);
            }
            let [x0, y, x2, x3] = codes;
            let of = |k: usize| a[k * c + y] * theta[k][0][x0] * theta[k][1][x2] * theta[k][2][x3];
            (codes, (0..k).map(of).sum::<f64>())
        };
        let whole: Vec<([usize; 4], f64)> = (0..SIZES.iter().product()).map(cell).collect();
        let mut sum = 0.0;
        for table in tables {
            let mut own = vec![0.0; table.counts.len()];
            for (codes, p) in &whole {
                let columns = table.columns.iter();
                own[columns.fold(0, |cell, &j| cell * SIZES[j] + codes[j])] += p;
            }
            for (cell, (p, y)) in own.iter().zip(&table.counts).enumerate() {
                sum += 0.5 * ((p * n - y) / table.deviation_of(cell)).powi(2);
            }
        }
        let w: Vec<f64> = (0..k).map(|k| a[k * c..(k + 1) * c].iter().sum()).collect();
        for (j, size) in [3, 4, 2].into_iter().enumerate() {
            let of_value = |x: usize| {
                let share: f64 = (0..k).map(|k| w[k] * theta[k][j][x]).sum();
                let each = (0..k).map(|k| w[k] * theta[k][j][x] * (theta[k][j][x] / share).ln());
                each.sum::<f64>()
            };
            sum += penalty * n * (0..size).map(of_value).sum::<f64>();
        }
        for y in 0..c {
            let q: f64 = (0..k).map(|k| a[k * c + y]).sum();
            let share = |k: usize| a[k * c + y] * (a[k * c + y] / w[k] / q).ln();
            sum += penalty * n * (0..k).map(share).sum::<f64>();
        }
        sum
    }

    #[test]
    fn gradients_are_differences_of_the_loss() {
        let rng = &mut ChaCha20Rng::seed_from_u64(3);
        let tables = tables(rng, &SETS);
        let (k, n, penalty) = (5, 200.0, 0.3);
        let own = [0, 2, 3];
        let blocks = Blocks::new(&own.map(|j| SIZES[j]));
        let count = k * (2 + blocks.width());
        let logits: Vec<f32> = (0..count).map(|_| rng.random_range(-1.0..1.0)).collect();
        let target = NoisyShares::new(&tables, &own, &blocks, Some(LABEL), 2, n);
        let mut work = Work::new(&blocks, 2, k);
        let weight = (penalty * n) as f32;
        let gradient = work.gradient(&logits, &blocks, &target, weight).to_vec();
        let exact: Vec<f64> = logits.iter().map(|&l| f64::from(l)).collect();
        let scale = gradient.iter().fold(0.0_f32, |most, g| most.max(g.abs()));
        for at in 0..count {
            let moved = |by: f64| {
                let mut moved = exact.clone();
                moved[at] += by;
                loss(&moved, &tables, k, n, penalty)
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            let off = (difference - f64::from(gradient[at])).abs();
            assert!(off < 1e-4 * f64::from(scale), "{at}: {difference}");
        }
    }

    /// Exact counts of a mixture of two components are found again, and the number of threads does not matter.
    #[test]
    fn a_mixture_is_found_again() {
        let rng = &mut ChaCha20Rng::seed_from_u64(4);
        let (sizes, n) = ([2, 2, 2], 10_000.0);
        let p = |codes: [usize; 3]| {
            let one = codes.iter().map(|&code| [0.9, 0.1][code]).product::<f64>();
            let two = codes.iter().map(|&code| [0.2, 0.8][code]).product::<f64>();
            0.3 * one + 0.7 * two
        };
        let table = |columns: &[usize]| {
            let mut counts = vec![0.0; 1 << columns.len()];
            for cell in 0..8 {
                let codes = [cell >> 2 & 1, cell >> 1 & 1, cell & 1];
                counts[columns.iter().fold(0, |at, &j| 2 * at + codes[j])] += n * p(codes);
            }
            NoisyCounts {
                columns: columns.to_vec(),
                counts,
                deviation: 5.0,
                joined: Vec::new(),
            }
        };
        let sets = [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]];
        let tables: Vec<NoisyCounts> = sets.map(table).to_vec();
        let (components, penalty) = (8, 1e-4);
        let how = Fit {
            components,
            penalty,
        };
        let found = |rng: &mut ChaCha20Rng| {
            let go_on = || Ok::<_, ()>(());
            fit(&tables, &sizes, None, n as usize, how, rng, go_on).expect("a fit")
        };
        let mut same = rng.clone();
        let one = rayon::ThreadPoolBuilder::new().num_threads(1);
        let again = one.build().expect("a pool").install(|| found(&mut same));
        let found = found(rng);
        assert_eq!(again, found);
        for column in 0..3 {
            let share = found.column(column)[0];
            assert!((share - 0.41).abs() < 0.003, "{column}: {share}");
        }
        // Pairs, and the triple that was not measured, are near those of the mixture.
        let rows = found.sample(20_000, &mut ChaCha20Rng::seed_from_u64(5));
        let share = |columns: &[usize]| {
            let rows = rows.chunks_exact(3);
            let zero = rows.filter(|row| columns.iter().all(|&j| row[j] == 0));
            zero.count() as f64 / 20_000.0
        };
        let off = [
            share(&[0, 1]) - (0.3 * 0.81 + 0.7 * 0.04),
            share(&[0, 1, 2]) - (0.3 * 0.729 + 0.7 * 0.008),
        ];
        assert!(off[0].abs() < 0.01 && off[1].abs() < 0.03, "{off:?}");
    }
}
