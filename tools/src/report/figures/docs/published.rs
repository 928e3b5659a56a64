//! Accuracies that others published: theirs, from `docs/results/published.toml`.

use std::path::Path;

use reporting::diagnostic::Failure;
use serde::Deserialize;

use super::table::text_of;

#[derive(Deserialize)]
struct File {
    published: Vec<Figure>,
}

/// A published accuracy of a classifier that learned from private synthetic images, at delta 1e-5. The file says of which paper
/// and table each is.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Figure {
    pub method: String,
    /// Which classifier learned from the samples.
    #[serde(default = "convolutional")]
    pub classifier: String,
    pub epsilon: f64,
    /// What was public.
    #[serde(default = "nothing")]
    pub public: String,
    pub mnist: f64,
    pub fashion_mnist: f64,
}

fn nothing() -> String {
    "nothing".into()
}

fn convolutional() -> String {
    "convolutional".into()
}

/// All of them.
///
/// # Errors
///
/// [`Failure::BadInput`] names the file.
pub(super) fn read(folder: &Path) -> Result<Vec<Figure>, Failure> {
    let (path, text) = text_of(folder, "published.toml")?;
    let file: Result<File, _> = toml::from_str(&text);
    let file =
        file.map_err(|e| Failure::input(format!("{}: {e}", path.display()), "put the file back"))?;
    Ok(file.published)
}
