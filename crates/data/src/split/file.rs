use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{damaged, remedy};
use crate::DataError;
use crate::error::io;
use crate::sums::{hex, sha256, unhex};

const FORMAT: &str = "sliver split 1";
/// The most bytes that are read of a split file: some 250 million records.
const MAX_BYTES: u64 = 64 << 20;

/// The content of a split file, in the order of its lines.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Content {
    pub format: String,
    pub dataset: String,
    pub records: usize,
    pub sha256: String,
    pub seed: u64,
    pub stratified: bool,
    pub public_records: usize,
    pub private_records: usize,
    /// Hexadecimal bytes: bit i % 8 (the lowest first) of byte i / 8 is set if record i is public.
    pub public: String,
    /// The SHA-256 of the text of the file with this string empty.
    pub checksum: String,
}

debug_shows!(Content {
    format,
    dataset,
    records
});

impl Content {
    /// Fills in the public records of a content whose other fields are filled in.
    pub(super) fn with_public(mut self, public: &[usize]) -> Self {
        let mut bits = vec![0_u8; self.records.div_ceil(8)];
        for &index in public {
            if let Some(byte) = bits.get_mut(index / 8) {
                *byte |= 1 << (index % 8);
            }
        }
        self.format = FORMAT.into();
        self.public = hex(bits);
        self
    }

    /// Returns the text of the file, with its checksum.
    pub(super) fn render(&self) -> String {
        let mut sealed = self.clone();
        sealed.checksum = self.sum();
        sealed.text()
    }

    /// Reads and checks a split file, or returns `None` if there is no file.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, DataError> {
        let damaged = |reason: &str| damaged(path, reason);
        let text = match text(path) {
            Ok(text) if text.len() as u64 > MAX_BYTES => {
                return Err(damaged(&format!("it has more than {MAX_BYTES} bytes")));
            }
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(damaged("it is not text"));
            }
            Err(error) => return Err(io(path, "read the file")(error)),
        };
        // The message leaves out the content of the file.
        let content: Self = serde_json::from_str(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            damaged(&format!("line {line}, column {column} is not as it was"))
        })?;
        if content.format != FORMAT {
            return Err(damaged(&format!("it is not of the format '{FORMAT}'")));
        }
        if content.checksum != content.sum() {
            let path = path.display().to_string();
            return Err(DataError::Split(format!(
                "{path}: changed since it was written: its checksum is not that of its content; {}",
                remedy(&path)
            )));
        }
        if content.text() != text {
            return Err(damaged("it is not laid out as it was written"));
        }
        Ok(Some(content))
    }

    /// Returns the public and the private indices, ascending, or an error about the counts.
    pub(super) fn records(&self) -> Result<(Vec<usize>, Vec<usize>), String> {
        let bits = unhex(&self.public).ok_or("its list of public records is not hexadecimal")?;
        if bits.len() != self.records.div_ceil(8) {
            return Err(format!(
                "expected {} bytes of public records, found {}",
                self.records.div_ceil(8),
                bits.len()
            ));
        }
        let is_public = |&index: &usize| (bits[index / 8] >> (index % 8)) & 1 == 1;
        let (public, private): (Vec<_>, Vec<_>) = (0..self.records).partition(is_public);
        let ones: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
        if ones as usize != public.len()
            || public.len() != self.public_records
            || private.len() != self.private_records
        {
            return Err(format!(
                "expected {} public and {} private of {} records, found {ones} public",
                self.public_records, self.private_records, self.records
            ));
        }
        Ok((public, private))
    }

    fn sum(&self) -> String {
        let mut open = self.clone();
        open.checksum.clear();
        sha256(open.text())
    }

    fn text(&self) -> String {
        // The fields are numbers, booleans and strings, which JSON can always hold.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)?;
    Ok(text)
}
