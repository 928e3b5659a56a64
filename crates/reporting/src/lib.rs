//! What a run leaves behind, and what is reported of it. Nothing here has a tensor.
//!
//! | module | what it is |
//! |---|---|
//! | [`run_folder`] | the folder of a run: locked, its files written whole or not at all |
//! | [`released`] | how many releases the files of a folder testify to |
//! | [`report`] | a folder read back: pages, comparisons, sweeps |
//! | [`figures`] | charts and pictures |
//! | [`diagnostic`] | failures as people meet them |
//! | [`interrupt`] | signals that end a run at its next checkpoint |
//! | [`progress`] | how far a long step is, and how long its rest takes |
//! | [`command`], [`checksum`] | commands as a shell reads them, SHA-256 in hexadecimal |

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
