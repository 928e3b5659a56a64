use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::Skipped;
use crate::DataError;
use crate::error::io;

const EXTENSIONS: [&str; 8] = ["jpg", "jpeg", "png", "bmp", "gif", "tif", "tiff", "webp"];
/// Those of images that nothing here reads: a copy without them would be one of something else.
const UNREAD: [&str; 14] = [
    "heic", "heif", "avif", "jp2", "jxl", "svg", "raw", "dng", "cr2", "nef", "arw", "psd", "dcm",
    "nii",
];

/// Why a file is passed over.
pub(super) const HIDDEN: &str = "its name starts with a dot";
pub(super) const OTHER: &str = "its name is none of an image";

/// What lies in a folder.
pub(super) struct Scanned {
    /// The paths, below the folder, of the files named as images, sorted component by component.
    pub files: Vec<PathBuf>,
    /// The names of the folders in it.
    pub folders: BTreeSet<String>,
    pub skipped: Vec<Skipped>,
}

/// Looks through a folder and those in it.
pub(super) fn images(root: &Path) -> Result<Scanned, DataError> {
    let (mut files, mut inner, mut skipped) = (Vec::new(), BTreeSet::new(), Vec::new());
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
            let below = folder.join(&name);
            if name.as_encoded_bytes().starts_with(b".") {
                Skipped::count(&mut skipped, HIDDEN, &below);
                continue;
            }
            let kind = entry.file_type().map_err(&unreadable)?;
            if kind.is_dir() {
                if folder.as_os_str().is_empty() {
                    inner.insert(name.to_string_lossy().into_owned());
                }
                folders.push(below);
            } else if kind.is_symlink() && entry.path().is_dir() {
                // One to a folder above would never end, and what is left out is missed.
                let problem = "a link to a folder, expected a folder or a file";
                let link = DataError::file(format!("{}: in it is {problem}", root.display()));
                return Err(link.telling(format!("{}: {problem}", entry.path().display())));
            } else if is_image(&below) {
                files.push(below);
            } else if let Some(form) = unread(&below) {
                return Err(unread_image(root, form, &below));
            } else {
                Skipped::count(&mut skipped, OTHER, &below);
            }
        }
    }
    files.sort_unstable();
    Ok(Scanned {
        files,
        folders: inner,
        skipped,
    })
}

pub(super) fn is_image(path: &Path) -> bool {
    ending(path, &EXTENSIONS).is_some()
}

/// The form of an image that is not read.
pub(super) fn unread(path: &Path) -> Option<&'static str> {
    ending(path, &UNREAD)
}

pub(super) fn unread_image(root: &Path, form: &str, file: &Path) -> DataError {
    let problem = format!(
        "a .{form} image, which is not read: convert it, as by: magick mogrify -format png *.{form}; or move it away"
    );
    DataError::file(format!("{}: in it is {problem}", root.display()))
        .telling(format!("{}: {problem}", root.join(file).display()))
}

fn ending(path: &Path, of: &[&'static str]) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    of.iter()
        .copied()
        .find(|known| extension.eq_ignore_ascii_case(known))
}
