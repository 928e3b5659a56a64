//! The coupling of two sorted samples: the intervals between the merged breakpoints `i/n` and `j/m`.

/// An interval on which both quantile functions are constant: rank `i` of `n` meets rank `j` of
/// `m`, for the share `weight / (n m)` of the mass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Overlap {
    pub(crate) i: usize,
    pub(crate) j: usize,
    pub(crate) weight: u64,
}

/// Returns the at most `n + m - 1` intervals in order. Their weights are the `R_ij` of Rodriguez-Vitores et al. 2025,
/// arXiv 2502.01701, proposition 3.1, as exact integers out of `n m`. Both counts are below 2^32.
pub(crate) fn overlaps(n: usize, m: usize) -> impl Iterator<Item = Overlap> {
    let (mut i, mut j, mut start) = (0, 0, 0);
    std::iter::from_fn(move || {
        if i == n || j == m {
            return None;
        }
        let end_i = (i as u64 + 1) * m as u64;
        let end_j = (j as u64 + 1) * n as u64;
        let end = end_i.min(end_j);
        let weight = end - start;
        let overlap = Overlap { i, j, weight };
        start = end;
        i += usize::from(end == end_i);
        j += usize::from(end == end_j);
        Some(overlap)
    })
}

/// An [`Overlap`] of samples with weights: `weight` is the share of the mass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WeightedOverlap {
    pub(crate) i: usize,
    pub(crate) j: usize,
    pub(crate) weight: f64,
}

/// Returns the at most `n + m - 1` intervals of two sorted samples with weights of at least 0 that sum to 1, up to
/// rounding. No interval holds a value of weight zero.
pub(crate) fn weighted_overlaps(a: &[f64], b: &[f64]) -> impl Iterator<Item = WeightedOverlap> {
    let (mut i, mut j, mut start) = (0, 0, 0.0);
    let (mut end_i, mut end_j) = (a[0], b[0]);
    std::iter::from_fn(move || {
        while i < a.len() && j < b.len() {
            let end = f64::min(end_i, end_j);
            let (weight, overlap_i, overlap_j) = (end - start, i, j);
            start = end;
            if end == end_i {
                i += 1;
                end_i += a.get(i).unwrap_or(&0.0);
            }
            if end == end_j {
                j += 1;
                end_j += b.get(j).unwrap_or(&0.0);
            }
            if weight > 0.0 {
                return Some(WeightedOverlap {
                    i: overlap_i,
                    j: overlap_j,
                    weight,
                });
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_paper() {
        for n in 1..14_u64 {
            for m in 1..14_u64 {
                let mut merged = vec![0; (n * m) as usize];
                for o in overlaps(n as usize, m as usize) {
                    assert!(o.weight > 0);
                    merged[o.i * m as usize + o.j] += o.weight;
                }
                for i in 0..n {
                    for j in 0..m {
                        // |((i)/n, (i+1)/n] and ((j)/m, (j+1)/m]| in units of 1/(nm).
                        let low = (i * m).max(j * n);
                        let high = ((i + 1) * m).min((j + 1) * n);
                        assert_eq!(merged[(i * m + j) as usize], high.saturating_sub(low));
                    }
                }
            }
        }
    }
}
