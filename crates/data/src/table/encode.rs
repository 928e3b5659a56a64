use std::io::BufRead;

use sha2::{Digest, Sha256};

use super::column::{Column, Role};
use super::field::{Field, one_of};
use super::lines::{Line, Lines};
use super::{CsvTable, GroupedTable, Labels, Missing, Schema};
use crate::DataError;
use crate::error::{empty, fields};
use crate::hex::hex;

/// Reads a file by its schema.
pub(super) fn table(schema: &Schema, file: &str, bytes: &[u8]) -> Result<CsvTable, DataError> {
    let mut lines = Lines::new(file, schema.delimiter, schema.comment, bytes);
    let places = places(schema, file, &mut lines)?;
    let mut rows = Rows::new(schema, file);
    let (mut kept, mut all) = (Vec::new(), 0);
    while let Some(line) = lines.next()? {
        if rows.read(&line, &places)? {
            kept.push(all);
        }
        all += 1;
    }
    Ok(CsvTable {
        table: rows.finish()?,
        dropped: all - kept.len(),
        rows: kept,
        sha256: hex(Sha256::digest(bytes)),
    })
}

/// The place in a line of each column of the schema; reads the line of their names where there is one.
pub(super) fn places(
    schema: &Schema,
    file: &str,
    lines: &mut Lines<impl BufRead>,
) -> Result<Vec<usize>, DataError> {
    if !schema.header {
        return Ok((0..schema.columns.len()).collect());
    }
    match lines.next()? {
        Some(line) => header(schema, file, &line),
        None => Err(empty(file, "record")),
    }
}

/// The place of each column of the schema among the names in a line.
fn header(schema: &Schema, file: &str, line: &Line<'_>) -> Result<Vec<usize>, DataError> {
    let refuse =
        |problem: String| DataError::File(format!("{file}, line {}: {problem}", line.number));
    // Its name is left out: where the header is missing, it is a field of a record.
    let known = |name: &str| schema.columns.iter().any(|column| column.name == name);
    if let Some(place) = line.fields.iter().position(|name| !known(name)) {
        return Err(refuse(format!(
            "field {} names no column of the schema: add it there, with kind = \"ignore\" if it is not \
             needed, or say header = false if this line is a record",
            place + 1
        )));
    }
    let place = |column: &Column| {
        let mut places = (0..line.fields.len()).filter(|&i| line.fields[i] == column.name);
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (None, _) => Err(refuse(format!(
                "column '{}' of the schema is missing: add it, or remove it from the schema",
                column.name
            ))),
            (Some(_), Some(_)) => Err(refuse(format!(
                "column '{}' is there twice: rename or remove one",
                column.name
            ))),
        }
    };
    schema.columns.iter().map(place).collect()
}

/// The records so far.
pub(super) struct Rows<'a> {
    schema: &'a Schema,
    file: &'a str,
    pub features: Vec<f32>,
    pub classes: Vec<usize>,
    responses: Vec<f32>,
    groups: Vec<u8>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(schema: &'a Schema, file: &'a str) -> Self {
        Self {
            schema,
            file,
            features: Vec::new(),
            classes: Vec::new(),
            responses: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// Adds the record of a line, or nothing if it is to be dropped; says which.
    pub(super) fn read(&mut self, line: &Line<'_>, places: &[usize]) -> Result<bool, DataError> {
        let found = line.fields.len();
        if found != places.len() {
            return Err(fields(self.file, line.number, places.len(), found));
        }
        let start = self.features.len();
        let (mut class, mut response, mut group, mut keep) = (None, None, None, true);
        for (number, (column, &place)) in self.schema.columns.iter().zip(places).enumerate() {
            let field = Field {
                file: self.file,
                line: line.number,
                column: &column.name,
                value: line.fields[place],
            };
            let sensitive = number == self.schema.sensitive;
            let is_feature =
                !sensitive && matches!(column.role, Role::Numeric(_) | Role::Categorical { .. });
            let missing = self.schema.missing.iter().any(|text| text == field.value);
            if missing && column.role != Role::Ignored {
                match column.missing {
                    Missing::Drop => keep = false,
                    Missing::Level if is_feature => self.push_missing(column),
                    Missing::Level | Missing::Refuse => return Err(field.missing()),
                }
                continue;
            }
            match &column.role {
                Role::Categorical {
                    group_levels: Some(group_levels),
                    ..
                } if sensitive => group = Some(field.group(group_levels)?),
                Role::Numeric(range) => self.features.push(field.number(range)?),
                Role::Categorical { levels, .. } => {
                    let level = field.level(levels)?;
                    let features = (0..levels.len()).map(|i| f32::from(u8::from(i == level)));
                    self.features.extend(features);
                }
                Role::Classes(classes) => class = Some(field.class(classes)?),
                Role::Response(range) => response = Some(field.number(range)?),
                Role::Ignored => {}
            }
            if is_feature && self.schema.has_missing_level(column) {
                self.features.push(0.0);
            }
        }
        if keep {
            self.groups.extend(group);
            self.classes.extend(class);
            self.responses.extend(response);
        } else {
            self.features.truncate(start);
        }
        Ok(keep)
    }

    /// The features of a missing value: nothing but its own.
    fn push_missing(&mut self, column: &Column) {
        let others = match &column.role {
            Role::Categorical { levels, .. } => levels.len(),
            _ => 1,
        };
        self.features.extend(std::iter::repeat_n(0.0, others));
        self.features.push(1.0);
    }

    fn finish(self) -> Result<GroupedTable, DataError> {
        if self.groups.is_empty() {
            return Err(empty(self.file, "record"));
        }
        let mut labels = Labels::Values {
            width: 1,
            values: self.responses,
        };
        for (number, column) in self.schema.columns.iter().enumerate() {
            match &column.role {
                Role::Classes(classes) => {
                    labels = Labels::Classes {
                        count: classes.len(),
                        values: self.classes.clone(),
                    };
                }
                Role::Categorical {
                    group_levels: Some(group_levels),
                    ..
                } if number == self.schema.sensitive => {
                    for (group, levels) in (0..).zip(group_levels) {
                        if !self.groups.contains(&group) {
                            return Err(DataError::Request(format!(
                                "{}: no record has {} in column {}: group {group} is empty, expected at least 1 record \
                                 of each group; give a file that has both, or choose another sensitive column",
                                self.file,
                                one_of(levels),
                                column.name
                            )));
                        }
                    }
                }
                _ => {}
            }
        }
        GroupedTable::new(
            self.schema.feature_names(),
            self.features,
            labels,
            self.groups,
        )
    }
}
