//! What every package does with files in one way: it writes them whole or not at all ([`atomic`]), and calls decoders that
//! others wrote so that a damaged file is an error, and no panic ([`foreign`]).

#![forbid(unsafe_code)]

pub mod atomic;
pub mod foreign;
