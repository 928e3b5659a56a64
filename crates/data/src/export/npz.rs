//! Writes `images.npz`, a zip archive of NPY files without compression.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::Layout;
use crate::error::io;
use crate::read::value;
use crate::{Arrays, DataError, npy};

/// An archive that is being written: images as they come, labels at its end.
pub(super) struct Npz {
    path: PathBuf,
    archive: ZipWriter<BufWriter<File>>,
    labels: Option<Vec<u8>>,
    arrays: Arrays,
    channels: usize,
    /// The number of pixels of an image.
    size: usize,
}

impl Npz {
    pub(super) fn create(path: PathBuf, layout: &Layout) -> Result<Self, DataError> {
        let file = File::create(&path).map_err(io(&path, "create the file"))?;
        let mut npz = Self {
            path,
            archive: ZipWriter::new(BufWriter::new(file)),
            labels: layout.labels.then(Vec::new),
            arrays: layout.arrays.clone(),
            channels: layout.channels,
            size: layout.sides.iter().product(),
        };
        let [height, width] = layout.sides;
        let shape = [layout.count, height, width, layout.channels];
        let channels = layout.channels > 1 || layout.arrays.channel;
        let name = npz.arrays.images.clone();
        let [n, h, w, c] = shape;
        let shape = if npz.arrays.planes {
            [n, c, h, w]
        } else {
            shape
        };
        let (kind, size) = (npz.arrays.pixels.clone(), 3 + usize::from(channels));
        let begun = npz.begin(&name, &kind, &shape[..size]);
        begun.map_err(io(&npz.path, "write the file"))?;
        Ok(npz)
    }

    pub(super) fn append(&mut self, pixels: &[u8], labels: &[u8]) -> Result<(), DataError> {
        if let Some(all) = &mut self.labels {
            all.extend(labels);
        }
        let (kind, .., write) = npy::kind(&self.arrays.pixels)?;
        let whole = !kind.contains('f');
        let value = |&byte: &u8| value(byte, self.arrays.levels, whole);
        let planes = self.arrays.planes.then(|| self.planes(pixels));
        let pixels = planes.as_deref().unwrap_or(pixels);
        let written = match (kind, self.arrays.levels) {
            ("|u1", [0, 255]) => self.archive.write_all(pixels),
            _ => {
                let bytes: Vec<u8> = pixels.iter().map(value).flat_map(write).collect();
                self.archive.write_all(&bytes)
            }
        };
        written.map_err(io(&self.path, "write the file"))
    }

    pub(super) fn finish(self) -> Result<(), DataError> {
        let failed = io(&self.path, "write the file");
        self.end().map_err(failed)
    }

    /// Returns the images with one plane for each channel.
    fn planes(&self, images: &[u8]) -> Vec<u8> {
        let Self { channels, size, .. } = *self;
        let image = |image: &[u8]| -> Vec<u8> {
            let plane = |c: usize| (0..size).map(move |place| place * channels + c);
            (0..channels).flat_map(plane).map(|at| image[at]).collect()
        };
        let images = images.chunks_exact(channels * size);
        images.flat_map(image).collect()
    }

    fn begin(&mut self, name: &str, kind: &str, shape: &[usize]) -> io::Result<()> {
        // The first date of the format, so that equal images make equal archives.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::DEFAULT);
        self.archive.start_file(format!("{name}.npy"), options)?;
        self.archive.write_all(&npy::header(kind, shape))
    }

    fn end(mut self) -> io::Result<()> {
        if let Some(labels) = self.labels.take() {
            let Arrays {
                labels: name,
                kind,
                column,
                ..
            } = self.arrays.clone();
            self.begin(&name, &kind, &[labels.len(), 1][..1 + usize::from(column)])?;
            let (.., write) = npy::kind(&kind).map_err(io::Error::other)?;
            let labels = labels.into_iter().map(f64::from);
            self.archive
                .write_all(&labels.flat_map(write).collect::<Vec<u8>>())?;
        }
        let file = self.archive.finish()?.into_inner()?;
        file.sync_all()
    }
}
