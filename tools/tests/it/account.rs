//! The `account` tool, through its binary.

use std::io::Write;
use std::process::{Command, Output};

use serde_json::Value;

fn account(flags: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_account"));
    command.args(flags.split_whitespace()).output().unwrap()
}

/// An answer for people.
fn text(flags: &str) -> String {
    String::from_utf8(account(flags).stdout).unwrap()
}

/// An answer for programs.
fn json(flags: &str) -> Value {
    let output = account(&format!("{flags} --json"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{flags}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn refused(flags: &str, words: &[&str]) {
    let output = account(flags);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{flags}: {text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(flat.contains(word), "{flags}: {word:?} is not in {text}");
    }
}

const AUTOENCODER: &str = "--records 60000 --batch 600";
const Z1: &str = "--noise-multiplier 1 --delta 1e-5";

#[test]
fn epsilon_answers_people_and_programs() {
    let flags = format!("epsilon {AUTOENCODER} --steps 5000 --noise-multiplier 0.76 --delta 1e-5");
    let text = text(&flags);
    assert!(text.contains("epsilon") && text.contains("9.96"), "{text}");
    let answer = json(&flags);
    assert!((number(&answer["epsilon"]) - 9.963).abs() < 1e-3);
    assert_eq!(answer["delta"], 1e-5);
    assert_eq!(answer["accountant"], "pld");
    assert_eq!(answer["is_upper_bound"], true);
    assert_eq!(answer["neighbours"], "replace-one");
}

#[test]
fn each_number_follows_from_the_others() {
    let steps = "--steps 5000";
    let noise = format!("noise {AUTOENCODER} {steps}");
    let answer = json(&format!("{noise} --epsilon 10 --delta 1e-5"));
    assert!((number(&answer["noise_multiplier"]) - 0.759).abs() < 5e-4);
    assert!(number(&answer["epsilon"]) <= 10.0);
    refused(
        &format!("{noise} --epsilon 1 --delta 0"),
        &["no noise multiplier", "nearest", "--epsilon"],
    );
    let z = "--noise-multiplier 0.76";
    let delta = json(&format!("delta {AUTOENCODER} {steps} {z} --epsilon 9.963"));
    assert!((number(&delta["delta"]) / 1e-5 - 1.0).abs() < 1e-2);
    let budget = format!("{z} --epsilon 9.97 --delta 1e-5");
    let found = json(&format!("steps {AUTOENCODER} {budget}"));
    assert!(
        (4990..5100).contains(&found["steps"].as_u64().unwrap()),
        "{found}"
    );
    let found = json(&format!("batch --records 60000 {steps} {budget}"));
    assert!(
        (600..605).contains(&found["batch"].as_u64().unwrap()),
        "{found}"
    );
    let both = format!("batch {AUTOENCODER} --steps 10 --epsilon 1 {Z1}");
    refused(&both, &["--batch"]);
}

#[test]
fn samplers_and_groups() {
    let four = "--noise-multiplier 4 --delta 1e-5";
    let poisson = "epsilon --sampler poisson";
    let answer = json(&format!("{poisson} --rate 0.01 --steps 10000 {four}"));
    assert!((number(&answer["epsilon"]) - 0.9469).abs() < 1e-3);
    assert_eq!(answer["neighbours"], "add-remove");
    // A rate that is made of the number of records says it.
    let of_records = format!("{poisson} {AUTOENCODER} --steps 10 {four}");
    assert_eq!(json(&of_records)["neighbours"], "zero-out");
    refused(
        &format!("{of_records} --neighbours add-remove"),
        &["--neighbours add-remove", "zero-out", "--rate"],
    );
    let both = ["add-remove", "zero-out"].map(|neighbours| {
        let flags = format!("{poisson} --rate 0.01 --steps 10 {four} --neighbours {neighbours}");
        json(&flags)["epsilon"].clone()
    });
    assert_eq!(both[0], both[1]);
    let plain = json(&format!("epsilon --sampler none {Z1}"));
    assert!((number(&plain["epsilon"]) - 4.377_178).abs() < 1e-5);
    let strata = json(&format!(
        "epsilon --stratum 1000:10 --stratum 500:20 --steps 50 {Z1}"
    ));
    let largest = json(&format!("epsilon --records 500 --batch 20 --steps 50 {Z1}"));
    assert_eq!(strata["epsilon"], largest["epsilon"]);
    assert_eq!(strata["neighbours"], "k-end");
    // Four batches of a shuffled epoch: of nine steps the last is a third epoch.
    let shuffled = "epsilon --sampler shuffled --records 410 --batch 100";
    let epochs = json(&format!("{shuffled} --steps 9 {Z1}"));
    let three = json(&format!("epsilon --sampler none --steps 3 {Z1}"));
    assert_eq!(epochs["epsilon"], three["epsilon"]);
    assert_eq!(epochs["neighbours"], "replace-one");
    let blank = json(&format!("{shuffled} --steps 12 --neighbours zero-out {Z1}"));
    assert_eq!(blank["epsilon"], three["epsilon"]);
    refused(
        &format!("{shuffled} --neighbours add-remove {Z1}"),
        &["--neighbours add-remove", "number of batches"],
    );
    refused(
        &format!("epsilon --sampler shuffled --rate 0.1 {Z1}"),
        &["--batch"],
    );
    let largest = format!("batch --sampler shuffled --records 400 --steps 8 --epsilon 7 {Z1}");
    assert_eq!(json(&largest)["batch"], 100);
}

#[test]
fn accountants_that_are_no_bounds_say_so_everywhere() {
    for name in ["gdp-clt-uniform", "gdp-clt-poisson"] {
        let flags = format!("epsilon {AUTOENCODER} --steps 5000 {Z1} --accountant {name}");
        let text = text(&flags);
        assert!(text.contains("not an upper bound"), "{text}");
        let answer = json(&flags);
        assert_eq!(answer["is_upper_bound"], false);
        let note = answer["note"].as_str().unwrap();
        assert!(note.contains("not an upper bound"), "{note}");
    }
}

#[test]
fn compare_puts_claims_beside_the_truth() {
    let flags = format!("compare {AUTOENCODER} --steps 5000 --epsilon 5 --delta 1e-5");
    let text = text(&flags);
    for words in ["gdp-clt-poisson", "not an upper bound"] {
        assert!(text.contains(words), "{text}");
    }
    let answer = json(&flags);
    let rows = answer["accountants"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["accountant"] == name).unwrap();
    // The table of settings: z by pld, by rdp, and what the limit's noise really gives.
    assert!((number(&row("pld")["noise_multiplier"]) - 1.037).abs() < 1e-3);
    assert!((number(&row("rdp")["noise_multiplier"]) - 1.529).abs() < 2e-3);
    let clt = row("gdp-clt-poisson");
    assert!((number(&clt["noise_multiplier"]) - 0.892).abs() < 1e-3);
    assert!((number(&clt["true_epsilon_upper"]) - 6.82).abs() < 1e-2);
    let refused = row("gaussian")["refused"].as_str().unwrap();
    assert!(refused.contains("use pld"), "{refused}");
}

#[test]
fn curves_are_written_as_svg_and_csv() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, delta) in [("epsilon", "--delta 1e-5"), ("trade-off", "")] {
        let [svg, csv] =
            ["svg", "csv"].map(|ending| folder.path().join(format!("{kind}.{ending}")));
        let output = account(&format!(
            "curve {delta} --records 1000 --batch 50 --steps 100 --noise-multiplier 2 --points 11 --out {} --out {}",
            svg.display(),
            csv.display()
        ));
        assert!(output.status.success());
        let picture = std::fs::read_to_string(svg).unwrap();
        assert!(picture.starts_with("<svg") && picture.contains("<path"));
        assert!(picture.contains("not an upper bound"));
        let values = std::fs::read_to_string(csv).unwrap();
        assert_eq!(values.lines().count(), 12);
        let head = values.lines().next().unwrap();
        assert!(head.contains("pld,rdp,gdp-clt-uniform"), "{head}");
        assert_eq!(head.starts_with("steps"), kind == "epsilon", "{head}");
    }
    let other = format!("curve --rate 0.1 {Z1} --out curve.png");
    refused(&other, &["--out is curve.png"]);
}

#[test]
fn a_ledger_says_what_was_spent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let line = r#"{"event":{"type":"sampled","sampler":{"kind":"without_replacement","records":2000,"batch":100},"event":{"type":"gaussian","noise_multiplier":1.1}},"count":1,"neighbours":"replace_one","step":3,"deviation":0.5}"#;
    let mut file = std::fs::File::create(&path).unwrap();
    for _ in 0..300 {
        writeln!(file, "{line}").unwrap();
    }
    write!(file, "{}", &line[..50]).unwrap();
    let flags = format!("ledger {} --delta 1e-5", path.display());
    let spent = json(&flags);
    let training = "epsilon --records 2000 --batch 100 --steps 300";
    let direct = json(&format!("{training} --noise-multiplier 1.1 --delta 1e-5"));
    assert_eq!(spent["epsilon"], direct["epsilon"]);
    assert_eq!(spent["releases"], 300);
    assert_eq!(spent["torn_lines"], serde_json::json!([301]));
    assert_eq!(spent["secret_noise"], true);

    writeln!(file, "\n{{\"event\": 3}}").unwrap();
    refused(&flags, &["ledger line 302"]);
    refused("ledger nowhere.jsonl --delta 1e-5", &["nowhere.jsonl"]);
}

/// The number of a field in an answer for people.
fn printed(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(name));
    let word = line.and_then(|line| line.split_whitespace().last());
    word.and_then(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("no {name} in {text}"))
}

/// Who recomputes from what is printed must find what was spent, on neither side of it.
#[test]
fn a_noise_multiplier_that_was_given_is_printed_in_full() {
    for z in ["0.999999", "1.000001"] {
        let common = format!("--sampler none --noise-multiplier {z}");
        for command in [
            "epsilon --delta 1e-5",
            "delta --epsilon 1",
            "steps --epsilon 20 --delta 1e-5",
        ] {
            let text = text(&format!("{command} {common}"));
            assert_eq!(printed(&text, "noise multiplier").to_string(), z, "{text}");
        }
        let text = text(&format!("compare --delta 1e-5 {common}"));
        assert!(text.contains(&format!("  {z}  ")), "{text}");
    }
}

/// That both forms of an answer agree to five digits, and that the printed one does not promise more.
fn not_less(flags: &str, names: &[(&str, &str)]) {
    let (text, exact) = (text(flags), json(flags));
    for (label, name) in names {
        let (printed, exact) = (printed(&text, label), number(&exact[*name]));
        assert!(printed >= exact, "{flags}: {label} {printed} < {exact}");
        assert!(printed <= exact * (1.0 + 1e-4), "{flags}: {text}");
    }
}

#[test]
fn what_is_printed_is_never_below_what_is_spent() {
    const EPSILON: (&str, &str) = ("epsilon", "epsilon");
    const DELTA: (&str, &str) = ("delta", "delta");
    const NOISE: (&str, &str) = ("noise multiplier", "noise_multiplier");
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("ledger.jsonl");
    for z in ["0.8", "1.3", "2.07", "3.1", "5.9", "1234.5"] {
        let base = format!("--sampler none --noise-multiplier {z}");
        for command in ["epsilon --delta 1.234567e-6", "delta --epsilon 0.1234567"] {
            not_less(&format!("{command} {base}"), &[EPSILON, DELTA, NOISE]);
        }
        let line = format!(
            r#"{{"event":{{"type":"gaussian","noise_multiplier":{z}}},"count":3,"neighbours":"replace_one"}}"#
        );
        std::fs::write(&ledger, line).unwrap();
        let spent = format!("ledger {} --delta 1e-5", ledger.display());
        not_less(&spent, &[EPSILON, DELTA]);
        let flags = format!("compare --delta 1e-5 {base}");
        let (text, exact) = (text(&flags), json(&flags));
        for row in exact["accountants"].as_array().unwrap() {
            let accountant = row["accountant"].as_str().unwrap();
            let line = text.lines().find(|line| line.starts_with(accountant));
            let cells = line.unwrap().split_whitespace();
            let cells: Vec<f64> = cells.filter_map(|cell| cell.parse().ok()).collect();
            let Some(epsilon) = row["epsilon"].as_f64() else {
                continue;
            };
            let bound = |name: &str| number(&row[name]);
            assert!(cells[0] >= bound("noise_multiplier"), "{text}");
            assert!(cells[1] >= epsilon, "{text}");
            assert!(cells[2] <= bound("true_epsilon_lower"), "{text}");
            assert!(cells[3] >= bound("true_epsilon_upper"), "{text}");
        }
    }
    for target in ["0.3", "1", "2", "7"] {
        let flags = format!("noise --sampler none --epsilon {target} --delta 1e-5");
        not_less(&flags, &[EPSILON, NOISE]);
        // What is printed is typed in again.
        let z = printed(&text(&flags), "noise multiplier");
        let again = json(&format!(
            "epsilon --sampler none --noise-multiplier {z} --delta 1e-5"
        ));
        assert!(number(&again["epsilon"]) <= target.parse().unwrap(), "{z}");
    }
}

#[test]
fn bad_input_is_named_with_its_bound() {
    let cases: &[(&str, &[&str])] = &[
        (Z1, &["--records", "--rate"]),
        ("--rate 1.5", &["--rate is 1.5", "in (0, 1]"]),
        ("--rate NaN", &["--rate is NaN"]),
        (
            "--records 10 --batch 11",
            &["--batch is 11", "the 10 of --records"],
        ),
        (
            "--sampler poisson --rate 0.1 --neighbours replace-one",
            &["--neighbours replace-one", "add-remove"],
        ),
        ("--sampler none --rate 0.1", &["--sampler none"]),
        (
            "--rate 0.1 --accountant gaussian",
            &["gaussian does not cover", "--accountant pld"],
        ),
        (
            "--sampler none --noise-multiplier 0 --delta 1e-5",
            &["--noise-multiplier is 0"],
        ),
        (
            "--sampler none --noise-multiplier 1 --delta 2",
            &["--delta is 2", "in [0, 1]"],
        ),
        ("--sampler nothing", &["--sampler"]),
    ];
    for (flags, words) in cases {
        let noise = if flags.contains("--noise") { "" } else { Z1 };
        refused(&format!("epsilon {noise} {flags}"), words);
    }
}

#[test]
fn extremes_answer() {
    let zero = format!("epsilon {AUTOENCODER} --steps 5000 --noise-multiplier 1 --delta 0");
    assert_eq!(json(&zero)["epsilon"], "infinity");
    assert_eq!(
        json(&format!("epsilon --rate 0.1 --steps 0 {Z1}"))["epsilon"],
        0.0
    );
}
