//! Centres of components: a partition of latent space that depends on an earlier release alone.

use rand::RngExt;
use rayon::prelude::*;

/// The number of rounds of Lloyd's algorithm.
const ROUNDS: usize = 20;
/// The maximum number of latents of a class from which centres are found.
const MOST: usize = 5_000;

/// The centres of the components of each class.
pub(super) struct Centres {
    /// `[count, d]` in rows, for each class; empty if a class is one component.
    centres: Vec<Vec<f32>>,
    count: usize,
}

impl Centres {
    /// Finds `count` components of each class, around the means of Lloyd's algorithm, which starts with k-means++.
    ///
    /// - `public`: public latents of each class, `[n, d]` in rows.
    pub(super) fn around(
        public: &[Vec<f32>],
        count: usize,
        dim: usize,
        rng: &mut impl RngExt,
    ) -> Self {
        let classes = public.iter().filter(|_| count > 1);
        let centres =
            classes.map(|rows| means(&rows[..rows.len().min(MOST * dim)], count, dim, rng));
        Self {
            centres: centres.collect(),
            count,
        }
    }

    /// Returns the number of components of a class.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the component of a latent.
    pub(super) fn place(&self, class: usize, row: &[f32]) -> usize {
        match &self.centres[..] {
            [] => 0,
            each => nearest(&each[class], row).0,
        }
    }
}

/// Returns the nearest centre, the first of several, and its squared distance; the first for a row that is not finite.
fn nearest(centres: &[f32], row: &[f32]) -> (usize, f32) {
    let mut best = (0, f32::INFINITY);
    for (place, centre) in centres.chunks_exact(row.len()).enumerate() {
        let squared: f32 = centre.iter().zip(row).map(|(a, b)| (a - b) * (a - b)).sum();
        if squared < best.1 {
            best = (place, squared);
        }
    }
    best
}

fn means(rows: &[f32], count: usize, dim: usize, rng: &mut impl RngExt) -> Vec<f32> {
    let all: Vec<&[f32]> = rows.chunks_exact(dim).collect();
    let mut centres = Vec::with_capacity(count * dim);
    for _ in 0..count {
        let far: Vec<f32> = all
            .par_iter()
            .map(|row| nearest(&centres, row).1.min(1e6))
            .collect();
        let total: f32 = far.iter().sum();
        let mut at = rng.random_range(0.0..1.0_f32) * total;
        let reached = far.iter().position(|far| {
            at -= far;
            at <= 0.0
        });
        match all.get(reached.unwrap_or(0)) {
            Some(row) => centres.extend_from_slice(row),
            None => centres.extend(vec![0.0; dim]),
        }
    }
    for _ in 0..ROUNDS {
        let places: Vec<usize> = all.par_iter().map(|row| nearest(&centres, row).0).collect();
        let (mut sums, mut sizes) = (vec![0.0; count * dim], vec![0.0_f32; count]);
        for (row, place) in all.iter().zip(places) {
            sizes[place] += 1.0;
            let sum = sums[place * dim..(place + 1) * dim].iter_mut();
            sum.zip(*row).for_each(|(sum, x)| *sum += x);
        }
        for ((centre, sum), &size) in centres
            .chunks_exact_mut(dim)
            .zip(sums.chunks_exact(dim))
            .zip(&sizes)
        {
            if size > 0.0 {
                centre
                    .iter_mut()
                    .zip(sum)
                    .for_each(|(centre, sum)| *centre = sum / size);
            }
        }
    }
    centres
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    #[test]
    fn clusters_are_found_and_every_row_has_its_component() {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let rows = |at: [f32; 2]| {
            let near = move |i: usize| [at[0] + 0.001 * i as f32, at[1]];
            (0..30).flat_map(near)
        };
        let places = [[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]];
        let public: Vec<f32> = places.into_iter().flat_map(rows).collect();
        let components = Centres::around(&[public.clone(), public], 3, 2, rng);
        let mut found = places.map(|at| components.place(1, &at));
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2]);
        assert_eq!(components.place(0, &[f32::NAN, 0.0]), 0);
        let one = Centres::around(&[], 1, 2, rng);
        assert_eq!(one.place(5, &[1.0, 1.0]), 0);
        let empty = Centres::around(&[Vec::new()], 2, 2, rng);
        assert_eq!(empty.place(0, &[1.0, 1.0]), 0);
    }
}
