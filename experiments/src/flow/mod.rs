//! The private gradient flow, its generator baseline, and what beats them (Sebag et al. 2023, arXiv 2312.08227).

mod baseline;
mod cosines;
mod data_split;
mod evaluate;
mod groups;
mod mechanisms;
mod plan;
mod refined;
mod report;
mod samples;
mod settings;
mod space;
mod toy;
mod train;

pub(crate) use data_split::photographs::load as load_photographs;
pub(crate) use samples::sampler;
pub use settings::{Flags, Settings};
pub use train::Flow;
