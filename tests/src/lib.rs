//! Tests that need more than one crate: privacy contracts, and parity across backends.

pub mod portability;
