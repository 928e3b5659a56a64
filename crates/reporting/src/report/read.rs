//! Reading the files of a run folder, with errors that name the place.

use std::path::Path;

use crate::diagnostic::Failure;

/// The advice about a file that cannot be read.
pub(super) const ADVICE: &str = "the file is not as a run writes it; mend it, or repeat the run";

/// Reads the content of a file; `None` if it does not exist.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read(path) {
        // A kill may cut a line in the middle of a character.
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::input(
            format!("{} cannot be read: {error}", path.display()),
            "check who may read it",
        )),
    }
}

/// Returns the error of a JSON file, with the field that is wrong.
pub(super) fn at(
    path: &Path,
    line: &str,
    error: &serde_path_to_error::Error<serde_json::Error>,
) -> Failure {
    let place = error.path().to_string();
    let field = if place == "." {
        String::new()
    } else {
        format!("field \"{place}\": ")
    };
    Failure::input(
        format!("{}: {line}{field}{}", path.display(), error.inner()),
        ADVICE,
    )
}
