//! Published files as the tests make them, and what reads them without a network.

use std::io::Write;

use data::LoadOptions;
use flate2::{Compression, write::GzEncoder};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn offline() -> LoadOptions {
    LoadOptions {
        mirrors: Some(vec![]),
        ..Default::default()
    }
}
