//! Reads tables of records from files and writes them; a record may have a sensitive attribute that is 0 or 1.
//!
//! Every kind of file is read in blocks of texts by columns (`blocks`). A schema says which values these texts are (`value`),
//! which become features (`features`) or codes (`codes`).

mod blocks;
mod calendar;
mod codes;
mod column;
mod draft;
mod features;
mod grouped;
pub(crate) mod lines;
mod number;
mod open;
mod parquet;
mod parts;
mod raw;
mod records;
mod rules;
mod schema;
mod stored;
mod text;
mod units;
mod value;
mod write;
mod written;

pub use codes::{CodeColumn, Part};
pub use draft::Drafting;
pub use features::CsvTable;
pub use grouped::{GroupedTable, Labels};
pub use open::OpenSchema;
pub use parts::{is_parquet, is_parts, parts};
pub use raw::{Missing, Outside};
pub use rules::{Rule, Rules};
pub use schema::Schema;
pub use stored::{CodedTable, StoredTable};
pub use write::TableWriter;
