//! Records with a sensitive attribute that is 0 or 1, and how they are read from text.

mod calendar;
mod coded;
mod coding;
mod column;
mod draft;
mod encode;
mod field;
mod grouped;
pub(crate) mod lines;
mod number;
mod open;
mod opened;
mod parquet;
mod parts;
mod raw;
mod records;
mod rules;
mod schema;
mod stored;
mod stream;
mod texts;
mod units;
mod write;

pub use coded::{CodeColumn, CodedTable, Part};
pub use grouped::{GroupedTable, Labels};
pub use open::OpenSchema;
pub use parts::{is_parquet, is_parts, parts};
pub use rules::{Rule, Rules};
pub use schema::{CsvTable, Missing, Outside, Schema};
pub use stored::StoredTable;
pub use stream::CsvStream;
pub use write::TableWriter;
