//! Settings of a run whose method is not asked for.

use serde::Deserialize;

/// The settings that all methods have; those of the one that it was go unread.
#[derive(Deserialize)]
pub(crate) struct OfAll<S> {
    #[serde(flatten)]
    pub(crate) shared: S,
}
