//! Stable sort-and-rank on the host: the order in which a replaced record can move the others.
//!
//! The sensitivity of the transport gradient holds only if equal keys keep the order of their index,
//! the index being independent of the data: with an unstable sort, ties (which clipping creates)
//! let one record move all others. Keys are ordered by the total order of `f32` (`-0.0` before
//! `0.0`), then by index. Setting the two zeros apart is harmless: the order still never puts a
//! larger number before a smaller one, and depends on nothing but the record's own key and index.

use std::cell::RefCell;

use rayon::prelude::*;

use crate::SwdError;

/// Rows from this length on are sorted by radix; shorter ones by comparison (measured: they cross
/// between one and ten thousand, and are close throughout).
const RADIX_FROM: usize = 1500;

/// The order of one row: `order[r]` is the index of the key of rank `r`, counted from 0.
///
/// Keys compare by [`f32::total_cmp`], equal ones by index (a stable sort).
///
/// ```
/// assert_eq!(swd::sort::stable_order(&[2.0, 1.0, 2.0, 0.5])?, [3, 1, 0, 2]);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// A NaN among the keys (reported as row 0), or more than 2^32 of them.
pub fn stable_order(keys: &[f32]) -> Result<Vec<u32>, SwdError> {
    stable_orders(keys, keys.len())
}

/// The orders of many rows in parallel: `keys` holds rows of `n` keys, and so does the result, where
/// `order[row * n + r]` is the index, within its row, of the key of rank `r`.
///
/// # Errors
/// A length that is no multiple of `n`, more than 2^32 keys in a row, or a NaN: the first one in row
/// order.
pub fn stable_orders(keys: &[f32], n: usize) -> Result<Vec<u32>, SwdError> {
    check_rows(keys.len(), n)?;
    if let Some(place) = keys.iter().position(|key| key.is_nan()) {
        return Err(SwdError::NotANumber {
            row: place / n,
            index: place % n,
        });
    }
    Ok(total_orders(keys, n))
}

/// [`stable_orders`] by the total order, in which a NaN has a place too; whole rows of at most 2^32.
pub(crate) fn total_orders(keys: &[f32], n: usize) -> Vec<u32> {
    let mut order = vec![0; keys.len()];
    if n > 0 {
        order
            .par_chunks_mut(n)
            .zip(keys.par_chunks(n))
            .for_each(|(order, keys)| {
                Sorter::here(|sorter| {
                    let sorted = sorter.sort(keys.iter().copied());
                    let places = order.iter_mut().zip(sorted);
                    places.for_each(|(place, entry)| *place = index(entry));
                });
            });
    }
    order
}

/// The ranks that belong to orders: `ranks[row * n + order[row * n + r]] = r`.
///
/// # Errors
/// A length that is no multiple of `n`, or an entry that is not below `n`.
pub fn ranks(order: &[u32], n: usize) -> Result<Vec<u32>, SwdError> {
    check_rows(order.len(), n)?;
    let mut ranks = vec![0; order.len()];
    if n > 0 {
        for (ranks, order) in ranks.chunks_mut(n).zip(order.chunks(n)) {
            for (rank, &place) in order.iter().enumerate() {
                *ranks.get_mut(place as usize).ok_or(SwdError::Length {
                    what: "row of an order",
                    found: place as usize + 1,
                    expected: n,
                })? = rank as u32;
            }
        }
    }
    Ok(ranks)
}

/// The index of a packed entry.
pub(crate) fn index(packed: &u64) -> u32 {
    *packed as u32
}

/// The working memory of one thread for sorting rows.
#[derive(Default)]
pub(crate) struct Sorter {
    packed: Vec<u64>,
    spare: Vec<u64>,
    values: Vec<f64>,
}

impl Sorter {
    /// Lends this thread's sorter: its memory is kept from one row, and one call, to the next, because
    /// fresh memory costs more than sorting.
    pub(crate) fn here<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        thread_local! {
            static HERE: RefCell<Sorter> = RefCell::default();
        }
        HERE.with_borrow_mut(work)
    }

    /// Sorts one row of at most 2^32 keys and gives the entries in order; [`index`] reads them.
    ///
    /// An entry is the key, mapped to the integer of the same order, above the index: entries are
    /// distinct, so any correct sort of them is the stable sort of the keys.
    pub(crate) fn sort(&mut self, keys: impl Iterator<Item = f32>) -> &[u64] {
        self.packed.clear();
        self.packed.extend(
            keys.enumerate()
                .map(|(index, key)| u64::from(ordered_bits(key)) << 32 | index as u64),
        );
        if self.packed.len() < RADIX_FROM {
            self.packed.sort_unstable();
        } else {
            self.sort_by_radix();
        }
        &self.packed
    }

    /// The `n` values that `fill` gives, sorted by [`f64::total_cmp`].
    pub(crate) fn sorted_values(&mut self, n: usize, fill: impl FnOnce(&mut [f64])) -> &[f64] {
        let mut values = std::mem::take(&mut self.values);
        values.resize(n, 0.0);
        fill(&mut values);
        self.sort_values(&mut values);
        self.values = values;
        &self.values
    }

    /// Sorts `values` by [`f64::total_cmp`]: by radix on their first 33 bits, then those that share them.
    fn sort_values(&mut self, values: &mut [f64]) {
        if values.len() < RADIX_FROM {
            return values.sort_unstable_by(f64::total_cmp);
        }
        self.packed.clear();
        self.packed
            .extend(values.iter().map(|&x| ordered_bits_f64(x)));
        self.radix([(31, 0x7ff), (42, 0x7ff), (53, 0x7ff)]);
        for same in self.packed.chunk_by_mut(|a, b| a >> 31 == b >> 31) {
            if same.len() > 1 {
                same.sort_unstable();
            }
        }
        for (value, &bits) in values.iter_mut().zip(&self.packed) {
            *value = value_of_bits(bits);
        }
    }

    /// Three passes of 11, 11 and 10 bits over the key; each pass is stable, and the entries start
    /// in the order of their index.
    fn sort_by_radix(&mut self) {
        self.radix([(32, 0x7ff), (43, 0x7ff), (54, 0x3ff)]);
    }

    /// Stable passes over the parts `(shift, mask)` of the entries, the lowest first.
    fn radix(&mut self, bits: [(u32, u64); 3]) {
        let mut counts = [[0_u32; 1 << 11]; 3];
        for entry in &self.packed {
            for (counts, (shift, mask)) in counts.iter_mut().zip(bits) {
                counts[(entry >> shift & mask) as usize] += 1;
            }
        }
        self.spare.resize(self.packed.len(), 0);
        for (counts, (shift, mask)) in counts.iter_mut().zip(bits) {
            let mut start = 0;
            for count in counts.iter_mut() {
                (start, *count) = (start + *count, start);
            }
            for &entry in &self.packed {
                let place = &mut counts[(entry >> shift & mask) as usize];
                self.spare[*place as usize] = entry;
                *place += 1;
            }
            std::mem::swap(&mut self.packed, &mut self.spare);
        }
    }
}

/// The map from `f64` to `u64` that carries [`f64::total_cmp`] to the order of integers.
fn ordered_bits_f64(value: f64) -> u64 {
    let bits = value.to_bits();
    bits ^ (((bits as i64 >> 63) as u64) | 1 << 63)
}

/// The inverse of [`ordered_bits_f64`].
fn value_of_bits(ordered: u64) -> f64 {
    f64::from_bits(ordered ^ (((!ordered as i64 >> 63) as u64) | 1 << 63))
}

/// The map from `f32` to `u32` that carries [`f32::total_cmp`] to the order of integers.
fn ordered_bits(key: f32) -> u32 {
    let bits = key.to_bits();
    if bits >> 31 == 1 {
        !bits
    } else {
        bits | 1 << 31
    }
}

pub(crate) fn check_rows(len: usize, n: usize) -> Result<(), SwdError> {
    // One less than 2^32, so that counts of entries fit as well.
    let most = u32::MAX as usize;
    if n > most {
        return Err(SwdError::TooLong { found: n, most });
    }
    // Zero has the one multiple 0.
    if !len.is_multiple_of(n) {
        return Err(SwdError::Length {
            what: "rows",
            found: len,
            expected: len.checked_div(n).unwrap_or(0) * n,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The obvious version of [`stable_order`].
    fn stable_order_reference(keys: &[f32]) -> Vec<u32> {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]));
        order
    }

    fn key() -> impl Strategy<Value = f32> {
        prop_oneof![
            5 => prop::sample::select(vec![-1.5_f32, -0.0, 0.0, 1e-40, 0.25, 1.5]),
            1 => -2.0_f32..2.0,
            1 => prop::sample::select(vec![f32::INFINITY, f32::NEG_INFINITY, f32::MIN, f32::MAX]),
        ]
    }

    #[test]
    fn values_sort_like_comparisons() {
        use rand::{RngExt, SeedableRng};
        let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(4);
        for (count, spread) in [(10, 1.0), (5000, 1.0), (5000, 1e-9), (3000, 1e300)] {
            let mut values: Vec<f64> = (0..count)
                .map(|i| [0.0, -0.0, 1.0][i % 3] + spread * rng.random_range(-1.0..1.0))
                .collect();
            let mut expected = values.clone();
            expected.sort_by(f64::total_cmp);
            Sorter::default().sort_values(&mut values);
            assert!(
                values
                    .iter()
                    .zip(&expected)
                    .all(|(a, b)| a.to_bits() == b.to_bits())
            );
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_stable_sort(
            n in 1_usize..80,
            keys in prop::collection::vec(key(), 0..400),
        ) {
            let rows = keys.len() / n;
            let keys = &keys[..rows * n];
            let order = stable_orders(keys, n).unwrap();
            let expected: Vec<u32> = keys.chunks(n).flat_map(stable_order_reference).collect();
            prop_assert_eq!(&order, &expected);
            let ranks = ranks(&order, n).unwrap();
            for (row, ranks) in ranks.chunks(n).enumerate() {
                for (index, &rank) in ranks.iter().enumerate() {
                    prop_assert_eq!(order[row * n + rank as usize] as usize, index);
                }
            }
        }

        #[test]
        fn long_rows_agree_too(
            n in RADIX_FROM - 2..3 * RADIX_FROM,
            keys in prop::collection::vec(key(), 3 * RADIX_FROM),
        ) {
            let keys = &keys[..n];
            prop_assert_eq!(stable_order(keys).unwrap(), stable_order_reference(keys));
        }
    }

    #[test]
    fn nan_is_an_error_that_names_its_place() {
        let keys = [0.0, 1.0, 2.0, 0.0, f32::NAN, -f32::NAN];
        assert_eq!(
            stable_orders(&keys, 3),
            Err(SwdError::NotANumber { row: 1, index: 1 })
        );
    }

    #[test]
    fn lengths_must_fit() {
        assert!(stable_orders(&[0.0; 5], 3).is_err());
        assert!(stable_orders(&[0.0; 5], 0).is_err());
        assert_eq!(stable_orders(&[], 0), Ok(vec![]));
        assert_eq!(stable_orders(&[], 3), Ok(vec![]));
        assert!(ranks(&[0, 3], 2).is_err());
    }
}
