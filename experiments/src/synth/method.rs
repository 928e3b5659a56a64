//! What is released of the private images, and what samples are made by.

use serde::{Deserialize, Serialize};

/// How a copy is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Method {
    /// A mixture of Gaussians for each class, in a latent space.
    #[default]
    Mixture,
    /// A generator that learns from released random Fourier features (DP-MERF; Harder, Adamczewski and Park 2021, arXiv
    /// 2002.11603).
    Merf,
}
