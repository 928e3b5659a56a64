//! Tables as codes: what a private copy is made of.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::slice;

use sha2::{Digest, Sha256};

use super::column::{Column, Role};
use super::encode::{Places, one_field, places};
use super::field::Field;
use super::lines::{Lines, Records};
use super::parquet::{ParquetRows, is_parquet};
use super::{Missing, Schema};
use crate::DataError;
use crate::error::{empty, fields, io as failed, open};
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
#[derive(Clone, Debug, PartialEq)]
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

impl CodedTable {
    /// The same of a file with this sum.
    fn of(self, hash: Sha256) -> Self {
        let sha256 = hex(hash.finalize());
        Self { sha256, ..self }
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
            return Err(DataError::Request(format!(
                "{}: label '{column}': expected one of the columns: {}; choose one",
                self.name,
                known.join(", ")
            )));
        }
        self.label = place;
        Ok(self)
    }

    /// Reads a file as codes, record by record: a Parquet file where its name ends in `.parquet`, where a null is the first
    /// word for a missing value, and a CSV file otherwise.
    ///
    /// # Errors
    /// As [`Schema::coded_bytes`]; [`DataError::Io`].
    pub fn coded(&self, path: &Path) -> Result<CodedTable, DataError> {
        let file = path.display().to_string();
        if !is_parquet(path) {
            return self.coded_text(&file, open(path)?);
        }
        self.check_copy()?;
        let absent = self.missing.first().map_or("", String::as_str);
        let mut rows = ParquetRows::open(path, absent)?;
        let places = rows.places(self)?;
        let kept = self.columns.iter().zip(&places.of_columns);
        let kept = kept.filter(|(column, _)| column.role != Role::Ignored);
        rows.read_only(kept.filter_map(|(_, place)| *place))?;
        let table = self.codes(&file, &mut rows, places)?;
        let mut hashed = Hashed {
            text: open(path)?,
            hash: Sha256::new(),
        };
        io::copy(&mut hashed, &mut io::sink()).map_err(failed(path, "read the file"))?;
        Ok(table.of(hashed.hash))
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
        self.coded_text(file, bytes)
    }

    fn coded_text(&self, file: &str, text: impl Read) -> Result<CodedTable, DataError> {
        self.check_copy()?;
        let text = BufReader::new(Hashed {
            text,
            hash: Sha256::new(),
        });
        let mut lines = Lines::new(file, self.delimiter, self.comment, text);
        let places = places(self, file, &mut lines)?;
        let table = self.codes(file, &mut lines, places)?;
        Ok(table.of(lines.text().get_ref().hash.clone()))
    }

    /// The codes of all records, without the sum of their file.
    fn codes(
        &self,
        file: &str,
        records: &mut impl Records,
        mut places: Places,
    ) -> Result<CodedTable, DataError> {
        let coders: Vec<(&Column, Coder<'_>)> = self
            .coded_columns()
            .map(|column| (column, Coder::new(column)))
            .collect();
        let columns = coders.len();
        let (mut codes, mut rows, mut clamped) = (Vec::new(), 0, 0);
        while let Some(line) = records.next()? {
            let found = line.fields.len();
            if rows == 0 && !places.named {
                if found == 1 && self.columns.len() > 1 && columns > 1 {
                    return Err(one_field(self, file, &line));
                }
                if found == columns {
                    places = self.places_of_copy();
                }
            }
            if found != places.fields {
                return Err(fields(file, line.place, places.fields, found));
            }
            let kept = self.columns.iter().zip(&places.of_columns);
            let kept = kept.filter(|(column, _)| column.role != Role::Ignored);
            for ((column, coder), place) in coders.iter().zip(kept.filter_map(|(_, place)| *place))
            {
                let field = Field {
                    file,
                    place: line.place,
                    column: &column.name,
                    value: line.fields[place],
                };
                let code = if self.missing.iter().any(|text| text == field.value) {
                    match column.missing {
                        Missing::Level => column.codes(),
                        _ => return Err(field.missing_in_copy()),
                    }
                } else {
                    let (code, outside) = coder.code(column, &field)?;
                    clamped += u64::from(outside);
                    code
                };
                codes.push(code as u16);
            }
            rows += 1;
        }
        if rows == 0 {
            return Err(empty(file, "record"));
        }
        Ok(CodedTable {
            codes,
            columns,
            rows,
            clamped,
            sha256: String::new(),
        })
    }

    /// The columns of a file of a copy, which has none that is ignored.
    fn places_of_copy(&self) -> Places {
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
        let refuse = |problem: String| Err(DataError::Request(format!("{}: {problem}", self.name)));
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

/// What finds the codes of a column: categories may be many.
pub(super) struct Coder<'a>(HashMap<&'a str, usize>);

impl<'a> Coder<'a> {
    pub(super) fn new(column: &'a Column) -> Self {
        let spelled = |lists: &'a [Vec<String>]| {
            let lists = lists.iter().enumerate();
            lists
                .flat_map(|(code, texts)| texts.iter().map(move |text| (text.as_str(), code)))
                .collect()
        };
        Self(match &column.role {
            Role::Categorical { levels, .. } => {
                levels.iter().map(String::as_str).zip(0..).collect()
            }
            Role::Boolean(spellings) => spelled(spellings),
            Role::Classes(classes) => spelled(classes),
            Role::Number(_) | Role::Response(_) | Role::Ignored => HashMap::new(),
        })
    }

    /// The code of a category as it is spelled.
    pub(super) fn category(&self, text: &str) -> Option<usize> {
        self.0.get(text).copied()
    }

    /// The code of a field, and whether it was clamped.
    fn code(&self, column: &Column, field: &Field<'_>) -> Result<(usize, bool), DataError> {
        if let Some(&code) = self.0.get(field.value) {
            return Ok((code, false));
        }
        let code = match &column.role {
            Role::Number(number) | Role::Response(number) => {
                return field.coded(number).map(|coded| (coded.code, coded.clamped));
            }
            Role::Categorical { levels, other, .. } => {
                field.level(levels).or_else(|error| other.ok_or(error))?
            }
            Role::Boolean(spellings) => field.boolean(spellings)?,
            Role::Classes(classes) => field.class(classes)?,
            Role::Ignored => 0,
        };
        Ok((code, false))
    }
}

/// A text whose sum is taken while it is read.
struct Hashed<R> {
    text: R,
    hash: Sha256,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read(bytes)?;
        self.hash.update(&bytes[..count]);
        Ok(count)
    }
}
