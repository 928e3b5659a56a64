//! Parsers of damaged files.

mod bounded;
