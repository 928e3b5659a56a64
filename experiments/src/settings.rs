//! The settings of a run whose method is a subcommand: what all methods have, and what one of them has, side by side in
//! `config.toml` and on the command line.

use serde::{Deserialize, Serialize};

/// Settings that all methods have, and those of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct With<S, M> {
    /// What all methods have.
    #[serde(flatten)]
    pub shared: S,
    /// The method's own.
    #[serde(flatten)]
    pub own: M,
}

/// The flags of both.
#[derive(Debug, Clone, Serialize, clap::Args)]
#[group(skip)]
pub struct FlagsWith<S: clap::Args, M: clap::Args> {
    /// Of what all methods have.
    #[command(flatten)]
    #[serde(flatten)]
    pub shared: S,
    /// Of the method's own.
    #[command(flatten)]
    #[serde(flatten)]
    pub own: M,
}

/// The settings that all methods have, of a file whose method is not asked for.
#[derive(Deserialize)]
pub(crate) struct Shared<S> {
    #[serde(flatten)]
    pub(crate) shared: S,
}
