//! Images in arrays: NPZ archives, and pairs of idx files.

use std::path::Path;

use files::foreign::Decoder;
use image::{DynamicImage, GrayImage, RgbImage};
use rayon::prelude::*;
use zip::ZipArchive;

use super::{Classes, Form, Pictures, Public};
use crate::class::{class, no_class};
use crate::error::{check_pair, decoded, open, unfit};
use crate::folder::decode;
use crate::npy::NpyStream;
use crate::stream::RecordStream;
use crate::{DataError, Stored, StoredImages, idx};

/// Images that are read, and told of, at once.
const BLOCK: usize = 500;

/// `images` and `labels` of an archive of NumPy.
pub(super) fn npz(
    path: &Path,
    public: &Public,
    done: &(dyn Fn(usize) + Sync),
    mut pixels: Stored<u8>,
) -> Result<Pictures, DataError> {
    let file = path.display().to_string();
    let refuse = |why: &dyn std::fmt::Display| {
        DataError::file(format!(
            "{file}: {why}; save it by numpy.savez(FILE, images=bytes, labels=numbers)"
        ))
    };
    let zip = open(path)?;
    let mut archive = decoded(&file, || ZipArchive::new(zip).map_err(|e| refuse(&e)))?;
    let classes = listed(&file, &public.classes)?;
    let labels = {
        let name = format!("{file}: labels.npy");
        let entry = decoded(&file, || {
            let entry = archive.by_name("labels.npy");
            entry.map_err(|e| refuse(&format!("labels: {e}")))
        })?;
        let mut labels = NpyStream::of(&name, Decoder(entry), 1)?;
        let all = labels.shape()[0];
        let found = labels.next(all)?.values;
        let label = |(place, &value): (usize, &f32)| {
            let refused = || no_class(&name, &format!("index {place}"), classes.len(), value);
            class(f64::from(value), classes.len())
                .map(|label| label as u8)
                .ok_or_else(refused)
        };
        found
            .iter()
            .enumerate()
            .map(label)
            .collect::<Result<Vec<u8>, DataError>>()?
    };
    let name = format!("{file}: images.npy");
    let entry = decoded(&file, || {
        let entry = archive.by_name("images.npy");
        entry.map_err(|e| refuse(&format!("images: {e}")))
    })?;
    let mut images = NpyStream::of(&name, Decoder(entry), 4)?;
    let (count, height, width, channels) = match *images.shape() {
        [n, h, w] => (n, h, w, 1),
        [n, h, w, c @ (1 | 3)] => (n, h, w, c),
        ref other => {
            return Err(refuse(&format!(
                "images of shape {other:?}: expected [n, h, w] or [n, h, w, 3]"
            )));
        }
    };
    if images.kind() != "|u1" {
        let found = images.kind();
        return Err(refuse(&format!(
            "images of type {found}: expected |u1, bytes of 0 to 255"
        )));
    }
    check_pair((&name, count as u64), (&file, labels.len() as u64))?;
    let to = Resize::of(&file, public, [channels, height, width])?;
    let mut read = 0;
    while read < count {
        let block = images.next(BLOCK)?.values;
        let bytes: Vec<u8> = block.into_iter().map(|value| value as u8).collect();
        read += to.append(&bytes, &mut pixels)?;
        done(read);
    }
    to.pictures(pixels, labels, classes, Form::Npz)
}

/// An idx file of images, with its labels beside it.
pub(super) fn idx(
    path: &Path,
    public: &Public,
    done: &(dyn Fn(usize) + Sync),
    mut pixels: Stored<u8>,
) -> Result<Pictures, DataError> {
    let file = path.display().to_string();
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let labels_path = name
        .filter(|name| name.contains("images-idx3"))
        .map(|name| path.with_file_name(name.replace("images-idx3", "labels-idx1")));
    let Some(labels_path) = labels_path else {
        return Err(DataError::file(format!(
            "{file}: expected a folder, a .tar or .npz archive, or an idx file whose name has images-idx3 in it; convert it"
        )));
    };
    let classes = listed(&file, &public.classes)?;
    let images = idx::read_images_plain_or_gzip(path)?;
    let labels = idx::read_labels_plain_or_gzip(&labels_path, (classes.len() - 1) as u8)?;
    let labels_file = labels_path.display().to_string();
    check_pair(
        (&file, images.count as u64),
        (&labels_file, labels.len() as u64),
    )?;
    let to = Resize::of(&file, public, [1, images.height, images.width])?;
    let mut read = 0;
    for block in images.pixels.chunks(BLOCK * images.height * images.width) {
        read += to.append(block, &mut pixels)?;
        done(read);
    }
    to.pictures(pixels, labels, classes, Form::Idx)
}

fn listed(file: &str, classes: &Classes) -> Result<Vec<String>, DataError> {
    classes.listed()?.ok_or_else(|| {
        DataError::request(format!("{file}: how many classes there are is public, and no record is asked for it; say it, or name them"))
    })
}

/// From the size of an array to that of the images.
struct Resize {
    from: [usize; 3],
    side: usize,
    channels: usize,
}

impl Resize {
    fn of(file: &str, public: &Public, from: [usize; 3]) -> Result<Self, DataError> {
        let [channels, height, width] = from;
        if public.side.is_none() && height != width {
            return Err(unfit(
                &format!("{file}: images"),
                "as high as wide, or a side to cut them to",
                format!("{height} x {width}"),
            ));
        }
        let to = Self {
            from,
            side: public.side.unwrap_or(width),
            channels: public.channels.unwrap_or(channels),
        };
        crate::error::check_side(to.side)?;
        match to.channels {
            1 | 3 => Ok(to),
            other => Err(unfit("channels of an image", "1 or 3", other)),
        }
    }

    /// Appends images `[n, h, w, channels]` as `[n, channels, side, side]`, and says how many.
    fn append(&self, images: &[u8], pixels: &mut Stored<u8>) -> Result<usize, DataError> {
        let [channels, height, width] = self.from;
        let size = channels * height * width;
        let image = |bytes: &[u8]| {
            let (w, h) = (width as u32, height as u32);
            let image = match channels {
                1 => GrayImage::from_raw(w, h, bytes.to_vec()).map(DynamicImage::from),
                _ => RgbImage::from_raw(w, h, bytes.to_vec()).map(DynamicImage::from),
            };
            // A buffer of w h channels bytes makes an image.
            decode::square(image.unwrap_or_default(), self.side, self.channels)
        };
        let parts: Vec<Vec<u8>> = images.par_chunks_exact(size).map(image).collect();
        pixels.add(&parts.concat())?;
        Ok(parts.len())
    }

    fn pictures(
        self,
        pixels: Stored<u8>,
        labels: Vec<u8>,
        classes: Vec<String>,
        form: Form,
    ) -> Result<Pictures, DataError> {
        let shape = [self.channels, self.side, self.side];
        Ok(Pictures {
            images: StoredImages::new(pixels, labels, shape, classes.len())?,
            classes,
            paths: Vec::new(),
            form,
        })
    }
}
