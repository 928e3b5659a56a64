//! Tables as codes, the form from which private copies are made.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::Schema;
use super::blocks::{Block, NULL, Opened, Records, one_field};
use super::column::{Column, Role};
use super::parquet::is_parquet;
use super::parts::parts;
use super::raw::Missing;
use super::stored::{CodedTable, StoredTable};
use super::value::{Reader, Refusal, Value, missing_in_copy, outside};
use crate::DataError;
use crate::error::{Position, empty};
use crate::stored::Stored;
use crate::sums::{hex, sha256};

/// A column of a table of codes. All of it comes from the schema, so it is public.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeColumn {
    /// The name of the column.
    pub name: String,
    /// The text of each code: a level, `[20, 30)`, `17`, or, for a missing value, `?`, which comes last.
    pub codes: Vec<String>,
    /// The number of leading codes that are in order: bins of a number or levels said to be ordered; 0 for other categories.
    pub ordered: usize,
    /// The width of each bin of a number, shape `[bins]`: how many of its values lie in the bin, times 10^-decimals for a numeric
    /// column; other widths count whole numbers, days or time steps.
    pub widths: Vec<f64>,
}

/// The share of a table's records that one of several processes takes; with one process, all records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of processes, at least 1.
    pub of: usize,
    /// The number of this process, below `of`.
    pub number: usize,
}

impl Part {
    /// The part that has every record.
    pub const ALL: Self = Self { of: 1, number: 0 };

    /// Returns whether the record, or the group of records, at a place belongs to this part.
    pub fn has(self, place: usize) -> bool {
        place % self.of == self.number
    }
}

impl Default for Part {
    fn default() -> Self {
        Self::ALL
    }
}

impl Schema {
    /// Returns the columns of a copy: those that are not ignored, in the order of the schema.
    pub fn code_columns(&self) -> Vec<CodeColumn> {
        let columns = self.coded_columns().map(|column| {
            let (mut codes, widths): (Vec<String>, Vec<f64>) = match column.number() {
                Some(number) => {
                    let special = number.special.iter().map(|special| special.text.clone());
                    let bins = number.bins.iter().map(|bin| number.name(bin));
                    let widths = number.bins.iter().map(|bin| number.width(bin));
                    (bins.chain(special).collect(), widths.collect())
                }
                None => {
                    let words = (0..column.codes()).filter_map(|code| column.word(code));
                    (words.cloned().collect(), Vec::new())
                }
            };
            let ordered = match column.levels() {
                Some(levels) if levels.ordered => codes.len(),
                _ => widths.len(),
            };
            if self.has_missing_level(column) {
                codes.push("?".into());
            }
            CodeColumn {
                name: column.name.clone(),
                codes,
                ordered,
                widths,
            }
        });
        columns.collect()
    }

    pub(super) fn coded_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.is_kept())
    }

    /// Returns the names of the columns of a copy that no one has marked `public = true`.
    pub fn unconfirmed(&self) -> Vec<String> {
        self.coded_columns()
            .filter(|column| !column.public)
            .map(|column| column.name.clone())
            .collect()
    }

    /// Returns the names of the columns that are in no copy, each with its reason if the schema gives one and marks it public.
    pub fn left_out(&self) -> Vec<(&str, Option<&str>)> {
        let all = self.columns.iter().filter_map(|column| match &column.role {
            Role::Ignored(why) => {
                let why = why.as_deref().filter(|_| column.public);
                Some((column.name.as_str(), why))
            }
            _ => None,
        });
        all.collect()
    }

    /// Returns the column that a copy is to predict, as a place among [`Schema::code_columns`].
    pub fn label(&self) -> Option<usize> {
        let label = self.columns.get(self.label?)?;
        self.coded_columns()
            .position(|column| column.name == label.name)
    }

    /// Makes a column of any kind the one that a copy is to predict. Grouped tables keep their label.
    ///
    /// # Errors
    /// [`DataError::Request`] for a column that does not exist or is ignored.
    pub fn with_label(mut self, column: &str) -> Result<Self, DataError> {
        let place = self
            .columns
            .iter()
            .position(|known| known.name == column && known.is_kept());
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

    /// Ignores the label, and all rules: this reads records whose label is not known, and which may lack its column.
    #[must_use]
    pub fn without_label(mut self) -> Self {
        if let Some(label) = self.label.take() {
            self.columns[label].role = Role::Ignored(None);
        }
        self.rules = super::rules::Rules::default();
        self
    }

    /// Reads a table as codes: a Parquet file if its name ends in `.parquet`, otherwise a CSV file. A folder of Parquet files,
    /// or a pattern such as `part-*.csv`, is read one file after the other. A null in a Parquet file is the first word for a
    /// missing value.
    ///
    /// # Errors
    /// As [`Schema::coded_bytes`]; [`DataError::Io`]; [`DataError::Request`] for a folder or a pattern without files.
    pub fn coded(&self, path: &Path) -> Result<CodedTable, DataError> {
        let table = self.stored_beyond(path, Part::ALL, usize::MAX, usize::MAX)?;
        Ok(table.in_memory())
    }

    /// Reads the bytes of a file as codes; `file` is the name to use in errors. The file may lack the columns that the schema
    /// ignores, as a copy does.
    ///
    /// Errors name the line, its column and what was expected, but never the value.
    ///
    /// # Errors
    /// As [`Schema::decode`], except that labels and sensitive columns are not required; [`DataError::Request`] for
    /// `missing = "drop"`, because which lines remain would tell of private records.
    pub fn coded_bytes(&self, file: &str, bytes: &[u8]) -> Result<CodedTable, DataError> {
        self.check_copy()?;
        let mut coding = Coding::new(self, Part::ALL, usize::MAX, usize::MAX);
        let mut opened = Opened::of_text(self, file, bytes)?;
        coding.read(&mut opened)?;
        let table = coding.ended(file, sha256(bytes))?;
        Ok(table.in_memory())
    }

    /// Reads a part of the first `most` records of a table, as [`Schema::coded`] does. It checks every record that it reads.
    ///
    /// # Errors
    /// As [`Schema::coded`]; [`DataError::Io`] if a temporary file cannot be written.
    pub fn stored(&self, path: &Path, part: Part, most: usize) -> Result<StoredTable, DataError> {
        self.stored_beyond(path, part, most, Stored::<u16>::IN_MEMORY)
    }

    /// Reads as [`Schema::stored`] does, with a limit on the number of codes in memory.
    #[doc(hidden)]
    pub fn stored_beyond(
        &self,
        path: &Path,
        part: Part,
        most: usize,
        in_memory: usize,
    ) -> Result<StoredTable, DataError> {
        self.check_copy()?;
        let mut coding = Coding::new(self, part, most, in_memory);
        let files = parts(path)?;
        let open = |part: &PathBuf| {
            Opened::open(self, (path, part), NULL).map_err(|e| e.of_part(path, part))
        };
        // If there are enough groups of records, a part takes whole groups, so that the others need not be read.
        let mut groups = 0;
        if part.of > 1 && files.iter().all(|file| is_parquet(file)) {
            for file in &files {
                groups += open(file)?.groups().len();
            }
        }
        coding.by_groups = groups >= part.of && part.of > 1;
        let mut sums = Vec::new();
        for part in files {
            let mut opened = open(&part)?;
            let sum = coding.read(&mut opened).and_then(|()| opened.sum_of(&part));
            sums.push(sum.map_err(|e| e.of_part(path, &part))?);
        }
        let sum = match &sums[..] {
            [one] => hex(one),
            several => sha256(several.concat()),
        };
        coding.ended(&path.display().to_string(), sum)
    }

    /// Refuses a schema that does not fit a copy.
    pub(super) fn check_copy(&self) -> Result<(), DataError> {
        let refuse = |problem: String| Err(DataError::request(format!("{}: {problem}", self.name)));
        let columns: Vec<&Column> = self.coded_columns().collect();
        if let Some(column) = columns.iter().find(|of| of.missing == Missing::Drop) {
            return refuse(format!(
                "column '{}' has missing = \"drop\": which lines are left would tell of private records; say \"level\" or \
                 \"refuse\"",
                column.name
            ));
        }
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

    /// The text of a code that has only one text.
    pub(super) fn fixed<'a>(&'a self, column: &'a Column, code: usize) -> Option<&'a str> {
        if code == column.codes() && self.has_missing_level(column) {
            return column.absent_word();
        }
        let text = match column.number() {
            Some(number) => number.special(code).map(|special| &special.written),
            None => column.word(code),
        };
        text.map(String::as_str)
    }
}

/// Reads the files of a table one after the other.
struct Coding<'a> {
    schema: &'a Schema,
    readers: Vec<Reader<'a>>,
    part: Part,
    /// Only the first `most` records are used.
    most: usize,
    /// Whether parts are made of groups of Parquet records, and how many groups the files before this one had.
    by_groups: bool,
    groups: usize,
    table: StoredTable,
}

impl<'a> Coding<'a> {
    fn new(schema: &'a Schema, part: Part, most: usize, in_memory: usize) -> Self {
        let readers: Vec<Reader<'a>> = schema.coded_columns().map(Reader::new).collect();
        Self {
            schema,
            table: StoredTable {
                columns: readers.len(),
                rows: 0,
                clamped: 0,
                sha256: String::new(),
                codes: Stored::beyond(in_memory),
            },
            readers,
            part,
            most,
            by_groups: false,
            groups: 0,
        }
    }

    /// Adds the codes of this part of a file.
    fn read(&mut self, opened: &mut Opened<impl Read>) -> Result<(), DataError> {
        let columns = self.readers.len();
        if let Records::Text(lines) = &mut opened.records
            && !opened.places.named
            && let Some(line) = lines.peek()?
        {
            let found = line.fields.len();
            if found == 1 && self.schema.columns.len() > 1 && columns > 1 {
                return Err(one_field(self.schema, &opened.file, &line));
            }
            // A file of a copy lacks the ignored columns.
            if found == columns {
                let kept = self.schema.columns.iter().map(Column::is_kept);
                let mut fields = 0..;
                let of_columns = kept.map(|kept| kept.then(|| fields.next()).flatten());
                opened.places.of_columns = of_columns.collect();
                opened.places.fields = columns;
            }
        }
        let kept = self.schema.columns.iter().zip(&opened.places.of_columns);
        let kept = kept.filter(|(column, _)| column.is_kept());
        let at = kept.filter_map(|(_, place)| *place).collect();
        opened.read_only(at)?;
        let groups = opened.groups();
        if let Records::Parquet(rows) = &mut opened.records
            && self.by_groups
        {
            let own = |group: &usize| self.part.has(self.groups + group);
            rows.read_groups((0..groups.len()).filter(own).collect());
            self.groups += groups.len();
        }
        let before = self.table.rows;
        let mut block = Block::default();
        loop {
            let filled = opened.block(usize::MAX, &mut block);
            let of_columns = block.map(&opened.file, &self.readers, code)?;
            filled?;
            let Some(&first) = block.places.first() else {
                break;
            };
            // If groups were skipped, the record's position gives its place.
            let first = match first {
                Position::Record(number) if self.by_groups => before + number as usize - 1,
                _ => self.table.rows,
            };
            self.table.rows = first + block.places.len();
            let mut codes = Vec::with_capacity(columns * block.places.len());
            for record in 0..block.places.len() {
                let place = first + record;
                let has = place < self.most && (self.by_groups || self.part.has(place));
                let of_record = of_columns.iter().map(|of| of[record]);
                self.table.clamped += of_record.clone().filter(|(_, is)| *is).count() as u64;
                if has {
                    codes.extend(of_record.map(|(code, _)| code));
                }
            }
            self.table.codes.add(&codes)?;
        }
        if self.by_groups {
            self.table.rows = before + groups.iter().sum::<usize>();
        }
        Ok(())
    }

    /// Completes the table after the last record.
    fn ended(self, file: &str, sha256: String) -> Result<StoredTable, DataError> {
        if self.table.rows == 0 {
            return Err(empty(file, "record"));
        }
        Ok(StoredTable {
            sha256,
            ..self.table
        })
    }
}

/// The code of a field's value, and whether the value was clamped.
fn code(reader: &Reader<'_>, value: Value) -> Result<(u16, bool), Refusal> {
    let column = reader.column;
    let (code, clamped) = match (value, column.number()) {
        (Value::Number(value), Some(number)) => {
            number.code(value).ok_or_else(|| outside(number))?
        }
        (Value::Missing, _) if column.missing == Missing::Level => (column.codes(), false),
        (Value::Missing, _) => return Err(missing_in_copy()),
        (Value::Level(level), _) => (level, false),
        (Value::Number(_), None) => (0, false),
    };
    Ok((code as u16, clamped))
}
