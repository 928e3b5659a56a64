//! Files of a run folder, read with the place of what is wrong in them.

use std::path::Path;

use crate::diagnostic::Failure;

/// What to do about a file that cannot be read.
pub(super) const ADVICE: &str = "the file is not as a run writes it; mend it, or repeat the run";

/// The content of a file, `None` where there is none.
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

/// What is wrong in a JSON file, and in which field.
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
