//! Tables as other people have them: what is drafted of them, and that what is written has their form again.

use std::collections::BTreeSet;

use data::{Drafting, OpenSchema, Schema};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// A table of `count` records below a line of names.
fn table(head: &str, count: usize, record: impl Fn(usize) -> String) -> String {
    let records = (0..count).map(|place| record(place) + "\n");
    format!("{head}\n{}", records.collect::<String>())
}

/// What is drafted of a text, and a copy of it that has each record's own codes.
fn drafted(text: &[u8], header: Option<bool>) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, copy] = ["table.csv", "copy.csv"].map(|name| folder.path().join(name));
    std::fs::write(&path, text).expect("written");
    let said = Drafting {
        header,
        ..Drafting::default()
    };
    let draft = Schema::draft_of(&path, &said).expect("a draft");
    let schema = Schema::parse("draft", &draft).expect("a schema");
    let read = schema.coded(&path).expect("read by its draft");
    assert_eq!(read.clamped, 0, "{draft}");
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    schema.write(&copy, &read.codes, &mut rng).expect("written");
    let again = schema.coded(&copy).expect("read again");
    assert_eq!(again.codes, read.codes, "{draft}");
    let copy = std::fs::read_to_string(&copy).expect("text");
    (
        draft.split_once("columns.\n\n").expect("a head").1.into(),
        copy,
    )
}

/// A column `x` beside a label, as it is drafted, and as its first values are written.
fn column(value: impl Fn(usize) -> String) -> (String, Vec<String>) {
    named("x", value)
}

fn named(name: &str, value: impl Fn(usize) -> String) -> (String, Vec<String>) {
    let text = table(&format!("{name};l"), 360, |place| {
        format!("{};{}", value(place), ["a", "b"][place % 2])
    });
    let (draft, copy) = drafted(text.as_bytes(), None);
    let block = draft.split("\n[[column]]\n").nth(1).expect("a column");
    let values = copy
        .lines()
        .skip(1)
        .filter_map(|line| Some(line.rsplit_once(';')?.0.into()));
    (block.trim_end().into(), values.collect())
}

/// The lines of a column behind its name, and before what all have.
#[track_caller]
fn is_drafted(value: impl Fn(usize) -> String, expected: &str) {
    let (block, _) = column(value);
    let lines: Vec<&str> = block.lines().skip(1).collect();
    let lines = lines.join("; ");
    let lines = lines
        .trim_end_matches("; public = false")
        .trim_end_matches("; outside = \"clamp\"");
    assert_eq!(lines, expected);
}

/// Each value of the copy has the form of the originals: the same characters, whatever digits and letters are.
#[track_caller]
fn keeps_its_form(written: &str, value: impl Fn(usize) -> String) {
    let form = |text: &str| -> String {
        let one = |c: char| match c {
            '0'..='9' => '0',
            c if c.is_alphabetic() => 'a',
            c => c,
        };
        let mut form: String = text.chars().map(one).collect();
        // A number may have more digits than another.
        while form.contains("00") {
            form = form.replace("00", "0");
        }
        form
    };
    let forms: Vec<String> = (0..360).map(|place| form(&value(place))).collect();
    let (block, copy) = column(value);
    assert!(
        block.contains(&format!("written = \"{written}\"")),
        "{block}"
    );
    for value in copy {
        assert!(
            forms.contains(&form(value.trim_matches('"'))),
            "{value} in\n{block}"
        );
    }
}

#[test]
fn days_and_times_come_back_as_they_were_written() {
    let day = |place: usize| (1 + place % 28, 1 + place / 28 % 12);
    let date = |form: fn(usize, usize) -> String| {
        move |place| {
            let (day, month) = day(place);
            form(day, month)
        }
    };
    keeps_its_form("%d-%m-%Y", date(|d, m| format!("{d:02}-{m:02}-2023")));
    keeps_its_form("%d/%m/%Y", date(|d, m| format!("{d:02}/{m:02}/2023")));
    keeps_its_form("%m/%d/%Y", date(|d, m| format!("{m:02}/{d:02}/2023")));
    keeps_its_form("%Y/%m/%d", date(|d, m| format!("2023/{m:02}/{d:02}")));
    keeps_its_form("%-d.%-m.%Y", date(|d, m| format!("{d}.{m}.2024")));
    keeps_its_form("%Y%m%d", date(|d, m| format!("2023{m:02}{d:02}")));
    keeps_its_form(
        "%b %-d %Y",
        date(|d, m| format!("{} {d} 2000", ["Jan", "Feb", "Mar"][m % 3])),
    );
    keeps_its_form(
        "%Y-%m-%d 00:00:00",
        date(|d, m| format!("2023-{m:02}-{d:02} 00:00:00")),
    );
    let clock = |place: usize| (place % 24, place % 60);
    let time = |form: fn(usize, usize) -> String| {
        move |place| {
            let (hour, minute) = clock(place);
            form(hour, minute)
        }
    };
    keeps_its_form(
        "%Y-%m-%d %H:%M:00",
        time(|h, m| format!("2023-05-{:02} {h:02}:{m:02}:00", 1 + h)),
    );
    keeps_its_form(
        "%Y-%m-%dT%H:%M:%SZ",
        time(|h, m| format!("2023-05-{:02}T{h:02}:{m:02}:{m:02}Z", 1 + h)),
    );
    keeps_its_form(
        "%Y-%m-%dT%H:%M:00+00:00",
        time(|h, m| format!("2023-05-{:02}T{h:02}:{m:02}:00+00:00", 1 + h)),
    );
    keeps_its_form(
        "%Y-%m-%d %H:%M:%S%.3f",
        time(|h, m| format!("2023-05-{:02} {h:02}:{m:02}:00.{m:03}", 1 + h)),
    );
    keeps_its_form(
        "%m/%d/%Y %I:%M %p",
        time(|h, m| {
            format!(
                "05/{:02}/2023 {:02}:{m:02} {}",
                1 + h,
                1 + h % 12,
                ["AM", "PM"][m % 2]
            )
        }),
    );
    keeps_its_form("%H:%M", time(|h, m| format!("{h:02}:{m:02}")));
    // Hours alone.
    keeps_its_form(
        "%Y-%m-%dT%H:00:00Z",
        time(|h, m| format!("2023-05-{:02}T{h:02}:00:00Z", 1 + m % 28)),
    );
    keeps_its_form(
        "%-I:00 %p",
        time(|h, m| format!("{}:00 {}", 1 + h % 12, ["AM", "PM"][m % 2])),
    );
}

/// As finely as the times of the file, whatever it writes behind them.
#[test]
fn parts_of_a_second_come_back_where_there_are_some() {
    let different = |written: &str, value: &dyn Fn(usize) -> String| {
        let (block, copy) = column(value);
        let form = format!("written = \"{written}\"\n");
        assert!(block.contains(&form), "{block}");
        let parts: BTreeSet<String> = copy
            .iter()
            .map(|text| text.rsplit_once('.').expect("a part of a second").1.into())
            .collect();
        parts.len()
    };
    let time = |place: usize| format!("{:02}:{:02}:{:02}", place % 24, place % 60, place % 7);
    // Of 360 times, equally likely among 1000 parts, fewer than 250 different ones are in one of 10^9 copies.
    for (written, kind) in [
        ("%H:%M:%S%.3f", ""),
        ("%Y-%m-%d %H:%M:%S%.3f", "2023-05-07 "),
    ] {
        let value = |place| format!("{kind}{}.{:03}", time(place), place * 7 % 1000);
        assert!(different(written, &value) > 250);
    }
    assert_eq!(different("%H:%M:%S.000", &|place| time(place) + ".000"), 1);
}

/// Whatever program wrote them: their patterns follow from digits, words and signs.
#[test]
fn days_and_times_of_other_programs_come_back() {
    for written in [
        "%B %d, %Y",
        "%-d %B %Y",
        "%a, %d %b %Y",
        "%d%^b%Y",
        "%d%^b%Y:%H:%M:%S",
        "%d/%b/%Y:%H:%M:%S +0000",
        "%a %b %d %H:%M:%S %Y",
        "%Y%m%d%H%M%S",
        "%Y%m%dT%H%M%S",
        "%-m/%-d/%Y %-H:%M:%S",
        "%-d/%-m/%y",
        "%m/%d/%Y %I:%M %P",
        "%Y-%m-%d %H:%M:%S+02:00",
        "%Y-%m-%d %H:%M:%S.0",
        "%-I:%M %P",
    ] {
        keeps_its_form(written, |place| {
            let seconds = place as i64 * (37 * 86_400 + 977 * 61) % (700 * 86_400);
            let moment = chrono::DateTime::from_timestamp(1_672_531_200 + seconds, 0);
            let plain = written.replace("%^", "%");
            let text = moment.expect("a time").format(&plain).to_string();
            match written == plain {
                true => text,
                false => text.to_uppercase(),
            }
        });
    }
}

/// What stands before and behind numbers, and what says that they are below zero.
#[test]
fn units_and_signs_of_numbers_come_back() {
    let number = |place: usize| (place * 7919 % 100_000) as f64 / 37.0;
    let signed = |above: fn(f64) -> String, below: fn(f64) -> String| {
        move |place: usize| match place % 4 {
            0 => below(number(place) + 1.0),
            _ => above(number(place)),
        }
    };
    let two = |number: f64| format!("{number:.2}");
    keeps_its_form("(1234.5)", signed(two, |x| format!("({x:.2})")));
    keeps_its_form("1234.5-", signed(two, |x| format!("{x:.2}-")));
    keeps_its_form("\u{2212}1234.5", signed(two, |x| format!("\u{2212}{x:.2}")));
    keeps_its_form(
        "+1234.5",
        signed(|x| format!("+{x:.2}"), |x| format!("-{x:.2}")),
    );
    let dollars = |x: f64| format!("${x:.2}");
    keeps_its_form("$(1234.5)", signed(dollars, |x| format!("$({x:.2})")));
    keeps_its_form("$-1234.5", signed(dollars, |x| format!("$-{x:.2}")));
    keeps_its_form("CHF 1234.5", |place| format!("CHF {:.2}", number(place)));
    keeps_its_form("R$ 1234,5", |place| {
        format!("R$ {:.2}", number(place)).replace('.', ",")
    });
    keeps_its_form("1234 kg", |place| format!("{} kg", place % 90));
    keeps_its_form("1234.5°C", |place| {
        format!("{:.1}°C", number(place) - 900.0)
    });
}

#[test]
fn numbers_come_back_as_they_were_written() {
    keeps_its_form("1234,5", |place| {
        format!("{},{:02}", 150 + place % 60, place % 100)
    });
    keeps_its_form("1.234,5", |place| {
        format!("{}.{:03},{:02}", 1 + place % 7, place, place % 100)
    });
    keeps_its_form("$1,234.5", |place| {
        format!("${},{:03}.{:02}", 41 + place % 20, place, place % 100)
    });
    keeps_its_form("1234%", |place| format!("{}%", place % 101));
    keeps_its_form("1,234", |place| match place % 900 {
        few if place % 3 == 0 => few.to_string(),
        many => format!("{},{place:03}", 1 + many),
    });
    keeps_its_form("1234.0", |place| format!("{}.0", place % 50));
    keeps_its_form("1234.5 €", |place| format!("{}.{} €", place, place % 10));
}

/// A month may be a day: nobody is asked by a guess.
#[test]
fn a_day_that_may_be_a_month_is_asked_about() {
    let text = table("d,l", 300, |place| {
        format!(
            "{:02}/{:02}/2023,{}",
            1 + place % 12,
            1 + place / 12 % 12,
            place % 2
        )
    });
    let draft = Schema::draft("table", text.as_bytes(), None).expect("a draft");
    assert!(
        draft.contains("written = [\"%d/%m/%Y\", \"%m/%d/%Y\"]"),
        "{draft}"
    );
    let refused = Schema::parse("draft", &draft)
        .expect_err("a question")
        .to_string();
    assert!(
        refused.contains(
            "column 'd': 'written' says %d/%m/%Y or %m/%d/%Y: keep the one that is right"
        ),
        "{refused}"
    );
    let one = draft.replace("[\"%d/%m/%Y\", \"%m/%d/%Y\"]", "\"%m/%d/%Y\"");
    Schema::parse("draft", &one).expect("a schema");
}

#[test]
fn kinds_follow_from_what_values_are() {
    is_drafted(
        |_| "2013".into(),
        "kind = \"categorical\"; levels = [\"2013\"]",
    );
    is_drafted(
        |place| format!("{:05}", [501, 2116][place % 2]),
        "kind = \"categorical\"; levels = [\"00501\", \"02116\"]",
    );
    is_drafted(
        |place| ["True", "False"][place / 7 % 2].into(),
        "kind = \"boolean\"; zero = [\"False\"]; one = [\"True\"]",
    );
    is_drafted(
        |place| {
            if place % 10 == 0 {
                "-999".into()
            } else {
                (50 + place % 40).to_string()
            }
        },
        "kind = \"integer\"; min = 50; max = 90; special = [-999]",
    );
    is_drafted(
        |place| {
            if place % 6 == 0 {
                "unknown".into()
            } else {
                (place % 97).to_string()
            }
        },
        "kind = \"integer\"; min = 0; max = 100; outside = \"clamp\"; missing = \"level\"; absent = [\"unknown\"]",
    );
    is_drafted(
        |place| format!("{:.2}", (20.0 + place as f64 / 10.0).powi(4) / 1e4),
        "kind = \"numeric\"; min = 0.0; max = 1000.0; decimals = 2",
    );
    is_drafted(
        |place| format!("{:.2}", (place as f64 / 30.0).exp()),
        "kind = \"numeric\"; min = 0.0; max = 200000.0; decimals = 2; scale = \"log\"",
    );
    is_drafted(
        |place| format!("A{:03}", place / 3),
        "kind = \"ignore\"; why = \"text of which no value is in 5 records, such as A999\"",
    );
    for (name, least, most) in [
        ("month", 1, 12),
        ("arr_day", 1, 31),
        ("hour", 0, 23),
        ("Minute", 0, 59),
    ] {
        let (block, _) = named(name, |place| (least + place % (most - least)).to_string());
        assert!(
            block.contains(&format!("min = {least}\nmax = {most}\n")),
            "{block}"
        );
    }
    for zero in ["", ".0"] {
        let value = |place: usize| format!("{}{zero}", place % 24 * 100 + place % 60);
        let (block, copy) = named("dep_time", value);
        assert!(
            block.contains(&format!(
                "kind = \"time\"\nmin = \"00:00\"\nmax = \"23:59\"\nwritten = \"HHMM{zero}\""
            )),
            "{block}"
        );
        let valid = |text: &String| {
            let number: Option<u32> = text.strip_suffix(zero).and_then(|text| text.parse().ok());
            number.is_some_and(|number| number % 100 < 60 && number < 2400)
        };
        assert!(copy.iter().all(valid), "{copy:?}");
    }
    // Of 20 months in numbers none has a neighbour that is no month.
    let (block, copy) = column(|place| (200_001 + place % 20 / 10 * 100 + place % 10).to_string());
    assert!(
        block.contains("kind = \"categorical\"\nlevels = [\"200001\", "),
        "{block}"
    );
    assert!(
        copy.iter()
            .all(|month| (1..=10).contains(&(month.parse::<u32>().expect("a number") % 100)))
    );
    is_drafted(
        |place| match place % 6 {
            0 => "9999-12-31".into(),
            _ => format!("2020-{:02}-01", 1 + place % 12),
        },
        "kind = \"date\"; min = \"2020-01-01\"; max = \"2020-12-31\"; special = [\"9999-12-31\"]",
    );
    // Programs take it for a number with a fraction, and so it stays one.
    is_drafted(
        |place| {
            if place == 7 {
                "1e+05".into()
            } else {
                (1000 * (1 + place % 90)).to_string()
            }
        },
        "kind = \"integer\"; min = 0; max = 100000; written = \"1234.0\"",
    );
    is_drafted(
        |place| {
            if place % 2 == 0 {
                "Inf".into()
            } else {
                (place % 7).to_string()
            }
        },
        "kind = \"integer\"; min = 0; max = 6; outside = \"clamp\"; missing = \"level\"; absent = [\"Inf\"]",
    );
    is_drafted(
        |place| {
            if place % 5 < 2 {
                format!("<0.{}", place % 5 + place % 3)
            } else {
                format!("{}", place % 83)
            }
        },
        "kind = \"ignore\"; why = \"numbers, but for 144 that are none, such as <9.9: repair them, or name them in 'absent' of a column with kind and range\"",
    );
    // Few of them are categories, as doses.
    is_drafted(
        |place| format!("{} mg", [5, 10, 20][place % 3]),
        "kind = \"categorical\"; levels = [\"10 mg\", \"20 mg\", \"5 mg\"]",
    );
    is_drafted(
        |place| format!("{}e-20", 1 + place % 89),
        "kind = \"ignore\"; why = \"numbers below 1e-12, of which a copy has 15 decimals: take another unit\"",
    );
    // Most of the bins are of values that there are.
    is_drafted(
        |place| (place as i64 * 13 % 1344 - 43).to_string(),
        "kind = \"integer\"; min = -100; max = 1300",
    );
    let (block, _) = named("built", |place| (1971 + place % 43).to_string());
    assert!(block.contains("min = 1971\nmax = 2013\n"), "{block}");
}

/// What is left out says why, and no value of it stands in the draft.
#[test]
fn identifiers_are_left_out_whatever_their_number() {
    let names = |form: &str| {
        format!(
            "kind = \"ignore\"; why = \"text of which almost every record has its own, such as {form}: names, identifiers, notes, or numbers or dates in a form that is not known\""
        )
    };
    is_drafted(
        |place| format!("Person {place} Smith"),
        &names("Aaaaaa 999 Aaaaa"),
    );
    is_drafted(
        |place| format!("{}-11-2222", 100 + place),
        &names("999-99-9999"),
    );
    const RUNNING: &str = "kind = \"ignore\"; why = \"a running number, such as 999999: it says the place of a record\"";
    is_drafted(|place| (100_000 + place).to_string(), RUNNING);
    is_drafted(
        |place| (place as u64 * 7_919 % 360 + 2_852_643_501_310_550_123).to_string(),
        "kind = \"ignore\"; why = \"whole numbers of more than 15 digits, such as 9999999999999999999: an identifier, or text\"",
    );
    let (block, _) = named("patient_id", |place| (place * 7_919 % 99_991).to_string());
    assert!(block.contains("another number for each record"), "{block}");
    is_drafted(
        |place| {
            if place == 200 {
                "12O".into()
            } else {
                place.pow(2).to_string()
            }
        },
        "kind = \"ignore\"; why = \"numbers, but for 1 that are none, such as 99A: repair them, or name them in 'absent' of a column with kind and range\"",
    );
    // Frequent values stay, and what few have becomes another.
    is_drafted(
        |place| {
            if place % 20 == 0 {
                format!("rare {place}")
            } else {
                ["Bern", "Basel"][place % 2].into()
            }
        },
        "kind = \"categorical\"; levels = [\"Basel\", \"Bern\"]; other = \"other\"",
    );
}

/// An index has no name, and pandas gives it one.
#[test]
fn a_column_without_a_name_has_one_as_in_pandas() {
    let text = table(",v,l", 100, |place| {
        format!("{place},{},{}", place % 9, place % 2)
    });
    let (draft, copy) = drafted(text.as_bytes(), None);
    assert!(
        draft.contains("name = \"Unnamed: 0\"\nkind = \"ignore\"\nwhy = \"a running number"),
        "{draft}"
    );
    assert!(copy.starts_with("v,l\n"), "{copy}");
    let (draft, _) = drafted(
        table("age,l,", 40, |place| format!("{place},{},", place % 2))
            .replace("0,0,", "9,0,")
            .as_bytes(),
        None,
    );
    assert!(
        draft.contains(
            "name = \"Unnamed: 2\"\nkind = \"ignore\"\nwhy = \"nothing but missing values\""
        ),
        "{draft}"
    );
}

/// Each column has its own word for what is missing.
#[test]
fn missing_values_have_the_word_of_their_column() {
    let text = table("a,b,c,l", 360, |place| {
        let missing = place % 6 == 0;
        let word = |word: &str| {
            if missing {
                word.into()
            } else {
                (place % 89).to_string()
            }
        };
        format!("{},{},{},{}", word("N/A"), word("?"), word(""), place % 2)
    });
    let (draft, copy) = drafted(text.as_bytes(), None);
    assert!(
        copy.lines()
            .skip(1)
            .step_by(6)
            .all(|line| line.starts_with("N/A,?,,")),
        "{draft}"
    );
}

#[test]
fn a_text_keeps_its_look() {
    let plain = table("name,age", 60, |place| {
        format!("{},{}", ["Bern", "Basel"][place % 2], place * place % 50)
    });
    for (text, says, start) in [
        (
            plain.replace('\n', "\r\n"),
            "line_ends = \"crlf\"",
            "name,age\r\n",
        ),
        (
            format!("\u{feff}{plain}"),
            "byte_order_mark = true",
            "\u{feff}name,age\n",
        ),
        (
            plain
                .replace("Bern", "\"Bern\"")
                .replace("Basel", "\"Basel\"")
                .replace("name,age", "\"name\",\"age\""),
            "quotes = \"texts\"",
            "\"name\",\"age\"\n\"Bern\",0\n",
        ),
    ] {
        let (draft, copy) = drafted(text.as_bytes(), None);
        assert!(draft.contains(says), "{draft}");
        assert!(copy.starts_with(start), "{copy}");
    }
    // UTF-16 is read, and written as UTF-8.
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let text: Vec<u8> = format!("\u{feff}{}", plain.replace("Bern", "Zürich 🏔"))
            .encode_utf16()
            .flat_map(bytes)
            .collect();
        let (draft, copy) = drafted(&text, None);
        assert!(
            draft.contains("levels = [\"Basel\", \"Zürich 🏔\"]"),
            "{draft}"
        );
        assert!(copy.contains("\nZürich 🏔,"), "{copy}");
    }
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut zipped, plain.as_bytes()).expect("in memory");
    let (draft, _) = drafted(&zipped.finish().expect("in memory"), None);
    assert!(draft.contains("levels = [\"Basel\", \"Bern\"]"), "{draft}");
}

#[test]
fn a_first_line_of_numbers_is_asked_about() {
    let text = table("2019,2020", 100, |place| {
        format!("{},{}", place % 7, place % 5)
    });
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.csv");
    std::fs::write(&path, &text).expect("written");
    for refused in [
        Schema::draft_of(&path, &Drafting::default()),
        OpenSchema::draft_of(&path, &Drafting::default()),
    ] {
        let refused = refused.expect_err("a question").to_string();
        assert!(
            refused.contains(
                "say --header yes if they name the columns, and --header no if they are a record"
            ),
            "{refused}"
        );
    }
    let (draft, _) = drafted(text.as_bytes(), Some(true));
    assert!(
        draft.contains("name = \"2019\"\nkind = \"integer\"\nmin = 0\nmax = 6\n"),
        "{draft}"
    );
    let (draft, _) = drafted(text.as_bytes(), Some(false));
    assert!(draft.contains("name = \"column1\""), "{draft}");
}

/// Names are told from records by the lines below.
#[test]
fn a_first_line_of_names_and_years_is_asked_about() {
    let draft =
        |text: &str| Schema::draft("table", text.as_bytes(), None).map_err(|e| e.to_string());
    let years = table("id,2019,2020", 30, |place| {
        format!("k{place},{},{}", place % 7, place % 5)
    });
    let refused = draft(&years).expect_err("a question");
    assert!(
        refused.contains("its first line holds 2 years or dates beside words: say --header yes"),
        "{refused}"
    );
    let named = draft(&years.replace("\nk", "\n")).expect("a draft");
    assert!(named.contains("name = \"2019\""), "{named}");
    let record =
        draft(&table("7,Bern", 30, |place| format!("{},Bern", place % 7))).expect("a draft");
    assert!(record.contains("header = false"), "{record}");
    let numbered = draft(&table("V1,V2", 30, |place| {
        format!("{},{}", place * place % 37, place % 5)
    }));
    let numbered = numbered.expect("a draft");
    assert!(numbered.contains("name = \"V2\""), "{numbered}");
    let words = table("Bern,x", 30, |place| {
        format!("{},x", ["Basel", "Bern"][place % 2])
    });
    let refused = draft(&words).expect_err("a question");
    assert!(
        refused.contains("its first line holds words that are values below too: say --header yes"),
        "{refused}"
    );
}

/// Lines above a table, names of rows, and delimiters of other programs.
#[test]
fn a_table_is_found_among_its_lines() {
    let people = |parted: &str, row: fn(usize) -> String| {
        table(&["age", "city", "sex"].join(parted), 16, |place| {
            let city = ["Bern", "Basel"][place / 8];
            row(place)
                + &[
                    &(20 + place * place % 50).to_string(),
                    city,
                    ["f", "m"][place % 2],
                ]
                .join(parted)
        })
    };
    let expected = |parted: &str| people(parted, |_| String::new());
    for (parted, text) in [
        (" ", expected(" ")),
        ("^", expected("^")),
        (",", format!("# made by hand\n# in 2023\n{}", expected(","))),
        (
            ",",
            expected(",").replace("f\n", "f,\n").replace("m\n", "m,\n"),
        ),
    ] {
        let (draft, copy) = drafted(text.as_bytes(), None);
        assert_eq!(copy, expected(parted), "{draft}");
    }
    // The row has a name, and that has none.
    let rows = people(",", |place| format!("{place},"));
    let (draft, copy) = drafted(rows.as_bytes(), None);
    assert_eq!(copy, format!("Unnamed: 0,{rows}"), "{draft}");
    let titled = format!("People of the town\n\n{}", expected(";"));
    let refused = Schema::draft("table", titled.as_bytes(), None)
        .expect_err("a title")
        .to_string();
    assert_eq!(
        refused,
        "table: its first 1 lines have not the 3 fields between ';' of those below: if they are a title, leave them out, as by: \
         tail -n +2 IN > OUT; else repair them"
    );
}

/// An order that all records keep is for a person to say.
#[test]
fn an_order_of_days_is_drafted_as_a_comment() {
    let text = table("in,out,l", 300, |place| {
        let day = 1 + place % 20;
        format!(
            "2023-01-{day:02},2023-01-{:02},{}",
            day + place / 20 % 9,
            place % 2
        )
    });
    let draft = Schema::draft("table", text.as_bytes(), None).expect("a draft");
    assert!(
        draft.ends_with("# [[rule]]\n# at_most = [\"in\", \"out\"]\n"),
        "{draft}"
    );
    let rule = draft.replace("# [[rule]]\n# at_most", "[[rule]]\nat_most");
    let schema = Schema::parse("draft", &rule).expect("a schema");
    assert_ne!(
        schema.rules(),
        Schema::parse("draft", &draft).expect("a schema").rules()
    );
}

#[test]
fn what_is_no_table_says_how_to_make_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("people.csv");
    for (bytes, says) in [
        (
            &b"PK\x03\x04\x14\x00"[..],
            "found a workbook or an archive; convert it: save its sheet as CSV",
        ),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1",
            "found a workbook or an archive",
        ),
        (b"[\n  {\"a\": 1}]", "found JSON; convert it: python3 -c"),
        (
            b"<!DOCTYPE html>\n<table>\n",
            "found HTML or XML; convert it: python3 -c",
        ),
        (b"{\"a\": 1}\n{\"a\": 2}\n", "lines=True"),
        (
            b"name,l\nZ\xfcrich,1\n",
            "convert it, as by: iconv -f WINDOWS-1252 -t UTF-8 IN > OUT",
        ),
    ] {
        std::fs::write(&path, bytes).expect("written");
        let refused = Schema::draft_of(&path, &Drafting::default())
            .expect_err("no table")
            .to_string();
        assert!(refused.contains(says), "{refused}");
    }
    // Braces alone are no JSON.
    let braces = table("{v},l", 60, |place| {
        format!("{},{}", place * place % 50, place % 2)
    });
    let (draft, _) = drafted(braces.as_bytes(), None);
    assert!(draft.contains("name = \"{v}\""), "{draft}");
}
