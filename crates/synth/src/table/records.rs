//! The private records of a table, and what is public of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use data::{CodeColumn, DataError, OpenSchema, Part, Schema, StoredTable, Units};
use dp_core::mechanism::SensitiveVector;
use private_queries::Contingency;

use super::bins::{Bins, grouped};
use crate::SynthError;

/// How the records of a file are read.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The first so many records, or all of them.
    pub first: Option<usize>,
    /// The part of them that this process holds.
    pub part: Part,
    /// Whose records are private together, or each by itself.
    pub unit: Option<PerUnit>,
}

/// Units whose records are private together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerUnit {
    /// The column that says whose a record is; the schema ignores it.
    pub column: String,
    /// Maximum number of records used per unit: noise grows with it.
    pub most: usize,
}

/// The private records of a table.
pub struct Records {
    schema: Schema,
    columns: Vec<CodeColumn>,
    table: StoredTable,
    /// How many there are in all parts.
    rows: usize,
    units: Option<usize>,
    /// Maximum number of records used per unit; 1 if each record is a unit.
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

/// A file of which not all is known: it is read again by what was found.
struct Open {
    schema: OpenSchema,
    path: PathBuf,
    first: usize,
    /// The places of the records that are used, if there are units.
    kept: Option<Vec<usize>>,
}

impl Records {
    /// Records that were read by this schema: of the `first` ones, or of all, those of this `part`. [`Records::by_units`] says
    /// whose are private together.
    ///
    /// # Errors
    /// [`SynthError::Unconfirmed`] for a schema that is a draft; [`SynthError::Data`] for a temporary file that cannot be read;
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

    /// The same records if those of a unit are private together, `most` of which are used at most.
    ///
    /// # Errors
    /// [`SynthError::Data`] for units of another number of records, such as a part of them.
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
    /// [`SynthError::Unconfirmed`] for a schema that is a draft; [`SynthError::LabelAlone`]; [`SynthError::Data`] as
    /// [`Schema::stored`] and [`Schema::units`].
    pub fn read(schema: &Schema, path: &Path, reading: &Reading) -> Result<Self, SynthError> {
        confirmed(schema.unconfirmed())?;
        Self::read_by(schema.clone(), None, path, reading)
    }

    /// Reads the records of a file whose schema leaves ranges or categories to be found.
    ///
    /// # Errors
    /// As [`Records::read`].
    pub fn read_open(
        schema: OpenSchema,
        path: &Path,
        reading: &Reading,
    ) -> Result<Self, SynthError> {
        confirmed(schema.unconfirmed())?;
        // What is wrong with a record is said before anything is released.
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
        // Which records of a unit count is decided among all of them.
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

    /// The columns follow from the schema.
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

    /// The same with another column as what is to be predicted: pairs of other columns are counted with each of its values.
    ///
    /// # Errors
    /// As [`Schema::with_label`]; [`SynthError::LabelAlone`].
    pub fn with_label(mut self, column: &str) -> Result<Self, SynthError> {
        self.schema = self.schema.with_label(column)?;
        self.settle()?;
        Ok(self)
    }

    /// How the table is written, with what was found of it.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The columns of a copy.
    pub fn columns(&self) -> &[CodeColumn] {
        &self.columns
    }

    /// The place of the label among them.
    pub fn label(&self) -> Option<usize> {
        self.schema.label()
    }

    /// The codes of the records that this process holds. **Private.**
    pub fn table(&self) -> &StoredTable {
        &self.table
    }

    /// How many records there are in all parts; **private** if there are units.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many units there are, if neighbours replace all records of one.
    pub fn units(&self) -> Option<usize> {
        self.units
    }

    /// Maximum number of records used per unit; 1 if each record is a unit.
    pub fn most_per_unit(&self) -> usize {
        self.most
    }

    /// How many there are of what neighbours replace: units, or records. Public.
    pub fn neighbours(&self) -> usize {
        self.units.unwrap_or(self.rows)
    }

    /// Numbers, then categories, that the schema leaves to be found; empty once they are.
    pub fn open(&self) -> [Vec<String>; 2] {
        let open = self.open.as_ref();
        open.map_or_else(Default::default, |open| open.schema.open())
    }

    /// Whether there are such.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Values of each column.
    pub fn sizes(&self) -> Vec<usize> {
        self.columns.iter().map(|c| c.codes.len()).collect()
    }

    /// How many of them are bins of a number.
    pub fn ordered(&self) -> Vec<usize> {
        self.columns.iter().map(|c| c.ordered).collect()
    }

    /// What a query measures of all records: by their codes, or by the groups of these.
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

    /// Reads the table again by another schema.
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

    /// Narrows the open numbers to these of their bins, and reads the table by that.
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

    /// How many records have each name of each open category.
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

    /// Closes what is open by these names, and reads the table by that; gives the schema as text.
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

/// The places of so many records of each unit, at most.
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
