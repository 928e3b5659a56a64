//! A folder that appears whole or not at all however the program ends. If the power fails soon after, its PNG files may be
//! empty: to flush each of them takes longer than to make it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use files::atomic::{folder, rename};
use lab::diagnostic::Failure;
use tempfile::TempDir;

use super::card::CARD;

/// Where an export goes, and where it is made until then.
pub(crate) struct Destination {
    to: PathBuf,
    part: TempDir,
}

impl Destination {
    /// Refuses a folder that exists, but for an earlier export with `force`, and a disk without room for `bytes`.
    pub(crate) fn check(to: &Path, force: bool, bytes: u64) -> Result<(), Failure> {
        let shown = to.display();
        if to.exists() && !force {
            return Err(Failure::input(
                format!("--export {shown}: this path exists already"),
                "name a folder that does not exist yet, or say --force; nothing was overwritten",
            ));
        }
        if to.exists() && !to.join(CARD).is_file() {
            return Err(Failure::input(
                format!("--export {shown}: there is no {CARD}, so no earlier export"),
                "--force replaces exports alone: name another folder",
            ));
        }
        match room(above(to)) {
            Some(free) if free < bytes => Err(Failure::input(
                format!(
                    "--export {shown}: about {} MB are needed, and {} MB are free",
                    bytes >> 20,
                    free >> 20
                ),
                "free some space, or ask for fewer --count or --format",
            )),
            _ => Ok(()),
        }
    }

    /// A folder to write to, beside its last place.
    pub(crate) fn new(to: &Path, force: bool, bytes: u64) -> Result<Self, Failure> {
        Self::check(to, force, bytes)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".export-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let parent = folder(to);
        let part = fs::create_dir_all(parent).and_then(|()| builder.tempdir_in(parent));
        let part = part.map_err(|e| {
            Failure::input(
                format!("--export {}: {e}", to.display()),
                "name a folder that can be written",
            )
        })?;
        let to = to.to_path_buf();
        Ok(Self { to, part })
    }

    /// Where it is made.
    pub(crate) fn path(&self) -> &Path {
        self.part.path()
    }

    /// Puts it in its place, which it gives; an earlier export goes when the new one is there.
    pub(crate) fn finish(self) -> Result<PathBuf, Failure> {
        let failed =
            |e: std::io::Error| Failure::failed(format!("--export {}: {e}", self.to.display()));
        if self.to.exists() {
            let old = tempfile::tempdir_in(folder(&self.to)).map_err(failed)?;
            let aside = old.path().join("old");
            rename(&self.to, &aside).map_err(failed)?;
            if let Err(e) = rename(self.part.path(), &self.to) {
                let _ = rename(&aside, &self.to);
                return Err(failed(e));
            }
        } else {
            rename(self.part.path(), &self.to).map_err(failed)?;
        }
        // It is no longer there to be removed.
        let _ = self.part.keep();
        Ok(self.to)
    }
}

/// The nearest folder above a path that exists.
fn above(to: &Path) -> &Path {
    let existing = to.ancestors().skip(1).find(|path| path.exists());
    existing.unwrap_or(Path::new("."))
}

/// Bytes that are free on the disk of a folder, if POSIX's `df` tells.
fn room(folder: &Path) -> Option<u64> {
    let output = Command::new("df").arg("-Pk").arg(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let blocks: u64 = text
        .lines()
        .last()?
        .split_whitespace()
        .nth(3)?
        .parse()
        .ok()?;
    blocks.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_appears_whole_and_takes_the_place_of_an_export_alone() {
        let home = tempfile::tempdir().unwrap();
        let to = home.path().join("deep/export");
        let make = |force, card: &str| {
            let place = Destination::new(&to, force, 1)?;
            assert_ne!(place.path(), to);
            fs::write(place.path().join(CARD), card).unwrap();
            place.finish()
        };
        drop(Destination::new(&to, false, 1).unwrap());
        assert!(!to.exists());
        make(false, "1").unwrap();
        assert!(make(false, "2").unwrap_err().to_string().contains("exists"));
        make(true, "3").unwrap();
        assert_eq!(fs::read_to_string(to.join(CARD)).unwrap(), "3");
        let around = fs::read_dir(to.parent().unwrap()).unwrap();
        assert_eq!(around.count(), 1);
        fs::remove_file(to.join(CARD)).unwrap();
        let refusal = make(true, "4").unwrap_err().to_string();
        assert!(refusal.contains("no earlier export"), "{refusal}");
    }

    #[test]
    fn a_disk_without_room_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let to = home.path().join("export");
        if room(home.path()).is_none() {
            return;
        }
        let refusal = Destination::check(&to, false, u64::MAX)
            .unwrap_err()
            .to_string();
        assert!(refusal.contains("MB are free"), "{refusal}");
    }
}
