//! What is public, and what is written, lies apart from the private input.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use lab::prelude::*;

/// Refuses images that a flag names within the private input, or around it: nothing of the input is public.
pub(crate) fn check(flag: &str, path: &Path, input: &Path) -> Result<(), Failure> {
    let apart = match (whole(path), whole(input)) {
        (Some(path), Some(input)) => !path.starts_with(&input) && !input.starts_with(&path),
        _ => true,
    };
    bounded(flag, path.display(), apart, "apart from the private input")
}

/// Refuses a table that a flag names and that has a file of the private one.
pub(crate) fn check_table(flag: &str, path: &Path, input: &Path) -> Result<(), Failure> {
    // What cannot be read is refused where it is.
    let files = |path| data::table::parts(path).unwrap_or_default();
    let whole =
        |path| -> BTreeSet<PathBuf> { files(path).iter().filter_map(|f| whole(f)).collect() };
    let apart = whole(path).is_disjoint(&whole(input));
    bounded(flag, path.display(), apart, "apart from the private input")
}

/// Refuses a run's folder within the private images: it would be read as a part of them.
pub(crate) fn check_output(running: &Running, input: &Path) -> Result<(), Failure> {
    let given = [&running.resume, &running.out, &running.run];
    let (here, default) = (Path::new("."), PathBuf::from("runs"));
    let folder = given.into_iter().flatten().next().unwrap_or(&default);
    // The first folder of its path that is there already.
    let there = folder.ancestors().find(|folder| folder.exists());
    let new = there.and_then(|there| folder.strip_prefix(there).ok());
    let mut new = new.unwrap_or(folder).components();
    let up = new.any(|part| part == Component::ParentDir);
    let bound = "without .. behind a folder that is not there";
    bounded("out", folder.display(), !up, bound)?;
    let inside = whole(there.unwrap_or(here)).zip(whole(input));
    let apart = inside.is_none_or(|(there, input)| !there.starts_with(input));
    let bound = "apart from the private input, where it would be read as a part of it";
    bounded("out", folder.display(), apart, bound)
}

/// The path without links; none if there is nothing.
fn whole(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
