//! Samples of a copy from its run's folder, at any time after the run.

use burn::tensor::Device;
use lab::prelude::*;

use super::generated::Generated;
use super::settings::Settings;
use crate::decoded::Decoded;
use crate::export::{Sampler, Source};

/// The samples of the run in a folder.
pub(crate) fn sampler(
    folder: &RunFolder,
    source: &Source,
    device: &Device,
) -> Result<Box<dyn Sampler>, Failure> {
    let settings: Settings = folder.read_toml("config.toml")?;
    let way = settings.method.way();
    if !way.has_latents() {
        let generated = Generated::of(folder, source, way.points(), device)?;
        return Ok(Box::new(generated));
    }
    let latent = source.copy.as_ref().map_or(0, |copy| copy.latent);
    let (form, variation) = (
        settings.form(source.shape, latent),
        settings.variation(source.shape),
    );
    let decoded = Decoded::of(folder, source, form, variation, device)?;
    Ok(Box::new(decoded))
}
