//! Images with their classes, or a file of privatised ones.

use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum as _;
use data::privatised::{Header, LabelEncoding, Transform};
use lab::diagnostic::Failure;
use lab::session::{Ends, bounded, within};
use serde::{Deserialize, Serialize};

use super::points::Points;
use super::settings::{self, Kind, Loss};
use super::sources::{Clean, Rows};
use crate::records::{kind, load_private, load_test};
use crate::scores::ScoreFlags;

/// What generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum NetworkKind {
    /// Transposed convolutions, for images.
    Dcgan,
    /// Three hidden layers.
    Perceptron,
}

/// Where values that no flag gives come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// `assets/ldp/images.toml`.
    #[default]
    Tuned,
    /// The published constants: `assets/ldp/paper.toml`.
    Paper,
}

lab::settings! {
    /// What images alone have.
    common {}
    flags {
        /// Data set: mnist, fashion-mnist or usps, or glyphs, which needs no file.
        dataset: String,
        /// What generates: transposed convolutions, or a perceptron.
        #[flag(value_enum)]
        network: NetworkKind,
        /// What the one-hot class behind the pixels is multiplied by; 0 leaves classes out.
        label_weight: f64,
        /// Take noise off each record by wavelets first: the published baseline, for the loss `w2`.
        #[flag(num_args = 0, default_missing_value = "true", hide_possible_values = true)]
        #[setting(default)]
        denoise: bool,
    }
    optional {
        /// Keep so many coefficients of lowest frequency of each image's cosine transform, and privatise those.
        keep: usize,
    }
    switches {
        /// Where values that no flag gives come from.
        #[arg(long, value_enum, default_value_t = Preset::Tuned)]
        preset: Preset,
        /// How samples are scored.
        #[command(flatten)]
        score: ScoreFlags,
    }
}

impl Kind for Settings {
    const NAME: &'static str = "images";
    const ABOUT: &'static str = "Privatise every image alone, then learn from what is left the distribution that the images \
                                 had before. Values come from a preset, and a flag wins over the preset.";

    fn preset(flags: &Flags) -> &'static str {
        match flags.preset {
            Preset::Tuned => include_str!("../../../assets/ldp/images.toml"),
            Preset::Paper => include_str!("../../../assets/ldp/paper.toml"),
        }
    }

    fn of_header(flags: &Flags) -> Vec<(&'static str, bool)> {
        vec![
            ("keep", flags.keep.is_some()),
            ("label-weight", flags.label_weight.is_some()),
        ]
    }

    fn take(&mut self, header: &Header, _: &str) -> Result<(), Failure> {
        self.label_weight = match header.labels {
            LabelEncoding::Dropped => 0.0,
            LabelEncoding::OneHot { weight, .. } => weight,
        };
        self.keep = match &header.transform {
            Transform::None => None,
            Transform::Dct { kept, .. } => Some(kept.len()),
        };
        Ok(())
    }

    fn check(&self, shared: &settings::Shared) -> Result<(), Failure> {
        let name = &self.dataset;
        if Points::from_str(name, false).is_ok() {
            return Err(Failure::input(
                format!("--dataset {name}: these are points, and no images"),
                format!("say `sliver ldp points {name}`"),
            ));
        }
        kind("dataset", name)?;
        within("label-weight", self.label_weight, 0.0, 1e6, Ends::BOTH)?;
        bounded("keep", 0, self.keep != Some(0), "at least 1")?;
        let plain = shared.loss == Loss::W2 && self.keep.is_none() && self.label_weight == 0.0;
        let bound =
            "given with --loss w2 --label-weight 0 and without --keep: it is a baseline of images";
        bounded("denoise", "", plain || !self.denoise, bound)
    }

    fn dataset(&self) -> String {
        self.dataset.clone()
    }

    /// Without private records where the input was privatised before.
    fn load(&self, shared: &settings::Shared, data_dir: Option<&Path>) -> Result<Clean, Failure> {
        let (kind, seed) = (kind("dataset", &self.dataset)?, shared.seed);
        if shared.input.is_some() {
            let test = load_test(kind, seed, data_dir)?;
            return Ok(Clean {
                name: kind.name().into(),
                private: None,
                test: Rows::Images(Arc::new(test)),
                used: Vec::new(),
            });
        }
        let (data, used) = load_private(kind, seed, shared.records, data_dir)?;
        Ok(Clean {
            name: data.name,
            private: Some(Rows::Images(Arc::new(data.train))),
            test: Rows::Images(Arc::new(data.test)),
            used: vec![used],
        })
    }

    fn samples(flags: &Flags) -> usize {
        flags.score.count()
    }

    fn images(&self) -> Option<&Self> {
        Some(self)
    }

    fn score(flags: &Flags) -> Option<&ScoreFlags> {
        Some(&flags.score)
    }
}
