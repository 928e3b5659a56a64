//! Days and times of the Gregorian calendar as whole numbers, counted from 1970-01-01, for the years 1 to 9999.

/// The milliseconds of a minute, and of a day.
pub(super) const MINUTE: i64 = 60_000;
pub(super) const DAY: i64 = 24 * 60 * MINUTE;

/// The step in which times are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Hour,
    Minute,
    Second,
    Milli,
}

impl Step {
    /// The milliseconds of a step.
    pub(super) fn millis(self) -> i64 {
        match self {
            Self::Hour => 60 * MINUTE,
            Self::Minute => MINUTE,
            Self::Second => 1000,
            Self::Milli => 1,
        }
    }

    /// The last time of a day.
    pub(super) fn last(self) -> String {
        clock_text(DAY - 1, self)
    }
}

/// The day of a date `YYYY-MM-DD`.
pub(super) fn day(text: &str) -> Option<i64> {
    let [year, month, date] = numbers(text, '-', [4, 2, 2])?;
    let day = day_of(year, month, date);
    // A date that does not exist, such as the 30th of February, has the day of another date.
    (year > 0 && (1..=12).contains(&month) && date_of(day) == [year, month, date]).then_some(day)
}

/// The millisecond of a date and time `YYYY-MM-DDTHH:MM` or `YYYY-MM-DDTHH:MM:SS`, with or without a fraction of a second. A
/// space may replace the `T`.
pub(super) fn moment(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', ' '])?;
    Some(day(date)? * DAY + clock(time)?)
}

/// The millisecond of the day of `HH:MM` or `HH:MM:SS`, with or without a fraction, which is cut after the third digit.
pub(super) fn clock(time: &str) -> Option<i64> {
    let [hour, minute] = numbers(time.get(..5)?, ':', [2, 2])?;
    let seconds = &time[5..];
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let second = match whole.strip_prefix(':') {
        Some(text) => numbers(text, ':', [2]).filter(|[second]| *second < 60)?[0],
        None => (whole.is_empty() && part == "0").then_some(0)?,
    };
    let valid = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let milli = format!("{part:0<3}").get(..3)?.parse::<i64>().ok()?;
    (valid && hour < 24 && minute < 60)
        .then_some((hour * 60 + minute) * MINUTE + second * 1000 + milli)
}

/// The day of a date and time that is at the start of the day, as many programs write dates.
pub(super) fn midnight(text: &str) -> Option<i64> {
    let moment = moment(text)?;
    // A time within the first minute counts as the start.
    (moment.rem_euclid(DAY) < MINUTE).then(|| moment.div_euclid(DAY))
}

pub(super) fn day_text(day: i64) -> String {
    let [year, month, date] = date_of(day);
    format!("{year:04}-{month:02}-{date:02}")
}

pub(super) fn moment_text(moment: i64, step: Step) -> String {
    let day = moment.div_euclid(DAY);
    format!("{}T{}", day_text(day), clock_text(moment, step))
}

pub(super) fn clock_text(moment: i64, step: Step) -> String {
    let (minute, milli) = (moment.rem_euclid(DAY) / MINUTE, moment.rem_euclid(MINUTE));
    let text = format!("{:02}:{:02}", minute / 60, minute % 60);
    let (second, milli) = (milli / 1000, milli % 1000);
    match step {
        Step::Hour | Step::Minute => text,
        Step::Second => format!("{text}:{second:02}"),
        Step::Milli => format!("{text}:{second:02}.{milli:03}"),
    }
}

/// Numbers with the given counts of digits.
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

/// The days from the first of March of year 0 to a year that starts in March, so that leap days come last.
fn before(year: i64) -> i64 {
    365 * year + year / 4 - year / 100 + year / 400
}

/// The days from the first of March of year 0 to 1970-01-01.
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
            assert_eq!(moment(text), None, "{text}");
        }
        for (text, milli) in [
            ("2020-01-01T10:30", 0),
            ("2020-01-01 10:30:59", 59_000),
            ("2020-01-01T10:30:00.25", 250),
            ("2020-01-01T10:30:01.0029", 1002),
        ] {
            assert_eq!(moment(text), Some(18_262 * DAY + 630 * MINUTE + milli));
        }
        for (step, text) in [
            (Step::Minute, "1969-12-31T23:59"),
            (Step::Second, "1969-12-31T23:59:58"),
            (Step::Milli, "1969-12-31T23:59:58.998"),
        ] {
            assert_eq!(moment_text(-1002, step), text);
        }
    }
}
