//! `images.npz`: a zip archive of NPY files that are stored as they are.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::Layout;
use crate::error::io;
use crate::{Arrays, DataError, npy};

/// The archive at work: images as they come, labels at its end.
pub(super) struct Npz {
    path: PathBuf,
    archive: ZipWriter<BufWriter<File>>,
    labels: Option<Vec<u8>>,
    arrays: Arrays,
}

impl Npz {
    pub(super) fn create(path: PathBuf, layout: &Layout) -> Result<Self, DataError> {
        let file = File::create(&path).map_err(io(&path, "create the file"))?;
        let mut npz = Self {
            path,
            archive: ZipWriter::new(BufWriter::new(file)),
            labels: layout.labels.then(Vec::new),
            arrays: layout.arrays.clone(),
        };
        let [height, width] = layout.sides;
        let shape = [layout.count, height, width, layout.channels];
        let channels = layout.channels > 1 || layout.arrays.channel;
        let name = npz.arrays.images.clone();
        let begun = npz.begin(&name, "|u1", &shape[..3 + usize::from(channels)]);
        begun.map_err(io(&npz.path, "write the file"))?;
        Ok(npz)
    }

    pub(super) fn append(&mut self, pixels: &[u8], labels: &[u8]) -> Result<(), DataError> {
        if let Some(all) = &mut self.labels {
            all.extend(labels);
        }
        let written = self.archive.write_all(pixels);
        written.map_err(io(&self.path, "write the file"))
    }

    pub(super) fn finish(self) -> Result<(), DataError> {
        let failed = io(&self.path, "write the file");
        self.end().map_err(failed)
    }

    fn begin(&mut self, name: &str, kind: &str, shape: &[usize]) -> io::Result<()> {
        // The first date that the format has, so that equal images make equal archives.
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
            let bytes = npy::bytes(&kind, &labels).map_err(io::Error::other)?;
            self.archive.write_all(&bytes)?;
        }
        let file = self.archive.finish()?.into_inner()?;
        file.sync_all()
    }
}
