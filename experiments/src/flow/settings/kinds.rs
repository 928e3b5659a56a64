//! What a flow can be asked for by name.

use serde::{Deserialize, Serialize};

/// How private data is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mechanism {
    /// Private sliced marginals: noisy histograms of every slice, released once.
    Marginals,
    /// DPSWflow-r: a fresh batch, fresh slices and a fresh release at each step.
    Resampled,
    /// DPSWflow: one release of all projections, stored.
    Fixed,
    /// DPSWgen: a generator trained on releases as in `resampled`.
    Generator,
    /// One private Gaussian, or one a class.
    Gaussian,
    /// The public records decoded: what no private record was needed for.
    Public,
}

impl Mechanism {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Marginals => "marginals",
            Self::Resampled => "resampled",
            Self::Fixed => "fixed",
            Self::Generator => "generator",
            Self::Gaussian => "gaussian",
            Self::Public => "public",
        }
    }

    pub(super) fn preset(self) -> &'static str {
        match self {
            Self::Marginals => include_str!("../../../../assets/flow/marginals.toml"),
            Self::Resampled => include_str!("../../../../assets/flow/resampled.toml"),
            Self::Fixed => include_str!("../../../../assets/flow/fixed.toml"),
            Self::Generator => include_str!("../../../../assets/flow/generator.toml"),
            Self::Gaussian => include_str!("../../../../assets/flow/gaussian.toml"),
            Self::Public => include_str!("../../../../assets/flow/public.toml"),
        }
    }

    /// Whether each step makes a release of its own.
    pub fn releases_each_step(self) -> bool {
        matches!(self, Self::Resampled | Self::Generator)
    }
}

/// The sensitivity of noisy projections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// `2 r sigma_max(Theta)`, a bound for every pair of records.
    Proved,
    /// The Bernstein form of Rakotomamonjy and Ralaivola (2021, arXiv 2107.01848): fails with a probability that is
    /// paid at each release.
    PaperBernstein,
    /// The central-limit form of Rakotomamonjy and Ralaivola and of Sebag et al. (2023, arXiv 2312.08227): **no
    /// bound**.
    PaperClt,
}
