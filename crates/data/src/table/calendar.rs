//! Days and minutes as whole numbers: of the Gregorian calendar, from 1970-01-01, for the years 1 to 9999.

/// Minutes of a day.
pub(super) const DAY: i64 = 24 * 60;

/// The day of a date `YYYY-MM-DD`.
pub(super) fn day(text: &str) -> Option<i64> {
    let [year, month, date] = numbers(text, '-', [4, 2, 2])?;
    let day = day_of(year, month, date);
    // A date that is not there, as the 30th of February, has the day of another one.
    (year > 0 && (1..=12).contains(&month) && date_of(day) == [year, month, date]).then_some(day)
}

/// The second of a date and time `YYYY-MM-DDTHH:MM` or `YYYY-MM-DDTHH:MM:SS`, or with a space between them; parts of a second are
/// left out.
pub(super) fn second(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', ' '])?;
    Some(day(date)? * DAY * 60 + clock(time)?)
}

/// The second of a day of `HH:MM` or `HH:MM:SS`.
pub(super) fn clock(time: &str) -> Option<i64> {
    let [hour, minute] = numbers(time.get(..5)?, ':', [2, 2])?;
    let seconds = &time[5..];
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let second = match whole.strip_prefix(':') {
        Some(text) => numbers(text, ':', [2]).filter(|[second]| *second < 60)?[0],
        None => (whole.is_empty() && part == "0").then_some(0)?,
    };
    let valid = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (valid && hour < 24 && minute < 60).then_some((hour * 60 + minute) * 60 + second)
}

/// The day of a date and time at its start: how many programs write dates.
pub(super) fn midnight(text: &str) -> Option<i64> {
    let minute = second(text)?.div_euclid(60);
    (minute.rem_euclid(DAY) == 0).then(|| minute.div_euclid(DAY))
}

pub(super) fn day_text(day: i64) -> String {
    let [year, month, date] = date_of(day);
    format!("{year:04}-{month:02}-{date:02}")
}

pub(super) fn second_text(second: i64, seconds: bool) -> String {
    let day = second.div_euclid(DAY * 60);
    format!("{}T{}", day_text(day), clock_text(second, seconds))
}

pub(super) fn clock_text(second: i64, seconds: bool) -> String {
    let (minute, second) = (second.div_euclid(60).rem_euclid(DAY), second.rem_euclid(60));
    let text = format!("{:02}:{:02}", minute / 60, minute % 60);
    match seconds {
        true => format!("{text}:{second:02}"),
        false => text,
    }
}

/// Numbers of so many digits each.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(between);
    let mut found = [0; N];
    for (number, digits) in found.iter_mut().zip(digits) {
        let part = parts.next()?;
        let valid = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = valid.then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(found)
}

/// Days before a year that starts in March, so that leap days come last, from the first of March of year 0.
fn before(year: i64) -> i64 {
    365 * year + year / 4 - year / 100 + year / 400
}

/// From the first of March of year 0 to 1970-01-01.
const EPOCH: i64 = 719_468;

fn day_of(year: i64, month: i64, date: i64) -> i64 {
    let year = year - i64::from(month < 3);
    before(year) + ((month + 9) % 12 * 306 + 5) / 10 + date - 1 - EPOCH
}

fn date_of(day: i64) -> [i64; 3] {
    let day = day + EPOCH;
    // A year has 365.2425 days; the estimate may be one too high.
    let mut year = (10_000 * day + 14_780) / 3_652_425;
    if before(year) > day {
        year -= 1;
    }
    let day = day - before(year);
    let month = (100 * day + 52) / 3060;
    let date = day - (month * 306 + 5) / 10 + 1;
    [year + (month + 2) / 12, (month + 2) % 12 + 1, date]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_one_date() {
        let (first, last) = (day("0001-01-01").unwrap(), day("9999-12-31").unwrap());
        assert_eq!(last - first + 1, 3_652_059);
        let mut before = String::new();
        for number in first..=last {
            let text = day_text(number);
            assert!(day(&text) == Some(number) && before < text, "{text}");
            before = text;
        }
        // From Python's datetime.
        for (text, number) in [
            ("1970-01-01", 0),
            ("2000-02-29", 11_016),
            ("1900-03-01", -25_508),
            ("2026-11-26", 20_783),
        ] {
            assert_eq!(day(text), Some(number));
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "2020",
            "2020-1-01",
            "2020-02-30",
            "1900-02-29",
            "2020-13-01",
            "2020-00-10",
            "0000-01-01",
            "2020-01-01-01",
            "+020-01-01",
            "20-01-2020",
        ] {
            assert_eq!(day(text), None, "{text}");
        }
        for text in [
            "2020-01-01",
            "2020-01-01T24:00",
            "2020-01-01T1:00",
            "2020-01-01T10:60",
            "2020-01-01T10:00Z",
            "2020-01-01T10:00:60",
            "2020-01-01T10:00:0",
            "2020-01-01T10:00.5",
            "2020-01-01T10:00:00.",
            "2020-01-01T10:00:00+01:00",
            "2020-01-01Té:00",
        ] {
            assert_eq!(second(text), None, "{text}");
        }
        let expected = Some(18_262 * DAY + 630);
        let minute = |text| second(text).map(|second| second.div_euclid(60));
        for text in [
            "2020-01-01T10:30",
            "2020-01-01 10:30:59",
            "2020-01-01T10:30:00.25",
        ] {
            assert_eq!(minute(text), expected);
        }
        assert_eq!(second_text(-1, true), "1969-12-31T23:59:59");
    }
}
