//! Records in chunks, for programs whose memory must not grow with the data.
//!
//! | stream | what it keeps |
//! |---|---|
//! | [`IdxStream`](crate::idx::IdxStream), [`NpyStream`](crate::npy::NpyStream), [`CsvStream`](crate::table::CsvStream) | a chunk, and the reader's buffer |
//! | [`Photographs`] | a chunk, and the names of all files |
//! | [`DrawnGlyphs`] | a chunk |
//! | [`InMemory`] | all records, which somebody holds anyway |

use std::sync::Arc;

use rayon::prelude::*;

use crate::features::{ADVICE, class, class_bound};
use crate::npy::NpyStream;
use crate::{DataError, Glyphs, ImageFolder, LabelledImages};

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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chunk {
    /// Values, shape `[records, width]`; they may be NaN or infinite where a file may hold that.
    pub values: Vec<f32>,
    /// A class for each record, or nothing where records have no labels.
    pub labels: Vec<usize>,
}

/// Records that are read when they are asked for.
pub trait RecordStream {
    /// What is known of all records.
    fn form(&self) -> Form;

    /// The next `most` records, or all that are left; an empty chunk behind the last. That the source is whole is
    /// known at the latest then.
    ///
    /// # Errors
    /// What the reader refuses, by name, place and bound, also when the source ends too soon.
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
    /// [`DataError::Records`] unless `count` is at least 1 and, where that is known, at most what there is.
    pub fn new(stream: S, name: &str, count: u64) -> Result<Self, DataError> {
        let max = stream.form().count.unwrap_or(u64::MAX);
        if !(1..=max).contains(&count) {
            return Err(DataError::Records {
                what: name.into(),
                found: usize::try_from(count).unwrap_or(usize::MAX),
                max: usize::try_from(max).unwrap_or(usize::MAX),
            });
        }
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
            return Err(DataError::Records {
                what: self.name.clone(),
                found: usize::try_from(self.count).unwrap_or(usize::MAX),
                max: usize::try_from(self.read).unwrap_or(usize::MAX),
            });
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
    /// [`DataError::Counts`] for another number of labels, [`DataError::Row`] for labels of several columns.
    pub fn new(
        stream: S,
        name: &str,
        labels: NpyStream,
        classes: usize,
    ) -> Result<Self, DataError> {
        let (form, found) = (stream.form(), labels.form());
        let file = labels.name().to_string();
        if found.width != 1 {
            return Err(DataError::Row {
                file,
                place: format!("{} columns", found.width),
                expected: "one, of classes".into(),
                advice: "save them as an array of one dimension",
            });
        }
        let [images, count] = [form.count, found.count].map(|n| n.unwrap_or(0) as usize);
        if images != count {
            return Err(DataError::Counts {
                images_file: name.into(),
                images,
                labels_file: file,
                labels: count,
            });
        }
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
            chunk.labels.push(label.ok_or_else(|| DataError::Row {
                file: self.labels.name().into(),
                place: format!("row {}", self.read),
                expected: class_bound(self.classes),
                advice: ADVICE,
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

/// Records that lie in memory.
pub struct InMemory {
    form: Form,
    values: Values,
    labels: Vec<usize>,
    at: usize,
}

enum Values {
    Rows(Vec<f32>),
    Images(Arc<LabelledImages>),
}

impl InMemory {
    /// Rows of `width` values without labels; values behind the last whole row are left out.
    pub fn rows(width: usize, values: Vec<f32>) -> Self {
        let count = values.len().checked_div(width).unwrap_or(0);
        Self {
            form: Form {
                width,
                shape: None,
                classes: None,
                count: Some(count as u64),
            },
            values: Values::Rows(values),
            labels: Vec::new(),
            at: 0,
        }
    }

    /// Images in [0, 1] with their labels.
    pub fn images(images: Arc<LabelledImages>) -> Self {
        Self {
            form: Form {
                width: images.image_size(),
                shape: Some([1, images.height(), images.width()]),
                classes: Some(images.classes()),
                count: Some(images.len() as u64),
            },
            labels: images.labels().iter().map(|&l| usize::from(l)).collect(),
            values: Values::Images(images),
            at: 0,
        }
    }
}

impl RecordStream for InMemory {
    fn form(&self) -> Form {
        self.form.clone()
    }

    fn next(&mut self, most: usize) -> Result<Chunk, DataError> {
        let all = self.form.count.unwrap_or(0) as usize;
        let places: Vec<usize> = (self.at..all).take(most).collect();
        let (start, width) = (self.at, self.form.width);
        self.at += places.len();
        let values = match &self.values {
            Values::Rows(rows) => rows[start * width..self.at * width].to_vec(),
            Values::Images(images) => images.gather(&places).unwrap_or_default(),
        };
        let labels = self.labels.get(start..self.at).unwrap_or_default().to_vec();
        Ok(Chunk { values, labels })
    }
}

/// Training glyphs, drawn when they are asked for.
pub struct DrawnGlyphs {
    glyphs: Glyphs,
    count: u64,
    at: u64,
}

impl DrawnGlyphs {
    /// The first `count` training images of a seed, those of [`Glyphs::generate`].
    pub fn train(seed: u64, count: u64) -> Self {
        let glyphs = Glyphs::train(seed);
        Self {
            glyphs,
            count,
            at: 0,
        }
    }
}

impl RecordStream for DrawnGlyphs {
    fn form(&self) -> Form {
        Form {
            width: Glyphs::SIDE * Glyphs::SIDE,
            shape: Some([1, Glyphs::SIDE, Glyphs::SIDE]),
            classes: Some(Glyphs::CLASSES),
            count: Some(self.count),
        }
    }

    fn next(&mut self, most: usize) -> Result<Chunk, DataError> {
        let places: Vec<u64> = (self.at..self.count).take(most).collect();
        self.at += places.len() as u64;
        let glyphs = self.glyphs;
        let draw = |&place: &u64| glyphs.image(place).map(|byte| f32::from(byte) / 255.0);
        let values = places.par_iter().flat_map_iter(draw).collect();
        let labels = places.iter().map(|&place| glyphs.label(place).into());
        Ok(Chunk {
            values,
            labels: labels.collect(),
        })
    }
}

/// The images of a folder, decoded when they are asked for.
pub struct Photographs {
    folder: ImageFolder,
    at: usize,
}

impl Photographs {
    /// All images of a folder, in its order.
    pub fn new(folder: ImageFolder) -> Self {
        Self { folder, at: 0 }
    }
}

impl RecordStream for Photographs {
    fn form(&self) -> Form {
        let side = self.folder.side();
        Form {
            width: self.folder.image_size(),
            shape: Some([ImageFolder::CHANNELS, side, side]),
            classes: None,
            count: Some(self.folder.len() as u64),
        }
    }

    fn next(&mut self, most: usize) -> Result<Chunk, DataError> {
        let places: Vec<usize> = (self.at..self.folder.len()).take(most).collect();
        self.at += places.len();
        Ok(Chunk {
            values: self.folder.gather(&places)?,
            labels: Vec::new(),
        })
    }
}
