//! Values that were released once and are kept, so that a run that was killed afterwards does not release them again.

use std::path::Path;

use crate::checkpoint::hex;
use crate::diagnostic::Failure;
use crate::run_folder::RunFolder;

/// Values that have left, with the deviation of the noise in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Released {
    /// The values of each group.
    pub groups: Vec<Vec<f64>>,
    /// The standard deviation of their noise, 0 without privacy.
    pub deviation: f64,
}

impl Released {
    /// What `RUN/NAME.bin` holds; none where nothing was released by this name.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a file that is damaged, or in the form of an earlier version: what was released
    /// cannot be had again for nothing.
    pub fn read(folder: &RunFolder, name: &str) -> Result<Option<Self>, Failure> {
        let path = folder.file(&format!("{name}.bin"));
        if !path.exists() {
            let earlier = folder.file(&format!("{name}.json"));
            if earlier.exists() {
                return Err(Failure::input(
                    format!("{}: it is of an earlier version", earlier.display()),
                    "use the program that started the run: what was released is in the ledger and is spent",
                ));
            }
            return Ok(None);
        }
        let bytes = std::fs::read(&path).map_err(|e| refused(&path, &e))?;
        let damaged = || refused(&path, &"it is damaged");
        let (sum, body) = bytes.split_at_checked(64).ok_or_else(damaged)?;
        if hex(body).as_bytes() != sum {
            return Err(damaged());
        }
        let (words, _) = body.as_chunks::<8>();
        let [_, deviation, rest @ ..] = words else {
            return Err(damaged());
        };
        let mut rest = rest;
        let mut groups = Vec::new();
        while let Some((&length, values)) = rest.split_first() {
            let length = u64::from_le_bytes(length) as usize;
            let (group, after) = values.split_at_checked(length).ok_or_else(damaged)?;
            groups.push(group.iter().map(|&v| f64::from_le_bytes(v)).collect());
            rest = after;
        }
        let deviation = f64::from_le_bytes(*deviation);
        Ok(Some(Self { groups, deviation }))
    }

    /// Keeps a release as `RUN/NAME.bin`, little-endian in words of 8 bytes behind their checksum: how many
    /// `releases` the ledger holds with it, the deviation, and each group behind its length.
    ///
    /// # Errors
    ///
    /// As [`RunFolder::write`].
    pub fn write(&self, folder: &RunFolder, name: &str, releases: u64) -> Result<(), Failure> {
        let mut bytes = releases.to_le_bytes().to_vec();
        bytes.extend(self.deviation.to_le_bytes());
        for group in &self.groups {
            bytes.extend((group.len() as u64).to_le_bytes());
            bytes.extend(group.iter().flat_map(|v| v.to_le_bytes()));
        }
        let sum = hex(&bytes);
        let bytes = [sum.into_bytes(), bytes].concat();
        folder.write(&format!("{name}.bin"), &bytes).map(|_| ())
    }
}

fn refused(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::input(
        format!("{}: {why}", path.display()),
        "start the run anew: what was released is in the ledger and is spent",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_released_is_read_whole_or_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&place.path().join("run")).unwrap();
        assert_eq!(Released::read(&folder, "sums").unwrap(), None);
        let released = Released {
            groups: vec![vec![0.1, -3.0], vec![], vec![f64::MIN_POSITIVE]],
            deviation: 0.3,
        };
        released.write(&folder, "sums", 7).unwrap();
        assert_eq!(Released::read(&folder, "sums").unwrap(), Some(released));
        let path = folder.file("sums.bin");
        let whole = std::fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() - 8], &whole[1..], b"{}"] {
            std::fs::write(&path, damaged).unwrap();
            assert!(Released::read(&folder, "sums").is_err());
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::write(folder.file("sums.json"), "{}").unwrap();
        let refusal = Released::read(&folder, "sums").unwrap_err().to_string();
        assert!(refusal.contains("earlier version"), "{refusal}");
    }
}
