//! Tables as codes: what a private copy is made of.

use std::path::{Path, PathBuf};
use std::slice;

use sha2::{Digest, Sha256};

use super::coding::Coding;
use super::column::{Column, Role};
use super::encode::Places;
use super::opened::Opened;
use super::parquet::is_parquet;
use super::parts::parts;
use super::{Missing, Schema};
use crate::DataError;
use crate::error::empty;
use crate::hex::hex;

/// A column of a table of codes. All of it is public: it is the schema's.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeColumn {
    /// Its name.
    pub name: String,
    /// What each code stands for: a level, `[20, 30)`, `17`, and `?` for a missing value, which is the last.
    pub codes: Vec<String>,
    /// How many of the first codes are in order: the bins of a number, or levels that are said to be; 0 for other categories.
    pub ordered: usize,
    /// The width of each bin of a number, shape `[bins]`: how many values of a number of so many decimals lie in it, times
    /// 10^-decimals; whole numbers, days or minutes.
    pub widths: Vec<f64>,
}

/// Records as codes, read from a file.
#[derive(Clone, PartialEq)]
pub struct CodedTable {
    /// The codes of the records, shape `[rows, columns]` in row-major order.
    pub codes: Vec<u16>,
    /// Codes of a record.
    pub columns: usize,
    /// The records.
    pub rows: usize,
    /// Numbers that lay outside their range and became its nearer end. As secret as the records.
    pub clamped: u64,
    /// The SHA-256 of the file, as 64 lower-case hexadecimal digits. As secret as its records.
    pub sha256: String,
}

debug_shows!(CodedTable { columns, rows });

/// Which records of a table one of several processes takes, that share them: all where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// How many there are, at least 1.
    pub of: usize,
    /// Its number, below `of`.
    pub number: usize,
}

impl Part {
    /// Every record.
    pub const ALL: Self = Self { of: 1, number: 0 };

    /// Whether it has what stands at a place.
    pub fn has(self, place: usize) -> bool {
        place % self.of == self.number
    }
}

impl Default for Part {
    fn default() -> Self {
        Self::ALL
    }
}

/// What is known of a table beside its codes.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Read {
    pub columns: usize,
    /// The records of all parts.
    pub rows: usize,
    pub clamped: u64,
    pub sha256: String,
}

debug_shows!(Read { columns, rows });

impl Read {
    /// Behind the last record: files have these sums.
    fn ended(self, file: &str, sums: &[[u8; 32]]) -> Result<Self, DataError> {
        if self.rows == 0 {
            return Err(empty(file, "record"));
        }
        let sha256 = match sums {
            [one] => hex(one),
            several => hex(Sha256::digest(several.concat())),
        };
        Ok(Self { sha256, ..self })
    }

    fn with(self, codes: Vec<u16>) -> CodedTable {
        CodedTable {
            rows: codes.len() / self.columns,
            codes,
            columns: self.columns,
            clamped: self.clamped,
            sha256: self.sha256,
        }
    }
}

impl Schema {
    /// The columns of a copy: those that are not ignored, in the order of the schema.
    pub fn code_columns(&self) -> Vec<CodeColumn> {
        self.coded_columns()
            .map(|column| {
                let (mut codes, mut widths) = (Vec::new(), Vec::new());
                match &column.role {
                    Role::Number(number) | Role::Response(number) => {
                        codes.extend(number.bins.iter().map(|bin| number.name(bin)));
                        widths.extend(number.bins.iter().map(|bin| number.width(bin)));
                        codes.extend(number.special.iter().map(|special| special.text.clone()));
                    }
                    role => codes.extend(
                        (0..column.codes())
                            .filter_map(|code| word(role, code))
                            .cloned(),
                    ),
                }
                if self.has_missing_level(column) {
                    codes.push("?".into());
                }
                let ordered = match &column.role {
                    Role::Categorical {
                        ordered: true,
                        levels,
                        ..
                    } => levels.len(),
                    _ => widths.len(),
                };
                CodeColumn {
                    name: column.name.clone(),
                    codes,
                    ordered,
                    widths,
                }
            })
            .collect()
    }

    pub(super) fn coded_columns(&self) -> impl Iterator<Item = &Column> {
        let kept = |column: &&Column| column.role != Role::Ignored;
        self.columns.iter().filter(kept)
    }

    /// The names of the columns of a copy of which nobody has said `public = true`.
    pub fn unconfirmed(&self) -> Vec<String> {
        self.coded_columns()
            .filter(|column| !column.public)
            .map(|column| column.name.clone())
            .collect()
    }

    /// What a copy is to predict: a place among [`Schema::code_columns`].
    pub fn label(&self) -> Option<usize> {
        let label = self.columns.get(self.label?)?;
        self.coded_columns()
            .position(|column| column.name == label.name)
    }

    /// The same schema with another column, of any kind, as what a copy is to predict. It changes no grouped table.
    ///
    /// # Errors
    /// [`DataError::Request`] for a column that is not there, or is ignored.
    pub fn with_label(mut self, column: &str) -> Result<Self, DataError> {
        let place = self
            .columns
            .iter()
            .position(|known| known.name == column && known.role != Role::Ignored);
        if place.is_none() {
            let known: Vec<&str> = self
                .coded_columns()
                .map(|column| column.name.as_str())
                .collect();
            return Err(DataError::request(format!(
                "{}: label '{column}': expected one of the columns: {}; choose one",
                self.name,
                known.join(", ")
            )));
        }
        self.label = place;
        Ok(self)
    }

    /// Reads a table as codes: a Parquet file where its name ends in `.parquet`, in which a null is the first word for a
    /// missing value, and a CSV file otherwise; or several of them one after the other, those of a folder of Parquet files or
    /// of a pattern such as `part-*.csv`.
    ///
    /// # Errors
    /// As [`Schema::coded_bytes`]; [`DataError::Io`]; [`DataError::Request`] for a folder or a pattern without files.
    pub fn coded(&self, path: &Path) -> Result<CodedTable, DataError> {
        let mut codes = Vec::new();
        let read = self.each_block(path, Part::ALL, usize::MAX, |block| {
            codes.extend_from_slice(block);
            Ok(())
        })?;
        Ok(read.with(codes))
    }

    /// Reads the bytes of a file as codes; `file` is the name to use in errors. A file without the columns that the schema
    /// ignores, as a copy is, is read as one with them.
    ///
    /// Errors name the line at fault, its column and what was expected, never what it holds.
    ///
    /// # Errors
    /// As [`Schema::decode`], but that nothing is asked of labels and sensitive columns; [`DataError::Request`] for
    /// `missing = "drop"`: which lines are left would tell of private records.
    pub fn coded_bytes(&self, file: &str, bytes: &[u8]) -> Result<CodedTable, DataError> {
        self.check_copy()?;
        let mut codes = Vec::new();
        let mut coding = Coding::new(self, Part::ALL, usize::MAX);
        let (mut opened, places) = Opened::of_text(self, file, bytes)?;
        coding.read(file, &mut opened, places, &mut |block| {
            codes.extend_from_slice(block);
            Ok(())
        })?;
        coding.sums.push(Sha256::digest(bytes).into());
        Ok(coding.read.ended(file, &coding.sums)?.with(codes))
    }

    /// Gives the codes of a part of the first `most` records of a table to `each`, `[some, columns]` in rows.
    pub(super) fn each_block(
        &self,
        path: &Path,
        part: Part,
        most: usize,
        mut each: impl FnMut(&[u16]) -> Result<(), DataError>,
    ) -> Result<Read, DataError> {
        self.check_copy()?;
        let absent = self.missing.first().map_or("", String::as_str);
        let mut coding = Coding::new(self, part, most);
        let files = parts(path)?;
        let open = |part: &PathBuf| {
            Opened::open(self, (path, part), absent).map_err(|e| e.of_part(path, part))
        };
        // A part is of whole groups of records where there are as many, which need not be read to be passed over.
        let mut groups = 0;
        if part.of > 1 && files.iter().all(|file| is_parquet(file)) {
            for file in &files {
                groups += open(file)?.0.groups().len();
            }
        }
        coding.by_groups = groups >= part.of && part.of > 1;
        let name = path.display().to_string();
        for part in files {
            let (mut opened, places) = open(&part)?;
            let read = coding.read(&name, &mut opened, places, &mut each);
            read.map_err(|e| e.of_part(path, &part))?;
            let sum = opened.sum(&part).map_err(|e| e.of_part(path, &part))?;
            coding.sums.push(sum);
        }
        coding.read.ended(&name, &coding.sums)
    }

    /// The columns of a file of a copy, which has none that is ignored.
    pub(super) fn places_of_copy(&self) -> Places {
        let mut fields = 0;
        let place = |column: &Column| {
            let place = fields;
            fields += usize::from(column.role != Role::Ignored);
            (fields > place).then_some(place)
        };
        let of_columns = self.columns.iter().map(place).collect();
        Places {
            of_columns,
            fields,
            named: false,
        }
    }

    /// Refuses a schema that is none of a copy.
    pub(super) fn check_copy(&self) -> Result<(), DataError> {
        let refuse = |problem: String| Err(DataError::request(format!("{}: {problem}", self.name)));
        let mut columns = self.coded_columns();
        if let Some(column) = columns.find(|column| column.missing == Missing::Drop) {
            return refuse(format!(
                "column '{}' has missing = \"drop\": which lines are left would tell of private records; say \"level\" or \
                 \"refuse\"",
                column.name
            ));
        }
        let columns: Vec<&Column> = self.coded_columns().collect();
        match columns.as_slice() {
            [] => refuse("all columns are ignored: expected at least 1 that is not".into()),
            [column] if (0..=column.codes()).any(|code| self.fixed(column, code) == Some("")) => {
                refuse(format!(
                    "column '{}' is the only one and may be empty: a line without anything is no record; give the missing \
                     value another word",
                    column.name
                ))
            }
            _ => Ok(()),
        }
    }

    /// The text of a code that has but one.
    pub(super) fn fixed<'a>(&'a self, column: &'a Column, code: usize) -> Option<&'a str> {
        if code == column.codes() && self.has_missing_level(column) {
            let some = self.missing.iter().find(|word| !word.is_empty());
            return some.or(self.missing.first()).map(String::as_str);
        }
        match &column.role {
            Role::Number(number) | Role::Response(number) => {
                number.special(code).map(|special| &*special.text)
            }
            role => word(role, code).map(String::as_str),
        }
    }
}

/// A category as it is spelled first.
pub(super) fn word(role: &Role, code: usize) -> Option<&String> {
    spellings(role, code).first()
}

/// How a category may be spelled.
pub(super) fn spellings(role: &Role, code: usize) -> &[String] {
    let texts = match role {
        Role::Categorical { levels, .. } => levels.get(code).map(slice::from_ref),
        Role::Boolean(spellings) => spellings.get(code).map(Vec::as_slice),
        Role::Classes(classes) => classes.get(code).map(Vec::as_slice),
        Role::Number(_) | Role::Response(_) | Role::Ignored => None,
    };
    texts.unwrap_or_default()
}
