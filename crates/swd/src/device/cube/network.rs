//! The sorting network, on the keys and indices of one tile in shared memory.
//!
//! The network is bitonic, in the form whose first pass of each merge compares mirror images: every
//! comparator puts the smaller entry at the lower place. Entries beyond the end of a row would be the largest
//! and at the highest places already, so a comparator whose higher place is beyond the end does nothing.

use burn_cubecl::cubecl;
use burn_cubecl::cubecl::prelude::*;

use super::Answer;

/// Maps the bits of a float to an integer of the same order: [`f32::total_cmp`].
#[cube]
pub(super) fn ordered(bits: u32) -> u32 {
    select(bits >= 0x8000_0000u32, !bits, bits ^ 0x8000_0000u32)
}

/// Returns the float whose [`ordered`] integer this is.
#[cube]
pub(super) fn float(ordered: u32) -> f32 {
    f32::reinterpret(select(
        ordered >= 0x8000_0000u32,
        ordered ^ 0x8000_0000u32,
        !ordered,
    ))
}

/// Whether entry `a` comes after entry `b`: by key, then by index.
#[cube]
pub(super) fn after(key_a: u32, index_a: u32, key_b: u32, index_b: u32) -> bool {
    key_a > key_b || (key_a == key_b && index_a > index_b)
}

#[cube]
fn compare(keys: &mut Shared<[u32]>, indices: &mut Shared<[u32]>, low: usize, high: usize) {
    let key_low = keys[low];
    let key_high = keys[high];
    let index_low = indices[low];
    let index_high = indices[high];
    if after(key_low, index_low, key_high, index_high) {
        keys[low] = key_high;
        keys[high] = key_low;
        indices[low] = index_high;
        indices[high] = index_low;
    }
}

/// Returns the smaller of two lengths.
#[cube]
pub(super) fn least(a: usize, #[comptime] b: usize) -> usize {
    select(a < b, a, b)
}

/// Returns the lower place of comparator `c` among those of stride `half`, a power of two.
#[cube]
pub(super) fn lower(c: usize, half: usize) -> usize {
    (c / half) * half * 2 + c % half
}

/// Returns the partner of `low` in the mirrored pass that joins blocks of `half`.
#[cube]
pub(super) fn mirrored(low: usize, half: usize) -> usize {
    let place = low % (half * 2);
    low - place + half * 2 - 1 - place
}

/// Runs the passes of strides `half`, `half / 2`, ..., 1, over the first `length` entries of a tile.
#[cube]
pub(super) fn merge(
    keys: &mut Shared<[u32]>,
    indices: &mut Shared<[u32]>,
    length: usize,
    first: usize,
    #[comptime] tile: usize,
    #[comptime] units: usize,
) {
    let mut half = first;
    while half > 0 {
        let mut c = UNIT_POS as usize;
        while c < tile / 2 {
            let low = lower(c, half);
            if low + half < length {
                compare(keys, indices, low, low + half);
            }
            c += units;
        }
        sync_cube();
        half /= 2;
    }
}

/// Sorts the first `length` entries of a tile.
#[cube]
pub(super) fn sort(
    keys: &mut Shared<[u32]>,
    indices: &mut Shared<[u32]>,
    length: usize,
    #[comptime] tile: usize,
    #[comptime] units: usize,
) {
    let mut half = 1usize;
    while half < tile {
        let mut c = UNIT_POS as usize;
        while c < tile / 2 {
            let low = lower(c, half);
            let high = mirrored(low, half);
            if high < length {
                compare(keys, indices, low, high);
            }
            c += units;
        }
        sync_cube();
        merge(keys, indices, length, half / 2, tile, units);
        half *= 2;
    }
}

/// Writes the result for the entry of rank `rank` in its row.
///
/// `start`: where the row begins in the result; `cell`: the place of the cell of this rank.
#[cube]
pub(super) fn write(
    key: u32,
    index: u32,
    rank: usize,
    start: usize,
    cells: &Tensor<f32>,
    cell: usize,
    output: &mut Tensor<u32>,
    #[comptime] answer: Answer,
) {
    match comptime!(answer) {
        Answer::Order => output[start + rank] = index,
        Answer::Ranks => output[start + index as usize] = rank as u32,
        Answer::Residual => {
            output[start + index as usize] = u32::reinterpret(float(key) - cells[cell]);
        }
    }
}
