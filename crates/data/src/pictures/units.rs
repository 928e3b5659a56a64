//! Whose images are whose: all images of one unit, such as a person, are private together.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::Pictures;
use crate::error::{io, unfit};
use crate::{DataError, LabelledImages};

/// The unit of each image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Units {
    of: Vec<usize>,
    count: usize,
}

impl Units {
    /// By the names of images: `unit` gives that of a name, or nothing.
    ///
    /// # Errors
    /// [`DataError::Record`] for the first image without a unit.
    pub fn of_names(
        pictures: &Pictures,
        unit: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, DataError> {
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        let mut of = Vec::with_capacity(pictures.names.len());
        for name in &pictures.names {
            let Some(unit) = unit(name).filter(|unit| !unit.is_empty()) else {
                return Err(DataError::Record(format!(
                    "{name}: this image has no unit; give each one"
                )));
            };
            let next = known.len();
            of.push(*known.entry(unit).or_insert(next));
        }
        Ok(Self {
            of,
            count: known.len(),
        })
    }

    /// By a CSV file with a line of names above: its first column names images as [`Pictures::names`] does, and `column`
    /// their units, the second where it is `None`.
    ///
    /// # Errors
    /// [`DataError::File`] for what is no such file, a column that is not there, and an image that is there twice;
    /// as [`Units::of_names`].
    pub fn of_csv(
        pictures: &Pictures,
        path: &Path,
        column: Option<&str>,
    ) -> Result<Self, DataError> {
        let shown = path.display();
        let refuse = |why: String| DataError::File(format!("{shown}: {why}; repair the file"));
        let file = std::fs::File::open(path).map_err(io(path, "open the file"))?;
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(file);
        let header = reader.headers().map_err(|e| refuse(e.to_string()))?;
        let place = match column {
            None => (header.len() > 1).then_some(1),
            Some(column) => header.iter().position(|name| name == column),
        };
        let place = place.ok_or_else(|| {
            let column = column.unwrap_or("the second");
            refuse(format!(
                "there is no column {column} among {}",
                header.len()
            ))
        })?;
        let mut units = BTreeMap::new();
        for (line, row) in (2..).zip(reader.records()) {
            let row = row.map_err(|e| refuse(e.to_string()))?;
            let (name, unit) = (
                row.get(0).unwrap_or_default(),
                row.get(place).unwrap_or_default(),
            );
            if units.insert(name.to_string(), unit.to_string()).is_some() {
                return Err(refuse(format!(
                    "line {line}: an image that is there before"
                )));
            }
        }
        Self::of_names(pictures, |name| units.get(name).cloned()).map_err(|e| refuse(e.to_string()))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// At most `most` images of each unit, by the checksums of their pixels: which of a unit's images are kept depends on
    /// this unit alone.
    ///
    /// # Errors
    /// [`DataError::Request`] for other images, and for `most` of 0.
    pub fn bounded(
        &self,
        images: &LabelledImages,
        most: usize,
    ) -> Result<LabelledImages, DataError> {
        if self.of.len() != images.len() {
            return Err(unfit("images with units", self.of.len(), images.len()));
        }
        let mut of_units: Vec<Vec<([u8; 32], usize)>> = vec![Vec::new(); self.count];
        for (place, &unit) in self.of.iter().enumerate() {
            let pixels = images.image_bytes(place).unwrap_or_default();
            of_units[unit].push((Sha256::digest(pixels).into(), place));
        }
        let mut kept: Vec<usize> = Vec::with_capacity(images.len());
        for unit in &mut of_units {
            unit.sort_unstable();
            kept.extend(unit.iter().take(most).map(|&(_, place)| place));
        }
        kept.sort_unstable();
        images.select(&kept)
    }
}
