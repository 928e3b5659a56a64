use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use files::atomic::{NewFile, folder};
use serde_json::json;

use super::{Header, TENSOR, header_path, is_npy};
use crate::error::{empty, io};
use crate::{DataError, npy};

/// Writes a file record by record: NPY with the header beside it if the name ends in `.npy`, else safetensors.
///
/// Memory does not grow with the records. The file gets its name, and for NPY its header, only when
/// [`finish`](Writer::finish) has written all of it to the disk. Before that, and after any error, there is no file.
pub struct Writer {
    path: PathBuf,
    name: String,
    header: Header,
    replace: bool,
    body: BufWriter<NewFile>,
    /// The number of bytes that are reserved for the header, whose number of records is known last.
    reserved: usize,
}

impl Writer {
    /// Begins a file, and ignores `header.records`. With `replace` it replaces a file of the same name.
    ///
    /// # Errors
    /// [`DataError::Request`] if the file may not be replaced; [`DataError::File`] for a contradictory header; [`DataError::Io`].
    pub fn create(path: &Path, header: &Header, replace: bool) -> Result<Self, DataError> {
        let name = path.display().to_string();
        header.check(&name)?;
        let file = NewFile::of(path).map_err(io(folder(path), "write in the folder"))?;
        let mut writer = Self {
            path: path.into(),
            name,
            header: header.clone(),
            replace,
            body: BufWriter::new(file),
            reserved: 0,
        };
        writer.refuse_existing()?;
        writer.header.records = u64::MAX / header.width.max(1) as u64 / 4;
        writer.reserved = writer.head()?.len();
        writer.header.records = 0;
        let zeros = vec![0; writer.reserved];
        writer.body.write_all(&zeros).map_err(writer.io())?;
        Ok(writer)
    }

    /// Adds a record of [`Header::width`] values.
    ///
    /// # Errors
    /// [`DataError::Record`] for another number of values, and for one that is not finite; [`DataError::Io`].
    pub fn push(&mut self, record: &[f32]) -> Result<(), DataError> {
        let (records, width) = (self.header.records, self.header.width);
        let fits = record.len() == width;
        if !fits || !record.iter().all(|value| value.is_finite()) {
            let found = match fits {
                true => "one that is not finite".to_string(),
                false => record.len().to_string(),
            };
            return Err(DataError::record(format!(
                "{}, record {records}: expected {width} finite values, found {found}",
                self.name
            )));
        }
        let bytes: Vec<u8> = record.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.body.write_all(&bytes).map_err(self.io())?;
        self.header.records += 1;
        Ok(())
    }

    /// The number of records written so far.
    pub fn records(&self) -> u64 {
        self.header.records
    }

    /// Ends the file, gives it its name, and returns its header.
    ///
    /// # Errors
    /// [`DataError::Request`] without a record and for a file that may not be replaced; [`DataError::Io`]. After an error
    /// there is no file.
    pub fn finish(mut self) -> Result<Header, DataError> {
        if self.header.records == 0 {
            return Err(empty(self.name, "record"));
        }
        let head = self.head()?;
        let sealed = self.body.flush().and_then(|()| {
            let file = self.body.get_mut().file();
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&head)
        });
        sealed.map_err(self.io())?;
        self.refuse_existing()?;
        if is_npy(&self.path) {
            self.write_header()?;
        }
        let (io, path) = (self.io(), &self.path);
        let part = self.body.into_inner();
        let part = part.map_err(|error| io(error.into_error()))?;
        finish(part, self.replace).map_err(|source| {
            if is_npy(path) {
                // Best effort: a header without its values cannot be read as anything.
                let _ = fs::remove_file(header_path(path));
            }
            match source.kind() {
                ErrorKind::AlreadyExists => exists(path),
                _ => io(source),
            }
        })?;
        Ok(self.header)
    }

    /// Writes the header of an NPY file before the values get their name, so that they never lie there without it.
    fn write_header(&self) -> Result<(), DataError> {
        let path = header_path(&self.path);
        let io = io(&path, "write the file");
        let text = serde_json::to_string_pretty(&self.header.to_texts());
        let text = text.map_err(|error| io(error.into()))?;
        let mut part = NewFile::of(&path).map_err(&io)?;
        let written = part.write_all(format!("{text}\n").as_bytes());
        written.map_err(&io)?;
        if self.replace {
            // The old values must not lie beside the new header.
            match fs::remove_file(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(self.io()(error)),
                _ => {}
            }
        }
        finish(part, self.replace).map_err(io)
    }

    fn refuse_existing(&self) -> Result<(), DataError> {
        let header = header_path(&self.path);
        let taken = match is_npy(&self.path) {
            _ if self.replace => None,
            _ if self.path.exists() => Some(&self.path),
            true if header.exists() => Some(&header),
            _ => None,
        };
        match taken {
            None => Ok(()),
            Some(path) => Err(exists(path)),
        }
    }

    /// Returns all bytes before the values, at least as many as are reserved.
    fn head(&self) -> Result<Vec<u8>, DataError> {
        let (records, width) = (self.header.records, self.header.width);
        if is_npy(&self.path) {
            return Ok(npy::header("<f4", &[records as usize, width]));
        }
        let bytes = records * width as u64 * 4;
        let tensor = json!({"dtype": "F32", "shape": [records, width], "data_offsets": [0, bytes]});
        let entries = BTreeMap::from([
            ("__metadata__", json!(self.header.to_texts())),
            (TENSOR, tensor),
        ]);
        let text = serde_json::to_string(&entries).map_err(|e| self.io()(e.into()))?;
        // The values start at a multiple of 8 bytes.
        let length = (8 + text.len()).next_multiple_of(8).max(self.reserved) - 8;
        let mut head = (length as u64).to_le_bytes().to_vec();
        head.extend(text.as_bytes());
        head.resize(8 + length, b' ');
        Ok(head)
    }

    fn io(&self) -> impl Fn(io::Error) -> DataError + use<> {
        io(&self.path, "write the file")
    }
}

fn exists(path: &Path) -> DataError {
    DataError::request(format!(
        "{}: exists already, and was not overwritten; name another file, or say --force",
        path.display()
    ))
}

fn finish(part: NewFile, replace: bool) -> io::Result<()> {
    match replace {
        true => part.finish(),
        false => part.finish_new(),
    }
}
