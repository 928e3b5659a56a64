//! Samples of a copy from its run's folder, at any time after the run.

use burn::tensor::Device;
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use model::latent::ImageShape;
use private_synth::images::{SpaceForm, SpaceKind};

use super::generated::Generated;
use super::method::Method;
use super::settings::Settings;
use crate::decoded::Decoded;
use crate::export::{Sampler, Source};
use crate::variation::Variation;

impl Settings {
    /// How samples for learning vary: grey ones of smooth waves have halos and no fabric. Those of a baseline do not.
    pub(super) fn variation(&self, shape: ImageShape) -> Variation {
        if self.method == Method::Merf {
            return Variation::default();
        }
        match (self.space(shape), shape.channels) {
            (SpaceKind::Cosines | SpaceKind::Refined, 1) => Variation::suited(false, false, true),
            _ => Variation::default(),
        }
    }
}

/// The samples of the run in a folder.
pub(crate) fn sampler(
    folder: &RunFolder,
    source: &Source,
    device: &Device,
) -> Result<Box<dyn Sampler>, Failure> {
    let settings: Settings = folder.read_toml("config.toml")?;
    if settings.method == Method::Merf {
        return Ok(Box::new(Generated::of(folder, source, device)?));
    }
    let form = SpaceForm {
        kind: settings.space(source.shape),
        latent: source.copy.as_ref().map_or(0, |copy| copy.latent),
        shape: source.shape,
    };
    let variation = settings.variation(source.shape);
    let decoded = Decoded::of(folder, source, form, variation, device)?;
    Ok(Box::new(decoded))
}
