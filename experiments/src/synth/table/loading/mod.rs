//! How other programs read a copy with the types that its table has: one description of its columns, and a writer for each program.

mod pandas;
mod polars;
mod r;

use lab::prelude::*;
use serde::Serialize;

use crate::export::Loading;

/// The truth values that each program knows.
const TRUTHS: [[&str; 3]; 2] = [["false", "False", "FALSE"], ["true", "True", "TRUE"]];

/// The code that reads a Parquet file of this name.
pub(super) fn of_parquet(file: &str) -> Vec<Loading> {
    let python = |module: &str, short: &str| {
        format!("import {module} as {short}\n\ntable = {short}.read_parquet(\"export/{file}\")\n")
    };
    all([
        python("pandas", "pd"),
        python("polars", "pl"),
        format!("table <- arrow::read_parquet(\"export/{file}\")\n"),
    ])
}

/// The code that reads a text file of this name, with the schema of its columns, in their order.
pub(super) fn of_text(file: &str, schema: &str, columns: &[&str]) -> Result<Vec<Loading>, Failure> {
    let text = Text::of(file, schema, columns)?;
    Ok(all([
        pandas::code(&text),
        polars::code(&text),
        r::code(&text),
    ]))
}

fn all([pandas, polars, r]: [String; 3]) -> Vec<Loading> {
    let python = |program, code| Loading {
        program,
        language: "python",
        code,
    };
    vec![
        python("pandas", pandas),
        python("polars", polars),
        Loading {
            program: "R",
            language: "r",
            code: r,
        },
    ]
}

/// What a text file of a table looks like.
struct Text<'a> {
    file: &'a str,
    delimiter: String,
    /// The names of the columns, if the first line does not say them.
    names: Option<&'a [&'a str]>,
    byte_order_mark: bool,
    /// The words for missing values in all columns that have none of their own.
    absent: Vec<String>,
    signs: Signs,
    columns: Vec<Column>,
}

/// What a column holds once it is read.
struct Column {
    name: String,
    holds: Holds,
    /// Its own words for missing values: a copy has the first.
    absent: Option<Vec<String>>,
    /// Its categories.
    levels: Vec<String>,
    /// Whether values may be missing.
    missing: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Holds {
    Whole(Grouped),
    Real(Grouped),
    Truth,
    Text,
    /// Text that a program would take for numbers, and lose how it is spelled.
    Code,
    /// How it is written, as in `strftime`.
    Date(String),
    Datetime(String),
    Time(String),
}

/// Whether a sign stands between thousands.
type Grouped = bool;

/// The decimal sign of all numbers, and the sign between thousands.
#[derive(Clone, Debug, Default, PartialEq)]
struct Signs {
    comma: bool,
    between: Option<String>,
}

impl<'a> Text<'a> {
    fn of(file: &'a str, schema: &str, names: &'a [&'a str]) -> Result<Self, Failure> {
        let table: toml::Table = toml::from_str(schema).or_failed()?;
        let is = |field: &str| table.get(field).and_then(toml::Value::as_bool);
        let columns = table.get("column").and_then(toml::Value::as_array);
        let columns = columns.into_iter().flatten().filter_map(|c| c.as_table());
        let columns: Vec<&toml::Table> = columns.collect();
        let signs = Signs::of(&columns);
        Ok(Self {
            file,
            delimiter: text(&table, "delimiter").unwrap_or(",").into(),
            names: (is("header") == Some(false)).then_some(names),
            byte_order_mark: is("byte_order_mark") == Some(true),
            absent: texts(&table, "missing").unwrap_or_default(),
            columns: columns.iter().map(|own| Column::of(own, &signs)).collect(),
            signs,
        })
    }

    /// Whether some columns have their own words for missing values.
    fn words_differ(&self) -> bool {
        self.columns.iter().any(|column| column.absent.is_some())
    }

    /// The words for missing values in a column.
    fn words<'b>(&'b self, column: &'b Column) -> &'b [String] {
        column.absent.as_ref().unwrap_or(&self.absent)
    }

    /// What is said of some columns, by their names.
    fn each<T>(&self, of: impl Fn(&Column) -> Option<T>) -> Vec<(&str, T)> {
        let columns = self.columns.iter();
        columns
            .filter_map(|column| Some((column.name.as_str(), of(column)?)))
            .collect()
    }
}

impl Column {
    fn of(column: &toml::Table, signs: &Signs) -> Self {
        let levels = levels(column);
        let pattern = |otherwise| text(column, "written").unwrap_or(otherwise).to_string();
        let holds = match text(column, "kind") {
            Some("date") => Holds::Date(pattern("%Y-%m-%d")),
            Some("datetime") => Holds::Datetime(pattern("%Y-%m-%dT%H:%M")),
            Some("time") => match text(column, "written") {
                // Hours and minutes as one number.
                Some("HHMM") => Holds::Whole(false),
                Some("HHMM.0") => Holds::Real(false),
                _ => Holds::Time(pattern("%H:%M")),
            },
            _ if is_number(column) => number(column, signs),
            _ => category(&levels),
        };
        Self {
            name: text(column, "name").unwrap_or_default().into(),
            holds,
            absent: texts(column, "absent"),
            levels,
            missing: text(column, "missing") == Some("level"),
        }
    }

    /// Whether a word would be a value here.
    fn may_hold(&self, word: &str) -> bool {
        match self.holds {
            Holds::Whole(_) | Holds::Real(_) if self.levels.is_empty() => {
                word.parse::<f64>().is_ok()
            }
            _ => self.levels.iter().any(|level| level == word),
        }
    }
}

impl Signs {
    /// Those that hold for all columns: none if columns with a fraction differ.
    fn of(columns: &[&toml::Table]) -> Self {
        let form = |column: &toml::Table| Form::of(text(column, "written")?);
        let numbers = columns.iter().copied().filter(|column| is_number(column));
        let mut commas = numbers.clone().filter_map(|column| match form(column) {
            None => (text(column, "kind") != Some("integer")).then_some(false),
            Some(form) => form.fraction.then_some(form.comma),
        });
        let comma = commas.next().unwrap_or(false);
        if commas.any(|other| other != comma) {
            return Self::default();
        }
        let decimal = if comma { "," } else { "." };
        let mut between = numbers.filter_map(|column| form(column)?.between);
        Self {
            comma,
            between: between.find(|between| between != decimal),
        }
    }
}

/// How 1234.5 or 1234 is written.
struct Form {
    between: Option<String>,
    comma: bool,
    /// Whether there is something beside the digits and their signs, such as a currency.
    marked: bool,
    /// Whether there are digits behind the point.
    fraction: bool,
}

impl Form {
    fn of(written: &str) -> Option<Self> {
        let (before, rest) = written.split_once('1')?;
        let (between, behind) = rest.split_once("234")?;
        let digits = behind.trim_start_matches(['.', ',']);
        let fraction = digits.len() < behind.len() && digits.starts_with(['5', '0']);
        let after = match fraction {
            true => digits.trim_start_matches('0'),
            false => behind,
        };
        Some(Self {
            between: Some(between.to_string()).filter(|between| !between.is_empty()),
            comma: fraction && behind.starts_with(','),
            marked: !before.is_empty() || !matches!(after, "" | "5"),
            fraction,
        })
    }
}

/// What a number is, which is text if it is written as the others are not.
fn number(column: &toml::Table, signs: &Signs) -> Holds {
    let whole = text(column, "kind") == Some("integer")
        || column.get("decimals").and_then(toml::Value::as_integer) == Some(0);
    let Some(form) = text(column, "written").and_then(Form::of) else {
        return match (whole, signs.comma) {
            (true, _) => Holds::Whole(false),
            (false, true) => Holds::Text,
            (false, false) => Holds::Real(false),
        };
    };
    let grouped = form.between.is_some();
    let unlike =
        form.fraction && form.comma != signs.comma || grouped && form.between != signs.between;
    match form.marked || unlike {
        true => Holds::Text,
        false if whole && !form.fraction => Holds::Whole(grouped),
        false => Holds::Real(grouped),
    }
}

/// What categories are, all of which are listed.
fn category(levels: &[String]) -> Holds {
    let all =
        |is: &dyn Fn(&str) -> bool| !levels.is_empty() && levels.iter().all(|level| is(level));
    if all(&|level| TRUTHS.as_flattened().contains(&level)) {
        return Holds::Truth;
    }
    if levels.iter().any(|level| is_code(level)) {
        return Holds::Code;
    }
    if all(&|level| level.parse::<i64>().is_ok()) {
        return Holds::Whole(false);
    }
    // Words such as `inf` and `nan` are none.
    match all(&|level| level.parse::<f64>().is_ok_and(f64::is_finite)) {
        true => Holds::Real(false),
        false => Holds::Text,
    }
}

/// All categories of a column, and what those become that are not listed.
fn levels(column: &toml::Table) -> Vec<String> {
    let lists = ["levels", "zero", "one", "classes", "other"];
    let mut all: Vec<&toml::Value> = lists.iter().filter_map(|list| column.get(*list)).collect();
    let mut levels = Vec::new();
    while let Some(value) = all.pop() {
        match value {
            toml::Value::Array(values) => all.extend(values),
            value => levels.extend(value.as_str().map(String::from)),
        }
    }
    levels
}

fn is_number(column: &toml::Table) -> bool {
    match text(column, "kind") {
        Some("numeric" | "integer") => true,
        // One without classes.
        Some("label") => column.contains_key("min"),
        _ => false,
    }
}

fn text<'a>(column: &'a toml::Table, field: &str) -> Option<&'a str> {
    column.get(field)?.as_str()
}

fn texts(table: &toml::Table, field: &str) -> Option<Vec<String>> {
    let texts = table.get(field)?.as_array()?.iter();
    Some(
        texts
            .filter_map(|text| text.as_str().map(String::from))
            .collect(),
    )
}

/// Whether a program that guesses would take a category for a number, and lose how it is spelled.
fn is_code(level: &str) -> bool {
    let padded = level.starts_with('0') && level.len() > 1 && !level.starts_with("0.");
    padded && level.parse::<f64>().is_ok()
}

/// A text, or a list of them, as Python and R both write it.
fn quoted<T: Serialize>(value: T) -> String {
    serde_json::json!(value).to_string()
}

/// A dict of Python.
fn dict<T: AsRef<str>>(entries: &[(&str, T)]) -> String {
    let entries = entries
        .iter()
        .map(|(name, value)| format!("{}: {}", quoted(name), value.as_ref()));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
}

/// A pattern as Python and R have it: they read numbers with and without a zero before them, and words in any letters.
/// Parts of a second are left to each.
fn strptime(pattern: &str) -> String {
    pattern
        .replace("%-", "%")
        .replace("%^", "%")
        .replace("%P", "%p")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_those_of_all_columns_or_none() {
        let signs = |columns: &[(&str, &str)]| {
            let column = |(kind, written): &(&str, &str)| {
                let written = match *written {
                    "" => String::new(),
                    written => format!("written = {written:?}\n"),
                };
                format!("[[column]]\nname = '{kind}{written}'\nkind = \"{kind}\"\n{written}")
                    .replace("\n'", "'")
            };
            let schema: String = columns.iter().map(column).collect();
            Text::of("t.csv", &schema, &[]).expect("a schema").signs
        };
        let said = |comma, between: &str| Signs {
            comma,
            between: Some(between.to_string()).filter(|between| !between.is_empty()),
        };
        let german = ("numeric", "1.234,5");
        assert_eq!(signs(&[german, ("integer", "")]), said(true, "."));
        // A point is the decimal sign of the other column: nothing is said, and that column keeps its values.
        assert_eq!(signs(&[german, ("numeric", "")]), said(false, ""));
        assert_eq!(
            signs(&[("numeric", ""), ("integer", "1,234")]),
            said(false, ",")
        );
        assert_eq!(
            signs(&[("numeric", ""), ("integer", "1.234")]),
            said(false, "")
        );
        assert_eq!(signs(&[german, ("integer", "1234.0")]), said(false, ""));
        assert_eq!(signs(&[]), said(false, ""));
    }

    const SCHEMA: &str = r##"
delimiter = ";"
header = false
byte_order_mark = true
missing = ["", "-"]
column = [
    { name = "zip", kind = "categorical", levels = ["00501", "94110"] },
    { name = "born", kind = "date", min = "1950-01-01", max = "1989-12-31", written = "%-d/%m/%Y" },
    { name = "seen", kind = "datetime", min = "2023-01-01T00:00", max = "2023-12-31T23:59", written = "%Y-%m-%d %H:%M:%S%.3f" },
    { name = "pay", kind = "numeric", min = 0, max = 9000, written = "1.234,5", absent = ["unknown"] },
    { name = "sign", kind = "categorical", levels = ["+", "-"], absent = [""] },
    { name = "share", kind = "integer", min = 0, max = 100, written = "1234%" },
    { name = "old", kind = "boolean", zero = ["False"], one = ["True"] },
    { name = "visits", kind = "integer", min = 0, max = 9 },
]
"##;

    /// In R a word for what is missing is that of all columns, and `-` is a value of one.
    #[test]
    fn each_program_is_told_what_it_would_not_guess() {
        let names = [
            "zip", "born", "seen", "pay", "sign", "share", "old", "visits",
        ];
        let all = of_text("t.csv", SCHEMA, &names).expect("code");
        let [pandas, polars, r] = &all[..] else {
            panic!("three programs");
        };
        let names = r#"["zip","born","seen","pay","sign","share","old","visits"]"#;
        assert_eq!(
            pandas.code,
            format!(
                "import pandas as pd\n\ntable = pd.read_csv(\"export/t.csv\", sep=\";\", header=None, names={names}, \
                 encoding=\"utf-8-sig\", dtype={{\"zip\": \"str\"}}, na_values={{\"zip\": [\"\",\"-\"], \"born\": [\"\",\"-\"], \
                 \"seen\": [\"\",\"-\"], \"pay\": [\"unknown\"], \"sign\": [\"\"], \"share\": [\"\",\"-\"], \"old\": [\"\",\"-\"], \
                 \"visits\": [\"\",\"-\"]}}, keep_default_na=False, parse_dates=[\"born\",\"seen\"], date_format={{\"born\": \"%d/%m/%Y\", \
                 \"seen\": \"%Y-%m-%d %H:%M:%S.%f\"}}, decimal=\",\", thousands=\".\")\n"
            )
        );
        assert_eq!(
            polars.code,
            format!(
                "import polars as pl\n\ntable = pl.read_csv(\"export/t.csv\", separator=\";\", has_header=False, new_columns={names}, \
                 schema_overrides={{\"zip\": pl.String, \"born\": pl.String, \"seen\": pl.String, \"pay\": pl.String, \"sign\": \
                 pl.String, \"share\": pl.String, \"old\": pl.String, \"visits\": pl.Int64}}, null_values={{\"zip\": \"-\", \"born\": \
                 \"-\", \"seen\": \"-\", \"pay\": \"unknown\", \"share\": \"-\", \"old\": \"-\", \"visits\": \"-\"}}, \
                 decimal_comma=True).with_columns(\n\
                 \x20   pl.col(\"born\").str.to_date(\"%-d/%m/%Y\"),\n\
                 \x20   pl.col(\"seen\").str.to_datetime(\"%Y-%m-%d %H:%M:%S%.3f\"),\n\
                 \x20   pl.col(\"pay\").str.replace_all(\".\", \"\", literal=True).str.replace(\",\", \".\").cast(pl.Float64),\n\
                 \x20   pl.col(\"old\").str.to_lowercase() == \"true\",\n\
                 )\n"
            )
        );
        assert_eq!(
            r.code,
            "table <- read.csv(\"export/t.csv\", sep = \";\", dec = \",\", header = FALSE, col.names = c(\"zip\", \"born\", \"seen\", \
             \"pay\", \"sign\", \"share\", \"old\", \"visits\"), fileEncoding = \"UTF-8-BOM\", colClasses = c(\"zip\" = \"character\", \
             \"born\" = \"character\", \"seen\" = \"character\", \"pay\" = \"character\", \"sign\" = \"character\", \"share\" = \
             \"character\", \"old\" = \"character\", \"visits\" = \"character\"), na.strings = c(\"\", \"unknown\"), check.names = FALSE)\n\
             table[[\"zip\"]][table[[\"zip\"]] %in% c(\"-\")] <- NA\n\
             table[[\"born\"]][table[[\"born\"]] %in% c(\"-\")] <- NA\n\
             table[[\"born\"]] <- as.Date(table[[\"born\"]], \"%d/%m/%Y\")\n\
             table[[\"seen\"]][table[[\"seen\"]] %in% c(\"-\")] <- NA\n\
             table[[\"seen\"]] <- as.POSIXct(table[[\"seen\"]], format = \"%Y-%m-%d %H:%M:%OS\", tz = \"UTC\")\n\
             table[[\"pay\"]] <- type.convert(gsub(\".\", \"\", table[[\"pay\"]], fixed = TRUE), dec = \",\", as.is = TRUE)\n\
             table[[\"share\"]][table[[\"share\"]] %in% c(\"-\")] <- NA\n\
             table[[\"old\"]][table[[\"old\"]] %in% c(\"-\")] <- NA\n\
             table[[\"old\"]] <- as.logical(table[[\"old\"]])\n\
             table[[\"visits\"]][table[[\"visits\"]] %in% c(\"-\")] <- NA\n\
             table[[\"visits\"]] <- type.convert(table[[\"visits\"]], dec = \",\", as.is = TRUE)\n"
        );
    }
}
