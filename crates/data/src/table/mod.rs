//! Records with a sensitive attribute that is 0 or 1.

mod error;
mod grouped;
mod records;

pub use error::TableError;
pub use grouped::{GroupedTable, Labels};
