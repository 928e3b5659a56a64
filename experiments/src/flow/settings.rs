//! A flow's settings: the mechanism's preset, then flags, then checks.

use lab::diagnostic::{Failure, OrFailed};
use lab::session::{self, Arguments, bounded, budget_name};

use super::budget;
use super::mechanisms::{LabelPrivacy, ReleaseMethod};
use super::shared::{self, IMAGES, Part};

lab::settings! {
    parts <M: ReleaseMethod> {
        /// The mechanism's own.
        own: M,
        /// What every mechanism has.
        shared: shared::Settings,
        /// What it may spend.
        budget: budget::Settings,
    }
}

impl<M: ReleaseMethod> Settings<M> {
    /// Whether the sizes of the groups are released, and not public: where a neighbour may change its group.
    pub(super) fn sizes_released(&self) -> bool {
        let changes = self.shared.conditional && self.own.labels() == LabelPrivacy::Private;
        changes || self.own.cells() > 1
    }

    /// Whether neighbours replace a record by one of its class.
    pub(super) fn within_classes(&self) -> bool {
        self.shared.conditional && self.own.labels() == LabelPrivacy::Public
    }
}

impl<M: ReleaseMethod> session::Settings for Settings<M> {
    type Flags = Flags<M>;

    fn resolve(arguments: &Arguments<Flags<M>>) -> Result<Self, Failure> {
        let flags = &arguments.own.shared;
        let mut preset: toml::Table = toml::from_str(M::PRESET).or_failed()?;
        let dataset = flags.dataset.as_deref();
        if dataset.is_some() && dataset != preset["dataset"].as_str() {
            preset.remove("records");
            preset.remove("public-records");
        }
        if dataset == Some(IMAGES) {
            let bound = "named for photographs: the folder of the public ones";
            bounded("public", "", flags.public.is_some(), bound)?;
            let bound = "left out for photographs, all of which are private";
            bounded("private-part", "", flags.private_part.is_none(), bound)?;
            // They have no classes, and the settings of Sebag et al. 2023 for them are others (appendix C.5).
            let own = format!("conditional = false\nlatent = 48\n{}", M::PHOTOGRAPHS);
            preset.extend(toml::from_str::<toml::Table>(&own).or_failed()?);
        }
        let mut settings: Self = arguments.over_table(preset)?;
        let shared = &mut settings.shared;
        shared.conditional = (shared.conditional || flags.conditional) && !flags.unconditional;
        if flags.private_part.is_none() {
            shared.private_part = match shared.public == "half" {
                true => Part::Half,
                false => Part::All,
            };
        }
        M::suit(shared, flags);
        let signal = settings.shared.signal(&settings.budget);
        let shared = &mut settings.shared;
        shared.fill(flags, M::FOLLOWS, signal)?;
        settings.own.fill(&arguments.own.own, shared, signal);
        Ok(settings)
    }

    fn name(&self) -> String {
        let privacy = match self.budget.noise_multiplier {
            Some(z) => format!("z{z}"),
            None => budget_name(self.budget.epsilon),
        };
        format!("{}-{}-{privacy}", self.shared.dataset, M::NAME)
    }

    fn insecure_noise_seed(&self) -> Option<u64> {
        self.budget.insecure_noise_seed
    }

    fn check(&self) -> Result<(), Failure> {
        self.shared.check()?;
        self.own.check(&self.shared)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use lab::session::Settings as _;

    use super::super::mechanisms::{marginals, mixture};
    use super::*;

    fn settings<M: ReleaseMethod>(flags: &str) -> Settings<M> {
        let line = format!("flow --dataset mnist {flags}");
        Settings::resolve(&Arguments::parse_from(line.split_whitespace())).unwrap()
    }

    #[test]
    fn defaults_follow_the_public_side() {
        for (flags, expected) in [
            ("--public glyphs", "Learned 24 4 1"),
            ("--public glyphs --epsilon 0.2", "Learned 16 1 1"),
            (
                "--public glyphs --epsilon 10 --particles 50",
                "Learned 40 5 1",
            ),
            ("--public half", "Learned 8 2 0"),
            ("--public shapes", "Cosines 72 4 1"),
            ("--public shapes --encoder learned", "Learned 24 4 1"),
            ("--public cosines --epsilon 10", "Cosines 120 32 1"),
        ] {
            let Settings { shared, own, .. } = settings::<mixture::Settings>(flags);
            let (latent, tone) = (shared.latent, shared.variation().tone);
            let encoder = match shared.cosines() {
                true => "Cosines",
                false => "Learned",
            };
            let found = format!("{encoder} {latent} {} {tone}", own.cells);
            assert_eq!(found, expected, "{flags}");
        }
        for (flags, latent) in [("", 8), ("--public shapes", 24)] {
            let shared = settings::<marginals::Settings>(flags).shared;
            let found = (shared.cosines(), shared.latent, shared.variation().tone);
            assert_eq!(found, (false, latent, 0.0), "{flags}");
        }
    }

    /// What a run wrote is what resumes it; fields of another mechanism are refused.
    #[test]
    fn settings_of_a_folder_are_those_of_its_mechanism() {
        let mixture = settings::<mixture::Settings>("--noise-multiplier 2");
        let text = toml::to_string_pretty(&mixture).unwrap();
        assert!(!text.contains("epsilon"), "{text}");
        assert_eq!(toml::from_str::<Settings<_>>(&text).ok(), Some(mixture));
        let other = toml::from_str::<Settings<marginals::Settings>>(&text);
        assert!(other.is_err());
        let more = format!("{text}bins = 8\n");
        let refused = toml::from_str::<Settings<mixture::Settings>>(&more).unwrap_err();
        assert!(refused.to_string().contains("bins"), "{refused}");
    }
}
