//! Assigns images to their units.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::Path;

use super::Found;
use crate::error::{fields, open};
use crate::table::lines::Lines;
use crate::units::Units;
use crate::{DataError, Records};

impl Units {
    /// Assigns each image to the unit that `unit` gives for its name.
    ///
    /// # Errors
    /// [`DataError::Record`] for the first image without a unit.
    pub fn of_names(
        found: &Found,
        unit: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, DataError> {
        let of = (0..found.records.len()).map(|place| {
            let name = found.name(place);
            let unit = unit(&name).filter(|unit| !unit.is_empty());
            let none = || DataError::record("an image has no unit; give each one");
            unit.ok_or_else(|| none().telling(format!("{name}: this image has no unit")))
        });
        let of: Vec<String> = of.collect::<Result<_, _>>()?;
        Ok(Self::of_texts(of.iter().map(String::as_str)))
    }

    /// Assigns images to units by a CSV file with a line of column names. Its first column holds the names of
    /// [`Found::name`], and `column` holds the units (by default the second column).
    ///
    /// # Errors
    /// [`DataError::File`] if the file is no such CSV, lacks the column or names an image twice; the errors of
    /// [`Units::of_names`].
    pub fn of_csv(found: &Found, path: &Path, column: Option<&str>) -> Result<Self, DataError> {
        let file = path.display().to_string();
        let refuse = |why: &str| DataError::file(format!("{file}: {why}; repair the file"));
        let mut lines = Lines::new(&file, b',', None, BufReader::new(open(path)?));
        let header = lines.next()?.map_or_else(Vec::new, |line| line.fields);
        let place = match column {
            None => (header.len() > 1).then_some(1),
            Some(column) => header.iter().position(|&name| name == column),
        };
        let place = place.ok_or_else(|| {
            let column = column.unwrap_or("the second");
            refuse(&format!(
                "there is no column {column} among {}",
                header.len()
            ))
        })?;
        let (width, mut units) = (header.len(), BTreeMap::new());
        while let Some(line) = lines.next()? {
            if line.fields.len() != width {
                return Err(fields(&file, line.place, width, line.fields.len()));
            }
            let (name, unit) = (line.fields[0], line.fields[place]);
            if units.insert(name.to_string(), unit.to_string()).is_some() {
                let (twice, place) = (refuse("an image is there twice"), line.place);
                return Err(twice.telling(format!("{file}, {place}: {name} is there before")));
            }
        }
        Self::of_names(found, |name| units.get(name).cloned()).map_err(|e| {
            e.hidden(&format!(
                "{file}: an image has no unit in it; give each one"
            ))
        })
    }

    /// Keeps at most `most` images of each unit, chosen by the checksums of their pixels.
    ///
    /// # Errors
    /// [`DataError::Request`] if the number of images is not that of these units' records, and if `most` is 0.
    pub fn bounded(&self, images: &Records, most: usize) -> Result<Records, DataError> {
        images.select(&self.kept(most, &images.each(Self::sum)?)?)
    }
}
