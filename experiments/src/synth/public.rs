//! The public images that a latent space learns from.

use std::path::Path;
use std::sync::Arc;

use data::pictures::{Classes, MAX_CLASSES};
use data::split::Use;
use data::{DatasetKind, LabelledImages, Shapes};
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{Used, bounded, name_of_path};
use model::latent::ImageShape;
use private_synth::images::{SpaceKind, public_images};

use super::input::{self, CIFAR10};
use super::settings::Settings;
use crate::records::{COSINES, Records, SHAPES, Source};

/// One set of shapes for all seeds.
const SHAPES_SEED: u64 = 0;
/// Passes over few images, at most.
const MOST_PASSES: usize = 40;

pub(super) struct PublicImages {
    pub records: Records,
    /// What they are, in words.
    pub name: String,
    /// Passes over them.
    pub epochs: usize,
}

impl PublicImages {
    /// Those that `--public` names, in the shape of the private ones; with a note of what they are, unless they are synthetic.
    pub(super) fn load(
        settings: &Settings,
        shape: ImageShape,
        data_dir: Option<&Path>,
    ) -> Result<(Self, Option<Used>), Failure> {
        let name = &*settings.public;
        if [SHAPES, COSINES].contains(&name) {
            let count = match name {
                SHAPES => public_images(false, shape.side),
                _ => 0,
            };
            let shapes = match shape.channels {
                1 => Shapes::grey(shape.side, SHAPES_SEED),
                _ => Shapes::colour(shape.side, SHAPES_SEED),
            };
            let public = Self {
                records: Records::new(Source::Shapes(shapes), (0..count).collect(), None),
                name: "shapes that the program draws by random processes".into(),
                epochs: 1,
            };
            return Ok((public, None));
        }
        bounded("public", name, name != settings.input, "other than --input")?;
        // No path: the words are on the card of what is published.
        let mut words = "those that --public names".to_string();
        let known = match (name, name.parse::<DatasetKind>()) {
            (CIFAR10, _) => Some(input::cifar10(data_dir)?),
            (_, Ok(kind)) => Some(input::named(kind, data_dir)?),
            (_, Err(_)) => None,
        };
        let (images, used) = match known {
            Some(known) => {
                words = name.into();
                // Synthetic digits hide no record.
                let used = known
                    .used
                    .into_iter()
                    .filter(|_| name != DatasetKind::Glyphs.name());
                let mut used = used.map(|used| Used {
                    used: Use::AllPublic,
                    ..used
                });
                (known.images.whole().or_failed()?, used.next_back())
            }
            None => {
                let (images, used) = in_folder(Path::new(name), shape)?;
                (images, Some(used))
            }
        };
        let found = images.shape();
        let wanted = [shape.channels, shape.side, shape.side];
        let bound =
            format!("images of {wanted:?} channels and pixels, as --input has them, not {found:?}");
        bounded("public", name, found == wanted, &bound)?;
        let count = images.len();
        let shown = public_images(settings.space(shape) == SpaceKind::Small, shape.side);
        let public = Self {
            epochs: shown.div_ceil(count).clamp(1, MOST_PASSES),
            records: Records::new(
                Source::Labelled(Arc::new(images)),
                (0..count).collect(),
                None,
            ),
            name: words,
        };
        Ok((public, used))
    }
}

/// The images of a folder or an archive, whatever its classes.
fn in_folder(path: &Path, shape: ImageShape) -> Result<(LabelledImages, Used), Failure> {
    let public = data::pictures::Public {
        side: Some(shape.side),
        channels: Some(shape.channels),
        classes: match data::pictures::is_array(path) {
            true => Classes::Counted(MAX_CLASSES),
            false => Classes::Folders,
        },
    };
    let images = input::read("public", path, &public)?.images;
    let sha256 = images.sha256().or_failed()?;
    let used = Used::new(
        path.display().to_string(),
        name_of_path("pictures", path),
        &sha256,
        Use::AllPublic,
    );
    Ok((images.whole().or_failed()?, used))
}
