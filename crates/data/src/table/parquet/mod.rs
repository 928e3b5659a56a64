//! Tables in Parquet files, whose values are read as the texts that a CSV file would have in their place.

mod arrow;
mod read;
mod shared;
mod texts;
mod types;
mod write;

use std::path::Path;

pub(super) use arrow::Storage;
pub(super) use read::ParquetRows;
pub(super) use types::Type;
pub(super) use write::ParquetWriter;

/// Whether a file's name is that of a Parquet file.
pub(super) fn is_parquet(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}
