use std::sync::Arc;

use rayon::prelude::*;

use super::{Chunk, Form, RecordStream};
use crate::split::Records;
use crate::{DataError, Glyphs, ImageFolder, LabelledImages};

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
                shape: Some(images.shape()),
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

/// Training glyphs, sampled when they are asked for.
pub struct SyntheticGlyphs {
    glyphs: Glyphs,
    count: u64,
    at: u64,
}

impl SyntheticGlyphs {
    /// The first `count` training images of a seed, those of [`Glyphs::generate`].
    pub fn train(seed: u64, count: u64) -> Self {
        let glyphs = Glyphs::train(seed);
        Self {
            glyphs,
            count,
            at: 0,
        }
    }

    /// Those at `places` alone.
    ///
    /// # Errors
    /// As [`Glyphs::at`].
    pub fn at(&self, places: &[usize]) -> Result<LabelledImages, DataError> {
        self.glyphs.at(places)
    }
}

/// The sum of the first 60 000 training images of seed 0, which are always split as a whole and seldom all made.
const SUM_OF_60_000: &str = "db75e9042408ef9fdeba209b6882272be08e091f5140f7a52567dc31adac95d1";

/// The count, the sum and the strata are those of the images themselves.
impl Records for SyntheticGlyphs {
    fn count(&self) -> usize {
        self.count as usize
    }

    fn sha256(&self) -> Result<String, DataError> {
        if self.glyphs == Glyphs::train(0) && self.count == 60_000 {
            return Ok(SUM_OF_60_000.into());
        }
        self.glyphs.draw(self.count as usize, &|_| ())?.sha256()
    }

    fn strata(&self) -> Option<Vec<usize>> {
        let label = |place| self.glyphs.label(place).into();
        Some((0..self.count).map(label).collect())
    }
}

impl RecordStream for SyntheticGlyphs {
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
