use std::fs;
use std::path::{Path, PathBuf};

use crate::DataError;
use crate::error::io;

const EXTENSIONS: [&str; 3] = ["jpg", "jpeg", "png"];

/// The paths, below `root`, of the files named as images, sorted component by component.
pub(crate) fn images(root: &Path) -> Result<Vec<PathBuf>, DataError> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        // `join` with nothing would add a separator to the name in errors.
        let path = match folder.as_os_str().is_empty() {
            true => root.to_path_buf(),
            false => root.join(&folder),
        };
        let failed = io(&path, "read the folder");
        let unreadable = |error| failed(error).of_part(root, &path);
        for entry in fs::read_dir(&path).map_err(&unreadable)? {
            let entry = entry.map_err(&unreadable)?;
            let name = entry.file_name();
            // Hidden files among images are thumbnails and resource forks.
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let below = folder.join(&name);
            let kind = entry.file_type().map_err(&unreadable)?;
            if kind.is_dir() {
                folders.push(below);
            } else if kind.is_symlink() && entry.path().is_dir() {
                // One to a folder above would never end, and what is left out is missed.
                let problem = "a link to a folder, expected a folder or a file";
                let link = DataError::file(format!("{}: in it is {problem}", root.display()));
                return Err(link.telling(format!("{}: {problem}", entry.path().display())));
            } else if is_image(&below) {
                found.push(below);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

pub(crate) fn is_image(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        EXTENSIONS
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    })
}
