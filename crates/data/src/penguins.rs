//! A small real table, for a first try: penguins of the Palmer Archipelago, 344 records (Gorman, Williams and Fraser 2014; CC0 1.0).

/// The table, as CSV with names of columns.
pub const TABLE: &str = include_str!("penguins.csv");

/// What its columns hold.
pub const SCHEMA: &str = include_str!("penguins.toml");
