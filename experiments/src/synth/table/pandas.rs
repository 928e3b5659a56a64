//! How pandas reads a copy with the types that its table has.

use lab::prelude::*;
use serde_json::{Map, Value, json};

/// A Python call of `read_csv` for the file of this name, with the schema of its columns, in their order.
pub(super) fn read_csv(file: &str, schema: &str, columns: &[&str]) -> Result<String, Failure> {
    let table: toml::Table = toml::from_str(schema).or_failed()?;
    let mut arguments = String::new();
    if let Some(delimiter) = table.get("delimiter").filter(|d| d.as_str() != Some(",")) {
        arguments += &format!(", sep={}", json!(delimiter));
    }
    if table.get("header").and_then(toml::Value::as_bool) == Some(false) {
        arguments += &format!(", header=None, names={}", json!(columns));
    }
    if table.get("byte_order_mark").and_then(toml::Value::as_bool) == Some(true) {
        arguments += ", encoding=\"utf-8-sig\"";
    }
    let all = table.get("column").and_then(toml::Value::as_array);
    let all = all.into_iter().flatten().filter_map(|c| c.as_table());
    let columns = Columns(all.collect());
    let codes = columns.each(|column| {
        let levels = column.get("levels")?.as_array()?;
        let mut levels = levels.iter().filter_map(toml::Value::as_str);
        levels.any(is_code).then(|| json!("str"))
    });
    if !codes.is_empty() {
        arguments += &format!(", dtype={}", json!(codes));
    }
    if let Some(words) = columns.absent(&table) {
        arguments += &format!(", na_values={words}, keep_default_na=False");
    }
    let dates = columns.each(|column| is_date(column).then_some(Value::Null));
    if !dates.is_empty() {
        arguments += &format!(", parse_dates={}", json!(dates.keys().collect::<Vec<_>>()));
    }
    let formats = columns.each(|column| {
        let written = text(column, "written").filter(|_| is_date(column))?;
        Some(json!(strptime(written)))
    });
    if !formats.is_empty() {
        arguments += &format!(", date_format={}", json!(formats));
    }
    arguments += &columns.signs();
    Ok(format!(
        "import pandas as pd\n\ntable = pd.read_csv(\"export/{file}\"{arguments})\n"
    ))
}

struct Columns<'a>(Vec<&'a toml::Table>);

impl Columns<'_> {
    /// What is said of some columns, by their names.
    fn each(&self, of: impl Fn(&toml::Table) -> Option<Value>) -> Map<String, Value> {
        let value = |column: &&toml::Table| Some((text(column, "name")?.into(), of(column)?));
        self.0.iter().filter_map(value).collect()
    }

    /// The words for missing values: a list for all columns, or one for each.
    fn absent(&self, table: &toml::Table) -> Option<Value> {
        let words = table.get("missing").map(|words| json!(words));
        if self
            .each(|column| column.get("absent").map(|own| json!(own)))
            .is_empty()
        {
            return words;
        }
        let words = words.unwrap_or_else(|| json!([]));
        let own = |column: &toml::Table| column.get("absent").map(|own| json!(own));
        Some(json!(
            self.each(|column| own(column).or(Some(words.clone())))
        ))
    }

    /// The decimal sign and that between thousands, which hold for all columns: none if columns with a fraction differ.
    fn signs(&self) -> String {
        let comma = |column: &&toml::Table| {
            text(column, "written").is_some_and(|written| written.contains("234,5"))
        };
        let numbers = || self.0.iter().copied().filter(|column| !is_date(column));
        let mut fractions = numbers().filter(|column| text(column, "kind") == Some("numeric"));
        let commas = fractions.next().is_some_and(|first| comma(&first));
        if fractions.any(|column| comma(&column) != commas) {
            return String::new();
        }
        let mut signs = if commas { ", decimal=\",\"" } else { "" }.to_string();
        let between = |column: &toml::Table| {
            let (_, rest) = text(column, "written")?.split_once('1')?;
            let (between, _) = rest.split_once("234")?;
            let clear = between != if commas { "," } else { "." };
            Some(between.to_string()).filter(|between| !between.is_empty() && clear)
        };
        if let Some(between) = numbers().find_map(between) {
            signs += &format!(", thousands={}", json!(between));
        }
        signs
    }
}

fn text<'a>(column: &'a toml::Table, field: &str) -> Option<&'a str> {
    column.get(field)?.as_str()
}

fn is_date(column: &toml::Table) -> bool {
    matches!(text(column, "kind"), Some("date" | "datetime"))
}

/// A pattern as Python has it, which reads numbers with and without a zero before them.
fn strptime(pattern: &str) -> String {
    let pattern = pattern.replace("%-", "%");
    let fraction = ["%.3f", "%.6f", "%.9f"].into_iter();
    fraction.fold(pattern, |pattern, part| pattern.replace(part, ".%f"))
}

/// Whether a program that guesses would take a category for a number, and lose how it is spelled.
fn is_code(level: &str) -> bool {
    let padded = level.starts_with('0') && level.len() > 1 && !level.starts_with("0.");
    padded && level.parse::<f64>().is_ok()
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
                format!("[[column]]\nname = \"{kind}{written:?}\"\nkind = \"{kind}\"\n{written}")
                    .replace("name = \"", "name = '''")
                    .replace("\"\nkind", "'''\nkind")
            };
            let schema: String = columns.iter().map(column).collect();
            let call = read_csv("t.csv", &schema, &[]).expect("a call");
            call.split("t.csv\"")
                .nth(1)
                .expect("arguments")
                .trim()
                .to_string()
        };
        let german = ("numeric", "1.234,5");
        assert_eq!(
            signs(&[german, ("integer", "")]),
            ", decimal=\",\", thousands=\".\")"
        );
        // A point is the decimal sign of the other column: nothing is said, and that column keeps its values.
        assert_eq!(signs(&[german, ("numeric", "")]), ")");
        assert_eq!(
            signs(&[("numeric", ""), ("integer", "1,234")]),
            ", thousands=\",\")"
        );
        assert_eq!(signs(&[("numeric", ""), ("integer", "1.234")]), ")");
        assert_eq!(signs(&[]), ")");
    }
}
