//! `read_csv` of pandas, which guesses what it is not told, of the table as of its copy.

use super::{Holds, Text, dict, quoted, strptime};

pub(super) fn code(text: &Text<'_>) -> String {
    let mut call = format!(
        "import pandas as pd\n\ntable = pd.read_csv(\"export/{}\"",
        text.file
    );
    if text.delimiter != "," {
        call += &format!(", sep={}", quoted(&text.delimiter));
    }
    if let Some(names) = text.names {
        call += &format!(", header=None, names={}", quoted(names));
    }
    if text.byte_order_mark {
        call += ", encoding=\"utf-8-sig\"";
    }
    let types = text.each(|column| match column.holds {
        Holds::Code => Some(quoted("str")),
        // So they are if some are missing, which in a copy need not be.
        Holds::Whole(_) if column.missing => Some(quoted("float64")),
        _ => None,
    });
    if !types.is_empty() {
        call += &format!(", dtype={}", dict(&types));
    }
    let words = match text.words_differ() {
        true => dict(&text.each(|column| Some(quoted(text.words(column))))),
        false => quoted(&text.absent),
    };
    call += &format!(", na_values={words}, keep_default_na=False");
    let dates = text.each(|column| match &column.holds {
        Holds::Date(pattern) | Holds::Datetime(pattern) => Some(quoted(self::pattern(pattern))),
        _ => None,
    });
    if !dates.is_empty() {
        let names: Vec<&str> = dates.iter().map(|(name, _)| *name).collect();
        call += &format!(
            ", parse_dates={}, date_format={}",
            quoted(names),
            dict(&dates)
        );
    }
    if text.signs.comma {
        call += ", decimal=\",\"";
    }
    if let Some(between) = &text.signs.between {
        call += &format!(", thousands={}", quoted(between));
    }
    call + ")\n"
}

/// A pattern, with its parts of a second.
fn pattern(pattern: &str) -> String {
    let parts = ["%.3f", "%.6f", "%.9f"].into_iter();
    parts.fold(strptime(pattern), |pattern, part| {
        pattern.replace(part, ".%f")
    })
}
