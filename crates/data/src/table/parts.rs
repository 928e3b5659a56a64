//! The files of a table: one file, or several that form one data set.

use std::path::{Path, PathBuf};

use super::parquet;
use crate::DataError;
use crate::error::io;

/// Returns whether the path is a folder of Parquet files, which are the parts of one table.
pub fn is_parts(path: &Path) -> bool {
    path.is_dir() && of_folder(path).is_ok_and(|parts| !parts.is_empty())
}

/// Returns whether a table is stored as Parquet, by the name of its file or the content of its folder.
pub fn is_parquet(path: &Path) -> bool {
    parquet::is_parquet(path) || is_parts(path)
}

/// Returns the files of a table in the order of their names: the file itself, the Parquet files of a folder, or the files
/// that match a pattern such as `part-*.csv`.
///
/// # Errors
/// [`DataError::Request`] for a folder without Parquet files, a pattern without matches, or a mix of both forms;
/// [`DataError::Io`].
pub fn parts(path: &Path) -> Result<Vec<PathBuf>, DataError> {
    let shown = path.display();
    let refuse = |problem: &str| Err(DataError::request(format!("{shown}: {problem}")));
    let is_pattern = || path.to_string_lossy().contains(['*', '?', '[']);
    let files = if path.is_dir() {
        let files = of_folder(path)?;
        if files.is_empty() {
            return refuse(
                "expected a folder of Parquet files, found none in it; of CSV files give a pattern, such as \"FOLDER/*.csv\"",
            );
        }
        files
    } else if !path.exists() && is_pattern() {
        let found = glob::glob(&path.to_string_lossy())
            .map_err(|e| DataError::request(format!("{shown}: {e}; change the pattern")))?;
        let mut files = Vec::new();
        for file in found {
            let unread = |e: glob::GlobError| {
                let folder = e.path().to_path_buf();
                io(&folder, "read the folder")(e.into()).of_part(path, &folder)
            };
            files.push(file.map_err(unread)?);
        }
        if files.is_empty() {
            return refuse("expected a pattern of files, found none that it matches; change it");
        }
        files
    } else {
        vec![path.into()]
    };
    let of_parquet = files
        .iter()
        .filter(|file| parquet::is_parquet(file))
        .count();
    if of_parquet != 0 && of_parquet != files.len() {
        return refuse(
            "expected files of one form, found Parquet files and others; change the pattern",
        );
    }
    Ok(files)
}

/// The Parquet files of a folder. Names that begin with `.` or `_` are skipped, as other programs do.
fn of_folder(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let failed = io(folder, "read the folder");
    let mut files = Vec::new();
    for entry in folder.read_dir().map_err(&failed)? {
        let path = entry.map_err(&failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if parquet::is_parquet(&path) && !name.starts_with(['.', '_']) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
