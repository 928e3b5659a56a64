//! What is public, and what is written, lies apart from the private input.

use std::path::{Path, PathBuf};

use lab::diagnostic::Failure;
use lab::session::bounded;

/// Refuses a path of a flag that lies within the private input, or around it: nothing of the input is public, and what is
/// written there would be read as a part of it.
pub(super) fn check(flag: &str, path: &Path, input: &Path) -> Result<(), Failure> {
    let apart = match (whole(path), whole(input)) {
        (Some(path), Some(input)) => !path.starts_with(&input) && !input.starts_with(&path),
        _ => true,
    };
    bounded(flag, path.display(), apart, "apart from --input")
}

/// Refuses a run's folder within the private input, which may be the folder that the program is started in.
pub(super) fn check_output(given: [&Option<PathBuf>; 3], input: &Path) -> Result<(), Failure> {
    let (here, default) = (PathBuf::from("."), PathBuf::from("runs"));
    let folder = given.into_iter().flatten().next().unwrap_or(&default);
    // The first folder of its path that is there already.
    let there = folder.ancestors().find(|folder| folder.exists());
    let there = there.unwrap_or(&here);
    let inside = whole(there).zip(whole(input));
    let apart = inside.is_none_or(|(there, input)| !there.starts_with(input));
    let bound = "apart from --input, where it would be read as a part of it";
    bounded("out", folder.display(), apart, bound)
}

/// The path without links; none where there is nothing.
fn whole(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
