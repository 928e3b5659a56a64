//! Images to latents, and latents to images, on the host.

use burn::tensor::{Device, Tensor, TensorData};
use data::Records;
use lab::diagnostic::{Failure, OrFailed};
use lab::session::Session;
use model::swae::{Swae, SwaeConfig};

/// Images that are encoded or decoded at once.
pub(crate) const PART: usize = 500;

/// Latents of images: `[n, 784] -> [n, latent]`.
pub(crate) fn encode(model: &Swae, pixels: Vec<f32>, device: &Device) -> Result<Vec<f32>, Failure> {
    let features = SwaeConfig::PIXELS;
    let rows = pixels.len() / features;
    let images = Tensor::from_data(TensorData::new(pixels, [rows, features]), device);
    let latents = model.encode(images).or_failed()?;
    Ok(latents.into_data().iter::<f32>().collect())
}

/// The same of many images, at some places.
pub(crate) fn encode_at(
    model: &Swae,
    images: &Records,
    places: &[usize],
    session: &Session,
) -> Result<Vec<f32>, Failure> {
    let mut latents = Vec::with_capacity(places.len() * model.latent);
    for part in places.chunks(PART) {
        session.interrupt.check("records were encoded")?;
        let pixels = images.gather(part).or_failed()?;
        latents.extend(encode(model, pixels, &session.chosen.device)?);
    }
    Ok(latents)
}

/// Images of decoder inputs: `[n, latent + classes] -> [n, 784]`, in `[0, 1]`.
pub(crate) fn decode(model: &Swae, inputs: Vec<f32>, device: &Device) -> Result<Vec<f32>, Failure> {
    let width = model.latent + model.classes;
    let mut images = Vec::with_capacity(inputs.len() / width * SwaeConfig::PIXELS);
    // In parts, so that a thousand samples need no more memory than a batch.
    for part in inputs.chunks(PART * width) {
        let inputs = TensorData::new(part.to_vec(), [part.len() / width, width]);
        let decoded = model
            .decode(Tensor::from_data(inputs, device))
            .or_failed()?;
        images.extend(decoded.into_data().iter::<f32>());
    }
    Ok(images)
}

/// Decoder inputs: latents beside one-hot labels.
pub(crate) fn with_labels(
    latents: &[f32],
    latent: usize,
    classes: usize,
    labels: &[usize],
) -> Vec<f32> {
    let mut inputs = Vec::with_capacity(labels.len() * (latent + classes));
    for (row, &label) in latents.chunks_exact(latent).zip(labels) {
        inputs.extend_from_slice(row);
        inputs.extend((0..classes).map(|c| if c == label { 1.0 } else { 0.0 }));
    }
    inputs
}
