//! `synth` of a table as a person runs it: a CSV or Parquet file in, a private copy out, and everything that can be wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use data::Schema;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::program::{
    Ran, done, folder, json, made_again, number, refusal, refuses, says, sliver, text, words,
};
use crate::synth::{files, first_release, is_near_its_bound, python_reads, release};

const SCHEMA: &str = r#"
[[column]]
name = "patient"
kind = "ignore"

[[column]]
name = "age"
kind = "integer"
min = 0
max = 99
outside = "clamp"
public = true

[[column]]
name = "ward"
kind = "categorical"
levels = ["east", "west, new", "north"]
other = "elsewhere"
public = true

[[column]]
name = "weight"
kind = "numeric"
min = 30
max = 150
decimals = 1
missing = "level"
public = true

[[column]]
name = "ill"
kind = "label"
classes = [["no"], ["yes"]]
public = true
"#;

/// Records of patients with three visits each: the old are ill, and heavy where they lie in the west.
pub(crate) fn people(home: &Path, records: usize) -> (PathBuf, PathBuf) {
    let mut csv = String::from("patient,age,ward,weight,ill\n");
    for i in 0..records {
        let age = (i * 37) % 90;
        let ward = ["east", "\"west, new\"", "north"][i / 3 % 3];
        let weight = match i % 11 {
            0 => String::new(),
            _ => format!("{:.1}", 50.0 + (i / 3 % 3) as f64 * 20.0 + (i % 7) as f64),
        };
        let ill = if age > 55 { "yes" } else { "no" };
        csv += &format!("p{},{age},{ward},{weight},{ill}\n", i / 3);
    }
    let (table, schema) = (home.join("people.csv"), home.join("people.toml"));
    fs::write(&table, csv).expect("written");
    fs::write(
        &schema,
        format!("# The list of the ward.\nmissing = [\"\"]\n{SCHEMA}"),
    )
    .expect("written");
    (table, schema)
}

pub(crate) fn command(table: &Path, schema: &Path, out: &Path, flags: &str) -> Command {
    let mut command = sliver("synth");
    command.arg(table).arg("--schema").arg(schema);
    command.args(flags.split_whitespace());
    command.arg("--out").arg(out).arg("--cache-dir");
    command.arg(out.with_file_name("cache"));
    command
}

#[test]
fn a_table_becomes_one_that_may_be_published() {
    let (home, out) = folder();
    let (table, schema) = people(home.path(), 3000);
    let output = done(command(&table, &schema, &out, "--epsilon 3 --count 2000"));
    let printed = text(&output.stdout);
    says(
        &printed,
        &[
            "3000 private records",
            "the number of records, and the names, types and values of the columns, as the schema has them",
            "label ill",
            "neighbours: replace one record",
            "3 releases",
            "Noisy accuracy on the private records",
            "exported  2000 records",
        ],
    );
    let copy = fs::read_to_string(out.join("copy/table.csv")).expect("a table");
    let lines: Vec<&str> = copy.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2001, "age,ward,weight,ill"));
    // What the records have in common is in the copy: the old are ill. Of those that the noise has otherwise there are few.
    let right = |line: &&str| {
        let age: f64 = line
            .split(',')
            .next()
            .and_then(|age| age.parse().ok())
            .expect("an age");
        (age > 55.0) == line.ends_with("yes")
    };
    let found = lines[1..].iter().filter(|line| right(line)).count();
    assert!(found > 1800, "{found} of 2000");
    assert!(copy.contains("\"west, new\"") && !copy.contains("p1"));
    let card = json(&out.join("copy/card.json"));
    assert!(number(&card["privacy"]["epsilon_upper"]) <= 3.0 + 1e-9);
    // What may be published has no path, no comment of the schema, and no column that it ignores.
    for (name, bytes) in files(&out.join("copy")) {
        let content = String::from_utf8(bytes).expect("text");
        for private in [
            home.path().to_str().expect("a path"),
            "of the ward",
            "patient",
        ] {
            assert!(!content.contains(private), "{}: {private}", name.display());
        }
    }
    let readme = fs::read_to_string(out.join("copy/README.md")).expect("a page");
    let python = "pd.read_csv(\"export/table.csv\", na_values=[\"\"], keep_default_na=False)";
    assert!(readme.contains(python), "{readme}");
    for (picture, words) in [("columns.svg", "noisy counts"), ("pairs.svg", "weight")] {
        let drawn = fs::read_to_string(out.join(picture)).expect("a picture");
        assert!(drawn.contains(words), "{picture}");
    }

    // The copy has the form of the table: it is the public test of another run, and a schema of its own.
    let other = home.path().join("other");
    let (twin, _) = people(home.path(), 2999);
    let test = format!(
        "--epsilon 3 --test {} --label ward",
        out.join("copy/table.csv").display()
    );
    let printed = text(&done(command(&twin, &schema, &other, &test)).stdout);
    says(
        &printed,
        &[
            "2000 test records",
            "label ward",
            "and the test records that --test names",
            "Columns alone, the baseline",
        ],
    );
    let mut export = sliver("export");
    done(
        export
            .arg(&other)
            .arg("--out")
            .arg(home.path().join("more")),
    );
    // Other records of the same run, from its folder alone: nothing more is released.
    let ledger = fs::read(out.join("ledger.jsonl")).expect("a ledger");
    let exported = |name: &str, flags: &str| {
        let mut command = sliver("export");
        command.arg(&out).arg("--out").arg(home.path().join(name));
        command.args(flags.split_whitespace()).ran()
    };
    for (name, flags) in [
        ("one", "--count 2500"),
        ("same", "--count 2500 --sample-seed 0"),
        ("another", "--count 2500 --sample-seed 1"),
        ("many", ""),
    ] {
        done(exported(name, flags));
    }
    let [one, same, another, many] = ["one", "same", "another", "many"]
        .map(|name| fs::read_to_string(home.path().join(name).join("table.csv")).expect("a table"));
    assert!(one == same && one != another && many != copy);
    let rows = [&one, &many].map(|table| table.lines().count() - 1);
    assert_eq!(rows, [2500, 2000]);
    let old_are_ill = one.lines().skip(1).filter(right).count();
    assert!(old_are_ill > 2250, "{old_are_ill} of 2500");
    let card = json(&home.path().join("another/card.json"));
    assert_eq!(
        (&card["count"], &card["sampling"]["seed"]),
        (&2500.into(), &1.into())
    );
    assert_eq!(
        fs::read(out.join("ledger.jsonl")).expect("a ledger"),
        ledger
    );
    for (name, flags, words) in [
        ("none", "--count 0", "--count 0"),
        ("none", "--count 99999999999999999", "MB are free"),
        ("none", "--format npz", "left out for a table"),
        ("one", "", "exists already"),
    ] {
        let said = refusal(exported(name, flags));
        assert!(said.contains(words), "{said}");
        assert!(!home.path().join("none").exists());
    }
    let kept = fs::read_to_string(out.join("model.json")).expect("a model");
    fs::write(out.join("model.json"), &kept[..kept.len() / 2]).expect("written");
    says(
        &refusal(exported("none", "")),
        &["model.json", "put the files"],
    );
    fs::remove_file(out.join("model.json")).expect("removed");
    says(&refusal(exported("none", "")), &["there is no model.json"]);
    let draft = home.path().join("draft.toml");
    done(
        sliver("schema")
            .arg(out.join("copy/table.csv"))
            .args(["--label", "ill", "--out"])
            .arg(&draft),
    );
    let from = home.path().join("from");
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("created");
    let (public, _) = people(&elsewhere, 3000);
    let mut of_public = sliver("synth");
    of_public.arg(&twin).arg("--schema-from").arg(&public);
    of_public.args(["--no-privacy", "--label", "ill", "--out"]);
    of_public.arg(&from);
    done(of_public.arg("--cache-dir").arg(home.path().join("cache")));
    assert!(from.join("copy/table.csv").exists());
    let said = refusal(command(&table, &draft, &home.path().join("none"), "").ran());
    assert!(said.contains("4 columns are not confirmed"), "{said}");
}

/// More columns than a picture of pairs has room for: the copy has all of them.
#[test]
fn a_wide_table_is_drawn_in_part() {
    let (home, out) = folder();
    let names: Vec<String> = (0..130).map(|i| format!("c{i}")).collect();
    let record = |i: usize| {
        (0..130)
            .map(|j| ["0", "1"][(i + j) / 3 % 2])
            .collect::<Vec<_>>()
            .join(",")
    };
    let records: Vec<String> = (0..40).map(record).collect();
    let (table, schema) = (home.path().join("wide.csv"), home.path().join("wide.toml"));
    fs::write(
        &table,
        format!("{}\n{}\n", names.join(","), records.join("\n")),
    )
    .expect("written");
    let column = |name| {
        format!(
            "[[column]]\nname = \"{name}\"\nkind = \"categorical\"\nlevels = [\"0\", \"1\"]\npublic = true\n"
        )
    };
    let columns: Vec<String> = names.iter().map(column).collect();
    fs::write(&schema, columns.concat()).expect("written");
    done(command(&table, &schema, &out, "--epsilon 1 --count 20"));
    let page = fs::read_to_string(out.join("report.html")).expect("a page");
    says(&page, &["Pairs of the first 120 of 130 columns"]);
    let copy = fs::read_to_string(out.join("copy/table.csv")).expect("a copy");
    assert!(copy.lines().all(|line| line.split(',').count() == 130));
}

#[test]
fn a_killed_run_resumes_from_what_it_released() {
    let (home, out) = folder();
    let (table, schema) = people(home.path(), 600);
    done(command(&table, &schema, &out, "--epsilon 2"));
    let (columns, ledger) = (
        fs::read(out.join("columns.bin")),
        fs::read_to_string(out.join("ledger.jsonl")),
    );
    // The kind of the run is read from its folder.
    made_again(
        &out,
        &[
            "pairs.bin",
            "score.bin",
            "run.json",
            "copy.bin",
            "report.html",
        ],
    );
    assert_eq!(
        fs::read(out.join("columns.bin")).expect("kept"),
        columns.expect("kept")
    );
    let after = fs::read_to_string(out.join("ledger.jsonl")).expect("a ledger");
    // All but the first were made twice, and are counted twice.
    assert_eq!(
        after.lines().count(),
        ledger.expect("a ledger").lines().count() + 2
    );
    assert!(out.join("copy/card.json").exists());

    // Another schema is another table.
    for name in ["run.json", "copy.bin"] {
        fs::remove_file(out.join(name)).expect("removed");
    }
    let other = fs::read_to_string(&schema)
        .expect("a schema")
        .replace("max = 99", "max = 98");
    fs::write(&schema, other).expect("written");
    let mut again = sliver("synth");
    again.arg("--resume").arg(&out).arg("--cache-dir");
    again.arg(out.with_file_name("cache"));
    let said = refusal(again.ran());
    says(&said, &["is another than the run began with"]);
}

/// Units cost what they count, and what is known of them is how many there are.
#[test]
fn units_are_in_the_promise() {
    let (home, out) = folder();
    let (table, schema) = people(home.path(), 900);
    let flags = "--epsilon 2 --unit patient --most-per-unit 3";
    let printed = text(&done(command(&table, &schema, &out, flags)).stdout);
    says(
        &printed,
        &[
            "300 private records",
            "all records of one unit, 3 of which count at most",
            "the number of units",
        ],
    );
    // Counts have three times the noise of a plan of the same noise multiplier.
    let deviation = |of: &Path| release(of, "columns.bin").1;
    let noise = |of: &Path| {
        json(&of.join("run.json"))["plan"]["noise_multiplier"]
            .as_f64()
            .expect("a number")
    };
    let alone = home.path().join("alone");
    done(command(&table, &schema, &alone, "--epsilon 2"));
    let [units, records] = [&out, &alone].map(|of| deviation(of) / noise(of));
    assert!((units / records - 3.0).abs() < 1e-3, "{units} {records}");
}

/// With the same noise: a record that is replaced by one with other values everywhere, and a patient with nine records of whom two
/// count.
#[test]
fn a_record_or_unit_moves_what_is_released_no_more_than_the_ledger_says() {
    for (flags, records) in [("", 1), ("--unit patient --most-per-unit 2", 9)] {
        let released = |record: &str| {
            let (home, out) = folder();
            let (table, schema) = people(home.path(), 90);
            let mut all = fs::read_to_string(&table).expect("a table");
            (0..records).for_each(|_| all += record);
            fs::write(&table, all).expect("written");
            let flags = format!("--epsilon 2 --count 10 --insecure-noise-seed 5 {flags}");
            done(command(&table, &schema, &out, &flags));
            first_release(&out, "columns.bin")
        };
        let [(one, declared), (two, _)] =
            ["p99,3,east,31.0,no\n", "p99,93,north,,yes\n"].map(released);
        is_near_its_bound(&one, &two, declared);
    }
}

/// Released counts differ from exact ones by noise of the deviation that stands beside them, which is that of the plan: within 20 %
/// for more than 300 counts, false alarms one in seven million.
#[test]
fn the_noise_is_that_of_the_plan() {
    let (home, out) = folder();
    let (table, schema) = people(home.path(), 300);
    let exact = home.path().join("exact");
    done(command(&table, &schema, &out, "--epsilon 2"));
    done(command(&table, &schema, &exact, "--no-privacy"));
    let ((noisy, deviation), (exact, none)) =
        (release(&out, "columns.bin"), release(&exact, "columns.bin"));
    assert!(none == 0.0 && noisy.len() > 300 && noisy.len() == exact.len());
    let squares = noisy.iter().zip(&exact).map(|(a, b)| (a - b).powi(2));
    let found = (squares.sum::<f64>() / noisy.len() as f64).sqrt();
    assert!((found / deviation - 1.0).abs() < 0.2, "{found} {deviation}");
    // A fifth of the budget, less the share of the score.
    let plan = json(&out.join("run.json"))["plan"]["noise_multiplier"]
        .as_f64()
        .expect("a number");
    let planned = plan / (0.2_f64 * 0.98).sqrt() * 2.0_f64.sqrt();
    assert!(
        (deviation / planned - 1.0).abs() < 0.001,
        "{deviation} {planned}"
    );
}

#[test]
fn what_is_wrong_is_named_and_nothing_is_written() {
    let (home, out) = folder();
    let (table, schema) = people(home.path(), 60);
    let records = fs::read_to_string(&table).expect("a table");
    let run = |out: &Path, flags: &[&str]| command(&table, &schema, out, &flags.join(" ")).ran();
    let cases = format!(
        "--label none => label 'none'
        --unit age --most-per-unit 1 => expected a column of kind ignore
        --unit patient --most-per-unit 0 => --most-per-unit 0
        --count 0 => --count 0
        --records 61 => --records 61: it must be at most 60
        --records 1 => at least 2 records
        --epsilon 0 => --epsilon 0
        --score-share 0.6 => --score-share 0.6
        --unit patient --most-per-unit 2 --records 20 => --records 20: it must be left out
        --test {} => apart from the private input",
        table.display()
    );
    refuses(&cases, run);
    // Nor is a part of the private table a public one, nor the table by another name.
    let pattern = home.path().join("people*.csv");
    for [private, public] in [[&pattern, &table], [&table, &pattern]] {
        for flag in ["--test", "--schema-from", "--compare"] {
            let mut part = sliver("synth");
            part.arg("table").arg(private).arg(flag).arg(public);
            if flag != "--schema-from" {
                part.arg("--schema").arg(&schema);
            }
            let said = refusal(part.arg("--out").arg(&out).ran());
            assert!(
                said.contains("apart from the private input"),
                "{flag}: {said}"
            );
        }
    }
    let same = home.path().join("same.csv");
    fs::copy(&table, &same).expect("copied");
    let other = "another table than the private one";
    refuses(&format!("--test {} => {other}", same.display()), run);
    let mut of_public = sliver("synth");
    of_public.arg(&table).arg("--schema-from").arg(&same);
    let said = refusal(of_public.arg("--out").arg(&out).ran());
    assert!(
        said.contains(&format!(
            "schema-from {}: it must be {other}",
            same.display()
        )),
        "{said}"
    );
    assert!(!out.exists());
    // Files that are no such tables: what a record holds is in no message.
    let secret = "secret-77";
    for (content, words) in [
        (
            records.replacen("p0,0", &format!("p0,{secret}"), 1),
            "column age: expected",
        ),
        (
            records.replacen("p0,0,east", &format!("p0,0,east,{secret}"), 1),
            "another number of fields than 5",
        ),
        (
            records.replacen("no\n", &format!("{secret}\n"), 1),
            "column ill: expected",
        ),
        (
            records.replace("patient,age,ward,weight,ill", "patient,age,ward,weight"),
            "column 'ill'",
        ),
        (records.replace(',', ";"), "another delimiter"),
        ("patient,age,ward,weight,ill\n".into(), "is empty"),
        (String::new(), "is empty"),
    ] {
        fs::write(&table, content).expect("written");
        let said = refusal(command(&table, &schema, &out, ""));
        assert!(said.contains(words), "{words}: {said}");
        assert!(!said.contains(secret), "{said}");
        assert!(!out.exists());
    }
    fs::write(&table, records).expect("written");
    let (single, of_single) = (home.path().join("ill.csv"), home.path().join("ill.toml"));
    fs::write(&single, "ill\nyes\nno\n").expect("written");
    let ill = SCHEMA.split("\n\n").last().expect("a column");
    fs::write(&of_single, ill).expect("written");
    let said = refusal(command(&single, &of_single, &out, ""));
    says(&said, &["--label ill: it must be a column beside others"]);
    let said = refusal(sliver("synth").arg(&table).ran());
    assert!(said.contains("sliver schema"), "{said}");
}

/// A Parquet file gives the copy that a CSV file of the same records does, in its own form.
#[test]
fn a_parquet_file_becomes_one() {
    let (home, out) = folder();
    let (csv, schema) = people(home.path(), 600);
    let known = Schema::read(&schema).expect("a schema");
    let table = home.path().join("people.parquet");
    let codes = known.coded(&csv).expect("records").codes;
    known
        .write(&table, &codes, &mut ChaCha20Rng::seed_from_u64(1))
        .expect("written");
    let flags = "--epsilon 2 --count 300 --insecure-noise-seed 3";
    done(command(&table, &schema, &out, flags));
    let other = home.path().join("csv");
    done(command(&csv, &schema, &other, flags));
    let copies = [out.join("copy/table.parquet"), other.join("copy/table.csv")];
    let [copy, same] = copies
        .each_ref()
        .map(|path| known.coded(path).expect("records"));
    assert!(copy.rows == 300 && copy.codes == same.codes);

    // Several files of either form are one table; a draft of them lies beside their folder.
    let (parts, texts) = (home.path().join("parts"), home.path().join("texts"));
    for folder in [&parts, &texts] {
        fs::create_dir(folder).expect("a folder");
    }
    let lines = fs::read_to_string(&csv).expect("a table");
    let (header, records) = lines.split_once('\n').expect("a header");
    let records: Vec<&str> = records.lines().collect();
    for (part, (records, codes)) in records.chunks(250).zip(codes.chunks(250 * 4)).enumerate() {
        let text = format!("{header}\n{}\n", records.join("\n"));
        fs::write(texts.join(format!("part-{part}.csv")), text).expect("written");
        let path = parts.join(format!("part-{part}.parquet"));
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        known.write(&path, codes, rng).expect("written");
    }
    let pattern = texts.join("part-*.csv");
    for (of, place, file) in [
        (&parts, "of-parts", "table.parquet"),
        (&pattern, "of-texts", "table.csv"),
    ] {
        let out = home.path().join(place);
        done(command(of, &schema, &out, flags));
        let made = known.coded(&out.join("copy").join(file)).expect("records");
        assert!(made.codes == copy.codes, "{place}");
        done(sliver("schema").arg(of));
    }
    assert!(home.path().join("parts.toml").exists() && home.path().join("texts.toml").exists());

    // It is a public test, a copy to compare with, and a public table of the same form.
    let judged = home.path().join("judged");
    let copy = copies[0].display();
    let flags = format!(
        "--no-privacy --count 100 --test {copy} --compare {}",
        copies[1].display()
    );
    let printed = text(&done(command(&table, &schema, &judged, &flags)).stdout);
    says(&printed, &["300 test records", "The compared copy"]);
    // A run that resumes is judged as it was asked to be.
    fs::remove_file(judged.join("run.json")).expect("removed");
    fs::remove_dir_all(judged.join("copy")).expect("removed");
    let printed = text(&done(sliver("synth").arg("--resume").arg(&judged)).stdout);
    says(&printed, &["The compared copy"]);
    let draft = home.path().join("draft.toml");
    done(
        sliver("schema")
            .arg(&copies[0])
            .args(["--label", "ill", "--out"])
            .arg(&draft),
    );
    let mut of_public = sliver("synth");
    of_public.arg(&table).arg("--schema-from").arg(&copies[0]);
    of_public.args(["--no-privacy", "--count", "50", "--out"]);
    of_public.arg(home.path().join("from"));
    done(of_public.arg("--cache-dir").arg(home.path().join("cache")));
    let value = "table.shape, list(table.columns), table['age'].dtype.kind, table['weight'].dtype.kind, \
                 set(table['ill']) <= {'yes', 'no'}, bool(table['weight'].isna().any())";
    let expected = "((300, 4), ['age', 'ward', 'weight', 'ill'], 'i', 'f', True, True)";
    python_reads(&out, "pyarrow", value, expected);

    // Cut off: nothing is written.
    let bytes = fs::read(&table).expect("a table");
    fs::write(&table, &bytes[..bytes.len() / 2]).expect("written");
    let none = home.path().join("none");
    let said = refusal(command(&table, &schema, &none, ""));
    assert!(
        said.contains("expected a Parquet file") && !none.exists(),
        "{said}"
    );
}

#[test]
fn python_reads_copies_as_their_pages_say() {
    for (line, header) in [
        ("", "patient,age,ward,weight,ill\n"),
        ("header = false\ndelimiter = \";\"\n", ""),
    ] {
        let (home, out) = folder();
        let (table, schema) = people(home.path(), 60);
        let records = fs::read_to_string(&table).expect("a table");
        let records = records.split_once('\n').expect("lines").1;
        let records = match header {
            "" => records.replace("\"west, new\"", "north").replace(',', ";"),
            header => format!("{header}{records}"),
        };
        fs::write(&table, records).expect("written");
        let text = fs::read_to_string(&schema).expect("a schema");
        fs::write(&schema, format!("{line}{text}")).expect("written");
        done(command(&table, &schema, &out, "--no-privacy --count 12"));
        let value = "table.shape, list(table.columns), table['age'].dtype.kind, set(table['ill']) <= {'yes', 'no'}";
        let expected = "((12, 4), ['age', 'ward', 'weight', 'ill'], 'i', True)";
        python_reads(&out, "pandas", value, expected);
    }
}

const STAYS: &str = r#"
[[column]]
name = "admitted"
kind = "date"
min = 2020-01-01
max = 2020-12-31
public = true

[[column]]
name = "age"
kind = "integer"
min = 0
max = 99
public = true

[[column]]
name = "discharged"
kind = "date"
min = 2020-01-01
max = 2021-06-30
public = true

[[column]]
name = "married"
kind = "label"
classes = [["no"], ["yes"]]
public = true
"#;

const RULES: &str = r#"
[[rule]]
at_most = ["admitted", "discharged"]

[[rule]]
when = { column = "age", max = 15 }
then = { column = "married", values = ["no"] }
"#;

/// Stays of up to nine days, children who are not married, and one record that breaks both rules.
#[test]
fn a_copy_keeps_the_rules_of_its_schema() {
    let (home, out) = folder();
    let (table, schema) = (
        home.path().join("stays.csv"),
        home.path().join("stays.toml"),
    );
    let mut csv = String::from("admitted,age,discharged,married\n2020-05-01,3,2020-04-30,yes\n");
    for i in 0..600 {
        let (month, day, age) = (i % 12 + 1, i * 7 % 19 + 1, i * 37 % 90);
        let married = if age > 15 && i % 3 > 0 { "yes" } else { "no" };
        let discharged = day + i % 10;
        csv +=
            &format!("2020-{month:02}-{day:02},{age},2020-{month:02}-{discharged:02},{married}\n");
    }
    fs::write(&table, csv).expect("written");
    // Texts of dates compare as dates do.
    let breaks = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let age: usize = fields[1].parse().expect("an age");
        [fields[0] > fields[2], age <= 15 && fields[3] == "yes"]
    };
    let made = |out: &Path, rules: &str| {
        fs::write(&schema, format!("{STAYS}{rules}")).expect("written");
        let output = done(command(
            &table,
            &schema,
            out,
            "--epsilon 1 --count 2000 --insecure-noise-seed 3 --show-private",
        ));
        let copy = fs::read_to_string(out.join("copy/table.csv")).expect("a table");
        let broken: Vec<[bool; 2]> = copy.lines().skip(1).map(breaks).collect();
        assert_eq!(broken.len(), 2000);
        (
            text(&output.stderr),
            [0, 1].map(|rule| broken.iter().filter(|broken| broken[rule]).count()),
        )
    };
    let (said, broken) = made(&out, RULES);
    assert_eq!(broken, [0, 0]);
    assert!(said.contains("PRIVATE   1 records break a rule"), "{said}");
    // The copy is of its own schema, rules and all, and so are other records of the run.
    let more = home.path().join("more");
    done(sliver("export").arg(&out).arg("--out").arg(&more));
    for place in [out.join("copy"), more] {
        let own = data::Schema::read(&place.join("schema.toml")).expect("a schema");
        let copy = own.coded(&place.join("table.csv")).expect("codes");
        assert_eq!((own.rules().pairs().len(), copy.codes.len()), (2, 8000));
        assert!(copy.codes.chunks(4).all(|record| own.rules().keep(record)));
    }
    // Without rules the noise has it otherwise.
    let (said, broken) = made(&home.path().join("free"), "");
    assert!(broken.iter().all(|&broken| broken > 0), "{broken:?}");
    assert!(!said.contains("PRIVATE"), "{said}");
}

/// Two thousand records of each table by name; the label of Adult is learned from the copy.
#[test]
fn tables_by_name_are_copied() {
    let (_home, out) = folder();
    let mut command = sliver("synth");
    command.args(words("biased --records 2000 --epsilon 4 --ceilings --out"));
    command.arg(&out);
    let printed = text(&done(command.arg("--cache-dir").arg(out.with_file_name("cache"))).stdout);
    says(
        &printed,
        &[
            "label label",
            "Reads private records, the ceiling",
            "boosted trees",
        ],
    );
}
