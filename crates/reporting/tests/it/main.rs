//! What is reported of runs, and how it looks.

#[cfg(unix)]
mod browser;
mod figures;
mod report;
#[cfg(unix)]
mod report_page;
mod runs;
mod snapshots;
