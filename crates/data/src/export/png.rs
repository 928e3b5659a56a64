use std::fs::create_dir_all;
use std::io;
use std::path::PathBuf;

use image::{ExtendedColorType, ImageFormat};
use rayon::prelude::*;

use super::Layout;
use crate::DataError;
use crate::error::io;

/// PNG files, in one folder for each class if there are labels.
pub(super) struct PngFolder {
    folder: PathBuf,
    classes: Vec<String>,
    sides: [usize; 2],
    colour: ExtendedColorType,
    size: usize,
}

impl PngFolder {
    pub(super) fn new(folder: PathBuf, layout: &Layout) -> Self {
        Self {
            folder,
            classes: layout.classes.clone(),
            sides: layout.sides,
            colour: match layout.channels {
                1 => ExtendedColorType::L8,
                _ => ExtendedColorType::Rgb8,
            },
            size: layout.image_bytes(),
        }
    }

    /// Writes the next images, numbered from `first`.
    pub(super) fn append(
        &self,
        first: usize,
        pixels: &[u8],
        labels: &[u8],
    ) -> Result<(), DataError> {
        let class = |label: Option<&u8>| {
            let Some(&label) = label else {
                return self.folder.clone();
            };
            let named = self.classes.get(usize::from(label)).cloned();
            self.folder.join(named.unwrap_or_else(|| label.to_string()))
        };
        let mut folders: Vec<PathBuf> = labels.iter().map(|label| class(Some(label))).collect();
        folders.push(class(labels.first()));
        // A class without images has a folder too.
        folders.extend(self.classes.iter().map(|name| self.folder.join(name)));
        folders.sort();
        folders.dedup();
        for folder in folders {
            create_dir_all(&folder).map_err(io(&folder, "create the folder"))?;
        }
        let [height, width] = self.sides.map(|side| side as u32);
        let images = pixels.par_chunks_exact(self.size).enumerate();
        images.try_for_each(|(place, image)| {
            let name = format!("{:06}.png", first + place);
            let path = class(labels.get(place)).join(name);
            image::save_buffer_with_format(
                &path,
                image,
                width,
                height,
                self.colour,
                ImageFormat::Png,
            )
            .map_err(|e| io(&path, "write the file")(io::Error::other(e)))
        })
    }
}
