//! The private gradient flow, its generator baseline, and what beats them (Sebag et al. 2023, arXiv 2312.08227).

mod baseline;
mod budget;
mod data_split;
mod evaluate;
mod groups;
mod mechanisms;
mod report;
mod run;
mod samples;
mod settings;
mod shared;

pub(crate) use data_split::photographs::load as load_photographs;
pub(crate) use samples::sampler;

pub use mechanisms::fixed::Settings as Fixed;
pub use mechanisms::generator::Settings as Generator;
pub use mechanisms::marginals::Settings as Marginals;
pub use mechanisms::mixture::Settings as Mixture;
pub use mechanisms::resampled::Settings as Resampled;
pub use run::Run;
pub use settings::Settings;
