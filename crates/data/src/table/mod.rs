//! Records with a sensitive attribute that is 0 or 1, and how they are read from text.

mod calendar;
mod coded;
mod column;
mod draft;
mod encode;
mod field;
mod grouped;
pub(crate) mod lines;
mod number;
mod open;
mod parquet;
mod raw;
mod records;
mod rules;
mod schema;
mod stream;
mod units;
mod write;

pub use coded::{CodeColumn, CodedTable};
pub use grouped::{GroupedTable, Labels};
pub use open::OpenSchema;
pub use rules::{Rule, Rules};
pub use schema::{CsvTable, Missing, Outside, Schema};
pub use stream::CsvStream;
pub use write::TableWriter;
