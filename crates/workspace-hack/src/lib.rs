//! Nothing: this crate only turns on features of dependencies (see its `Cargo.toml`).
