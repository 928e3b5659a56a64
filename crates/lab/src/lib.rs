//! What every experiment shares: the session that runs it ([`session`]), backends, run folders, checkpoints,
//! progress, scores, figures, reports, errors for people.

#![forbid(unsafe_code)]

pub mod backend;
pub mod checkpoint;
pub mod diagnostic;
pub mod evaluate;
pub mod figures;
pub mod interrupt;
pub mod progress;
pub mod report;
pub mod resume;
pub mod run_folder;
pub mod session;
