//! A copy has the form of its table: the code of its README reads it with the types that the table has.

use std::process::Command;

use crate::program::{Home, says};

/// 1200 records as people have them.
fn people() -> String {
    let mut text = String::from("zip;born;seen;pay;visits;share;ill\n");
    for place in 0..1200 {
        let (day, month) = (1 + place % 28, 1 + place / 28 % 12);
        let visits = if place % 7 == 0 {
            "N/A".into()
        } else {
            format!("{},0", place % 40)
        };
        text += &format!(
            "{:05};{day:02}/{month:02}/19{};2023-05-{day:02} {:02}:{:02}:00;{}.{:03},{:02};{visits};{}%;{}\n",
            [501, 2116, 94110][place % 3],
            50 + place % 40,
            place % 24,
            place % 60,
            1 + place % 7,
            place % 1000,
            place % 100,
            place % 101,
            ["False", "True"][place / 5 % 2],
        );
    }
    text
}

#[test]
fn a_copy_is_loaded_with_the_types_of_its_table() {
    let home = Home::new();
    home.put("people.csv", people());
    // Without a schema one is drafted, and nothing is released.
    let refused = home.refuses(
        "synth people.csv --label ill --epsilon 5 --out none",
        &[
            "which columns and values it has is public",
            "give it by --schema",
        ],
    );
    assert!(!refused.contains("94110"), "{refused}");
    let draft = home.text("people.toml");
    says(
        &draft,
        &[
            "written = \"%d/%m/%Y\"",
            "written = \"%Y-%m-%d %H:%M:00\"",
            "written = \"1.234,5\"",
            "written = \"1234,0\"",
            "written = \"1234%\"",
            "missing = [\"N/A\"]",
        ],
    );
    home.put(
        "people.toml",
        draft.replace("public = false", "public = true"),
    );
    home.done("synth people.csv --schema people.toml --epsilon 5 --score-share 0 --out run");
    let copy = home.text("run/copy/table.csv");
    let years = |line: &str| -> bool {
        let born = line.split(';').nth(1).expect("a day");
        born.len() == 10
            && born[6..]
                .parse()
                .is_ok_and(|year: u32| (1950..1990).contains(&year))
    };
    assert!(copy.lines().skip(1).all(years), "{copy}");
    let pandas = "assert (copy.dtypes == table.dtypes).all(), (copy.dtypes, table.dtypes)
assert str(copy.dtypes['zip']).startswith('str') or copy.dtypes['zip'] == object, copy.dtypes
assert copy['zip'].isin(['00501', '02116', '94110']).all()
assert copy['born'].notna().all() and copy['seen'].notna().all() and copy['pay'].between(0, 10000).all()
assert abs(copy['visits'].isna().mean() - table['visits'].isna().mean()) < 0.02
stamps = [pd.Timestamp('1951-01-02'), pd.Timestamp('2023-05-02 01:01')]
assert list(table.loc[1]) == ['02116', *stamps, 2001.01, 1.0, '1%', False], table.loc[1]
";
    let polars = "from datetime import date, datetime
kinds = [pl.String, pl.Date, pl.Datetime('us'), pl.Float64, pl.Float64, pl.String, pl.Boolean]
assert copy.dtypes == table.dtypes == kinds, (copy.dtypes, table.dtypes)
assert copy['zip'].is_in(['00501', '02116', '94110']).all()
assert copy.drop('visits').null_count().sum_horizontal()[0] == 0 and copy['pay'].is_between(0, 10000).all()
assert abs(copy['visits'].null_count() - table['visits'].null_count()) < 24
row = ('02116', date(1951, 1, 2), datetime(2023, 5, 2, 1, 1), 2001.01, 1.0, '1%', False)
assert table.row(1) == row, table.row(1)
";
    let r = "kinds <- function(table) unlist(lapply(table, function(column) class(column)[1]))
stopifnot(identical(kinds(copy), kinds(table)))
stopifnot(kinds(table) == c('character', 'Date', 'POSIXct', 'numeric', 'numeric', 'character', 'logical'))
stopifnot(copy$zip %in% c('00501', '02116', '94110'), copy$pay >= 0, copy$pay <= 10000, !is.na(copy$born), !is.na(copy$seen))
stopifnot(abs(mean(is.na(copy$visits)) - mean(is.na(table$visits))) < 0.02)
row <- table[2, ]
stopifnot(row$zip == '02116', row$born == as.Date('1951-01-02'), row$seen == as.POSIXct('2023-05-02 01:01', tz = 'UTC'))
stopifnot(row$pay == 2001.01, row$visits == 1, row$share == '1%', row$ill == FALSE)
";
    let page = home.text("run/copy/README.md");
    let python = |module: &str| Some((test_support::python(&[module])?, "-c"));
    let r_code = || Some((test_support::r()?, "-e"));
    for (program, tool, checks) in [
        ("pandas", python("pandas"), pandas),
        ("polars", python("polars"), polars),
        ("R", r_code(), r),
    ] {
        let Some((mut tool, flag)) = tool else {
            continue;
        };
        let code = loading(&page, program);
        let load = |path: &str| code.replace("export/table.csv", path);
        let text = load("run/copy/table.csv") + "copy = table\n" + &load("people.csv") + checks;
        passes(tool.current_dir(home.at(".")).args([flag, &text]), &text);
    }
}

/// What pandas writes: widths, gaps, zones, durations, categories.
const TYPED: &str = "import numpy as np, pandas as pd
n = np.arange(400)
seen = pd.Series(pd.Timestamp('2023-05-01') + pd.to_timedelta(n * 61007, 'ms'))
table = pd.DataFrame({
    'small': (n % 50).astype('int8'),
    'unsigned': (n % 90).astype('uint32'),
    'single': (n % 70 / 8).astype('float32'),
    'gaps': np.where(n % 7 == 0, np.nan, n % 30),
    'zone': seen.dt.as_unit('ms').dt.tz_localize('Europe/Berlin'),
    'utc': seen.dt.as_unit('us').dt.tz_localize('UTC'),
    'nano': seen.dt.as_unit('ns'),
    'span': pd.Series(pd.to_timedelta(n % 100, 's')).dt.as_unit('us'),
    'word': pd.Categorical(np.where(n % 3 == 0, 'red', 'blue')),
    'code': np.where(n % 2 == 0, '00501', '02116'),
    'ill': n % 5 == 0,
})
table.to_parquet('people.parquet')
";

#[test]
fn a_parquet_copy_has_the_types_of_its_table() {
    let home = Home::new();
    let tool = |module: &str| {
        let mut tool = test_support::python(&[module, "pyarrow"])?;
        tool.current_dir(home.at(".")).arg("-c");
        Some(tool)
    };
    let Some(mut pandas) = tool("pandas") else {
        return;
    };
    passes(pandas.arg(TYPED), TYPED);
    let said = home.done("schema people.parquet --label ill");
    says(
        &said,
        &[
            "stored as duration[us]",
            "stored as timestamp[ms, Europe/Berlin]",
        ],
    );
    let draft = home.text("people.toml");
    home.put(
        "people.toml",
        draft.replace("public = false", "public = true"),
    );
    home.done("synth people.parquet --schema people.toml --epsilon 5 --score-share 0 --out run");
    let page = home.text("run/copy/README.md");
    for (program, module, checks) in [
        (
            "pandas",
            "pandas",
            "kinds = [list(table.dtypes.astype(str)), list(copy.dtypes.astype(str))]
assert kinds[0] == kinds[1], kinds
assert copy['span'].between('0s', '100s').all() and copy['zone'].dt.year.eq(2023).all()
assert copy['zone'].dt.microsecond.nunique() > 100
",
        ),
        (
            "polars",
            "polars",
            "assert table.schema == copy.schema, (table.schema, copy.schema)\n",
        ),
    ] {
        let Some(mut tool) = tool(module) else {
            continue;
        };
        let code = loading(&page, program);
        let load = |path: &str| code.replace("export/table.parquet", path);
        let text =
            load("run/copy/table.parquet") + "copy = table\n" + &load("people.parquet") + checks;
        passes(tool.arg(&text), &text);
    }
    says(&page, &["arrow::read_parquet(\"export/table.parquet\")"]);
}

/// The code by which a page says that a program reads the copy.
fn loading<'a>(page: &'a str, program: &str) -> &'a str {
    let (_, code) = page
        .split_once(&format!("\nIn {program}:\n\n```"))
        .expect("a program");
    let (_, code) = code.split_once('\n').expect("a language");
    code.split("```").next().expect("code")
}

#[track_caller]
fn passes(tool: &mut Command, text: &str) {
    let output = tool.output().expect("a program that runs");
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
