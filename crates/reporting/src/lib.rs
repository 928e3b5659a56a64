//! The files that a run leaves behind, and reports made from them. This crate uses no tensors.
//!
//! | module | content |
//! |---|---|
//! | [`run_folder`] | the folder of a run: locked, with files written whole or not at all |
//! | [`released`] | the number of releases that the files of a folder record |
//! | [`report`] | reading a folder back: pages, comparisons, sweeps |
//! | [`figures`] | charts and pictures |
//! | [`diagnostic`] | errors for users |
//! | [`interrupt`] | signals that end a run at its next checkpoint |
//! | [`progress`] | how far a long step is, and how long the rest takes |
//! | [`command`], [`checksum`] | command lines that a shell can run, SHA-256 in hexadecimal |

#![forbid(unsafe_code)]

pub mod checksum;
pub mod command;
pub mod diagnostic;
pub mod figures;
pub mod interrupt;
pub mod progress;
pub mod released;
pub mod report;
pub mod run_folder;
