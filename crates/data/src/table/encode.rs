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
    schema.check_grouped()?;
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

/// Where the columns of a schema stand in a line.
pub(super) struct Places {
    /// Of each column; `None` for an ignored one that the file does not have.
    pub of_columns: Vec<Option<usize>>,
    /// The fields of a line.
    pub fields: usize,
    /// Whether the file names its columns.
    pub named: bool,
}

/// The places of the schema's columns; reads the line of their names where there is one.
pub(super) fn places(
    schema: &Schema,
    file: &str,
    lines: &mut Lines<impl BufRead>,
) -> Result<Places, DataError> {
    if !schema.header {
        let fields = schema.columns.len();
        return Ok(Places {
            of_columns: (0..fields).map(Some).collect(),
            fields,
            named: false,
        });
    }
    match lines.next()? {
        Some(line) if line.fields.len() == 1 && schema.columns.len() > 1 => {
            Err(one_field(schema, file, &line))
        }
        Some(line) => {
            let at = format!("{file}, {}", line.place);
            let advice = ", or say header = false if this line is a record";
            named(schema, &at, &line.fields, advice)
        }
        None => Err(empty(file, "record")),
    }
}

/// The place of each column of the schema among names that stand `at` a place; what there may be to do `or` else about one
/// that is not known.
pub(super) fn named(
    schema: &Schema,
    at: &str,
    names: &[&str],
    or: &str,
) -> Result<Places, DataError> {
    let refuse = |problem: String| DataError::file(format!("{at}: {problem}"));
    // Its name is left out: where the header is missing, it is a field of a record.
    let known = |name: &str| schema.columns.iter().any(|column| column.name == name);
    if let Some(place) = names.iter().position(|name| !known(name)) {
        return Err(refuse(format!(
            "field {} names no column of the schema: add it there, with kind = \"ignore\" if it is not \
             needed{or}",
            place + 1
        ))
        .telling(format!("{at}: field {} is '{}'", place + 1, names[place])));
    }
    let place = |column: &Column| {
        let mut places = (0..names.len()).filter(|&i| names[i] == column.name);
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(Some(place)),
            // A copy is without it.
            (None, _) if column.role == Role::Ignored => Ok(None),
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
    let of_columns: Result<_, _> = schema.columns.iter().map(place).collect();
    Ok(Places {
        of_columns: of_columns?,
        fields: names.len(),
        named: true,
    })
}

/// A line that its delimiter does not part.
pub(super) fn one_field(schema: &Schema, file: &str, line: &Line<'_>) -> DataError {
    let problem = format!(
        "1 field, expected {}: another delimiter than {:?} may part them; say which in the schema, as delimiter = \";\", or \
         repair the line",
        schema.columns.len(),
        char::from(schema.delimiter),
    );
    DataError::file(format!("{file}: a line has {problem}"))
        .telling(format!("{file}, {}: {problem}", line.place))
}

pub(super) fn is_feature(role: &Role) -> bool {
    matches!(
        role,
        Role::Number(_) | Role::Categorical { .. } | Role::Boolean(_)
    )
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
    pub(super) fn read(&mut self, line: &Line<'_>, places: &Places) -> Result<bool, DataError> {
        let found = line.fields.len();
        if found != places.fields {
            return Err(fields(self.file, line.place, places.fields, found));
        }
        let start = self.features.len();
        let (mut class, mut response, mut group, mut keep) = (None, None, None, true);
        let columns = self.schema.columns.iter().zip(&places.of_columns);
        for (number, (column, place)) in columns.enumerate() {
            let sensitive = self.schema.sensitive == Some(number);
            let role = match sensitive {
                true => &column.role,
                false => column.role_as_feature(),
            };
            let (Some(place), false) = (*place, *role == Role::Ignored) else {
                continue;
            };
            let field = Field {
                file: self.file,
                place: line.place,
                column: &column.name,
                value: line.fields[place],
            };
            let is_feature = !sensitive && is_feature(role);
            let missing = self.schema.missing.iter().any(|text| text == field.value);
            if missing {
                match column.missing {
                    Missing::Drop => keep = false,
                    Missing::Level if is_feature => self.push_missing(column),
                    Missing::Level | Missing::Refuse => return Err(field.missing()),
                }
                continue;
            }
            match role {
                _ if sensitive => {
                    if let Some(values) = column.groups() {
                        group = Some(field.group(values)?);
                    }
                }
                Role::Number(number) => self.features.push(field.number(number)?),
                Role::Boolean(spellings) => {
                    let value = field.boolean(spellings)?;
                    self.features.push(f32::from(u8::from(value == 1)));
                }
                Role::Categorical { levels, other, .. } => {
                    let level = field.level(levels).or_else(|error| other.ok_or(error))?;
                    let features = (0..levels.len()).map(|i| f32::from(u8::from(i == level)));
                    self.features.extend(features);
                }
                Role::Classes(classes) => class = Some(field.class(classes)?),
                Role::Response(number) => response = Some(field.number(number)?),
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
        for column in &self.schema.columns {
            if let Role::Classes(classes) = &column.role {
                labels = Labels::Classes {
                    count: classes.len(),
                    values: self.classes.clone(),
                };
            }
        }
        let sensitive = self
            .schema
            .sensitive
            .map(|place| &self.schema.columns[place]);
        if let Some((column, groups)) =
            sensitive.and_then(|column| Some((column, column.groups()?)))
        {
            for (group, levels) in (0..).zip(groups) {
                if !self.groups.contains(&group) {
                    return Err(DataError::request(format!(
                        "{}: no record has {} in column {}: group {group} is empty, expected at least 1 record of each \
                         group; give a file that has both, or choose another sensitive column",
                        self.file,
                        one_of(levels),
                        column.name
                    )));
                }
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
