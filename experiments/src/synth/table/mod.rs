//! Private copies of tables by [`private_synth::table`]: the files that they are made of, the folder that keeps the releases, scores,
//! the page, and the copy as files.

mod copy;
mod loading;
mod marginals;
mod pictures;
mod report;
mod run;
mod settings;

pub(crate) use copy::export as export_table;
pub(crate) use run::TableCopy;
