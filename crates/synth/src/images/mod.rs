//! Private copies of labelled images. A method is a file with an [`ImageMethod`] in it, which makes the releases of the images
//! and the sampler. [`Mixture`] releases moments in a public latent space, and decodes samples of Gaussians. [`Merf`] releases
//! random features, and trains a generator on them.
//!
//! ```
//! use burn::tensor::Device;
//! use data::Records;
//! use dp_core::ledger::Ledger;
//! use model::latent::ImageShape;
//! use private_synth::images::{CosineSpace, ImageCopy, ImageSampler, Mixture};
//! use rand::SeedableRng;
//! use rand_chacha::ChaCha20Rng;
//!
//! # let folder = tempfile::tempdir()?;
//! // 600 private images of 8 x 8 pixels: class 0 is bright above, class 1 below.
//! let pixel = |i: usize| if (i % 64 < 32) == (i / 64 % 2 == 0) { 200 } else { (i % 7) as u8 };
//! let (pixels, labels) = ((0..600 * 64).map(pixel).collect(), (0..600).map(|i| (i % 2) as u8).collect());
//! let images = Records::new(pixels, labels, 8, 8, 2)?;
//!
//! // Cosines learn from no image; another `LatentSpace` may have learned from public ones.
//! let space = CosineSpace::new(ImageShape { channels: 1, side: 8 }, 8)?;
//! let (device, mut rng) = (Device::flex(), ChaCha20Rng::seed_from_u64(0));
//! let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl"))?;
//! let copy = ImageCopy::new(Mixture::new(&space)).epsilon(2.0);
//! let mut copy = copy.fit(&images, &device, &mut ledger, &mut rng)?;
//!
//! let (pixels, classes) = copy.sample(100, &device, &mut rng)?;
//! assert_eq!((pixels.len(), classes.len()), (100 * 64, 100));
//! // Few records and one epsilon bear one cell a class: one release.
//! assert_eq!(ledger.releases(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod copy;
mod encoded;
mod generated;
mod generator;
mod in_latents;
mod merf;
mod method;
mod mixture;
mod sizes;
mod space;

pub use copy::ImageCopy;
pub use encoded::Encoded;
pub use generated::GeneratedImages;
pub use generator::{Architecture, Code, Generator, Made, Size};
pub use in_latents::{MixedImages, Mixture};
pub use merf::Merf;
pub use method::{ImageMethod, ImageSampler, PrivateImages};
pub use mixture::{Mixed, Mixing, apportion, normalise};
pub use sizes::{Signal, public_images, samples};
pub use space::{CosineSpace, RefinedCosines, Space, SpaceForm, SpaceKind, SpaceTraining};
