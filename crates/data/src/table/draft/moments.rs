//! The patterns of a day or a time that fit a text, by its digits, words and signs.

use super::forms::Kind;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
/// Words that are copied into a pattern as they are.
const FIXED: [&str; 4] = ["T", "Z", "UTC", "GMT"];

/// A part of a text.
#[derive(Clone, Copy)]
enum Token<'a> {
    Digits(&'a str),
    Word(&'a str),
    Sign(char),
}

/// A part of a pattern, with its possible forms, the likelier first.
enum Piece<'a> {
    Ways(Vec<String>),
    /// Digits of a day; all parts together decide whether they are its year, month or day.
    Number(&'a str),
    Hour,
}

/// The facts known about all parts.
#[derive(Default)]
struct Known {
    month: bool,
    /// Whether digits give a whole day.
    day: bool,
    time: bool,
    midnight: Option<usize>,
    half: bool,
}

/// All patterns that fit a text, the likelier first.
pub(super) fn patterns(text: &str) -> Vec<(Kind, String)> {
    let (body, zone) = zone(text);
    let tokens = tokens(body);
    let mut known = Known::default();
    let Some(mut pieces) = pieces(&tokens, &mut known) else {
        return Vec::new();
    };
    pieces.push(Piece::Ways(vec![zone.replace('%', "%%")]));
    let numbers: Vec<&str> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Number(digits) => Some(*digits),
            _ => None,
        })
        .collect();
    let dotted = body.contains('.') && !known.time;
    let Some(orders) = orders(&numbers, &known, dotted) else {
        return Vec::new();
    };
    let dated = known.day || !numbers.is_empty();
    let mut all = Vec::new();
    for order in orders {
        for padded in [true, false] {
            for hour in [true, false] {
                let mut texts = vec![String::new()];
                let mut parts = order.chars();
                for piece in &pieces {
                    let ways = match piece {
                        Piece::Ways(ways) => ways.clone(),
                        Piece::Hour => {
                            let sign = if hour { "" } else { "-" };
                            vec![format!("%{sign}{}", if known.half { 'I' } else { 'H' })]
                        }
                        Piece::Number(_) => {
                            let part = parts.next().unwrap_or('d');
                            let sign = if padded || matches!(part, 'Y' | 'y') {
                                ""
                            } else {
                                "-"
                            };
                            vec![format!("%{sign}{part}")]
                        }
                    };
                    texts = texts
                        .iter()
                        .flat_map(|start| ways.iter().map(move |way| format!("{start}{way}")))
                        .collect();
                }
                let kind = match (dated, known.time) {
                    (true, true) => Kind::Datetime,
                    (true, false) => Kind::Date,
                    (false, _) => Kind::Time,
                };
                for text in texts {
                    let start = ["%H:%M:00", "%H:%M"];
                    // A day that is written with its start is a day.
                    if let (Kind::Datetime, Some(length)) = (kind, known.midnight)
                        && let Some(form) = start.iter().find(|form| text.contains(**form))
                        && length == form.len() - 2
                    {
                        all.push((
                            Kind::Date,
                            text.replacen(form, &form.replace("%H", "00").replace("%M", "00"), 1),
                        ));
                    }
                    all.push((kind, text));
                }
            }
        }
    }
    all.dedup();
    // Days come before times.
    all.sort_by_key(|(kind, _)| *kind == Kind::Datetime);
    all
}

/// Splits a text from its offset from universal time.
fn zone(text: &str) -> (&str, &str) {
    let none = (text, "");
    let Some(place) = text.rfind(['+', '-']) else {
        return none;
    };
    let (body, zone) = text.split_at(place);
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    let is_offset = matches!(digits.len(), 2 | 4) && digits.bytes().all(|b| b.is_ascii_digit());
    match is_offset && body.contains(':') {
        true => (body, zone),
        false => none,
    }
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
        let length = if first.is_ascii_digit() {
            run(|c| c.is_ascii_digit())
        } else if first.is_alphabetic() {
            run(char::is_alphabetic)
        } else {
            first.len_utf8()
        };
        let (token, behind) = rest.split_at(length);
        all.push(if first.is_ascii_digit() {
            Token::Digits(token)
        } else if first.is_alphabetic() {
            Token::Word(token)
        } else {
            Token::Sign(first)
        });
        rest = behind;
    }
    all
}

/// Returns `None` if the text is neither a day nor a time.
fn pieces<'a>(tokens: &[Token<'a>], known: &mut Known) -> Option<Vec<Piece<'a>>> {
    let fixed = |text: String| Piece::Ways(vec![text]);
    let mut all = Vec::new();
    let mut rest = tokens;
    while let [first, behind @ ..] = rest {
        rest = behind;
        match (*first, behind) {
            (Token::Digits(hour), [Token::Sign(':'), Token::Digits(minute), more @ ..])
                if hour.len() <= 2 =>
            {
                if known.time || minute.len() != 2 {
                    return None;
                }
                known.time = true;
                let whole = (*minute == "00").then(|| ":00".to_string());
                let ways = whole.into_iter().chain([":%M".into()]);
                all.extend([Piece::Hour, Piece::Ways(ways.collect())]);
                rest = more;
                let mut zero = hour.trim_matches('0').is_empty() && *minute == "00";
                known.midnight = zero.then_some(3);
                if let [Token::Sign(':'), Token::Digits(second), more @ ..] = rest {
                    if second.len() != 2 {
                        return None;
                    }
                    zero &= *second == "00";
                    known.midnight = zero.then_some(6);
                    rest = more;
                    let mut part = "";
                    if let [Token::Sign('.'), Token::Digits(digits), more @ ..] = rest {
                        part = digits;
                        rest = more;
                    }
                    all.push(Piece::Ways(seconds(second, part)));
                }
            }
            (Token::Digits(digits), _) if known.day => {
                // This follows a whole day.
                known.time = !known.time;
                all.push(fixed(
                    match (digits.len(), known.time) {
                        (6, true) => "%H%M%S",
                        (4, true) => "%H%M",
                        _ => return None,
                    }
                    .into(),
                ));
            }
            (Token::Digits(digits), _) => match digits.len() {
                1 | 2 | 4 => all.push(Piece::Number(digits)),
                length => {
                    let text = match length {
                        8 => "%Y%m%d",
                        12 => "%Y%m%d%H%M",
                        14 => "%Y%m%d%H%M%S",
                        _ => return None,
                    };
                    known.day = true;
                    known.time = length > 8;
                    all.push(fixed(text.into()));
                }
            },
            (Token::Word(word), _) => {
                let ways = named(word, known)?;
                all.push(Piece::Ways(ways));
            }
            (Token::Sign('%'), _) => return None,
            (Token::Sign(sign), _) => all.push(fixed(sign.into())),
        }
    }
    Some(all)
}

/// The possible forms of seconds, with the digits after their point.
fn seconds(second: &str, part: &str) -> Vec<String> {
    let mut ways = Vec::new();
    if part.is_empty() {
        ways.extend((second == "00").then(|| ":00".to_string()));
        ways.push(":%S".into());
        return ways;
    }
    if part.trim_matches('0').is_empty() {
        ways.extend((second == "00").then(|| format!(":00.{part}")));
        ways.push(format!(":%S.{part}"));
    }
    if matches!(part.len(), 3 | 6 | 9) {
        ways.push(format!(":%S%.{}f", part.len()));
    }
    ways
}

/// The possible forms of a word.
fn named(word: &str, known: &mut Known) -> Option<Vec<String>> {
    if FIXED.contains(&word) {
        return Some(vec![word.into()]);
    }
    let is = |text: &str| text.eq_ignore_ascii_case(word);
    if is("am") || is("pm") {
        known.half = true;
        return Some(vec![if word.ends_with('m') { "%P" } else { "%p" }.into()]);
    }
    let mut ways = Vec::new();
    let upper = if word.chars().all(char::is_uppercase) {
        "^"
    } else {
        ""
    };
    for (names, [short, long]) in [(&MONTHS[..], ["b", "B"]), (&WEEKDAYS[..], ["a", "A"])] {
        for name in names {
            ways.extend(is(&name[..3]).then(|| format!("%{upper}{short}")));
            ways.extend(is(name).then(|| format!("%{upper}{long}")));
        }
        known.month |= !ways.is_empty() && short == "b";
    }
    (!ways.is_empty()).then_some(ways)
}

/// The possible meanings of the numbers of a day, in their order; none for a time alone.
fn orders(numbers: &[&str], known: &Known, dotted: bool) -> Option<Vec<&'static str>> {
    let lengths: Vec<usize> = numbers.iter().map(|digits| digits.len()).collect();
    Some(match (&lengths[..], known.month) {
        ([], false) if known.day || known.time => vec![""],
        ([4, 1 | 2], true) => vec!["Yd"],
        ([1 | 2, 4], true) => vec!["dY"],
        ([1 | 2, 2], true) => vec!["dy"],
        ([4, 1 | 2, 1 | 2], false) => vec!["Ymd"],
        ([1 | 2, 1 | 2, 4], false) if dotted => vec!["dmY"],
        ([1 | 2, 1 | 2, 4], false) => vec!["dmY", "mdY"],
        ([1 | 2, 1 | 2, 2], false) if dotted => vec!["dmy"],
        ([1 | 2, 1 | 2, 2], false) => vec!["dmy", "mdy"],
        _ => return None,
    })
}
