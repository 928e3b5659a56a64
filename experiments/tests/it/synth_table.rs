//! `synth` of a table as a person runs it: a CSV or Parquet file in, a private copy out, and everything that can be wrong.

use data::Schema;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::program::{Home, done, files, made_again, make_folder, number, rename, says, text};
use crate::synth::{python_reads, release};

const COLUMNS: &str = r#"
    { name = "patient", kind = "ignore" },
    { name = "age", kind = "integer", min = 0, max = 99, outside = "clamp", public = true },
    { name = "ward", kind = "categorical", levels = ["east", "west, new", "north"], other = "elsewhere", public = true },
    { name = "weight", kind = "numeric", min = 30, max = 150, decimals = 1, missing = "level", public = true },"#;
const ILL: &str =
    r#"{ name = "ill", kind = "label", classes = [["no"], ["yes"]], public = true },"#;

/// Records of patients with three visits each: the old are ill, and heavy where they lie in the west.
pub(crate) fn people(home: &Home, records: usize) {
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
    home.put("people.csv", csv);
    let schema = format!("# The list of the ward.\nmissing = [\"\"]\ncolumn = [{COLUMNS}{ILL}]\n");
    home.put("people.toml", schema);
}

/// A copy of these people, in the folder whose name follows.
const COPY: &str = "synth people.csv --schema people.toml --out";

#[test]
fn a_table_becomes_one_that_may_be_published() {
    let home = Home::new();
    people(&home, 3000);
    let place = home.at("").display().to_string();
    let printed = home.done(&format!(
        "synth {place}people.csv --schema {place}people.toml --out run --epsilon 3 --count 2000"
    ));
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
    let copy = home.text("run/copy/table.csv");
    let lines: Vec<&str> = copy.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2001, "age,ward,weight,ill"));
    // What the records have in common is in the copy: the old are ill. Of those that the noise has otherwise there are few.
    let right = |table: &str| {
        let right = |line: &&str| {
            let age = line.split(',').next().map(str::parse::<f64>);
            (age.expect("an age").expect("a number") > 55.0) == line.ends_with("yes")
        };
        table.lines().skip(1).filter(right).count()
    };
    assert!(right(&copy) > 1800, "{} of 2000", right(&copy));
    assert!(copy.contains("\"west, new\"") && !copy.contains("p1"));
    let card = home.json("run/copy/card.json");
    assert!(number(&card["privacy"]["epsilon_upper"]) <= 3.0 + 1e-9);
    // What may be published has no path and no comment of the schema, and names a column that it ignores alone.
    for (name, bytes) in files(&home.at("run/copy")) {
        let content = String::from_utf8(bytes).expect("text");
        for private in [&*place, "of the ward"] {
            assert!(!content.contains(private), "{}: {private}", name.display());
        }
        let says = name.ends_with("README.md") || name.ends_with("card.json");
        let left_out = content.contains("left out: patient");
        assert_eq!(left_out, says, "{}", name.display());
        assert_eq!(content.contains("patient"), says, "{}", name.display());
    }
    let python = "pd.read_csv(\"export/table.csv\", na_values=[\"\"], keep_default_na=False)";
    says(&home.text("run/copy/README.md"), &[python]);
    says(&home.text("run/columns.svg"), &["noisy counts"]);
    says(&home.text("run/pairs.svg"), &["weight"]);

    // The copy has the form of the table: it is the public test of another run, and a schema of its own.
    people(&home, 2999);
    let flags = "--epsilon 3 --test run/copy/table.csv --label ward";
    says(
        &home.done(&format!("{COPY} other {flags}")),
        &[
            "2000 test records",
            "label ward",
            "and the test records that --test names",
            "Columns alone, the baseline",
        ],
    );
    home.done("export other --out more");
    // Other records of the same run, from its folder alone: nothing more is released.
    let ledger = home.bytes("run/ledger.jsonl");
    let [one, same, another, many] = [
        ("one", "--count 2500"),
        ("same", "--count 2500 --sample-seed 0"),
        ("another", "--count 2500 --sample-seed 1"),
        ("many", ""),
    ]
    .map(|(name, flags)| {
        home.done(&format!("export run --out {name} {flags}"));
        home.text(&format!("{name}/table.csv"))
    });
    assert!(one == same && one != another && many != copy);
    let rows = [&one, &many].map(|table| table.lines().count() - 1);
    assert_eq!(rows, [2500, 2000]);
    assert!(right(&one) > 2250, "{} of 2500", right(&one));
    let card = home.json("another/card.json");
    let of = (&card["count"], &card["sampling"]["seed"]);
    assert_eq!(of, (&2500.into(), &1.into()));
    assert_eq!(home.bytes("run/ledger.jsonl"), ledger);
    let cases = "
        none --count 0 => --count 0
        none --count 99999999999999999 => MB are free
        none --format npz => left out for a table
        one => exists already
    ";
    home.refuses_each("export run --out", cases);
    let kept = home.text("run/model.json");
    home.put("run/model.json", &kept[..kept.len() / 2]);
    let words = ["model.json", "put the files"];
    home.refuses("export run --out none", &words);
    home.lose("run/model.json");
    home.refuses("export run --out none", &["there is no model.json"]);
    home.done("schema run/copy/table.csv --label ill --out draft.toml");
    rename(home.at("people.csv"), home.at("twin.csv"));
    people(&home, 3000);
    home.done("synth twin.csv --schema-from people.csv --no-privacy --label ill --out from");
    assert!(home.has("from/copy/table.csv"));
    let line = "synth people.csv --schema draft.toml --out none";
    home.refuses(line, &["4 columns are not confirmed"]);
    home.refuses(&format!("{COPY} none --label none"), &["label 'none'"]);
}

/// More columns than a picture of pairs has room for: the copy has all of them.
#[test]
fn a_wide_table_is_drawn_in_part() {
    let home = Home::new();
    let line = |field: &dyn Fn(usize) -> String| {
        let fields: Vec<String> = (0..130).map(field).collect();
        fields.join(",") + "\n"
    };
    let record = |i: usize| line(&|j| ["0", "1"][(i + j) / 3 % 2].into());
    let records: String = (0..40).map(record).collect();
    home.put("wide.csv", line(&|j| format!("c{j}")) + &records);
    let column = |j: usize| {
        format!(
            "{{ name = \"c{j}\", kind = \"categorical\", levels = [\"0\", \"1\"], public = true }}"
        )
    };
    home.put("wide.toml", format!("column = [{}]", line(&column)));
    home.done("synth wide.csv --schema wide.toml --epsilon 1 --count 20 --out run");
    let page = home.text("run/report.html");
    says(&page, &["Pairs of the first 120 of 130 columns"]);
    let copy = home.text("run/copy/table.csv");
    assert!(copy.lines().all(|line| line.split(',').count() == 130));
}

#[test]
fn a_killed_run_resumes_from_what_it_released() {
    let home = Home::new();
    people(&home, 600);
    home.done(&format!("{COPY} run --epsilon 2"));
    let gone = "pairs.bin score.bin run.json copy.bin report.html";
    made_again(&home, "columns.bin", gone, 2);

    // Another schema is another table.
    home.lose("run/run.json run/copy.bin");
    let other = home.text("people.toml").replace("max = 99", "max = 98");
    home.put("people.toml", other);
    let words = ["is another than the run began with"];
    home.refuses("synth --resume run", &words);
}

/// Units cost what they count, and what is known of them is how many there are.
#[test]
fn units_are_in_the_promise() {
    let home = Home::new();
    people(&home, 900);
    let printed = home.done(&format!(
        "{COPY} run --epsilon 2 --unit patient --most-per-unit 3"
    ));
    says(
        &printed,
        &[
            "300 private units",
            "all records of one unit, 3 of which count at most",
            "the number of units",
        ],
    );
    // Counts have three times the noise of a plan of the same noise multiplier.
    home.done(&format!("{COPY} alone --epsilon 2"));
    let [units, records] = ["run", "alone"].map(|run| {
        let plan = &home.json(&format!("{run}/run.json"))["plan"];
        release(&home.at(run), "columns.bin").1 / number(&plan["noise_multiplier"])
    });
    assert!((units / records - 3.0).abs() < 1e-3, "{units} {records}");
}

/// Released counts differ from exact ones by noise of the deviation that stands beside them, which is that of the plan: within 20 %
/// for more than 300 counts, false alarms one in seven million.
#[test]
fn the_noise_is_that_of_the_plan() {
    let home = Home::new();
    people(&home, 300);
    home.done(&format!("{COPY} run --epsilon 2"));
    home.done(&format!("{COPY} exact --no-privacy"));
    let [(noisy, deviation), (exact, none)] =
        ["run", "exact"].map(|run| release(&home.at(run), "columns.bin"));
    assert!(none == 0.0 && noisy.len() > 300 && noisy.len() == exact.len());
    let squares = noisy.iter().zip(&exact).map(|(a, b)| (a - b).powi(2));
    let found = (squares.sum::<f64>() / noisy.len() as f64).sqrt();
    assert!((found / deviation - 1.0).abs() < 0.2, "{found} {deviation}");
    // A fifth of the budget, less the share of the score.
    let plan = number(&home.json("run/run.json")["plan"]["noise_multiplier"]);
    let planned = plan / (0.2_f64 * 0.98).sqrt() * 2.0_f64.sqrt();
    let share = deviation / planned;
    assert!((share - 1.0).abs() < 0.001, "{deviation} {planned}");
}

/// A Parquet file gives the copy that a CSV file of the same records does, in its own form.
#[test]
fn a_parquet_file_becomes_one() {
    let home = Home::new();
    people(&home, 600);
    let known = Schema::read(&home.at("people.toml")).expect("a schema");
    let coded = |name: &str| known.coded(&home.at(name)).expect("records").codes;
    let codes = coded("people.csv");
    let write = |name: &str, codes: &[u16]| {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        known.write(&home.at(name), codes, rng).expect("written");
    };
    write("people.parquet", &codes);
    let flags = "--schema people.toml --epsilon 2 --count 300 --insecure-noise-seed 3 --out";
    home.done(&format!("synth people.parquet {flags} run"));
    home.done(&format!("synth people.csv {flags} csv"));
    let copy = coded("run/copy/table.parquet");
    assert!(copy.len() == 300 * 4 && copy == coded("csv/copy/table.csv"));

    // Several files of either form are one table; a draft of them lies beside their folder.
    let csv = home.text("people.csv");
    let (header, records) = csv.split_once('\n').expect("a header");
    let records: Vec<&str> = records.lines().collect();
    make_folder(home.at("parts"));
    for (part, (records, codes)) in records.chunks(250).zip(codes.chunks(250 * 4)).enumerate() {
        let text = format!("{header}\n{}\n", records.join("\n"));
        home.put(&format!("texts/part-{part}.csv"), text);
        write(&format!("parts/part-{part}.parquet"), codes);
    }
    for (of, made) in [
        ("parts", "of-parts/copy/table.parquet"),
        ("texts/part-*.csv", "of-texts/copy/table.csv"),
    ] {
        let out = made.split('/').next().expect("a folder");
        home.done(&format!("synth {of} {flags} {out}"));
        assert!(coded(made) == copy, "{made}");
        home.done(&format!("schema {of}"));
    }
    assert!(home.has("parts.toml") && home.has("texts.toml"));

    // It is a public test, a copy to compare with, and a public table of the same form.
    let judged = "synth people.parquet --schema people.toml --no-privacy --count 100 --test run/copy/table.parquet \
                  --compare csv/copy/table.csv --out judged";
    let words = ["300 test records", "The compared copy"];
    says(&home.done(judged), &words);
    // A run that resumes is judged as it was asked to be.
    home.lose("judged/run.json judged/copy");
    says(&home.done("synth --resume judged"), &words[1..]);
    home.done("schema run/copy/table.parquet --label ill --out draft.toml");
    home.done("synth people.parquet --schema-from run/copy/table.parquet --no-privacy --count 50 --out from");
    let value = "table.shape, list(table.columns), table['age'].dtype.kind, table['weight'].dtype.kind, \
                 set(table['ill']) <= {'yes', 'no'}, bool(table['weight'].isna().any())";
    let expected = "((300, 4), ['age', 'ward', 'weight', 'ill'], 'i', 'f', True, True)";
    python_reads(&home.at("run"), "pyarrow", value, expected);
}

#[test]
fn python_reads_copies_as_their_pages_say() {
    for head in ["", "header = false\ndelimiter = \";\"\n"] {
        let home = Home::new();
        people(&home, 60);
        if !head.is_empty() {
            let csv = home.text("people.csv");
            let records = csv.split_once('\n').expect("lines").1;
            let records = records.replace("\"west, new\"", "north").replace(',', ";");
            home.put("people.csv", records);
        }
        home.put("people.toml", head.to_string() + &home.text("people.toml"));
        home.done(&format!("{COPY} run --no-privacy --count 12"));
        let value = "table.shape, list(table.columns), table['age'].dtype.kind, set(table['ill']) <= {'yes', 'no'}";
        let expected = "((12, 4), ['age', 'ward', 'weight', 'ill'], 'i', True)";
        python_reads(&home.at("run"), "pandas", value, expected);
    }
}

const STAYS: &str = r#"
column = [
    { name = "admitted", kind = "date", min = 2020-01-01, max = 2020-12-31, public = true },
    { name = "age", kind = "integer", min = 0, max = 99, public = true },
    { name = "discharged", kind = "date", min = 2020-01-01, max = 2021-06-30, public = true },
    { name = "married", kind = "label", classes = [["no"], ["yes"]], public = true },
]
"#;
const RULES: &str = r#"
rule = [
    { at_most = ["admitted", "discharged"] },
    { when = { column = "age", max = 15 }, then = { column = "married", values = ["no"] } },
]
"#;

/// Stays of up to nine days, children who are not married, and one record that breaks both rules.
#[test]
fn a_copy_keeps_the_rules_of_its_schema() {
    let home = Home::new();
    let mut csv = String::from("admitted,age,discharged,married\n2020-05-01,3,2020-04-30,yes\n");
    for i in 0..600 {
        let (month, day, age) = (i % 12 + 1, i * 7 % 19 + 1, i * 37 % 90);
        let married = if age > 15 && i % 3 > 0 { "yes" } else { "no" };
        let discharged = day + i % 10;
        csv +=
            &format!("2020-{month:02}-{day:02},{age},2020-{month:02}-{discharged:02},{married}\n");
    }
    home.put("stays.csv", csv);
    // Texts of dates compare as dates do.
    let breaks = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let age: usize = fields[1].parse().expect("an age");
        [fields[0] > fields[2], age <= 15 && fields[3] == "yes"]
    };
    let made = |out: &str, rules: &str| {
        home.put("stays.toml", format!("{STAYS}{rules}"));
        let output = done(home.sliver(&format!(
            "synth stays.csv --schema stays.toml --epsilon 1 --count 2000 --insecure-noise-seed 3 --show-private --out {out}"
        )));
        let copy = home.text(&format!("{out}/copy/table.csv"));
        let broken: Vec<[bool; 2]> = copy.lines().skip(1).map(breaks).collect();
        assert_eq!(broken.len(), 2000);
        let broken = [0, 1].map(|rule| broken.iter().filter(|broken| broken[rule]).count());
        (text(&output.stderr), broken)
    };
    let (said, broken) = made("run", RULES);
    assert_eq!(broken, [0, 0]);
    says(&said, &["PRIVATE   1 records break a rule"]);
    // The copy is of its own schema, rules and all, and so are other records of the run.
    home.done("export run --out more");
    for place in ["run/copy", "more"] {
        let own = Schema::read(&home.at(place).join("schema.toml")).expect("a schema");
        let copy = own.coded(&home.at(place).join("table.csv")).expect("codes");
        assert_eq!((own.rules().pairs().len(), copy.codes.len()), (2, 8000));
        assert!(copy.codes.chunks(4).all(|record| own.rules().keep(record)));
    }
    // Without rules the noise has it otherwise.
    let (said, broken) = made("free", "");
    assert!(broken.iter().all(|&broken| broken > 0), "{broken:?}");
    assert!(!said.contains("PRIVATE"), "{said}");
}

/// Two thousand records of a table by name.
#[test]
fn tables_by_name_are_copied() {
    let home = Home::new();
    let printed = home.done("synth biased --records 2000 --epsilon 4 --ceilings --out run");
    says(
        &printed,
        &[
            "label label",
            "Reads private records, the ceiling",
            "boosted trees",
        ],
    );
}

/// What is promised and released, before anything is: a person reads it.
#[test]
fn a_plan_is_read_by_a_person() {
    let home = Home::new();
    let expected = "\
records     258 private records of penguins, 86 test records (public)
epsilon     5, at most
delta       3.876e-4
neighbours  replace one record
accountant  gaussian
public      the schema of the table, the number of its records, and its test records
note        258 private records are fewer than 500: noise that hides one of them hides much of what the others say.

released  times  noise multiplier  noise
columns   1      1.643             Gaussian noise
pairs     1      0.8217            Gaussian noise

nothing was created or released
";
    assert_eq!(home.done("synth penguins --epsilon 5 --plan"), expected);
    // A small budget leaves pairs nothing but noise.
    says(
        &home.done("synth penguins --epsilon 0.5 --plan"),
        &[
            "The 28 pairs of 8 columns share the budget",
            "--leave-out NAME",
        ],
    );
    // But for what a graphics driver keeps of its own.
    let left = files(&home.at("")).into_keys();
    assert_eq!(left.filter(|path| !path.starts_with("cache")).count(), 0);
}
