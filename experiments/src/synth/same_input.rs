//! A run resumes with the input that it began with: what was released is of that.

use lab::prelude::*;
use serde_json::Value;

/// What is public of the input of a run, kept before the first release.
const PUBLIC: &str = "public.json";

/// Keeps what is `public` of the input, in words `what`, and refuses another one than was kept.
///
/// # Errors
///
/// [`Failure::BadInput`] for another input, as far as what is public tells.
pub(super) fn check(session: &Session, what: &str, public: &Value) -> Result<(), Failure> {
    let path = session.folder.file(PUBLIC);
    if !path.exists() {
        return session.folder.write_json(PUBLIC, public).map(drop);
    }
    let bytes = std::fs::read(&path).or_failed()?;
    match serde_json::from_slice::<Value>(&bytes).ok().as_ref() == Some(public) {
        true => Ok(()),
        false => Err(Failure::input(
            format!(
                "{}: {what} is another than the run began with",
                path.display()
            ),
            "put it back, or start a new run",
        )),
    }
}
