//! Fair learning under privacy (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, section 7 and appendix C).

mod arguments;
mod metrics;
mod network;
mod plan;
mod postprocess;
mod report;
mod resume;
mod run;
mod settings;
mod table;
mod train;

pub use arguments::Arguments;
pub use settings::Settings;
pub use train::run;
