//! Tables in Parquet files: their values are the texts that a CSV file would have in their place.

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

/// Whether the name of a file is that of a Parquet file.
pub(super) fn is_parquet(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}
