//! Stable sort-and-rank on the host: the ranks that the sensitivity rests on.
//!
//! The sensitivity of the transport gradient holds only if equal keys keep the order of their index,
//! and the index does not depend on the data. With an unstable sort, ties (which clipping creates) let
//! one record move all others. Keys are ordered by the total order of `f32` (`-0.0` before `0.0`), then
//! by index. The two zeros may differ: the order still never puts a larger number before a smaller one,
//! and a record's place in it depends on nothing but the record's own key and index.

use std::cell::RefCell;

use rayon::prelude::*;

use crate::SwdError;

/// Rows of at least this length are sorted by three digits of 11 bits, shorter ones by four of 8. For a short row, one pass
/// less does not pay for the counts of 2048 values of each digit (measured: they cross between 600 and 2000).
const WIDE_FROM: usize = 1500;

/// Returns the stable order of one row: `order[r]` is the index of the key of rank `r`, counted from 0.
///
/// Keys compare by [`f32::total_cmp`], equal ones by index.
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

/// Returns the stable orders of many rows, in parallel.
///
/// `keys` holds rows of `n` keys, and so does the result: `order[row * n + r]` is the index, within its row, of the key
/// of rank `r`.
///
/// # Errors
/// A length that is no multiple of `n`, more than 2^32 keys in a row, or a NaN (the first one in row order).
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

/// Returns the [`stable_orders`] of whole rows of at most 2^32, in the total order, in which a NaN has a place too.
pub(crate) fn total_orders(keys: &[f32], n: usize) -> Vec<u32> {
    let mut order = vec![0; keys.len()];
    if n > 0 {
        order
            .par_chunks_mut(n)
            .zip(keys.par_chunks(n))
            .for_each(|(order, keys)| {
                Sorter::here(|sorter| {
                    let keys = sorter.load(keys.iter().copied());
                    keys.place(|index, rank| order[rank] = index as u32);
                });
            });
    }
    order
}

/// Returns the ranks that belong to orders: `ranks[row * n + order[row * n + r]] = r`.
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

/// The working memory of one thread for sorting rows.
#[derive(Default)]
pub(crate) struct Sorter {
    keys: Vec<u32>,
    space: [Vec<u64>; 2],
    values: Vec<f64>,
    sorted: Vec<f64>,
}

impl Sorter {
    /// Lends this thread's sorter. Its memory is kept from one row, and one call, to the next, because
    /// fresh memory costs more than sorting.
    pub(crate) fn here<R>(work: impl FnOnce(&mut Self) -> R) -> R {
        thread_local! {
            static HERE: RefCell<Sorter> = RefCell::default();
        }
        HERE.with_borrow_mut(work)
    }

    /// Takes the keys of one row, fewer than 2^32, to be sorted by [`Sorter::place`].
    pub(crate) fn load(&mut self, keys: impl Iterator<Item = f32>) -> &mut Self {
        self.keys.clear();
        self.keys.extend(keys.map(ordered_bits));
        self
    }

    /// Sorts the loaded keys and passes each index with its rank to `visit`, in any order.
    ///
    /// An entry holds the key in its upper half and the index in its lower. Entries start in index order, so ties keep it.
    pub(crate) fn place(&mut self, mut visit: impl FnMut(usize, usize)) {
        let Self { keys, space, .. } = self;
        let entries = keys.iter().zip(0_u64..);
        let entries = entries.map(|(&key, index)| u64::from(key) << 32 | index);
        let key = |entry| (entry >> 32) as u32;
        sort_entries(keys, entries, key, space, |entry, rank| {
            visit(entry as u32 as usize, rank);
        });
    }

    /// Sorts the `n` values that `fill` writes, none of them a NaN, by [`f64::total_cmp`].
    pub(crate) fn sorted_values(&mut self, n: usize, fill: impl FnOnce(&mut [f64])) -> &[f64] {
        let Self {
            keys,
            space,
            values,
            sorted,
        } = self;
        values.resize(n, 0.0);
        sorted.resize(n, 0.0);
        fill(values);
        keys.clear();
        keys.extend(values.iter().map(|&x| ordered_bits(x as f32)));
        let entries = values.iter().map(|x| x.to_bits());
        let key = |entry| ordered_bits(f64::from_bits(entry) as f32);
        sort_entries(keys, entries, key, space, |entry, rank| {
            sorted[rank] = f64::from_bits(entry);
        });
        sort_within_keys(sorted);
        sorted
    }
}

/// Sorts entries by their keys, stably, and passes each with its rank to `visit`.
fn sort_entries(
    keys: &[u32],
    entries: impl Iterator<Item = u64>,
    key: impl Fn(u64) -> u32 + Copy,
    space: &mut [Vec<u64>; 2],
    visit: impl FnMut(u64, usize),
) {
    if keys.len() < WIDE_FROM {
        radix::<4, 256>(keys, entries, key, space, visit);
    } else {
        radix::<3, 2048>(keys, entries, key, space, visit);
    }
}

/// Sorts by stable passes over the digits of the keys, the lowest first; a digit that all keys share needs no pass. The first
/// pass reads the entries as they are made and the last one visits, so neither needs space for them.
fn radix<const DIGITS: usize, const VALUES: usize>(
    keys: &[u32],
    entries: impl Iterator<Item = u64>,
    key: impl Fn(u64) -> u32 + Copy,
    [from, to]: &mut [Vec<u64>; 2],
    mut visit: impl FnMut(u64, usize),
) {
    let mut starts = [[0_u32; VALUES]; DIGITS];
    for &key in keys {
        for (digit, counts) in starts.iter_mut().enumerate() {
            counts[(key >> (digit as u32 * VALUES.ilog2())) as usize % VALUES] += 1;
        }
    }
    let mut digits = Vec::with_capacity(DIGITS);
    for (digit, counts) in starts.iter_mut().enumerate() {
        let mut start = 0;
        let mut most = 0;
        for count in counts.iter_mut() {
            most = most.max(*count);
            (start, *count) = (start + *count, start);
        }
        if (most as usize) < keys.len() {
            digits.push((digit as u32 * VALUES.ilog2(), counts));
        }
    }
    let Some((last, before)) = digits.split_last_mut() else {
        return entries
            .zip(0..)
            .for_each(|(entry, rank)| visit(entry, rank));
    };
    let Some((first, between)) = before.split_first_mut() else {
        return pass(entries, key, last, visit);
    };
    from.resize(keys.len(), 0);
    to.resize(keys.len(), 0);
    pass(entries, key, first, |entry, place| from[place] = entry);
    for digit in between {
        let entries = from.iter().copied();
        pass(entries, key, digit, |entry, place| to[place] = entry);
        std::mem::swap(from, to);
    }
    pass(from.iter().copied(), key, last, visit);
}

/// Gives each entry its place by one digit, which is given by its shift and by the start of each of its values.
fn pass<const VALUES: usize>(
    entries: impl Iterator<Item = u64>,
    key: impl Fn(u64) -> u32,
    (shift, starts): &mut (u32, &mut [u32; VALUES]),
    mut put: impl FnMut(u64, usize),
) {
    for entry in entries {
        let start = &mut starts[(key(entry) >> *shift) as usize % VALUES];
        put(entry, *start as usize);
        *start += 1;
    }
}

/// Sorts values whose roundings to `f32` are in order, and zeros by their sign. Rounding is monotone, so only values of one
/// rounding can be out of order.
fn sort_within_keys(values: &mut [f64]) {
    let key = |x: &f64| (*x as f32).to_bits();
    let mut next = 1;
    while next < values.len() {
        if values[next - 1] <= values[next] {
            next += 1;
            continue;
        }
        let same = key(&values[next]);
        let before = values[..next].iter().rev().take_while(|x| key(x) == same);
        let start = next - before.count();
        next += values[next..].iter().take_while(|x| key(x) == same).count();
        values[start..next].sort_unstable_by(f64::total_cmp);
    }
}

/// Maps `f32` to `u32` so that [`f32::total_cmp`] becomes the order of integers.
fn ordered_bits(key: f32) -> u32 {
    let bits = key.to_bits();
    bits ^ (((bits as i32 >> 31) as u32) | 1 << 31)
}

pub(crate) fn check_rows(len: usize, n: usize) -> Result<(), SwdError> {
    // One less than 2^32, so that counts of entries fit as well.
    let most = u32::MAX as usize;
    if n > most {
        return Err(SwdError::TooLong { found: n, most });
    }
    // The only multiple of zero is 0.
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

        /// NaNs of either sign and any payload have their place in the total order.
        #[test]
        fn any_bits_have_the_place_of_a_stable_sort(
            exponent in 0_u32..13,
            off in -1_i64..2,
            mask in prop::sample::select(vec![u32::MAX, 0xff, 0x7ff << 11, 0xff << 24, 0]),
            bits in prop::collection::vec(any::<u32>(), (1 << 12) + 1),
        ) {
            let n = ((1_i64 << exponent) + off) as usize;
            let keys: Vec<f32> = bits[..n].iter().map(|x| f32::from_bits(x & mask)).collect();
            prop_assert_eq!(total_orders(&keys, n), stable_order_reference(&keys));
        }

        #[test]
        fn values_of_one_rounding_are_sorted_too(
            n in 1_usize..2 * WIDE_FROM,
            values in prop::collection::vec((key(), -9_i8..10), 2 * WIDE_FROM),
        ) {
            let values = values.iter().map(|&(x, steps)| f64::from(x) * (1.0 + 1e-15 * f64::from(steps)));
            let values: Vec<f64> = values.take(n).collect();
            let mut expected = values.clone();
            expected.sort_by(f64::total_cmp);
            let mut sorter = Sorter::default();
            let sorted = sorter.sorted_values(n, |row| row.copy_from_slice(&values));
            let bits = |x: &[f64]| -> Vec<u64> { x.iter().map(|x| x.to_bits()).collect() };
            prop_assert_eq!(bits(sorted), bits(&expected));
        }
    }

    #[test]
    fn nan_is_an_error_that_names_its_place() {
        let keys = [0.0, 1.0, 2.0, 0.0, f32::NAN, -f32::NAN];
        let refused = stable_orders(&keys, 3);
        assert_eq!(refused, Err(SwdError::NotANumber { row: 1, index: 1 }));
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
