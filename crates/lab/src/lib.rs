//! What every experiment shares: backends, run folders, progress, figures, reports, errors for people.

#![forbid(unsafe_code)]

pub mod backend;
pub mod checkpoint;
pub mod diagnostic;
pub mod figures;
pub mod progress;
pub mod report;
pub mod run_folder;
