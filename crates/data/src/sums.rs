//! Computes SHA-256 checksums, and converts bytes to and from hexadecimal digits.

use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::DataError;
use crate::error::{io as failed, open};

pub(crate) fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex(sum([bytes]))
}

/// Returns the SHA-256 of parts, one after the other.
pub(crate) fn sum(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> [u8; 32] {
    let mut sum = Sha256::new();
    parts.into_iter().for_each(|part| sum.update(part));
    sum.finalize().into()
}

/// A running SHA-256 of records of one kind.
pub(crate) struct Sum(Sha256);

impl Sum {
    /// Begins with the kind and the numbers of its header, of 8 bytes each with the lowest byte first.
    pub(crate) fn of(kind: &str, header: &[usize]) -> Self {
        let mut sum = Sha256::new_with_prefix(kind);
        for &number in header {
            sum.update((number as u64).to_le_bytes());
        }
        Self(sum)
    }

    pub(crate) fn add(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    pub(crate) fn hex(self) -> String {
        hex(self.0.finalize())
    }
}

pub(crate) fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

/// Returns the bytes of an even number of digits.
pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    if digits.len() % 2 == 1 {
        return None;
    }
    digits
        .chunks(2)
        .map(|pair| Some((value(pair[0])? << 4) | value(pair[1])?))
        .collect()
}

/// Returns the SHA-256 of a file, which need not fit into memory.
pub(crate) fn file_sum(path: &Path) -> Result<[u8; 32], DataError> {
    let mut hashed = Hashed::new(open(path)?);
    io::copy(&mut hashed, &mut io::sink()).map_err(failed(path, "read the file"))?;
    Ok(hashed.sum())
}

/// A text whose SHA-256 is computed while it is read.
pub(crate) struct Hashed<R> {
    text: R,
    sum: Sha256,
}

impl<R> Hashed<R> {
    pub(crate) fn new(text: R) -> Self {
        Self {
            text,
            sum: Sha256::new(),
        }
    }

    /// Returns the SHA-256 of the bytes that were read.
    pub(crate) fn sum(self) -> [u8; 32] {
        self.sum.finalize().into()
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read(bytes)?;
        self.sum.update(&bytes[..count]);
        Ok(count)
    }
}
