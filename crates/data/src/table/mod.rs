//! Records in text files.

mod error;

pub use error::TableError;
