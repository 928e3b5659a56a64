//! Whose images are whose.

use std::collections::BTreeMap;
use std::path::Path;

use super::Pictures;
use crate::error::io;
use crate::units::Units;
use crate::{DataError, StoredImages};

impl Units {
    /// By the names of images: `unit` gives that of a name, or nothing.
    ///
    /// # Errors
    /// [`DataError::Record`] for the first image without a unit.
    pub fn of_names(
        pictures: &Pictures,
        unit: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, DataError> {
        let of = (0..pictures.images.len()).map(|place| {
            let name = pictures.name(place);
            let unit = unit(&name).filter(|unit| !unit.is_empty());
            let none = || DataError::record("an image has no unit; give each one");
            unit.ok_or_else(|| none().telling(format!("{name}: this image has no unit")))
        });
        let of: Vec<String> = of.collect::<Result<_, _>>()?;
        Ok(Self::of_texts(of.iter().map(String::as_str)))
    }

    /// By a CSV file with a line of names above: its first column names images as [`Pictures::name`] does, and `column`
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
        let refuse = |why: &str| DataError::file(format!("{shown}: {why}; repair the file"));
        // What is wrong with a line tells of whose it is.
        let broken = |e: csv::Error| refuse("it is no CSV file").telling(format!("{shown}: {e}"));
        let file = std::fs::File::open(path).map_err(io(path, "open the file"))?;
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(file);
        let header = reader.headers().map_err(broken)?;
        let place = match column {
            None => (header.len() > 1).then_some(1),
            Some(column) => header.iter().position(|name| name == column),
        };
        let place = place.ok_or_else(|| {
            let column = column.unwrap_or("the second");
            refuse(&format!(
                "there is no column {column} among {}",
                header.len()
            ))
        })?;
        let mut units = BTreeMap::new();
        for (line, row) in (2..).zip(reader.records()) {
            let row = row.map_err(broken)?;
            let (name, unit) = (
                row.get(0).unwrap_or_default(),
                row.get(place).unwrap_or_default(),
            );
            if units.insert(name.to_string(), unit.to_string()).is_some() {
                let twice = refuse("an image is there twice");
                return Err(twice.telling(format!("{shown}, line {line}: {name} is there before")));
            }
        }
        Self::of_names(pictures, |name| units.get(name).cloned()).map_err(|e| {
            e.hidden(&format!(
                "{shown}: an image has no unit in it; give each one"
            ))
        })
    }

    /// At most `most` images of each unit, by the checksums of their pixels.
    ///
    /// # Errors
    /// [`DataError::Request`] for other images, and for `most` of 0.
    pub fn bounded(&self, images: &StoredImages, most: usize) -> Result<StoredImages, DataError> {
        images.select(&self.kept(most, &images.each(Self::sum)?)?)
    }
}
