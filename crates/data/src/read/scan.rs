use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::Skipped;
use crate::DataError;
use crate::error::io;

const EXTENSIONS: [&str; 10] = [
    "jpg", "jpeg", "jpe", "jfif", "png", "bmp", "gif", "tif", "tiff", "webp",
];
/// The extensions of images that cannot be read. Such a file is an error, because without it the data set is another one.
const UNREAD: [&str; 24] = [
    "heic", "heif", "avif", "jp2", "jxl", "svg", "raw", "dng", "cr2", "cr3", "nef", "arw", "orf",
    "psd", "dcm", "nii", "ppm", "pgm", "pbm", "pnm", "tga", "ico", "exr", "hdr",
];
/// The extensions of texts, which often lie beside images.
const TEXTS: [&str; 20] = [
    "txt", "csv", "tsv", "json", "jsonl", "xml", "yaml", "yml", "toml", "md", "rst", "html", "pdf",
    "log", "ini", "cfg", "py", "ipynb", "xlsx", "parquet",
];
/// The files and folders that operating systems make by themselves.
const OF_SYSTEMS: [&str; 8] = [
    "thumbs.db",
    "ehthumbs.db",
    "desktop.ini",
    "__macosx",
    "@eadir",
    "$recycle.bin",
    "system volume information",
    "lost+found",
];

/// The reasons why a file is passed over.
const HIDDEN: &str = "files whose names start with a dot";
const SYSTEM: &str = "files that a system makes by itself, such as Thumbs.db and those in __MACOSX";
const TEXT: &str =
    "texts and tables, such as .txt, .csv and .json: classes are read of folders alone";
pub(super) const OTHER: &str = "files whose names end as no image's";

/// The content of a folder.
pub(super) struct Scanned {
    /// The paths, below the folder, of the files named as images, sorted component by component.
    pub files: Vec<PathBuf>,
    /// The names of the folders in it.
    pub folders: BTreeSet<String>,
    pub skipped: Vec<Skipped>,
}

/// Looks through a folder and all folders in it.
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
            let below = folder.join(&name);
            if let Some(reason) = made_by_itself(Path::new(&name)) {
                Skipped::count(&mut skipped, reason, &below);
                continue;
            }
            let kind = entry.file_type().map_err(&unreadable)?;
            if kind.is_dir() {
                if folder.as_os_str().is_empty() {
                    inner.insert(name.to_string_lossy().into_owned());
                }
                folders.push(below);
            } else if kind.is_symlink() && entry.path().is_dir() {
                // A link to a folder above would never end, and leaving it out would lose images.
                let problem = "a link to a folder, expected a folder or a file";
                let link = DataError::file(format!("{}: in it is {problem}", root.display()));
                return Err(link.telling(format!("{}: {problem}", entry.path().display())));
            } else if is_image(&below) {
                files.push(below);
            } else {
                Skipped::count(&mut skipped, no_image(root, &below)?, &below);
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

/// Why a file is no image by a part of its path: thumbnails and resource forks have the extensions of images.
pub(super) fn made_by_itself(path: &Path) -> Option<&'static str> {
    path.iter().find_map(|part| {
        let hidden = part.as_encoded_bytes().starts_with(b".") && part != ".";
        let system = OF_SYSTEMS.iter().any(|of| part.eq_ignore_ascii_case(of));
        hidden.then_some(HIDDEN).or(system.then_some(SYSTEM))
    })
}

/// Why a file with another extension is passed over. An image that cannot be read is refused.
pub(super) fn no_image(root: &Path, file: &Path) -> Result<&'static str, DataError> {
    let Some(form) = ending(file, &UNREAD) else {
        let text = ending(file, &TEXTS).map(|_| TEXT);
        return Ok(text.unwrap_or(OTHER));
    };
    let problem = format!(
        "a .{form} image, which is not read: convert it, as by: magick mogrify -format png *.{form}; or move it away"
    );
    Err(
        DataError::file(format!("{}: in it is {problem}", root.display()))
            .telling(format!("{}: {problem}", root.join(file).display())),
    )
}

fn ending(path: &Path, of: &[&'static str]) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    of.iter()
        .copied()
        .find(|known| extension.eq_ignore_ascii_case(known))
}
