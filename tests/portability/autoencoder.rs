//! The public autoencoder: on tensors wherever they live, and on host kernels.

use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};
use model::latent::{ImageShape, LatentSpace, SmallAutoencoder};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::{Case, TestDevice, Tolerance, wave, wide};

/// Small grey images.
pub(super) const SMALL: ImageShape = ImageShape {
    channels: 1,
    side: 32,
};
/// So many in each case: a GPU chooses its kernels once.
pub(super) const IMAGES: usize = 5;

pub(super) fn cases() -> Vec<Case> {
    let space = |device: &Device| {
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        SmallAutoencoder::new(SMALL, 8, &mut rng, device)
    };
    let images = Arc::new(wave(IMAGES * 32 * 32));
    let there = images.clone();
    vec![Case::new(
        "layers",
        "public autoencoder: encode, decode",
        Tolerance::Operation,
        move |on: &TestDevice| {
            let (space, device) = (space(&on.device), &on.device);
            let shape = [IMAGES, 1, 32, 32];
            let data = TensorData::new(there.to_vec(), shape);
            let latents = space.encode(Tensor::from_data(data, device));
            let mut all: Vec<f64> = latents.clone().into_data().iter().collect();
            all.extend(space.decode(latents).into_data().iter::<f64>());
            all
        },
        move || {
            let host = space(&Device::flex()).host().expect("host kernels");
            let latents = host.encode(&images);
            let decoded = host.decode(&latents);
            wide(latents.into_iter().chain(decoded))
        },
    )]
}
