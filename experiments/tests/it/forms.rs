//! A copy has the form of its table: the line of its README reads it with the types that the table has.

use crate::program::{Home, says};

/// 1200 records as people have them.
fn people() -> String {
    let mut text = String::from("zip;born;seen;pay;visits;share;ill\n");
    for place in 0..1200 {
        let (day, month) = (1 + place % 28, 1 + place / 28 % 12);
        let visits = if place % 7 == 0 {
            "N/A".into()
        } else {
            format!("{}.0", place % 40)
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
            ["no", "yes"][place / 5 % 2],
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
            "written = \"1234.0\"",
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
    let Some(mut python) = test_support::python(&["pandas"]) else {
        return;
    };
    let page = home.text("run/copy/README.md");
    let (_, loading) = page.split_once("```python\n").expect("code");
    let loading = loading.split("```").next().expect("code");
    let load = |path: &str, name: &str| {
        loading
            .replace("export/table.csv", path)
            .replace("table =", &format!("{name} ="))
    };
    let same = "assert (copy.dtypes == table.dtypes).all(), (copy.dtypes, table.dtypes)\n\
                assert str(copy.dtypes['zip']).startswith('str') or copy.dtypes['zip'] == object, copy.dtypes\n\
                assert copy['zip'].isin(['00501', '02116', '94110']).all()\n\
                assert copy['born'].notna().all() and copy['seen'].notna().all() and copy['pay'].between(0, 10000).all()\n\
                assert abs(copy['visits'].isna().mean() - table['visits'].isna().mean()) < 0.02\n";
    let text = load("run/copy/table.csv", "copy") + &load("people.csv", "table") + same;
    let output = python
        .current_dir(home.at("."))
        .args(["-c", &text])
        .output()
        .expect("python");
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
