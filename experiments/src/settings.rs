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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::{Marginals, Projections, Settings};

    /// What a run wrote is what resumes it; fields of another method are refused.
    #[test]
    fn settings_of_a_folder_are_those_of_its_method() {
        let preset = include_str!("../../assets/generator/marginals.toml");
        let text = format!("{preset}seed = 1\n");
        let settings: With<Settings, Marginals> = toml::from_str(&text).unwrap();
        let written = toml::to_string_pretty(&settings).unwrap();
        assert_eq!(toml::from_str(&written).ok(), Some(settings));
        assert!(toml::from_str::<With<Settings, Projections>>(&text).is_err());
        let more = format!("{text}batch = 8\n");
        let refused = toml::from_str::<With<Settings, Marginals>>(&more).unwrap_err();
        assert!(refused.to_string().contains("batch"), "{refused}");
    }
}
