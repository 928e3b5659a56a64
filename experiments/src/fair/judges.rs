//! Which public records judge a run on somebody's own rows.

use std::path::Path;

use lab::diagnostic::Failure;

/// Test records, which are public.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Judges<'a> {
    /// Those of another file.
    File(&'a Path),
    /// A share of the rows themselves, by their numbers: they become public.
    Share(f64),
}

impl<'a> Judges<'a> {
    /// What `--test` or `--test-share` say of the rows of `--input`: none of them becomes public by itself.
    pub(super) fn of(
        input: &Path,
        test: Option<&'a Path>,
        share: Option<f64>,
    ) -> Result<Self, Failure> {
        match (test, share) {
            (Some(file), _) => Ok(Self::File(file)),
            (None, Some(share)) => Ok(Self::Share(share)),
            (None, None) => Err(Failure::input(
                format!(
                    "--input {}: no test records are named, and none of its rows becomes public by itself",
                    input.display()
                ),
                "give public ones with --test FILE, or say --test-share 0.2: about one row in five is public then",
            )),
        }
    }
}
