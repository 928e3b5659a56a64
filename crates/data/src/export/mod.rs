//! Writes generated images to files that other programs read: idx pairs in MNIST's layout, a NumPy archive, or a folder
//! of PNG files by class.
//!
//! | format | files |
//! |---|---|
//! | [`Format::Idx`] | `MNIST/raw/train-images-idx3-ubyte`, `MNIST/raw/train-labels-idx1-ubyte`, plain and as `.gz`; grey only |
//! | [`Format::Npz`] | `images.npz`: bytes of `[n, h, w]` or `[n, h, w, 3]`, and labels, with the names in [`Arrays`] |
//! | [`Format::Png`] | `CLASS/NUMBER.png`, or `NUMBER.png` without labels, in `png` if other files lie beside it |
//!
//! Images are written part by part, as they come. Memory grows only with their labels, by one byte for each image.

mod idx_pair;
mod npz;
mod png;

use std::path::{Path, PathBuf};

use crate::error::check_count;
use crate::idx::{MAX_BYTES, MAX_SIDE};
use crate::{Arrays, DataError, npy};

use idx_pair::IdxPair;
use npz::Npz;
use png::PngFolder;

/// The most bytes of all images in an archive: 2^32, less room for its headers.
pub const MAX_NPZ_BYTES: u64 = (1 << 32) - (1 << 20);
/// The most PNG files in a folder.
pub const MAX_PNG_FILES: u64 = 1_000_000;

/// A file format for images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Idx files in MNIST's layout.
    Idx,
    /// A NumPy archive.
    Npz,
    /// PNG files.
    Png,
}

impl Format {
    /// The name that `--format` takes.
    fn name(self) -> &'static str {
        match self {
            Self::Idx => "idx",
            Self::Npz => "npz",
            Self::Png => "png",
        }
    }
}

/// The number, size, classes and formats of the images to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The number of images.
    pub count: usize,
    /// The height and width of an image in pixels.
    pub sides: [usize; 2],
    /// The number of channels: 1 for grey, 3 for colour.
    pub channels: usize,
    /// Whether each image has a label.
    pub labels: bool,
    /// The names of the classes, for their folders; if empty, the folders are named by the numbers of the classes.
    pub classes: Vec<String>,
    /// The formats to write, each once.
    pub formats: Vec<Format>,
    /// The names and types of the arrays in a NumPy archive.
    pub arrays: Arrays,
}

impl Layout {
    /// The number of bytes of one image.
    pub fn image_bytes(&self) -> usize {
        self.sides.iter().product::<usize>() * self.channels
    }

    /// The number of bytes of a value in a NumPy archive.
    fn pixel_bytes(&self) -> u64 {
        npy::kind(&self.arrays.pixels).map_or(1, |(_, bytes, ..)| bytes as u64)
    }

    /// Returns the folder of the PNG files, below that of all files. It is empty if PNG is the only format and no class has the
    /// name of a file beside them, such as the card.
    pub fn png_folder(&self) -> PathBuf {
        let taken = |name: &String| {
            let beside = ["README.md", "card.json"];
            beside.iter().any(|file| name.eq_ignore_ascii_case(file))
        };
        match &self.formats[..] {
            [Format::Png] if !self.classes.iter().any(taken) => PathBuf::new(),
            _ => "png".into(),
        }
    }

    /// Returns about the number of bytes that the files take on a disk. They take no more unless the images are noise.
    pub fn bytes_upper(&self) -> u64 {
        // A smaller file takes a block of the disk.
        const BLOCK: u64 = 4096;
        let (count, image) = (self.count as u64, self.image_bytes() as u64 + 1);
        let of = |format: &Format| match format {
            Format::Idx => 2 * count * image,
            Format::Npz => count * image * self.pixel_bytes(),
            Format::Png => count * image.next_multiple_of(BLOCK),
        };
        self.formats.iter().map(of).sum()
    }

    /// Checks that the formats can hold the images and that programs can read them.
    ///
    /// # Errors
    /// [`DataError::Request`] for a count of 0 or beyond a format, a side of 0, a number of channels other than 1 and 3, no
    /// format, a format that is named twice, and idx files of colour images.
    pub fn check(&self) -> Result<(), DataError> {
        let refuse = |message: String| Err(DataError::request(message));
        let sides = 1..=MAX_SIDE as usize;
        if self.sides.iter().any(|side| !sides.contains(side)) || ![1, 3].contains(&self.channels) {
            return refuse(format!(
                "images of {:?} pixels and {} channels: expected sides of 1 to {MAX_SIDE} and 1 or 3 channels",
                self.sides, self.channels
            ));
        }
        if self.formats.is_empty() {
            return refuse("no format: expected at least one of idx, npz, png".into());
        }
        for (place, format) in self.formats.iter().enumerate() {
            if self.formats[..place].contains(format) {
                return refuse(format!("{} is named twice", format.name()));
            }
            if *format == Format::Idx && self.channels != 1 {
                return refuse("idx files hold grey images; ask for npz or png".into());
            }
            let image = self.image_bytes() as u64;
            let most = match format {
                Format::Idx => MAX_BYTES / image,
                Format::Npz => MAX_NPZ_BYTES / image / self.pixel_bytes(),
                Format::Png => MAX_PNG_FILES,
            };
            check_count(
                format!("images in {}", format.name()),
                self.count,
                most as usize,
            )?;
        }
        Ok(())
    }
}

/// Writes the images of a [`Layout`] to a folder.
///
/// ```
/// use data::export::{Format, ImageWriter, Layout};
///
/// let folder = tempfile::tempdir()?;
/// let formats = vec![Format::Idx, Format::Npz, Format::Png];
/// let (classes, arrays) = (Vec::new(), data::Arrays::default());
/// let layout = Layout { count: 2, sides: [2, 3], channels: 1, labels: true, classes, formats, arrays };
/// let mut writer = ImageWriter::create(folder.path(), &layout)?;
/// writer.append(&[0, 1, 2, 3, 4, 5], &[7])?;
/// writer.append(&[9; 6], &[1])?;
/// writer.finish()?;
/// let raw = folder.path().join("MNIST/raw");
/// let read = data::idx::read_images(&raw.join("train-images-idx3-ubyte.gz"))?;
/// assert_eq!((read.count, read.height, read.width), (2, 2, 3));
/// assert!(folder.path().join("png/7/000000.png").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ImageWriter {
    layout: Layout,
    done: usize,
    idx: Option<IdxPair>,
    npz: Option<Npz>,
    png: Option<PngFolder>,
}

impl ImageWriter {
    /// Creates the files of a layout in an existing folder.
    pub fn create(folder: &Path, layout: &Layout) -> Result<Self, DataError> {
        layout.check()?;
        let asked = |format| layout.formats.contains(&format).then_some(());
        Ok(Self {
            idx: asked(Format::Idx)
                .map(|()| IdxPair::create(&folder.join("MNIST/raw"), layout))
                .transpose()?,
            npz: asked(Format::Npz)
                .map(|()| Npz::create(folder.join("images.npz"), layout))
                .transpose()?,
            png: asked(Format::Png)
                .map(|()| PngFolder::new(folder.join(layout.png_folder()), layout)),
            layout: layout.clone(),
            done: 0,
        })
    }

    /// Writes the next images, `[n, h, w]` or `[n, h, w, 3]` in row-major order, and their labels, `[n]` or empty.
    ///
    /// # Errors
    /// [`DataError::Request`] if pixels or labels do not fit the layout; [`DataError::Io`].
    pub fn append(&mut self, pixels: &[u8], labels: &[u8]) -> Result<(), DataError> {
        let size = self.layout.image_bytes();
        let count = pixels.len() / size;
        let fit = pixels.len().is_multiple_of(size) && self.done + count <= self.layout.count;
        if !fit || labels.len() != if self.layout.labels { count } else { 0 } {
            return Err(DataError::request(format!(
                "{} bytes and {} labels after {} of {} images of {size} bytes do not fit",
                pixels.len(),
                labels.len(),
                self.done,
                self.layout.count
            )));
        }
        if let Some(idx) = &mut self.idx {
            idx.append(pixels, labels)?;
        }
        if let Some(npz) = &mut self.npz {
            npz.append(pixels, labels)?;
        }
        if let Some(png) = &mut self.png {
            png.append(self.done, pixels, labels)?;
        }
        self.done += count;
        Ok(())
    }

    /// Finishes the files and flushes all but the PNG files to the disk. Returns the paths of the files below the
    /// folder, without the PNG files.
    ///
    /// # Errors
    /// [`DataError::Request`] if images are missing; [`DataError::Io`].
    pub fn finish(self) -> Result<Vec<&'static str>, DataError> {
        if self.done != self.layout.count {
            return Err(DataError::request(format!(
                "{} images of {} were written",
                self.done, self.layout.count
            )));
        }
        let mut files = Vec::new();
        if let Some(idx) = self.idx {
            files.extend(idx.finish()?);
        }
        if let Some(npz) = self.npz {
            npz.finish()?;
            files.push("images.npz");
        }
        Ok(files)
    }
}
