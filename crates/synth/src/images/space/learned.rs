//! Latent spaces by their public training: none, a decoder of cosines, or an autoencoder.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use model::latent::{
    DcganAutoencoder, ImageShape, LatentSpace, SmallAutoencoder, padded, rebuild_images,
};
use private_training::weights::{from_host, to_host};
use private_training::{PublicTraining, TrainingError, TrainingState, TrainingStep};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::{CosineSpace, RefinedCosines};

/// The kind of map between images and latents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceKind {
    /// Cosines, without training.
    Cosines,
    /// Cosines, with a decoder that public images refine.
    Refined,
    /// An autoencoder of small layers.
    Small,
    /// An autoencoder of 64x64 photographs, with this number of channels in its narrowest layer.
    Dcgan(usize),
}

/// A latent space before its training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceForm {
    /// The kind of the space.
    pub kind: SpaceKind,
    /// The dimension of the space.
    pub latent: usize,
    /// The shape of images that it encodes and decodes: that of records, or a larger one.
    pub shape: ImageShape,
}

/// A trained latent space.
pub enum Space {
    /// Cosines, without training.
    Cosines(CosineSpace),
    /// Cosines, with a decoder that public images refine.
    Refined(Box<RefinedCosines>),
    /// An autoencoder of small layers.
    Small(Box<SmallAutoencoder>),
    /// An autoencoder of 64x64 photographs.
    Dcgan(Box<DcganAutoencoder>),
}

impl Space {
    fn form(&self) -> &dyn LatentSpace {
        match self {
            Self::Cosines(space) => space,
            Self::Refined(space) => &**space,
            Self::Small(space) => &**space,
            Self::Dcgan(space) => &**space,
        }
    }
}

impl LatentSpace for Space {
    fn shape(&self) -> ImageShape {
        self.form().shape()
    }

    fn latent(&self) -> usize {
        self.form().latent()
    }

    fn features(&self, images: Tensor<4>) -> Tensor<2> {
        self.form().features(images)
    }

    fn logits(&self, latents: Tensor<2>) -> Tensor<4> {
        self.form().logits(latents)
    }

    fn decode(&self, latents: Tensor<2>) -> Tensor<4> {
        self.form().decode(latents)
    }
}

impl Space {
    /// Returns the weights, one after the other; cosines have none.
    pub fn weights(&self) -> Vec<f32> {
        match self {
            Self::Cosines(_) => Vec::new(),
            Self::Refined(space) => to_host(space.as_ref()),
            Self::Small(space) => to_host(space.as_ref()),
            Self::Dcgan(space) => to_host(space.as_ref()),
        }
    }
}

/// Public images that train a latent space.
pub struct SpaceTraining<G> {
    /// The number of images.
    pub count: usize,
    /// The number of epochs.
    pub epochs: usize,
    /// The shape of the images.
    pub shape: ImageShape,
    /// Returns the images at some indices below `count`, `[n, c s s]` in rows.
    pub gather: G,
}

impl SpaceForm {
    /// The number of public images in a step.
    pub const BATCH: usize = 25;
    /// Adam's learning rate at the start; it falls to a tenth.
    pub const LEARNING_RATE: f64 = 2e-3;

    /// Creates the space with the weights of [`Space::weights`].
    ///
    /// # Errors
    /// Returns [`TrainingError`] for a dimension or a number of weights that the space does not have.
    pub fn of_weights(&self, weights: &[f32], device: &Device) -> Result<Space, TrainingError> {
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        Ok(match self.fresh(&mut rng, device)? {
            cosines @ Space::Cosines(_) => cosines,
            Space::Refined(space) => Space::Refined(Box::new(from_host(*space, weights)?)),
            Space::Small(space) => Space::Small(Box::new(from_host(*space, weights)?)),
            Space::Dcgan(space) => Space::Dcgan(Box::new(from_host(*space, weights)?)),
        })
    }

    /// Trains the space on public images; cosines need no training.
    ///
    /// - `rng`: gives the first weights and the order of the images; the same as before if the training resumes;
    /// - `from`, `each`: as in [`private_training::fit_public`].
    ///
    /// # Errors
    /// Returns [`TrainingError`] for a dimension that the space does not have, and errors of [`private_training::fit_public`].
    pub fn trained<E: From<TrainingError>>(
        &self,
        mut images: SpaceTraining<impl FnMut(&[usize]) -> Result<Vec<f32>, E>>,
        device: &Device,
        rng: &mut impl Rng,
        from: Option<&TrainingState>,
        each: impl FnMut(TrainingStep, &dyn Fn() -> TrainingState) -> Result<(), E>,
    ) -> Result<Space, E> {
        let how = PublicTraining {
            epochs: images.epochs,
            batch: Self::BATCH,
            learning_rate: Self::LEARNING_RATE,
            last: 0.1,
            adam_epsilon: 1e-5,
        };
        let (count, shape, whole) = (images.count, images.shape, self.shape);
        let gather = |places: &[usize]| Ok(padded(&(images.gather)(places)?, shape, whole));
        Ok(match self.fresh(rng, &device.clone().autodiff())? {
            cosines @ Space::Cosines(_) => cosines,
            Space::Refined(space) => {
                let learned = rebuild_images(&how, *space, count, gather, rng, from, each)?;
                Space::Refined(Box::new(learned.valid()))
            }
            Space::Small(space) => {
                let learned = rebuild_images(&how, *space, count, gather, rng, from, each)?;
                Space::Small(Box::new(learned.valid()))
            }
            Space::Dcgan(space) => {
                let learned = rebuild_images(&how, *space, count, gather, rng, from, each)?;
                Space::Dcgan(Box::new(learned.valid()))
            }
        })
    }

    fn fresh(&self, rng: &mut impl Rng, device: &Device) -> Result<Space, TrainingError> {
        let Self {
            kind,
            latent,
            shape,
        } = *self;
        Ok(match kind {
            SpaceKind::Cosines => Space::Cosines(CosineSpace::new(shape, latent)?),
            SpaceKind::Refined => {
                Space::Refined(Box::new(RefinedCosines::new(shape, latent, rng, device)?))
            }
            SpaceKind::Small => {
                Space::Small(Box::new(SmallAutoencoder::new(shape, latent, rng, device)))
            }
            SpaceKind::Dcgan(width) => Space::Dcgan(Box::new(DcganAutoencoder::new(
                3, latent, width, rng, device,
            ))),
        })
    }
}
