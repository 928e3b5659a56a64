//! Reuse of buffers.
//!
//! A step goes through tens of megabytes of activations and cotangents. Fresh memory for each of them costs a page
//! fault every four kilobytes, a quarter of a step's time. So a dropped buffer waits here for the next one of its
//! length.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{LazyLock, Mutex, PoisonError};

use super::lanes::{LANES, Lanes8};

/// The largest number of waiting groups of eight lanes: 256 MiB.
const LIMIT: usize = 1 << 23;

/// The waiting buffers, by length.
#[derive(Default)]
struct Spares {
    by_length: BTreeMap<usize, Vec<Vec<Lanes8>>>,
    groups: usize,
}

static SPARES: LazyLock<Mutex<Spares>> = LazyLock::new(Mutex::default);

/// A buffer of groups of eight lanes, which returns to the spare ones when it is dropped.
#[derive(Default)]
pub(crate) struct Buffer(Vec<Lanes8>);

impl Buffer {
    /// Takes a buffer of `length` zeros.
    pub(crate) fn zeros(length: usize) -> Self {
        let mut buffer = Self::take(length);
        buffer.fill(Lanes8::default());
        buffer
    }

    /// Takes a buffer of `length` groups of eight lanes, with the values of its last user: the caller writes every
    /// group before it reads it.
    ///
    /// With debug assertions the groups hold NaN, so that reading an unwritten group fails every test.
    pub(crate) fn scratch(length: usize) -> Self {
        let mut buffer = Self::take(length);
        if cfg!(debug_assertions) {
            buffer.fill(Lanes8([f32::NAN; LANES]));
        }
        buffer
    }

    fn take(length: usize) -> Self {
        let mut spares = SPARES.lock().unwrap_or_else(PoisonError::into_inner);
        let spare = spares.by_length.get_mut(&length).and_then(Vec::pop);
        if spare.is_some() {
            spares.groups -= length;
        }
        drop(spares);
        Self(spare.unwrap_or_else(|| vec![Lanes8::default(); length]))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        if buffer.is_empty() {
            return;
        }
        let mut spares = SPARES.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.groups + buffer.len() <= LIMIT {
            spares.groups += buffer.len();
            spares
                .by_length
                .entry(buffer.len())
                .or_default()
                .push(buffer);
        }
    }
}

impl Deref for Buffer {
    type Target = [Lanes8];

    fn deref(&self) -> &[Lanes8] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [Lanes8] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_zeros_is_zero_whatever_was_there() {
        Buffer::scratch(12_345).fill(Lanes8([1.0; LANES]));
        let again = Buffer::zeros(12_345);
        assert_eq!(again.len(), 12_345);
        assert!(again.iter().all(|group| *group == Lanes8::default()));
    }
}
