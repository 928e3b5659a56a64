//! The private records of a table, and their public properties.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use data::{CodeColumn, DataError, OpenSchema, Part, Schema, StoredTable, Units};
use dp_core::mechanism::SensitiveVector;
use private_queries::Contingency;

use super::bins::{Bins, grouped};
use crate::SynthError;

/// Settings for reading the records of a file.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The number of records from the start of the file, or `None` for all.
    pub first: Option<usize>,
    /// The part of the records that this process holds.
    pub part: Part,
    /// The units whose records are private together, or `None` if each record is a unit.
    pub unit: Option<PerUnit>,
}

/// Units whose records are private together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerUnit {
    /// The column that identifies the unit of a record; the schema ignores it.
    pub column: String,
    /// The maximum number of records used per unit; the noise grows with it.
    pub most: usize,
}

/// The private records of a table.
pub struct Records {
    schema: Schema,
    columns: Vec<CodeColumn>,
    table: StoredTable,
    /// The number of records in all parts.
    rows: usize,
    units: Option<usize>,
    /// The maximum number of records used per unit; 1 if each record is a unit.
    most: usize,
    open: Option<Open>,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Records");
        shown.field("rows", &self.rows).field("units", &self.units);
        shown.finish_non_exhaustive()
    }
}

/// A file whose schema is incomplete, and which is read again after the search.
struct Open {
    schema: OpenSchema,
    path: PathBuf,
    first: usize,
    /// The indices of the records that are used, if there are units.
    kept: Option<Vec<usize>>,
}

impl Records {
    /// Creates records that were read with this schema: of the `first` ones, or of all, those of this `part`.
    /// [`Records::by_units`] sets which of them are private together.
    ///
    /// # Errors
    /// Returns [`SynthError::Unconfirmed`] for a draft schema, [`SynthError::Data`] for a temporary file that cannot be read, and
    /// [`SynthError::LabelAlone`].
    pub fn of(
        schema: Schema,
        mut table: StoredTable,
        first: Option<usize>,
        part: Part,
    ) -> Result<Self, SynthError> {
        confirmed(schema.unconfirmed())?;
        let rows = first.map_or(table.rows, |first| first.min(table.rows));
        table.retain(|place| place < rows && part.has(place))?;
        Self::settled(schema, table, rows, None, 1, None)
    }

    /// Makes the records of a unit private together, and uses at most `most` of each.
    ///
    /// # Errors
    /// Returns [`SynthError::Data`] for units of another number of records, such as a part of them.
    pub fn by_units(mut self, units: &Units, most: usize) -> Result<Self, SynthError> {
        let places = places_of_units(&self.table, units, most)?;
        self.table
            .retain(|place| places.binary_search(&place).is_ok())?;
        (self.rows, self.units, self.most) = (places.len(), Some(units.count()), most);
        Ok(self)
    }

    /// Reads the records of a file.
    ///
    /// # Errors
    /// Returns [`SynthError::Unconfirmed`] for a draft schema, [`SynthError::LabelAlone`], and [`SynthError::Data`] for errors
    /// of [`Schema::stored`] and [`Schema::units`].
    pub fn read(schema: &Schema, path: &Path, reading: &Reading) -> Result<Self, SynthError> {
        confirmed(schema.unconfirmed())?;
        Self::read_by(schema.clone(), None, path, reading)
    }

    /// Reads the records of a file whose schema leaves ranges or categories open.
    ///
    /// # Errors
    /// Returns the errors of [`Records::read`].
    pub fn read_open(
        schema: OpenSchema,
        path: &Path,
        reading: &Reading,
    ) -> Result<Self, SynthError> {
        confirmed(schema.unconfirmed())?;
        // Errors in a record are returned before any release.
        schema.counted(path, |_| false)?;
        Self::read_by(schema.schema().clone(), Some(schema), path, reading)
    }

    fn read_by(
        schema: Schema,
        open: Option<OpenSchema>,
        path: &Path,
        reading: &Reading,
    ) -> Result<Self, SynthError> {
        let first = reading.first.unwrap_or(usize::MAX);
        // The records that are used of a unit are chosen among all of them.
        let part = match reading.unit {
            Some(_) => Part::ALL,
            None => reading.part,
        };
        let mut table = schema.stored(path, part, first)?;
        let (mut rows, mut units, mut kept, mut most) = (table.rows.min(first), None, None, 1);
        if let Some(unit) = &reading.unit {
            let of_records = schema.units(path, &unit.column)?;
            units = Some(of_records.count());
            most = unit.most;
            let places = places_of_units(&table, &of_records, most)?;
            rows = places.len();
            let has = |place| {
                let index = places.binary_search(&place);
                index.is_ok_and(|index| reading.part.has(index))
            };
            table.retain(has)?;
            kept = Some(places);
        }
        let open = open.map(|schema| Open {
            schema,
            path: path.into(),
            first,
            kept,
        });
        Self::settled(schema, table, rows, units, most, open)
    }

    fn settled(
        schema: Schema,
        table: StoredTable,
        rows: usize,
        units: Option<usize>,
        most: usize,
        open: Option<Open>,
    ) -> Result<Self, SynthError> {
        let mut records = Self {
            columns: Vec::new(),
            schema,
            table,
            rows,
            units,
            most,
            open,
        };
        records.settle()?;
        Ok(records)
    }

    /// Updates the columns from the schema.
    fn settle(&mut self) -> Result<(), SynthError> {
        self.columns = self.schema.code_columns();
        match self.schema.label() {
            Some(label) if self.columns.len() < 2 && self.open.is_none() => {
                let label = self.columns[label].name.clone();
                Err(SynthError::LabelAlone { label })
            }
            _ => Ok(()),
        }
    }

    /// Makes another column the label: pairs of other columns are counted with each of its values.
    ///
    /// # Errors
    /// Returns the errors of [`Schema::with_label`], and [`SynthError::LabelAlone`].
    pub fn with_label(mut self, column: &str) -> Result<Self, SynthError> {
        self.schema = self.schema.with_label(column)?;
        self.settle()?;
        Ok(self)
    }

    /// Returns the schema of the table, with the ranges and categories that were found.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the columns of a copy.
    pub fn columns(&self) -> &[CodeColumn] {
        &self.columns
    }

    /// Returns the index of the label among the columns.
    pub fn label(&self) -> Option<usize> {
        self.schema.label()
    }

    /// Returns the codes of the records that this process holds. **Private.**
    pub fn table(&self) -> &StoredTable {
        &self.table
    }

    /// Returns the number of records in all parts; **private** if there are units.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of units, if neighbours replace all records of one.
    pub fn units(&self) -> Option<usize> {
        self.units
    }

    /// Returns the maximum number of records used per unit; 1 if each record is a unit.
    pub fn most_per_unit(&self) -> usize {
        self.most
    }

    /// Returns the public number of units or records, whichever neighbours replace.
    pub fn neighbours(&self) -> usize {
        self.units.unwrap_or(self.rows)
    }

    /// Returns the numbers, then the categories, that the schema leaves open; empty after the search.
    pub fn open(&self) -> [Vec<String>; 2] {
        let open = self.open.as_ref();
        open.map_or_else(Default::default, |open| open.schema.open())
    }

    /// Returns whether the schema leaves a number or a category open.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the number of values of each column.
    pub fn sizes(&self) -> Vec<usize> {
        self.columns.iter().map(|c| c.codes.len()).collect()
    }

    /// Returns how many values of each column are bins of a number.
    pub fn ordered(&self) -> Vec<usize> {
        self.columns.iter().map(|c| c.ordered).collect()
    }

    /// Measures a query of all records, by their codes or by the groups of their codes.
    pub(super) fn measured(
        &self,
        query: &Contingency,
        groups: Option<&[Bins]>,
    ) -> Result<SensitiveVector, SynthError> {
        let mut counting = query.counting();
        for block in self.table.blocks() {
            let block = block?;
            match groups {
                Some(bins) => counting.add(&grouped(&block, bins))?,
                None => counting.add(&block)?,
            }
        }
        Ok(counting.measured())
    }

    /// Reads the table again with another schema.
    fn read_again(&mut self, open: &Open, schema: Schema) -> Result<(), SynthError> {
        let label = self.label().map(|label| self.columns[label].name.clone());
        let schema = match &label {
            Some(label) => schema.with_label(label)?,
            None => schema,
        };
        let mut table = schema.stored(&open.path, Part::ALL, open.first)?;
        if let Some(kept) = &open.kept {
            table.retain(|place| kept.binary_search(&place).is_ok())?;
        }
        (self.table, self.schema) = (table, schema);
        Ok(())
    }

    /// Narrows the open numbers to these bins, and reads the table again.
    pub(super) fn narrow(&mut self, bins: &[[usize; 2]]) -> Result<(), SynthError> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        open.schema.narrow(bins)?;
        let schema = open.schema.schema().clone();
        self.read_again(&open, schema)?;
        self.open = Some(open);
        self.settle()
    }

    /// Counts the records with each name of each open category.
    pub(super) fn names(&self) -> Result<Vec<BTreeMap<String, u64>>, SynthError> {
        let Some(open) = &self.open else {
            return Ok(Vec::new());
        };
        let kept = |place: usize| match &open.kept {
            Some(kept) => kept.binary_search(&place).is_ok(),
            None => place < open.first,
        };
        Ok(open.schema.counted(&open.path, kept)?)
    }

    /// Completes the schema with these names and reads the table again; returns the schema as text.
    pub(super) fn close(&mut self, names: &[Vec<String>]) -> Result<Option<String>, SynthError> {
        let Some(open) = self.open.take() else {
            return Ok(None);
        };
        let text = open.schema.clone().named(names)?;
        let schema = Schema::parse("the schema", &text)?;
        self.read_again(&open, schema)?;
        self.settle()?;
        Ok(Some(text))
    }
}

fn confirmed(columns: Vec<String>) -> Result<(), SynthError> {
    match columns.is_empty() {
        true => Ok(()),
        false => Err(SynthError::Unconfirmed { columns }),
    }
}

/// Returns the indices of at most `most` records of each unit.
fn places_of_units(
    records: &StoredTable,
    units: &Units,
    most: usize,
) -> Result<Vec<usize>, DataError> {
    let mut sums = Vec::with_capacity(records.rows);
    for block in records.blocks() {
        let block = block?;
        sums.extend(block.chunks_exact(records.columns).map(|record| {
            let bytes: Vec<u8> = record.iter().flat_map(|code| code.to_le_bytes()).collect();
            Units::sum(&bytes)
        }));
    }
    units.kept(most, &sums)
}
