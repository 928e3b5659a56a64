//! Records in chunks, for programs whose memory must not grow with the data.
//!
//! | stream | what it keeps |
//! |---|---|
//! | [`crate::idx::IdxStream`], [`crate::npy::NpyStream`], [`crate::table::CsvStream`] | a chunk, and the reader's buffer |
//! | [`Photographs`] | a chunk, and the names of all files |
//! | [`SyntheticGlyphs`] | a chunk |
//! | [`InMemory`] | all records, which somebody holds anyway |

mod sources;

pub use sources::{InMemory, Photographs, SyntheticGlyphs};

use crate::DataError;
use crate::class::{class, no_class};
use crate::error::{check_count, check_pair};
use crate::npy::NpyStream;

/// What is known, and public, of all records before the first one is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Values of a record.
    pub width: usize,
    /// Channels, height and width of an image, where records are images.
    pub shape: Option<[usize; 3]>,
    /// The number of classes, where records have labels.
    pub classes: Option<usize>,
    /// The number of records, where a header says it.
    pub count: Option<u64>,
}

/// Some records, in order.
#[derive(Clone, Default, PartialEq)]
pub struct Chunk {
    /// Values, shape `[records, width]`; they may be NaN or infinite where a file may hold that.
    pub values: Vec<f32>,
    /// A class for each record, or nothing where records have no labels.
    pub labels: Vec<usize>,
}

debug_shows!(Chunk {});

/// Records that are read when they are asked for.
pub trait RecordStream {
    /// What is known of all records.
    fn form(&self) -> Form;

    /// The next `most` records, or all that are left; an empty chunk behind the last. That the source is whole is
    /// known at the latest then.
    fn next(&mut self, most: usize) -> Result<Chunk, DataError>;

    /// Records so far that the source's own rules leave out.
    fn dropped(&self) -> u64 {
        0
    }
}

/// The first records of a stream.
pub struct First<S> {
    stream: S,
    name: String,
    count: u64,
    read: u64,
}

impl<S: RecordStream> First<S> {
    /// The first `count` records of the stream that is called `name` in errors.
    ///
    /// # Errors
    /// [`DataError::Request`] unless `count` is at least 1 and, where that is known, at most what there is.
    pub fn new(stream: S, name: &str, count: u64) -> Result<Self, DataError> {
        let max = stream.form().count.unwrap_or(u64::MAX);
        check_count(name, count as usize, max as usize)?;
        Ok(Self {
            stream,
            name: name.into(),
            count,
            read: 0,
        })
    }
}

impl<S: RecordStream> RecordStream for First<S> {
    fn form(&self) -> Form {
        Form {
            count: Some(self.count),
            ..self.stream.form()
        }
    }

    fn next(&mut self, most: usize) -> Result<Chunk, DataError> {
        let left = usize::try_from(self.count - self.read).unwrap_or(usize::MAX);
        let most = most.min(left);
        let chunk = self.stream.next(most)?;
        let read = (chunk.values.len() / self.stream.form().width.max(1)) as u64;
        self.read += read;
        if most > 0 && read == 0 {
            // How many there are, no header said: some lines may be no records.
            let (name, asked) = (&self.name, self.count);
            let problem = format!("{name}: {asked} records asked for, expected");
            return Err(DataError::request(format!(
                "{problem} no more than there are; change the number"
            ))
            .telling(format!("{problem} 1 to {}; change the number", self.read)));
        }
        Ok(chunk)
    }

    fn dropped(&self) -> u64 {
        self.stream.dropped()
    }
}

/// Records with the classes that an NPY file holds, one for each.
pub struct Labelled<S> {
    stream: S,
    labels: NpyStream,
    classes: usize,
    read: usize,
}

impl<S: RecordStream> Labelled<S> {
    /// The records of `stream`, called `name` in errors, with labels below `classes`.
    ///
    /// # Errors
    /// [`DataError::File`] for another number of labels, [`DataError::Record`] for labels of several columns.
    pub fn new(
        stream: S,
        name: &str,
        labels: NpyStream,
        classes: usize,
    ) -> Result<Self, DataError> {
        let (form, found) = (stream.form(), labels.form());
        if found.width != 1 {
            let advice = "save them as an array of one dimension";
            let columns = format!("{} columns", found.width);
            let file = labels.name();
            return Err(DataError::record(format!(
                "{file}, {columns}: expected one, of classes; {advice}"
            )));
        }
        let [images, count] = [form.count, found.count].map(|n| n.unwrap_or(0));
        check_pair((name, images), (labels.name(), count))?;
        Ok(Self {
            stream,
            labels,
            classes,
            read: 0,
        })
    }
}

impl<S: RecordStream> RecordStream for Labelled<S> {
    fn form(&self) -> Form {
        Form {
            classes: Some(self.classes),
            ..self.stream.form()
        }
    }

    fn next(&mut self, most: usize) -> Result<Chunk, DataError> {
        let mut chunk = self.stream.next(most)?;
        for value in self.labels.next(most)?.values {
            let label = class(f64::from(value), self.classes);
            chunk.labels.push(label.ok_or_else(|| {
                let (file, place) = (self.labels.name(), format!("row {}", self.read));
                no_class(file, &place, self.classes, value)
            })?);
            self.read += 1;
        }
        Ok(chunk)
    }
}

impl RecordStream for Box<dyn RecordStream> {
    fn form(&self) -> Form {
        (**self).form()
    }

    fn next(&mut self, most: usize) -> Result<Chunk, DataError> {
        (**self).next(most)
    }

    fn dropped(&self) -> u64 {
        (**self).dropped()
    }
}
