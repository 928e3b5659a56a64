use std::path::Path;

use super::{Stream, check_labels, image_header, label_header};
use crate::DataError;
use crate::error::{check_pair, open};

/// The images of an idx3 file, gzip or not, and the labels of an idx1 file, read on demand.
pub(crate) struct IdxStream {
    images: Part,
    /// The labels, with the largest label that is allowed.
    labels: Option<(Part, u8)>,
    pub(crate) shape: [usize; 3],
    pub(crate) count: usize,
    read: usize,
}

/// A file, with its number of bytes by its header.
struct Part {
    stream: Stream<'static>,
    bytes: u64,
}

impl IdxStream {
    /// Reads the headers of a file of images and, if given, of the file of their labels 0 to `most`.
    ///
    /// # Errors
    /// The errors of [`super::read_images`] and [`super::read_labels`] about headers, but files may be uncompressed and of
    /// any size; [`DataError::File`] if the files differ in their number of records.
    pub(crate) fn open(images: &Path, labels: Option<&Path>, most: u8) -> Result<Self, DataError> {
        let name = |path: &Path| path.display().to_string();
        let stream = |path: &Path| Stream::open(&name(path), open(path)?, true);
        let mut image_stream = stream(images)?;
        let [count, height, width] = image_header(&mut image_stream, u64::MAX)?;
        let bytes = u64::from(count) * u64::from(height) * u64::from(width);
        let labels = match labels {
            None => None,
            Some(path) => {
                let mut stream = stream(path)?;
                let found = label_header(&mut stream)?;
                check_pair((&name(images), count.into()), (&name(path), found))?;
                Some((Part::behind_header(stream, found), most))
            }
        };
        Ok(Self {
            images: Part::behind_header(image_stream, bytes),
            labels,
            shape: [1, height as usize, width as usize],
            count: count as usize,
            read: 0,
        })
    }

    /// Reads the next `most` images, or all that are left, and their labels.
    pub(crate) fn next(&mut self, most: usize) -> Result<(Vec<u8>, Vec<u8>), DataError> {
        let count = most.min(self.count - self.read);
        let pixels = self
            .images
            .next(count * self.shape.iter().product::<usize>())?;
        let mut labels = Vec::new();
        if let Some((part, most)) = &mut self.labels {
            labels = part.next(count)?;
            check_labels(&part.stream.file, self.read, &labels, *most)?;
        }
        self.read += count;
        Ok((pixels, labels))
    }
}

impl Part {
    fn behind_header(stream: Stream<'static>, body: u64) -> Self {
        let bytes = stream.given + body;
        Self { stream, bytes }
    }

    /// Reads the next bytes. After the last byte it checks that nothing follows.
    fn next(&mut self, length: usize) -> Result<Vec<u8>, DataError> {
        let bytes = self.stream.part(length as u64, self.bytes)?;
        if self.stream.given == self.bytes {
            self.stream.end()?;
        }
        Ok(bytes)
    }
}
