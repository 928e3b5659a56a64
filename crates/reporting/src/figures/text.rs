//! The estimated width of text in pictures, which readers see in a font of their own.

/// Returns the width of a line of text of `size`, in its units.
pub(super) fn width(text: &str, size: f64) -> f64 {
    // Widths are those of Helvetica and Arial, or a little more.
    let ems = text.chars().map(|c| match c {
        'i' | 'j' | 'l' | '\'' | '|' => 0.24,
        ' ' | '.' | ',' | ':' | ';' | '/' | '\\' | '!' | 'I' | 'f' | 't' | '[' | ']' => 0.29,
        'r' | '(' | ')' | '-' => 0.35,
        'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' | 'J' => 0.52,
        'm' | 'M' | 'W' | '%' | '@' => 0.9,
        'A'..='Z' | 'w' => 0.72,
        // Ideographs are squares.
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'.. => 1.0,
        _ => 0.57,
    });
    size * ems.sum::<f64>()
}

/// Breaks `text` between words into lines of at most `most` units.
pub(super) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fitted(word, size, most)),
        }
    }
    lines
}

/// Returns `text` cut to `most` units, with an ellipsis for the rest.
pub(super) fn fitted(text: &str, size: f64, most: f64) -> String {
    let mut short: String = text.into();
    while width(&short, size) > most && short.chars().count() > 2 {
        short.truncate(short.trim_end_matches('\u{2026}').len());
        short.pop();
        short.push('\u{2026}');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_what_has_room() {
        assert_eq!(wrapped("one two  three", 10.0, 45.0), ["one two", "three"]);
        assert_eq!(fitted("three", 10.0, 16.0), "th\u{2026}");
        assert_eq!(fitted("three", 10.0, 30.0), "three");
        assert_eq!(wrapped(" ", 10.0, 45.0), [""; 0]);
    }
}
