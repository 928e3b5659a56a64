//! Reads images from NPZ archives and pairs of idx files.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use files::foreign::Decoder;
use image::{DynamicImage, GrayImage, RgbImage};
use rayon::prelude::*;
use zip::ZipArchive;

use super::levels::{Outside, byte};
use super::{Arrays, Asked, Classes, Form, Found, NAMES, Skipped, decode};
use crate::class::{class, no_class};
use crate::error::{check_count, check_pair, decoded, open, unfit};
use crate::idx::IdxStream;
use crate::npy::NpyStream;
use crate::{DataError, Records, Stored};

/// The reason why an array is passed over.
const OTHER: &str = "arrays beside the images and labels that are read";

/// The number of images that are read and reported at once.
const BLOCK: usize = 500;

/// Reads the images and labels of a NumPy archive.
pub(super) fn npz(
    path: &Path,
    asked: &Asked,
    done: &(dyn Fn(usize) + Sync),
    mut pixels: Stored<u8>,
) -> Result<Found, DataError> {
    let file = path.display().to_string();
    let refuse = |why: &dyn Display| other(&file, why);
    let zip = open(path)?;
    let mut archive = decoded(&file, || ZipArchive::new(zip).map_err(|e| refuse(&e)))?;
    let names = archive.file_names().filter_map(Result::ok);
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    let has = |name: &str| {
        names
            .iter()
            .any(|found| found.strip_suffix(".npy") == Some(name))
    };
    let Some([of_images, of_labels]) = NAMES.into_iter().find(|[images, _]| has(images)) else {
        return Err(unnamed(&file, &names));
    };
    let mut skipped = Vec::new();
    for name in &names {
        if ![of_images, of_labels].contains(&name.strip_suffix(".npy").unwrap_or(name)) {
            Skipped::count(&mut skipped, OTHER, Path::new(name));
        }
    }
    let classes = match has(of_labels) || asked.classes != Classes::Folders {
        true => listed(&file, &asked.classes)?,
        false => None,
    };
    let mut arrays = Arrays {
        images: of_images.into(),
        labels: of_labels.into(),
        ..Arrays::default()
    };
    let labels = match &classes {
        Some(classes) => {
            let found = array(&file, &mut archive, of_labels, 2)?;
            (arrays.kind, arrays.column) = (found.kind().into(), found.shape().len() > 1);
            Some(labels(found, classes.len())?)
        }
        None => None,
    };
    let mut images = array(&file, &mut archive, of_images, 4)?;
    arrays.channel = images.shape().len() > 3;
    let (count, height, width, channels) = match *images.shape() {
        [n, h, w] => (n, h, w, 1),
        [n, h, w, c @ (1 | 3)] => (n, h, w, c),
        [n, c @ (1 | 3), h, w] => {
            arrays.planes = true;
            (n, h, w, c)
        }
        ref other => {
            return Err(refuse(&format!(
                "images of shape {other:?}: expected [n, h, w], [n, h, w, 3] or [n, 3, h, w]"
            )));
        }
    };
    arrays.pixels = images.kind().into();
    arrays.levels = match (images.kind(), asked.levels) {
        ("|u1", None) => arrays.levels,
        // Bytes hold no larger value, so these images keep the levels 0 to 255.
        ("|u1", Some([_, white])) if white > 255 => arrays.levels,
        (_, Some(levels)) => levels,
        (kind, None) => {
            return Err(DataError::request(format!(
                "{file}: what is black and what is white in images of type {kind} is public, and no value is asked for it; say \
                 the levels: 0..1 of floats, 256 or 4096 of whole numbers"
            )));
        }
    };
    let name = images.name().to_string();
    if let Some(labels) = &labels {
        check_pair((&name, count as u64), (&file, labels.len() as u64))?;
    }
    let to = Resize::of(&file, asked, [channels, height, width])?;
    let (count, mut read) = (asked.count(&name, count)?, 0);
    while read < count {
        let block = images.next(BLOCK.min(count - read))?;
        let bytes = block.into_iter().map(|value| byte(value, arrays.levels));
        let mut bytes: Vec<u8> = bytes.collect::<Result<_, _>>().map_err(|Outside(found)| {
            let [black, white] = arrays.levels;
            let bound = format!("the levels that were said, {black} to {white}; say others");
            DataError::record(format!("{file}: a value of an image is outside of {bound}"))
                .telling(format!("{file}: found {found}, outside of {bound}"))
        })?;
        if arrays.planes {
            bytes = turned(&bytes, channels, height * width);
        }
        read += to.append(&bytes, &mut pixels)?;
        done(read);
    }
    let found = to.found(pixels, count, labels.zip(classes), Form::Npz)?;
    Ok(Found {
        skipped,
        arrays,
        ..found
    })
}

/// Turns images with one plane of `size` pixels for each channel into images with the channels of each pixel together.
fn turned(images: &[u8], channels: usize, size: usize) -> Vec<u8> {
    let image = |image: &[u8]| -> Vec<u8> {
        let pixel = |place: usize| (0..channels).map(move |c| c * size + place);
        (0..size).flat_map(pixel).map(|at| image[at]).collect()
    };
    images
        .chunks_exact(channels * size)
        .flat_map(image)
        .collect()
}

/// The error for an archive in which no array has a name of images.
fn unnamed(file: &str, names: &[String]) -> DataError {
    let known = NAMES.map(|[images, _]| images).join(", ");
    let problem = format!("no array is named {known}");
    let told = format!("{problem}, found {}", names.join(", "));
    other(file, &problem).telling(other(file, &told))
}

/// Opens an array of an archive that has at most this number of dimensions.
fn array<'a>(
    file: &str,
    archive: &'a mut ZipArchive<File>,
    name: &str,
    dimensions: usize,
) -> Result<NpyStream<impl Read + use<'a>>, DataError> {
    let entry = decoded(file, || {
        let entry = archive.by_name(&format!("{name}.npy"));
        entry.map_err(|e| other(file, &format!("{name}: {e}")))
    })?;
    NpyStream::of(&format!("{file}: {name}.npy"), Decoder(entry), dimensions)
}

/// The error for an archive with other content.
fn other(file: &str, why: &dyn Display) -> DataError {
    DataError::file(format!(
        "{file}: {why}; save it by numpy.savez(FILE, images=bytes, labels=numbers)"
    ))
}

/// Reads an idx file of images, with its labels beside it or in the file that [`Asked::labels`] names.
pub(super) fn idx(
    path: &Path,
    asked: &Asked,
    done: &(dyn Fn(usize) + Sync),
    mut pixels: Stored<u8>,
) -> Result<Found, DataError> {
    let file = path.display().to_string();
    let unread = asked.classes == Classes::Unread;
    let beside = || {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let named = name.contains("images-idx3");
        named.then(|| path.with_file_name(name.replace("images-idx3", "labels-idx1")))
    };
    let labels_path = asked.labels.clone().filter(|_| !unread);
    let labels_path = labels_path.or_else(beside);
    if labels_path.is_none() && !unread {
        return Err(DataError::file(format!(
            "{file}: expected a folder, a .tar, .zip or .npz archive, or an idx file whose name has images-idx3 in it; convert \
             it, arrays by numpy.savez(FILE, images=bytes, labels=numbers)"
        )));
    }
    let classes = listed(&file, &asked.classes)?;
    let most = classes
        .as_ref()
        .map_or(0, |classes| (classes.len() - 1) as u8);
    let labels_path = labels_path.filter(|_| !unread);
    let mut images = IdxStream::open(path, labels_path.as_deref(), most)?;
    let to = Resize::of(&file, asked, images.shape)?;
    let (count, mut labels) = (asked.count(&file, images.count)?, Vec::new());
    let mut read = 0;
    while read < count {
        let (block, of) = images.next(BLOCK.min(count - read))?;
        labels.extend(of);
        read += to.append(&block, &mut pixels)?;
        done(read);
    }
    to.found(
        pixels,
        count,
        classes.map(|classes| (labels, classes)),
        Form::Idx,
    )
}

/// Reads the labels of an array of one column.
pub(super) fn labels<R: Read>(
    mut array: NpyStream<R>,
    classes: usize,
) -> Result<Vec<u8>, DataError> {
    if array.columns() != 1 {
        let (file, columns) = (array.name(), array.columns());
        return Err(DataError::record(format!(
            "{file}, {columns} columns: expected one, of classes; save them as an array of one dimension, such as labels.argmax(1)"
        )));
    }
    let values = array.next(array.rows())?;
    let label = |(place, &value): (usize, &f32)| {
        let refused = || no_class(array.name(), &format!("row {place}"), classes, value);
        let class = class(f64::from(value), classes);
        class.map(|label| label as u8).ok_or_else(refused)
    };
    values.iter().enumerate().map(label).collect()
}

impl Asked {
    /// Returns how many of the `all` records of a file to read.
    pub(super) fn count(&self, file: &str, all: usize) -> Result<usize, DataError> {
        let count = self.first.unwrap_or(all);
        check_count(file, count, all)?;
        Ok(count)
    }
}

/// Returns the names of the classes, or `None` if no labels are read.
pub(super) fn listed(file: &str, classes: &Classes) -> Result<Option<Vec<String>>, DataError> {
    let listed = classes.listed()?;
    if listed.is_none() && *classes != Classes::Unread {
        return Err(DataError::request(format!(
            "{file}: how many classes there are is public, and no record is asked for it; say it, or name them"
        )));
    }
    Ok(listed)
}

/// Resizes images from the size of an array to the size that was asked for.
struct Resize {
    from: [usize; 3],
    to: [usize; 3],
}

impl Resize {
    fn of(file: &str, asked: &Asked, from: [usize; 3]) -> Result<Self, DataError> {
        let [channels, height, width] = from;
        let unread = asked.classes == Classes::Unread;
        let side = match asked.side {
            // Rows of numbers may be of any shape.
            None if unread && channels == 1 => return Ok(Self { from, to: from }),
            None if height != width => {
                return Err(unfit(
                    &format!("{file}: images"),
                    "as high as wide, or a side to cut them to",
                    format!("{height} x {width}"),
                ));
            }
            side => side.unwrap_or(width),
        };
        crate::error::check_side(side)?;
        match asked.channels.unwrap_or(channels) {
            channels @ (1 | 3) => Ok(Self {
                from,
                to: [channels, side, side],
            }),
            other => Err(unfit("channels of an image", "1 or 3", other)),
        }
    }

    /// Resizes and appends images `[n, h, w, channels]`, and returns their number.
    fn append(&self, images: &[u8], pixels: &mut Stored<u8>) -> Result<usize, DataError> {
        let [channels, height, width] = self.from;
        let size = channels * height * width;
        if channels == 1 && self.from == self.to {
            pixels.add(images)?;
            return Ok(images.len() / size);
        }
        let [to, side, _] = self.to;
        let image = |bytes: &[u8]| {
            let (w, h) = (width as u32, height as u32);
            let image = match channels {
                1 => GrayImage::from_raw(w, h, bytes.to_vec()).map(DynamicImage::from),
                _ => RgbImage::from_raw(w, h, bytes.to_vec()).map(DynamicImage::from),
            };
            // A buffer of w h channels bytes makes an image.
            decode::square(image.unwrap_or_default(), side, to)
        };
        let parts: Vec<Vec<u8>> = images.par_chunks_exact(size).map(image).collect();
        pixels.add(&parts.concat())?;
        Ok(parts.len())
    }

    fn found(
        self,
        pixels: Stored<u8>,
        count: usize,
        labels: Option<(Vec<u8>, Vec<String>)>,
        form: Form,
    ) -> Result<Found, DataError> {
        let (mut labels, classes) = labels.unwrap_or((vec![0; count], Vec::new()));
        labels.truncate(count);
        Ok(Found {
            records: Records::planes(pixels, labels, self.to, classes.len().max(1))?,
            classes,
            paths: Vec::new(),
            form,
            arrays: Arrays::default(),
            skipped: Vec::new(),
        })
    }
}
