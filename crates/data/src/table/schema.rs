use std::path::Path;

use serde::Deserialize;

use super::column::{Column, Role, check};
use super::raw::{RawSchema, parsed};
use super::{GroupedTable, Rules, encode};
use crate::DataError;
use crate::error::{io, read};
use crate::split::is_test_row;

/// What happens to a line in which a value is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// It is an error.
    #[default]
    Refuse,
    /// The line is no record. Then the data set is what is left, and which lines are left is public:
    /// neighbours replace a record that is kept by another that is kept.
    Drop,
    /// It is a level of its own: a feature that is 1 where the value is missing. For a number, the
    /// feature that holds it is 0 there. Labels and sensitive attributes have no such level: for them
    /// this is an error.
    Level,
}

/// What happens to a number outside its public range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outside {
    /// It is an error.
    #[default]
    Refuse,
    /// It becomes the nearer end of the range.
    Clamp,
}

/// What the columns of a table hold, and how they become features.
///
/// A schema is public: it is written before the data is looked at, and nothing in it may be fitted to
/// the data. A number x becomes (x - min) / (max - min), in [0, 1]; a level of a categorical column
/// becomes a feature of its own, 1 where the record has it and 0 elsewhere.
///
/// ```toml
/// delimiter = ","        # what separates fields; this is the default
/// header = true          # whether the first line names the columns; the default
/// comment = "|"          # lines that start so are passed over; by default none
/// missing = ["?"]        # what stands for a missing value; by default nothing does, or "" where a column says "level"
///
/// [[column]]
/// name = "age"
/// kind = "numeric"       # needs min and max
/// min = 17
/// max = 90
/// outside = "clamp"      # or "refuse", the default
/// missing = "level"      # or "drop", or "refuse", the default
///
/// [[column]]
/// name = "colour"
/// kind = "categorical"   # needs levels; with zero and one it can be chosen as the sensitive column
/// levels = ["red", "green", "blue"]
///
/// [[column]]
/// name = "sex"
/// kind = "sensitive"     # needs zero and one: the values of group 0 and of group 1
/// zero = ["Female"]
/// one = ["Male"]
///
/// [[column]]
/// name = "income"
/// kind = "label"         # needs classes, each a list of spellings, or min and max
/// classes = [["low"], ["high", "High"]]
///
/// [[column]]
/// name = "id"
/// kind = "ignore"
/// ```
///
/// For a [`GroupedTable`] exactly one column is the label and exactly one is sensitive; neither is a feature. A label with
/// a range is a number that is scaled as features are. White space around a field does not count.
///
/// The same schema describes a private copy: [`Schema::code_columns`]. Then these say more:
///
/// ```toml
/// [[column]]
/// name = "gain"
/// kind = "integer"       # whole numbers; "date" (2020-12-31) and "datetime" (2020-12-31T23:59) are numbers too
/// min = 0
/// max = 99999
/// special = [0]          # values that are codes of their own
/// scale = "log"          # bins even in log(1 + x - min); or edges = [100, 1000]: where bins end
/// public = true          # someone has confirmed that all this is public
///
/// [[column]]
/// name = "score"
/// kind = "numeric"
/// min = 0
/// max = 1
/// decimals = 2           # digits behind the point in a copy; by default enough for a thousandth of the range
///
/// [[column]]
/// name = "well"
/// kind = "boolean"       # needs zero and one: the spellings of each
/// zero = ["no"]
/// one = ["yes"]
///
/// [[column]]
/// name = "town"
/// kind = "categorical"
/// levels = ["Bern"]
/// other = "elsewhere"    # what a value that is not listed becomes; without it, it is refused
/// feature = false        # a column of a copy that is no feature of a grouped table
///
/// [[column]]
/// name = "grade"
/// kind = "categorical"
/// levels = ["low", "middle", "high"]
/// ordered = true         # levels are in order: neighbours stand together where few records have them
///
/// [[rule]]
/// at_most = ["first_job", "last_job"]   # of each record of a copy the first is at most the second
///
/// [[rule]]
/// when = { column = "age", max = 15 }   # numbers: min, max, or both; categories: values
/// then = { column = "married", values = ["no"] }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    pub(super) name: String,
    pub(super) delimiter: u8,
    pub(super) header: bool,
    pub(super) comment: Option<u8>,
    pub(super) missing: Vec<String>,
    pub(super) columns: Vec<Column>,
    pub(super) rules: Rules,
    /// The place of the sensitive one, which has the values of both groups.
    pub(super) sensitive: Option<usize>,
    /// The place of what a copy is to predict.
    pub(super) label: Option<usize>,
}

/// A table that was read from a file.
#[derive(Clone, PartialEq)]
pub struct CsvTable {
    /// Its records, in the order of the lines.
    pub table: GroupedTable,
    /// The row of each record, ascending: its place, from 0, among the file's records, with those that
    /// were dropped. No other row's content moves it.
    pub rows: Vec<usize>,
    /// The number of rows that were dropped for a missing value.
    pub dropped: usize,
    /// The SHA-256 of the file, as 64 lower-case hexadecimal digits. As secret as its records.
    pub sha256: String,
}

debug_shows!(CsvTable { table });

impl CsvTable {
    /// The private and the public records: about this `share` of the file's rows is public, each by its number alone
    /// ([`is_test_row`]), so that a row that is dropped, or replaced, moves no other to the other side.
    ///
    /// # Errors
    ///
    /// [`DataError::Request`] where a side has too few records.
    pub fn split_by_row(&self, share: f64) -> Result<(GroupedTable, GroupedTable), DataError> {
        let (public, private): (Vec<usize>, Vec<usize>) =
            (0..self.table.len()).partition(|&record| is_test_row(self.rows[record], share));
        Ok((self.table.select(&private)?, self.table.select(&public)?))
    }
}

impl Schema {
    /// Reads a schema file.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let text = std::fs::read_to_string(path).map_err(io(path, "read the file"))?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads a schema from its text; `name` is the name to use in errors.
    ///
    /// # Errors
    /// [`DataError::File`] with the column and the field that is wrong.
    pub fn parse(name: &str, text: &str) -> Result<Self, DataError> {
        let refuse = |problem: String| DataError::file(format!("{name}: {problem}"));
        let raw: RawSchema = parsed(name, text)?;
        check(name, raw).map_err(refuse)
    }

    /// The same schema with another sensitive column: one that has `zero` and `one`. The column that
    /// was sensitive becomes a categorical feature.
    ///
    /// # Errors
    /// [`DataError::Request`] for a column that does not exist or lacks `zero` and `one`.
    pub fn with_sensitive(mut self, column: &str) -> Result<Self, DataError> {
        let grouped = |column: &Column| column.groups().is_some();
        let place = self.columns.iter().position(|known| known.name == column);
        match place.filter(|&place| grouped(&self.columns[place])) {
            Some(place) => {
                self.sensitive = Some(place);
                self.check_grouped()?;
                Ok(self)
            }
            None => {
                let known: Vec<&str> = self
                    .columns
                    .iter()
                    .filter(|column| grouped(column))
                    .map(|column| column.name.as_str())
                    .collect();
                Err(DataError::request(format!(
                    "{}: sensitive column '{column}': expected one with 'zero' and 'one': {}; choose one, or give it \
                     those",
                    self.name,
                    known.join(", ")
                )))
            }
        }
    }

    /// Refuses a schema that is none of a [`GroupedTable`].
    pub(super) fn check_grouped(&self) -> Result<(), DataError> {
        if self.sensitive.is_none() {
            let problem = "0 columns of kind sensitive: expected exactly 1";
            return Err(DataError::file(format!("{}: {problem}", self.name)));
        }
        self.check_features()
    }

    /// Refuses a schema without a label and features.
    pub(super) fn check_features(&self) -> Result<(), DataError> {
        let refuse = |problem: &str| Err(DataError::file(format!("{}: {problem}", self.name)));
        let is_label =
            |column: &Column| matches!(column.role, Role::Classes(_) | Role::Response(_));
        if !self.columns.iter().any(is_label) {
            return refuse("0 columns of kind label: expected exactly 1");
        }
        if self.feature_names().is_empty() {
            return refuse("no column of kind numeric or categorical: expected at least 1");
        }
        Ok(())
    }

    /// The same schema with one rule for missing values in all columns.
    pub fn with_missing(mut self, rule: Missing) -> Self {
        for column in &mut self.columns {
            column.missing = rule;
        }
        self
    }

    /// Whether a number outside of its range becomes the nearer end of it, in any column of a copy.
    pub fn clamps(&self) -> bool {
        let clamps = |column: &Column| match &column.role {
            Role::Number(number) | Role::Response(number) => number.outside == Outside::Clamp,
            _ => false,
        };
        self.columns.iter().any(clamps)
    }

    /// What holds between columns of each record of a copy.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The sensitive column, if there is one.
    pub fn sensitive(&self) -> Option<&str> {
        self.sensitive
            .map(|place| self.columns[place].name.as_str())
    }

    /// The names of the features, in their order: `age`, `colour=red`, and `colour=?` for a missing
    /// value.
    pub fn feature_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (place, column) in self.columns.iter().enumerate() {
            let name = &column.name;
            match column.role_as_feature() {
                _ if self.sensitive == Some(place) => continue,
                Role::Number(_) | Role::Boolean(_) => names.push(name.clone()),
                Role::Categorical { levels, .. } => {
                    names.extend(levels.iter().map(|level| format!("{name}={level}")));
                }
                Role::Classes(_) | Role::Response(_) | Role::Ignored => continue,
            }
            if self.has_missing_level(column) {
                names.push(format!("{name}=?"));
            }
        }
        names
    }

    /// Reads a file.
    pub fn read_csv(&self, path: &Path) -> Result<CsvTable, DataError> {
        self.decode(&path.display().to_string(), &read(path)?)
    }

    /// Reads the bytes of a file; `file` is the name to use in errors.
    ///
    /// Errors name the line at fault, its column and what was expected, never what it holds.
    ///
    /// # Errors
    /// [`DataError::Record`] for a line with too few or too many fields, and for a value that is missing, no number, out
    /// of range, of an unknown level or class, or of neither group; [`DataError::File`] for names of columns that do not
    /// fit the schema, and for what is no text; [`DataError::Request`] without records of both groups.
    pub fn decode(&self, file: &str, bytes: &[u8]) -> Result<CsvTable, DataError> {
        encode::table(self, file, bytes)
    }

    pub(super) fn has_missing_level(&self, column: &Column) -> bool {
        column.missing == Missing::Level && !self.missing.is_empty()
    }
}
