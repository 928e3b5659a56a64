//! The file operations that all packages share: writing files whole or not at all ([`atomic`]), and calling decoders of
//! other packages so that a damaged file gives an error and not a panic ([`foreign`]).

#![forbid(unsafe_code)]

pub mod atomic;
pub mod foreign;
