//! `read.csv` of R: its types are those that R knows by itself.

use super::{Column, Holds, Text, quoted, strptime};

pub(super) fn code(text: &Text<'_>) -> String {
    let mut call = format!("table <- read.csv(\"export/{}\"", text.file);
    if text.delimiter != "," {
        call += &format!(", sep = {}", quoted(&text.delimiter));
    }
    if text.signs.comma {
        call += ", dec = \",\"";
    }
    if let Some(names) = text.names {
        call += &format!(", header = FALSE, col.names = {}", vector(names));
    }
    let mark = if text.byte_order_mark { "-BOM" } else { "" };
    call += &format!(", fileEncoding = \"UTF-8{mark}\"");
    let clashing = |column: &Column| -> Vec<String> {
        let words = text.words(column).iter();
        words.filter(|word| clashes(text, word)).cloned().collect()
    };
    let is_text = |column: &Column| match column.holds {
        // What it guesses is right if it may say what is missing.
        Holds::Whole(false) | Holds::Real(false) => !clashing(column).is_empty(),
        _ => true,
    };
    let texts = text.each(|column| is_text(column).then_some("\"character\""));
    if !texts.is_empty() {
        let all: Vec<String> = texts
            .iter()
            .map(|(name, kind)| format!("{} = {kind}", quoted(name)))
            .collect();
        call += &format!(", colClasses = c({})", all.join(", "));
    }
    let mut words: Vec<&String> = text
        .columns
        .iter()
        .flat_map(|column| text.words(column))
        .collect();
    words.retain(|word| !clashes(text, word));
    words.sort_unstable();
    words.dedup();
    call += &format!(", na.strings = {}, check.names = FALSE)\n", vector(&words));
    for column in &text.columns {
        let place = format!("table[[{}]]", quoted(&column.name));
        let own = clashing(column);
        if !own.is_empty() {
            call += &format!("{place}[{place} %in% {}] <- NA\n", vector(&own));
        }
        if let Some(made) = made(&column.holds, &place, text, is_text(column)) {
            call += &format!("{place} <- {made}\n");
        }
    }
    call
}

/// Whether a word for what is missing in some columns is a value of another: `na.strings` are those of all.
fn clashes(text: &Text<'_>, word: &str) -> bool {
    let mut columns = text.columns.iter();
    columns.any(|column| {
        let own = text.words(column).iter().any(|own| own == word);
        !own && column.may_hold(word)
    })
}

/// What is made of a column that was read as text.
fn made(holds: &Holds, place: &str, text: &Text<'_>, is_text: bool) -> Option<String> {
    let dec = if text.signs.comma {
        ", dec = \",\""
    } else {
        ""
    };
    Some(match holds {
        Holds::Whole(true) | Holds::Real(true) => {
            let between = quoted(text.signs.between.as_deref().unwrap_or_default());
            format!("type.convert(gsub({between}, \"\", {place}, fixed = TRUE){dec}, as.is = TRUE)")
        }
        Holds::Whole(_) | Holds::Real(_) if is_text => {
            format!("type.convert({place}{dec}, as.is = TRUE)")
        }
        // By itself it takes no `True`.
        Holds::Truth => format!("as.logical({place})"),
        Holds::Date(pattern) => format!("as.Date({place}, {})", quoted(self::pattern(pattern))),
        Holds::Datetime(pattern) => {
            format!(
                "as.POSIXct({place}, format = {}, tz = \"UTC\")",
                quoted(self::pattern(pattern))
            )
        }
        _ => return None,
    })
}

/// A pattern, with its parts of a second.
fn pattern(pattern: &str) -> String {
    let parts = ["%S%.3f", "%S%.6f", "%S%.9f"].into_iter();
    parts.fold(strptime(pattern), |pattern, part| {
        pattern.replace(part, "%OS")
    })
}

/// A vector of texts.
fn vector<T: AsRef<str>>(texts: &[T]) -> String {
    match texts {
        [] => "character()".into(),
        texts => {
            let all: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
            format!("c({})", all.join(", "))
        }
    }
}
