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
    /// A private Gaussian of each class, and then one of each of the cells that it is cut into (`--cells`).
    Mixture,
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
            Self::Mixture => "mixture",
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
            Self::Mixture => include_str!("../../../../assets/flow/mixture.toml"),
            Self::Public => include_str!("../../../../assets/flow/public.toml"),
        }
    }

    /// Whether steps make its samples.
    pub fn moves(self) -> bool {
        !matches!(self, Self::Gaussian | Self::Mixture | Self::Public)
    }

    /// Whether each step makes a release of its own.
    pub fn releases_each_step(self) -> bool {
        matches!(self, Self::Resampled | Self::Generator)
    }
}

/// What a neighbour may differ in, where there is a flow a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Labels {
    /// In one record and its label: the sizes of the classes are released with the rest.
    Private,
    /// In one record, replaced by another of its class: the sizes of the classes are public.
    #[default]
    Public,
}

/// How images become latents, and latents images.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Encoder {
    /// By an autoencoder that public records train.
    #[default]
    Learned,
    /// By the lowest frequencies of an image; public records, where there are any, teach how images of these look.
    Cosines,
}

/// Which training records are private.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// All of them.
    All,
    /// Those that are not the public half.
    #[default]
    Half,
}

/// Where particles start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Uniform on the sphere.
    #[default]
    Sphere,
    /// At samples of each group's private Gaussian.
    Gaussian,
    /// At public latents, of the group's class where public records show the same classes, carried to each group's
    /// private Gaussian.
    Public,
}
