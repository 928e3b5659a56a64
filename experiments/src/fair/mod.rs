//! Fair learning under privacy (Rodriguez-Vitores, Lalanne and Loubes 2025, arXiv 2502.01701, section 7 and
//! appendix C).

mod fair_map;
mod metrics;
mod network;
mod postprocess;
mod repair;
mod report;
mod settings;
mod table;
mod train;

pub use settings::Settings;
pub(crate) use train::Fair;
