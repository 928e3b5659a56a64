//! Nearest neighbours among many images, by blocked matrix products.
//!
//! `||q - r||^2 = ||q||^2 + ||r||^2 - 2 <q, r>`: nearly all the work is the product. It is computed in `f32` and only
//! chooses the neighbour. The distance to the chosen one is then computed in `f64` from the difference itself, so that a
//! copy has distance 0. Two candidates may be confused if their squared distances differ by less than about
//! `1e-6 (||q||^2 + ||r||^2)`.

use std::borrow::Cow;
use std::ops::Range;

use data::Records;
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};
use rayon::prelude::*;

use super::EvaluateError;
use super::error::{check_asked, check_count, check_labels, check_records};
use reporting::interrupt::Interrupt;

/// Queries on one core at a time.
const QUERIES: usize = 128;
/// References that are compared with all queries before the next block.
const REFERENCES: usize = 1024;

/// Images that are read block by block, as `f32` in `[0, 1]`.
pub(crate) enum Images<'a> {
    /// Bytes that are divided by 255.
    Bytes {
        pixels: Cow<'a, [u8]>,
        features: usize,
    },
    /// Values that are used as they are.
    Values { values: &'a [f32], features: usize },
    /// The images of the first, then those of the second, with the same number of pixels.
    Joined(&'a Images<'a>, &'a Images<'a>),
}

impl<'a> Images<'a> {
    pub(crate) fn of(images: &'a Records) -> Result<Self, EvaluateError> {
        Ok(Self::Bytes {
            pixels: images.pixels()?,
            features: images.image_size(),
        })
    }

    fn features(&self) -> usize {
        match self {
            Self::Bytes { features, .. } | Self::Values { features, .. } => *features,
            Self::Joined(first, _) => first.features(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bytes { pixels, features } => pixels.len() / features,
            Self::Values { values, features } => values.len() / features,
            Self::Joined(first, second) => first.len() + second.len(),
        }
    }

    /// Returns the images of a range, `[range.len(), features]`; the range must lie inside.
    pub(crate) fn block(&self, range: Range<usize>) -> Vec<f32> {
        match self {
            Self::Bytes { pixels, features } => pixels
                [range.start * features..range.end * features]
                .iter()
                .map(|&p| f32::from(p) / 255.0)
                .collect(),
            Self::Values { values, features } => {
                values[range.start * features..range.end * features].to_vec()
            }
            Self::Joined(first, second) => {
                let n = first.len();
                let mut block = first.block(range.start.min(n)..range.end.min(n));
                block.extend(second.block(range.start.max(n) - n..range.end.max(n) - n));
                block
            }
        }
    }
}

/// The nearest reference of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Nearest {
    /// The index of the reference.
    pub(crate) index: usize,
    /// The Euclidean distance, in units of the pixels.
    pub(crate) distance: f64,
}

/// Returns the nearest of `references` for each of `queries`, `[n, d]`; the first of equals.
pub(crate) fn nearest(
    queries: &[f32],
    references: &Images<'_>,
    interrupt: &Interrupt,
) -> Result<Vec<Nearest>, EvaluateError> {
    nearest_few(queries, references, 1, interrupt)
}

/// Returns the `few` nearest of `references` for each of `queries`, `[n, d]`, nearest first: `[n, few]`, or all
/// references if there are fewer.
pub(crate) fn nearest_few(
    queries: &[f32],
    references: &Images<'_>,
    few: usize,
    interrupt: &Interrupt,
) -> Result<Vec<Nearest>, EvaluateError> {
    let d = references.features();
    let n = check_records("images", queries, d)?;
    check_count("images to compare with", references.len(), 1)?;
    check_count("neighbours", few, 1)?;
    let few = few.min(references.len());
    // (||r||^2 - 2 <q, r>, index) of the best so far, best first.
    let mut best = vec![(f32::INFINITY, 0_usize); n * few];
    let mut start = 0;
    while start < references.len() {
        check_asked(interrupt)?;
        let end = references.len().min(start + REFERENCES);
        let block = references.block(start..end);
        let squares: Vec<f32> = block
            .chunks_exact(d)
            .map(|r| r.iter().map(|x| x * x).sum())
            .collect();
        queries
            .par_chunks(QUERIES * d)
            .zip(best.par_chunks_mut(QUERIES * few))
            .for_each(|(queries, best)| compare(queries, &block, &squares, start, (best, few)));
        start = end;
    }
    let found = queries.par_chunks(d).zip(best.par_chunks(few));
    Ok(found
        .flat_map_iter(|(query, best)| {
            let mut found: Vec<Nearest> = best
                .iter()
                .map(|&(_, index)| Nearest {
                    index,
                    distance: distance(query, &references.block(index..index + 1)),
                })
                .collect();
            found.sort_by(|a, b| a.distance.total_cmp(&b.distance));
            found
        })
        .collect())
}

/// Returns, for each of `queries`, `[n, d]`, the label that most of its `few` nearest rows have. In a tie it is the label
/// of the nearest row among the tied ones.
///
/// - `rows`: `[m, d]`, with `labels`, `[m]`.
///
/// # Errors
///
/// Shapes that do not fit, values that are not finite, no row, or [`EvaluateError::Interrupted`].
pub fn labels_by_vote(
    queries: &[f32],
    (rows, features): (&[f32], usize),
    labels: &[u8],
    few: usize,
    interrupt: &Interrupt,
) -> Result<Vec<u8>, EvaluateError> {
    check_records("rows", rows, features)?;
    let rows = Images::Values {
        values: rows,
        features,
    };
    voted_labels(queries, &rows, labels, few, interrupt)
}

/// Does the same as [`labels_by_vote`] for [`Images`].
pub(crate) fn voted_labels(
    queries: &[f32],
    references: &Images<'_>,
    labels: &[u8],
    few: usize,
    interrupt: &Interrupt,
) -> Result<Vec<u8>, EvaluateError> {
    check_labels("labels of neighbours", labels, references.len(), 256)?;
    let found = nearest_few(queries, references, few, interrupt)?;
    let vote = |found: &[Nearest]| {
        let voted = || found.iter().map(|f| labels[f.index]);
        let mut votes = [0_usize; 256];
        voted().for_each(|label| votes[usize::from(label)] += 1);
        let most = votes.iter().copied().max().unwrap_or(0);
        let mut winners = voted().filter(|&label| votes[usize::from(label)] == most);
        winners.next().unwrap_or(0)
    };
    Ok(found
        .chunks_exact(few.min(references.len()))
        .map(vote)
        .collect())
}

/// Updates the `few` best of each query with one block of references, the first of which has the index `start`.
fn compare(
    queries: &[f32],
    block: &[f32],
    squares: &[f32],
    start: usize,
    (best, few): (&mut [(f32, usize)], usize),
) {
    let (rows, columns) = (best.len() / few, squares.len());
    let d = block.len() / columns;
    let mut products = vec![0.0; rows * columns];
    // The lengths are products of these very shapes; a mismatch would leave the products at zero.
    if let (Ok(q), Ok(r), Ok(mut p)) = (
        ArrayView2::from_shape((rows, d), queries),
        ArrayView2::from_shape((columns, d), block),
        ArrayViewMut2::from_shape((rows, columns), &mut products),
    ) {
        general_mat_mul(-2.0, &q, &r.t(), 0.0, &mut p);
    }
    for (row, best) in products
        .chunks_exact(columns)
        .zip(best.chunks_exact_mut(few))
    {
        for (j, (product, square)) in row.iter().zip(squares).enumerate() {
            let value = product + square;
            if value < best[few - 1].0 {
                let place = best.partition_point(|&(other, _)| other <= value);
                best[place..].rotate_right(1);
                best[place] = (value, start + j);
            }
        }
    }
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(&x, &y)| (f64::from(x) - f64::from(y)).powi(2))
        .sum::<f64>()
        .sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    /// [`nearest`] by trying all.
    fn nearest_reference(queries: &[f32], references: &[f32], d: usize) -> Vec<Nearest> {
        let nearest = |q: &[f32]| {
            let all = references.chunks(d).map(|r| distance(q, r)).enumerate();
            let (index, distance) = all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            Nearest { index, distance }
        };
        queries.chunks(d).map(nearest).collect()
    }

    fn found(queries: &[f32], images: &Images) -> Result<Vec<Nearest>, EvaluateError> {
        nearest(queries, images, &Interrupt::default())
    }

    #[test]
    fn agrees_with_trying_all() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for (n, m, d) in [(1, 1, 1), (5, 7, 3), (300, 2500, 6), (130, 1024, 17)] {
            let mut draw = |count| -> Vec<f32> { (0..count).map(|_| rng.random()).collect() };
            let (queries, values) = (draw(n * d), draw(m * d));
            let of = |values| Images::Values {
                values,
                features: d,
            };
            let images = of(&values);
            let nearest = found(&queries, &images).unwrap();
            for (a, b) in nearest.iter().zip(nearest_reference(&queries, &values, d)) {
                assert!((a.distance - b.distance).abs() < 1e-4);
            }
            // In two parts, and several at once.
            let (first, second) = values.split_at(m / 2 * d);
            let (first, second) = (of(first), of(second));
            let joined = Images::Joined(&first, &second);
            let few = nearest_few(&queries, &joined, 3, &Interrupt::default()).unwrap();
            for (few, query) in few.chunks(3.min(m)).zip(queries.chunks(d)) {
                let mut all: Vec<f64> = values.chunks(d).map(|r| distance(query, r)).collect();
                all.sort_by(f64::total_cmp);
                for (found, expected) in few.iter().zip(all) {
                    assert!((found.distance - expected).abs() < 1e-4);
                }
            }
            // An image is its own nearest neighbour, at distance 0.
            let own = found(&values, &images).unwrap();
            assert!(own.iter().all(|found| found.distance == 0.0));
        }
    }

    #[test]
    fn the_first_of_equals_and_bytes() {
        let data = Records::new(vec![255, 0, 0, 255, 0, 255], vec![0, 1, 2], 1, 2, 3);
        let data = data.unwrap();
        let found = found(&[0.1, 0.9, 0.9, 0.0], &Images::of(&data).unwrap()).unwrap();
        assert_eq!(found[0].index, 1);
        assert_eq!(found[1].index, 0);
        assert!((found[1].distance - 0.1).abs() < 1e-6);
    }

    #[test]
    fn bad_input_is_refused() {
        let data = Records::new(vec![255, 0], vec![0], 1, 2, 1).unwrap();
        let images = Images::of(&data).unwrap();
        assert!(found(&[0.0; 3], &images).is_err());
        assert!(found(&[0.0, f32::NAN], &images).is_err());
        assert_eq!(found(&[], &images).unwrap(), []);
    }
}
