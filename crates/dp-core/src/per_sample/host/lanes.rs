//! Eight records side by side: the layout of the host kernels.
//!
//! Buffers of the host kernels hold one group of eight lanes, [`Lanes8`], for each feature of eight records. So every
//! operation on features is one vector instruction without a remainder, whatever the size of an image plane or of a
//! layer. The last block of a chunk may have lanes without a record: their input is zero, and they add nothing to a
//! sum over records.

use super::Buffer;

/// The number of records in a block, which the host kernels compute side by side.
pub const LANES: usize = 8;

/// One feature of the [`LANES`] records of a block.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C, align(32))]
pub(crate) struct Lanes8(pub [f32; LANES]);

/// The `f64` values of one feature of a block, for weighting before they are rounded.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Wide8(pub [f64; LANES]);

/// The number of blocks that hold `n` records.
pub(super) fn blocks(n: usize) -> usize {
    n.div_ceil(LANES)
}

/// Converts rows `[n, features]` to groups of eight lanes `[blocks, features]`.
pub(super) fn interleave(n: usize, features: usize, rows: &[f32]) -> Buffer {
    let mut groups = Buffer::zeros(blocks(n) * features);
    for (block, eight) in groups
        .chunks_exact_mut(features.max(1))
        .zip(rows.chunks((features * LANES).max(1)))
    {
        for (lane, row) in eight.chunks_exact(features).enumerate() {
            for (group, &value) in block.iter_mut().zip(row) {
                group.0[lane] = value;
            }
        }
    }
    groups
}

/// Does [`interleave`] in `f64`.
pub(super) fn interleave_wide(
    n: usize,
    features: usize,
    rows: &[impl Copy + Into<f64>],
) -> Vec<Wide8> {
    let mut groups = vec![Wide8::default(); blocks(n) * features];
    for (record, row) in rows.chunks_exact(features.max(1)).enumerate().take(n) {
        let block = &mut groups[record / LANES * features..][..features];
        for (group, &value) in block.iter_mut().zip(row) {
            group.0[record % LANES] = value.into();
        }
    }
    groups
}

/// Converts groups of eight lanes `[blocks, features]` to rows `[n, features]`.
pub(super) fn separate(n: usize, features: usize, groups: &[Lanes8]) -> Vec<f32> {
    let mut rows = vec![0.0; n * features];
    for (block, eight) in groups
        .chunks_exact(features.max(1))
        .zip(rows.chunks_mut((features * LANES).max(1)))
    {
        for (lane, row) in eight.chunks_exact_mut(features).enumerate() {
            for (value, group) in row.iter_mut().zip(block) {
                *value = group.0[lane];
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_undoes_interleave() {
        for (n, features) in [(1, 3), (8, 1), (13, 5), (16, 2), (0, 4)] {
            let rows: Vec<f32> = (0..n * features).map(|i| i as f32).collect();
            let groups = interleave(n, features, &rows);
            assert_eq!(groups.len(), blocks(n) * features);
            assert_eq!(separate(n, features, &groups), rows);
        }
    }
}
