//! `read_csv` of polars: it names the type of each column, and takes patterns as a schema has them.

use super::{Column, Holds, Text, dict, quoted};

pub(super) fn code(text: &Text<'_>) -> String {
    let mut call = format!(
        "import polars as pl\n\ntable = pl.read_csv(\"export/{}\"",
        text.file
    );
    if text.delimiter != "," {
        call += &format!(", separator={}", quoted(&text.delimiter));
    }
    if let Some(names) = text.names {
        call += &format!(", has_header=False, new_columns={}", quoted(names));
    }
    let kinds = text.each(|column| Some(kind(&column.holds)));
    call += &format!(", schema_overrides={}", dict(&kinds));
    // What is empty is missing anyway.
    let words = |words: &[String]| -> Vec<String> {
        words
            .iter()
            .filter(|word| !word.is_empty())
            .cloned()
            .collect()
    };
    let null = match text.words_differ() {
        // It takes one word a column: that of the copy.
        true => {
            let own = |column: &Column| words(text.words(column)).first().map(quoted);
            Some(text.each(own))
                .filter(|all| !all.is_empty())
                .map(|all| dict(&all))
        }
        false => Some(words(&text.absent))
            .filter(|all| !all.is_empty())
            .map(quoted),
    };
    if let Some(null) = null {
        call += &format!(", null_values={null}");
    }
    if text.signs.comma {
        call += ", decimal_comma=True";
    }
    call += ")";
    let made: Vec<String> = text
        .columns
        .iter()
        .filter_map(|column| made(column, text))
        .collect();
    if !made.is_empty() {
        let lines: String = made.iter().map(|made| format!("    {made},\n")).collect();
        call += &format!(".with_columns(\n{lines})");
    }
    call + "\n"
}

/// As what it is read.
fn kind(holds: &Holds) -> &'static str {
    match holds {
        Holds::Whole(false) => "pl.Int64",
        Holds::Real(false) => "pl.Float64",
        _ => "pl.String",
    }
}

/// What is made of a column that is read as text.
fn made(column: &Column, text: &Text<'_>) -> Option<String> {
    let name = quoted(&column.name);
    let number = |kind: &str| {
        let between = text.signs.between.as_deref().unwrap_or_default();
        let plain = format!(
            "pl.col({name}).str.replace_all({}, \"\", literal=True)",
            quoted(between)
        );
        let point = if text.signs.comma {
            ".str.replace(\",\", \".\")"
        } else {
            ""
        };
        format!("{plain}{point}.cast({kind})")
    };
    Some(match &column.holds {
        Holds::Whole(true) => number("pl.Int64"),
        Holds::Real(true) => number("pl.Float64"),
        Holds::Truth => format!("pl.col({name}).str.to_lowercase() == \"true\""),
        Holds::Date(pattern) => format!("pl.col({name}).str.to_date({})", quoted(chrono(pattern))),
        Holds::Datetime(pattern) => format!(
            "pl.col({name}).str.to_datetime({})",
            quoted(chrono(pattern))
        ),
        Holds::Time(pattern) => format!("pl.col({name}).str.to_time({})", quoted(chrono(pattern))),
        _ => return None,
    })
}

/// A pattern as polars has it, which reads months in any letters, and wants a minute beside an hour.
fn chrono(pattern: &str) -> String {
    let all = [("%^", "%"), ("H:00", "H:%M"), ("I:00", "I:%M")].into_iter();
    all.fold(pattern.into(), |pattern: String, (from, to)| {
        pattern.replace(from, to)
    })
}
