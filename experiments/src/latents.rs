//! Latents that are decoded as samples, each once, kept in a run's folder.

use lab::prelude::*;
use rand::Rng;
use rand::seq::SliceRandom;

use crate::export;

const ROWS: &str = "latents.f32";
const LABELS: &str = "labels.u8";

/// Latents that may be published, with their classes where there are some.
#[derive(Clone, PartialEq)]
pub(crate) struct Latents {
    /// `[n, d]` in rows.
    pub rows: Vec<f32>,
    /// The class of each row.
    pub labels: Option<Vec<usize>>,
    /// `d`.
    pub dim: usize,
}

impl Latents {
    /// Keeps them in a run's folder.
    pub(crate) fn keep(&self, folder: &RunFolder) -> Result<(), Failure> {
        if let Some(labels) = &self.labels {
            let bytes: Vec<u8> = labels.iter().map(|&l| l as u8).collect();
            folder.write(LABELS, &bytes)?;
        }
        // Last: where it is there, all is.
        folder.write(ROWS, &floats_to_bytes(&self.rows)).map(drop)
    }

    /// What [`Latents::keep`] kept.
    pub(crate) fn read(folder: &RunFolder, dim: usize, labelled: bool) -> Result<Self, Failure> {
        let rows = floats_of_bytes(&export::bytes(folder, ROWS)?);
        let count = rows.len() / dim;
        let labels = match labelled {
            true => Some(export::bytes(folder, LABELS)?),
            false => None,
        };
        let fits = count > 0 && labels.as_ref().is_none_or(|labels| labels.len() == count);
        if !fits || rows.len() != count * dim {
            let why = format!("{} values are no rows of {dim}, a label each", rows.len());
            return Err(export::damaged(&folder.file(ROWS), &why));
        }
        Ok(Self {
            rows,
            labels: labels.map(|labels| labels.into_iter().map(usize::from).collect()),
            dim,
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.rows.len() / self.dim
    }

    /// The rows at some places.
    pub(crate) fn at(&self, places: &[usize]) -> Self {
        let d = self.dim;
        let rows = places
            .iter()
            .flat_map(|&i| &self.rows[i * d..(i + 1) * d])
            .copied()
            .collect();
        let labels = self.labels.as_ref();
        Self {
            rows,
            labels: labels.map(|labels| places.iter().map(|&i| labels[i]).collect()),
            dim: d,
        }
    }

    /// All places, in a random order.
    pub(crate) fn shuffled(&self, rng: &mut impl Rng) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.count()).collect();
        order.shuffle(rng);
        order
    }
}

/// Latents of a run's folder, of which an export takes each once before it takes one again.
pub(crate) struct Remaining {
    /// All of them.
    pub all: Latents,
    /// Those that were not yet given, in a random order; none before the first ones are.
    left: Option<Vec<usize>>,
    /// Whether they begin anew where there are no more.
    again: bool,
}

impl Remaining {
    /// Before the first are taken.
    pub(crate) fn of(all: Latents, again: bool) -> Self {
        let left = None;
        Self { all, left, again }
    }

    /// How many may be taken; none where there is no end of them.
    pub(crate) fn most(&self) -> Option<usize> {
        (!self.again).then(|| self.all.count())
    }

    /// The next `count`, fewer at the end of a pass over all.
    pub(crate) fn take(&mut self, count: usize, rng: &mut impl Rng) -> Latents {
        let over = self.left.as_ref().is_some_and(Vec::is_empty);
        if over && self.again {
            self.left = None;
        }
        let left = self.left.get_or_insert_with(|| self.all.shuffled(rng));
        let chosen = left.split_off(left.len().saturating_sub(count));
        self.all.at(&chosen)
    }
}
