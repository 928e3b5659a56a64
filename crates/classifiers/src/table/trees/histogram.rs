//! Sums of gradients over the records of each code.

use std::ops::{Add, AddAssign, Sub, SubAssign};

use rayon::prelude::*;

use super::super::features::Features;

/// Records in one partial sum: fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 8192;

/// The first and second derivative of a record's loss by its score.
pub(super) type Derivatives = [f32; 2];

/// Sums over some records.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) gradient: f64,
    pub(super) hessian: f64,
    pub(super) records: u32,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Self) {
        self.gradient += other.gradient;
        self.hessian += other.hessian;
        self.records += other.records;
    }
}

impl SubAssign for Sums {
    fn sub_assign(&mut self, other: Self) {
        self.gradient -= other.gradient;
        self.hessian -= other.hessian;
        self.records -= other.records;
    }
}

impl Add for Sums {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Sub for Sums {
    type Output = Self;

    fn sub(mut self, other: Self) -> Self {
        self -= other;
        self
    }
}

impl From<Derivatives> for Sums {
    fn from([gradient, hessian]: Derivatives) -> Self {
        Self {
            gradient: f64::from(gradient),
            hessian: f64::from(hessian),
            records: 1,
        }
    }
}

/// Returns the sums of all codes, one column after the other.
pub(super) fn histogram(
    features: &Features,
    derivatives: &[Derivatives],
    rows: &[u32],
) -> Vec<Sums> {
    let of_chunk = |rows: &[u32]| {
        let mut sums = vec![Sums::default(); features.size()];
        for &row in rows {
            let record = Sums::from(derivatives[row as usize]);
            for place in features.places(row as usize) {
                sums[place] += record;
            }
        }
        sums
    };
    if rows.len() <= CHUNK {
        return of_chunk(rows);
    }
    let chunks: Vec<_> = rows.par_chunks(CHUNK).map(of_chunk).collect();
    let added = chunks.into_iter().reduce(|mut all, chunk| {
        all.iter_mut().zip(chunk).for_each(|(a, c)| *a += c);
        all
    });
    added.unwrap_or_default()
}
