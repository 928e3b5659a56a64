use std::path::Path;

use super::column::{Column, Kind, Role, role};
use super::parquet::Storage;
use super::raw::{LineEnds, Missing, Outside, RawColumn, RawSchema, parsed, texts};
use super::rules::{self, Rules};
use super::text::Look;
use crate::DataError;
use crate::error::io;

/// The largest number of codes of a column: codes have 16 bits.
const MAX_CODES: usize = u16::MAX as usize;

/// Describes what the columns of a table hold, and how they become features.
///
/// A schema is public: write it before you look at the data, and fit nothing in it to the data. A number x becomes
/// (x - min) / (max - min), in [0, 1]. Each level of a categorical column becomes a feature, which is 1 if the record has
/// this level and 0 otherwise.
///
/// `docs/schemas.md` lists the fields of each kind of column. A [`GroupedTable`](super::GroupedTable) needs exactly one label and
/// exactly one sensitive column; neither is a feature. A label with a range is a number, scaled as features are. White space
/// around a field does not count. The same schema describes a private copy: [`Schema::code_columns`].
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    pub(super) name: String,
    pub(super) delimiter: u8,
    pub(super) header: bool,
    pub(super) comment: Option<u8>,
    pub(super) look: Look,
    pub(super) columns: Vec<Column>,
    pub(super) rules: Rules,
    /// The place of the sensitive column, which has the values of both groups.
    pub(super) sensitive: Option<usize>,
    /// The place of the column that a copy is to predict.
    pub(super) label: Option<usize>,
}

impl Schema {
    /// Reads a schema from a file.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let text = std::fs::read_to_string(path).map_err(io(path, "read the file"))?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads a schema from its text; `name` is the name to use in errors.
    ///
    /// # Errors
    /// [`DataError::File`] names the column and the field that is wrong.
    pub fn parse(name: &str, text: &str) -> Result<Self, DataError> {
        let raw: RawSchema = parsed(name, text)?;
        Self::closed(name, raw).map_err(|problem| DataError::file(format!("{name}: {problem}")))
    }

    fn closed(name: &str, mut raw: RawSchema) -> Result<Self, String> {
        let rules = std::mem::take(&mut raw.rule);
        let mut schema = check(name, raw, false)?;
        schema.rules = rules::check(&schema.columns, &rules)?;
        Ok(schema)
    }

    /// Makes another column the sensitive one; it needs `zero` and `one`. The column that was sensitive before becomes a
    /// categorical feature.
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

    /// Refuses a schema that does not fit a grouped table.
    pub(super) fn check_grouped(&self) -> Result<(), DataError> {
        if self.sensitive.is_none() {
            let problem = "0 columns of kind sensitive: expected exactly 1";
            return Err(DataError::file(format!("{}: {problem}", self.name)));
        }
        self.check_features()
    }

    /// Refuses a schema that lacks a label or features.
    pub(super) fn check_features(&self) -> Result<(), DataError> {
        let refuse = |problem: &str| Err(DataError::file(format!("{}: {problem}", self.name)));
        if !self.columns.iter().any(|column| column.is_label) {
            return refuse("0 columns of kind label: expected exactly 1");
        }
        if self.feature_names().is_empty() {
            return refuse("no column of kind numeric or categorical: expected at least 1");
        }
        Ok(())
    }

    /// Applies one rule for missing values to all columns.
    pub fn with_missing(mut self, rule: Missing) -> Self {
        for column in &mut self.columns {
            column.missing = rule;
        }
        self
    }

    /// Returns whether any column of a copy clamps numbers outside of its range to the nearer end.
    pub fn clamps(&self) -> bool {
        let mut numbers = self.columns.iter().filter_map(Column::number);
        numbers.any(|number| number.outside == Outside::Clamp)
    }

    /// Returns the rules between columns that each record of a copy keeps.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the name of the sensitive column, if there is one.
    pub fn sensitive(&self) -> Option<&str> {
        self.sensitive
            .map(|place| self.columns[place].name.as_str())
    }

    /// Returns the names of the features in their order, such as `age`, `colour=red`, and `colour=?` for a missing value.
    pub fn feature_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (_, column) in self.features() {
            let name = &column.name;
            match column.levels() {
                Some(levels) if levels.kind == Kind::Categories => {
                    let words = levels.spellings.iter().flatten();
                    names.extend(words.map(|level| format!("{name}={level}")));
                }
                _ => names.push(name.clone()),
            }
            if self.has_missing_level(column) {
                names.push(format!("{name}=?"));
            }
        }
        names
    }

    /// The columns that are features, with their places.
    pub(super) fn features(&self) -> impl Iterator<Item = (usize, &Column)> {
        let all = self.columns.iter().enumerate();
        all.filter(|&(place, column)| column.is_feature() && self.sensitive != Some(place))
    }

    pub(super) fn has_missing_level(&self, column: &Column) -> bool {
        column.missing == Missing::Level && !column.absent.is_empty()
    }
}

/// Checks a schema except for its rules. Columns may lack ranges and categories only if they `may_be_open`. The error says
/// what is wrong and how to repair it.
pub(super) fn check(name: &str, mut raw: RawSchema, may_be_open: bool) -> Result<Schema, String> {
    let delimiter = byte("delimiter", raw.delimiter.as_deref().unwrap_or(","))?;
    let comment = raw
        .comment
        .as_deref()
        .map(|text| byte("comment", text))
        .transpose()?;
    if comment == Some(delimiter) {
        return Err("'comment' and 'delimiter' are the same: change one".into());
    }
    let level =
        |column: &toml::Table| column.get("missing").and_then(toml::Value::as_str) == Some("level");
    // A missing value needs a word.
    if raw.missing.is_empty() && raw.column.iter().any(level) {
        raw.missing.push(String::new());
    }
    texts("missing", &raw.missing)?;

    let mut columns: Vec<Column> = Vec::with_capacity(raw.column.len());
    let mut sensitive = Vec::new();
    for (number, mut column) in raw.column.into_iter().enumerate() {
        let Some(toml::Value::String(name)) = column.remove("name") else {
            return Err(format!("column {}: expected a name; add it", number + 1));
        };
        let refuse = |problem: &str| format!("column '{name}': {problem}");
        if columns.iter().any(|known| known.name == name) {
            return Err(refuse("is there twice: rename one"));
        }
        if name.is_empty() || name.trim() != name {
            return Err(refuse(
                "expected a name without white space around it; rename it",
            ));
        }
        let [public, feature] = [("public", false), ("feature", true)].map(|(field, default)| {
            match column.remove(field) {
                None => Ok(default),
                Some(toml::Value::Boolean(value)) => Ok(value),
                Some(_) => Err(refuse(&format!("'{field}': expected true or false"))),
            }
        });
        let (public, feature) = (public?, feature?);
        let own = match column.remove("absent") {
            None => None,
            Some(words) => {
                let words: Vec<String> = words
                    .try_into()
                    .map_err(|_| refuse("'absent': expected a list of words"))?;
                texts("absent", &words).map_err(|problem| refuse(&problem))?;
                Some(words)
            }
        };
        let own_absent = own.is_some();
        let stored = match column.remove("stored") {
            None => None,
            Some(name) => Some(stored(&name).map_err(|problem| refuse(&problem))?),
        };
        let absent = own.unwrap_or_else(|| raw.missing.clone());
        dates_as_texts(&mut column);
        let raw_column: RawColumn = column.try_into().map_err(|error| refuse(error.message()))?;
        if matches!(raw_column, RawColumn::Sensitive { .. }) {
            sensitive.push(columns.len());
        }
        let is_label = matches!(raw_column, RawColumn::Label { .. });
        let (role, missing) = role(raw_column, &absent).map_err(|problem| refuse(&problem))?;
        if let Role::Open(open) = &role
            && !may_be_open
        {
            return Err(refuse(&open.missing()));
        }
        if let Some(stored) = &stored
            && !stored.kind.fits(&role)
        {
            return Err(refuse(&format!(
                "'stored' is {:?}, which cannot hold all its values; say another, or remove it",
                stored.name()
            )));
        }
        let column = Column {
            name,
            role,
            stored,
            is_label,
            missing,
            absent,
            own_absent,
            public,
            feature,
        };
        let missing = usize::from(missing == Missing::Level && !column.absent.is_empty());
        let codes = column.codes() + missing;
        if codes > MAX_CODES {
            return Err(format!(
                "column '{}': {codes} values: expected at most {MAX_CODES}",
                column.name
            ));
        }
        columns.push(column);
    }
    let labels = columns.iter().filter(|column| column.is_label).count();
    for (kind, found) in [("sensitive", sensitive.len()), ("label", labels)] {
        if found > 1 {
            return Err(format!(
                "{found} columns of kind {kind}: expected exactly 1"
            ));
        }
    }
    if columns.is_empty() {
        return Err("0 columns: expected at least 1; add a [[column]]".into());
    }
    Ok(Schema {
        name: name.into(),
        delimiter,
        header: raw.header.unwrap_or(true),
        comment,
        look: Look {
            mark: raw.byte_order_mark,
            crlf: raw.line_ends == LineEnds::Crlf,
            quotes: raw.quotes,
        },
        rules: Rules::default(),
        sensitive: sensitive.first().copied(),
        label: columns.iter().position(|column| column.is_label),
        columns,
    })
}

/// The type in a Parquet file that has this name.
fn stored(name: &toml::Value) -> Result<Storage, String> {
    name.as_str().and_then(Storage::parse).ok_or_else(|| {
        format!(
            "'stored' is {name}: expected such as \"int8\", \"uint64\", \"float32\", \"decimal(9, 2)\", \"string\", \"date\", \
             \"time[us]\", \"timestamp[ms, UTC]\", \"duration[ns]\" or \"dictionary[string]\""
        )
    })
}

/// Turns the dates of TOML into texts, so that both are read alike.
fn dates_as_texts(column: &mut toml::Table) {
    let text = |value: &mut toml::Value| {
        if let toml::Value::Datetime(date) = value {
            *value = toml::Value::String(date.to_string());
        }
    };
    for (_, value) in column.iter_mut() {
        match value {
            toml::Value::Array(values) => values.iter_mut().for_each(text),
            value => text(value),
        }
    }
}

fn byte(field: &str, text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        &[byte] if byte.is_ascii() && !b"\"\r\n".contains(&byte) => Ok(byte),
        _ => Err(format!(
            "'{field}' is {text:?}: expected one ASCII character, no quote and no line break"
        )),
    }
}
