//! Pictures of a copy: its columns and its pairs, beside the noisy counts that were released. No private record is read.

use lab::figures::{Bars, bars, heat};
use lab::prelude::*;
use private_queries::{Contingency, Query};
use private_synth::table::{Bins, Released, grouped};

use super::run::TableCopy;

/// Bars of a column, at most: neighbours are drawn together.
const BARS: usize = 32;
/// Records that are counted at once.
const BLOCK: usize = 1 << 20;
/// Columns that are drawn, at most.
const COLUMNS: usize = 40;
/// Columns of which pairs are drawn, at most.
const PAIRED: usize = 120;

pub(super) fn pictures(run: &TableCopy) -> Result<Vec<Picture>, Failure> {
    let released = run.released()?;
    let columns = run.input.records.columns();
    let width = columns.len();
    let of_columns: Vec<Bars> = (0..width.min(COLUMNS))
        .map(|column| of(run, released, column))
        .collect();
    let drawn = bars(&of_columns, ["noisy counts, +- a deviation", "the copy"])?;
    let caption = match width > COLUMNS {
        true => format!("The first {COLUMNS} of {width} columns"),
        false => "Columns".into(),
    };
    let caption =
        format!("{caption}: counts as they were released, with noise, and as the copy has them");
    let mut pictures: Vec<Picture> = vec![("columns.svg", caption, drawn.bytes)];
    if width > 1 {
        let columns = columns.iter().take(PAIRED);
        let names: Vec<String> = columns.map(|c| c.name.clone()).collect();
        let counted = Pairs::new(run, released)?;
        let below = |i: usize, j: usize| counted.dependence(i, j);
        let above = |i: usize, j: usize| counted.misfit(i, j);
        let drawn = heat(&names, [&below, &above], [1.0, 3.0])?;
        let which = match width > PAIRED {
            true => format!("Pairs of the first {PAIRED} of {width} columns"),
            false => "Pairs of columns".into(),
        };
        let caption = "Below the diagonal: how much they depend on each other in the copy, Cramer's V, from 0 to \
                       1. Above it: how far the copy's counts are from the released ones, in deviations of their noise (root mean \
                       square): about 1 where only noise lies between them";
        let caption = format!("{which}. {caption}");
        pictures.push(("pairs.svg", caption, drawn.bytes));
    }
    Ok(pictures)
}

/// The chart of a column.
fn of(run: &TableCopy, released: &Released, column: usize) -> Bars {
    let columns = run.input.records.columns();
    let names = &columns[column].codes;
    let noisy = &released.columns[column];
    let mut copied = vec![0.0; names.len()];
    let codes = run.made.iter().skip(column).step_by(columns.len());
    codes.for_each(|&code| copied[usize::from(code)] += 1.0);
    let scale = run.records() as f64 / run.rows() as f64;
    let together = names.len().div_ceil(BARS);
    let deviation = noisy.deviation * (together as f64).sqrt();
    let ends = [names.first(), names.last()];
    Bars {
        title: columns[column].name.clone(),
        ends: ends.map(|name| name.cloned().unwrap_or_default()),
        measured: noisy
            .counts
            .chunks(together)
            .map(|counts| [counts.iter().sum(), deviation])
            .collect(),
        copied: copied
            .chunks(together)
            .map(|counts| scale * counts.iter().sum::<f64>())
            .collect(),
    }
}

/// Pairs of groups, in the copy and as they were released.
struct Pairs<'a> {
    run: &'a TableCopy,
    released: &'a Released,
    /// Counts of the copy of each pair, `[first, second]`, those of the second column behind those of the ones before.
    counts: Vec<Vec<f64>>,
}

impl<'a> Pairs<'a> {
    fn new(run: &'a TableCopy, released: &'a Released) -> Result<Self, Failure> {
        let sizes: Vec<usize> = released.bins.iter().map(Bins::count).collect();
        let pairs =
            (0..sizes.len()).flat_map(|second| (0..second).map(move |first| [first, second]));
        let pairs: Vec<[usize; 2]> = pairs.collect();
        let tables = pairs.iter().map(|pair| (pair.to_vec(), 1.0));
        let query = Contingency::new(&sizes[..], tables).or_failed()?;
        let mut all = vec![0.0; query.len()];
        for block in run.made.chunks(BLOCK * sizes.len()) {
            let counts = query.counts(&grouped(block, &released.bins)).or_failed()?;
            all.iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += f64::from(count));
        }
        let mut rest = all.into_iter();
        let own = |&[first, second]: &[usize; 2]| -> Vec<f64> {
            rest.by_ref().take(sizes[first] * sizes[second]).collect()
        };
        let counts = pairs.iter().map(own).collect();
        Ok(Self {
            run,
            released,
            counts,
        })
    }

    /// Counts of a pair in the copy, `[first, second]`.
    fn counts(&self, first: usize, second: usize) -> &[f64] {
        &self.counts[second * (second - 1) / 2 + first]
    }

    /// Cramer's V, `sqrt(chi^2 / (n min(r - 1, c - 1)))`.
    fn dependence(&self, i: usize, j: usize) -> f64 {
        let counts = self.counts(j, i);
        let wide = self.released.bins[i].count();
        let all: f64 = counts.iter().sum();
        let across: Vec<f64> = counts.chunks(wide).map(|row| row.iter().sum()).collect();
        let down: Vec<f64> = (0..wide)
            .map(|c| counts.iter().skip(c).step_by(wide).sum())
            .collect();
        let least = across.iter().filter(|&&sum| sum > 0.0).count();
        let least = least.min(down.iter().filter(|&&sum| sum > 0.0).count());
        let cell = |(place, count): (usize, &f64)| {
            let expected = across[place / wide] * down[place % wide] / all;
            if expected > 0.0 {
                (count - expected).powi(2) / expected
            } else {
                0.0
            }
        };
        let chi: f64 = counts.iter().enumerate().map(cell).sum();
        if least > 1 {
            (chi / all / (least - 1) as f64).sqrt()
        } else {
            0.0
        }
    }

    /// The root mean square of the differences to released counts, in deviations.
    fn misfit(&self, i: usize, j: usize) -> f64 {
        let Some(noisy) = self
            .released
            .pairs
            .iter()
            .find(|table| table.columns == [j, i])
        else {
            return 0.0;
        };
        let scale = self.run.records() as f64 / self.run.rows() as f64;
        let pairs = self.counts(j, i).iter().zip(&noisy.counts);
        let squares: f64 = pairs
            .map(|(copied, noisy)| (scale * copied - noisy).powi(2))
            .sum();
        (squares / noisy.counts.len() as f64).sqrt() / noisy.deviation.max(1.0)
    }
}
