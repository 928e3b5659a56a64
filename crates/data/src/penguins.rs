//! A small real table for a first try: 344 penguins of the Palmer Archipelago (Gorman, Williams and Fraser 2014; CC0 1.0).

/// The table as CSV, with a line of column names.
pub const TABLE: &str = include_str!("penguins.csv");

/// The schema of the table, in TOML.
pub const SCHEMA: &str = include_str!("penguins.toml");
