use std::fs::{File, create_dir_all};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Layout;
use crate::DataError;
use crate::error::io;
use crate::idx::{IMAGES, LABELS, header};

/// A plain file and a gzip copy beside it: PyTorch reads the plain file, other programs read the copy.
struct Both {
    path: PathBuf,
    plain: BufWriter<File>,
    gzip: GzEncoder<BufWriter<File>>,
}

impl Both {
    fn create(path: PathBuf) -> Result<Self, DataError> {
        let open = |path: &Path| {
            let file = File::create(path).map_err(io(path, "create the file"))?;
            Ok::<_, DataError>(BufWriter::new(file))
        };
        Ok(Self {
            plain: open(&path)?,
            gzip: GzEncoder::new(open(&path.with_extension("gz"))?, Compression::default()),
            path,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), DataError> {
        self.plain
            .write_all(bytes)
            .and_then(|()| self.gzip.write_all(bytes))
            .map_err(io(&self.path, "write the file"))
    }

    fn finish(self) -> Result<(), DataError> {
        let synced = |writer: BufWriter<File>| -> io::Result<()> {
            writer
                .into_inner()
                .map_err(io::IntoInnerError::into_error)?
                .sync_all()
        };
        synced(self.plain)
            .and_then(|()| synced(self.gzip.finish()?))
            .map_err(io(&self.path, "write the file"))
    }
}

/// Images and labels in the idx files of MNIST's layout.
pub(super) struct IdxPair {
    images: Both,
    labels: Option<Both>,
}

impl IdxPair {
    pub(super) fn create(folder: &Path, layout: &Layout) -> Result<Self, DataError> {
        create_dir_all(folder).map_err(io(folder, "create the folder"))?;
        let create = |name: &str, magic, sides: &[usize]| {
            let mut file = Both::create(folder.join(name))?;
            let header = header(magic, sides).map_err(io(&file.path, "write the file"))?;
            file.write(&header)?;
            Ok::<_, DataError>(file)
        };
        let ([height, width], count) = (layout.sides, layout.count);
        let labels = || create("train-labels-idx1-ubyte", LABELS, &[count]);
        Ok(Self {
            images: create("train-images-idx3-ubyte", IMAGES, &[count, height, width])?,
            labels: layout.labels.then(labels).transpose()?,
        })
    }

    pub(super) fn append(&mut self, pixels: &[u8], labels: &[u8]) -> Result<(), DataError> {
        self.images.write(pixels)?;
        match &mut self.labels {
            Some(file) => file.write(labels),
            None => Ok(()),
        }
    }

    pub(super) fn finish(self) -> Result<Vec<&'static str>, DataError> {
        self.images.finish()?;
        let mut files = vec![
            "MNIST/raw/train-images-idx3-ubyte",
            "MNIST/raw/train-images-idx3-ubyte.gz",
        ];
        if let Some(labels) = self.labels {
            labels.finish()?;
            files.push("MNIST/raw/train-labels-idx1-ubyte");
            files.push("MNIST/raw/train-labels-idx1-ubyte.gz");
        }
        Ok(files)
    }
}
