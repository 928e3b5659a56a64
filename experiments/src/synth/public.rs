//! The public images that a latent space learns from.

use std::path::Path;
use std::sync::Arc;

use data::split::Use;
use data::{DatasetKind, Glyphs, Records, Shapes};
use lab::prelude::*;
use model::latent::ImageShape;
use private_synth::images::{SpaceKind, public_images};

use super::settings::Settings;
use crate::images::{CIFAR10, Input, cifar10, in_folder, named, names_data_set};
use crate::records::{FirstRecords, NO_IMAGES, SHAPES, Source};

/// One set of shapes for all seeds.
const SHAPES_SEED: u64 = 0;
/// Passes over few images, at most.
const MOST_PASSES: usize = 40;
/// Shapes of all passes.
const MOST_SHAPES: usize = 10_000_000;

pub(super) struct PublicImages {
    pub records: FirstRecords,
    /// What they are, in words.
    pub name: String,
    /// Passes over them.
    pub epochs: usize,
}

impl PublicImages {
    /// Those that `--public` names, in the shape of the private ones; with a note of what they are, unless they are synthetic.
    ///
    /// - `half`: the public half of the input, if there is one.
    pub(super) fn load(
        settings: &Settings,
        shape: ImageShape,
        half: Option<Records>,
        data_dir: Option<&Path>,
    ) -> Result<(Self, Option<Used>), Failure> {
        let name = &*settings.public;
        let learned = !matches!(
            settings.space(shape),
            SpaceKind::Cosines | SpaceKind::Refined
        );
        let shown = public_images(learned, shape.side);
        if [SHAPES, NO_IMAGES].contains(&name) {
            // Fresh ones at each pass.
            let pass = settings.public_records.unwrap_or(shown);
            let all = pass.saturating_mul(settings.public_epochs.unwrap_or(1));
            let bound = format!("at most {MOST_SHAPES} over all passes");
            bounded("public-records", pass, all <= MOST_SHAPES, &bound)?;
            let count = if name == SHAPES { all } else { 0 };
            let shapes = match shape.channels {
                1 => Shapes::grey(shape.side, SHAPES_SEED),
                _ => Shapes::colour(shape.side, SHAPES_SEED),
            };
            let public = Self {
                records: FirstRecords {
                    source: Source::Shapes(shapes),
                    count,
                },
                name: "shapes that the program draws by random processes".into(),
                epochs: 1,
            };
            return Ok((public, None));
        }
        let bound = "other than --input, or half for its public half";
        bounded("public", name, name != settings.input, bound)?;
        // No path: the words are on the card of what is published.
        let words = match &half {
            Some(_) => format!("the public half of {}", settings.input),
            None if names_data_set(name) => name.into(),
            None => "those that --public names".into(),
        };
        let known = |known: Input| -> Result<_, Failure> {
            let mut used = known.used.into_iter().map(|used| Used {
                used: Use::AllPublic,
                ..used
            });
            Ok((known.images.whole().or_failed()?, used.next_back()))
        };
        let (images, used) = match (half, name, name.parse()) {
            (Some(half), ..) => (half, None),
            // There is no end of synthetic digits, which hide no record: each is seen once.
            (_, _, Ok(DatasetKind::Glyphs)) => {
                let count = settings.public_records.unwrap_or(shown);
                (Glyphs::train(0).draw(count, &|_| ()).or_failed()?, None)
            }
            (_, CIFAR10, _) => known(cifar10(data_dir)?)?,
            (.., Ok(kind)) => known(named(kind, None, data_dir)?)?,
            _ => {
                let (images, used) = in_folder(Path::new(name), shape, &settings.naming())?;
                (images, Some(used))
            }
        };
        let found = images.shape();
        let wanted = [shape.channels, shape.side, shape.side];
        let bound =
            format!("images of {wanted:?} channels and pixels, as --input has them, not {found:?}");
        bounded("public", name, found == wanted, &bound)?;
        let all = images.len();
        let count = settings.public_records.unwrap_or(all);
        let bound = format!("between 1 and {all}, the images that there are");
        bounded("public-records", count, (1..=all).contains(&count), &bound)?;
        let passes = shown.div_ceil(count).clamp(1, MOST_PASSES);
        let public = Self {
            epochs: settings.public_epochs.unwrap_or(passes),
            records: FirstRecords {
                source: Source::Labelled(Arc::new(images)),
                count,
            },
            name: words,
        };
        Ok((public, used))
    }
}
