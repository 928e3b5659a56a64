//! The `account` tool, through its binary.

use std::io::Write;
use std::process::{Command, Output};

use serde_json::Value;

fn account(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_account"))
        .args(arguments)
        .output()
        .unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = account(arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_str(&text).unwrap()
}

fn refused(arguments: &[&str], words: &[&str]) {
    let output = account(arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(
            flat.contains(word),
            "{arguments:?}: {word:?} is not in {text}"
        );
    }
}

const AUTOENCODER: [&str; 6] = ["--records", "60000", "--batch", "600", "--steps", "5000"];

fn asked<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec![command];
    arguments.extend(AUTOENCODER);
    arguments.extend(more);
    arguments
}

#[test]
fn epsilon_answers_people_and_programs() {
    let flags = asked(
        "epsilon",
        &["--noise-multiplier", "0.76", "--delta", "1e-5"],
    );
    let output = account(&flags);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("epsilon") && text.contains("9.96"), "{text}");
    let answer = json(&[&flags[..], &["--json"]].concat());
    assert!((answer["epsilon"].as_f64().unwrap() - 9.963).abs() < 1e-3);
    assert_eq!(answer["delta"], 1e-5);
    assert_eq!(answer["accountant"], "pld");
    assert_eq!(answer["is_upper_bound"], true);
    assert_eq!(answer["neighbours"], "replace-one");
}

#[test]
fn noise_meets_its_target() {
    let answer = json(&asked(
        "noise",
        &["--target-epsilon", "10", "--delta", "1e-5", "--json"],
    ));
    assert!((answer["noise_multiplier"].as_f64().unwrap() - 0.759).abs() < 5e-4);
    assert!(answer["epsilon"].as_f64().unwrap() <= 10.0);
    refused(
        &asked("noise", &["--target-epsilon", "1", "--delta", "0"]),
        &["no noise multiplier", "nearest", "--target-epsilon"],
    );
}

#[test]
fn delta_and_epsilon_agree() {
    let delta = json(&asked(
        "delta",
        &["--noise-multiplier", "0.76", "--epsilon", "9.963", "--json"],
    ));
    assert!((delta["delta"].as_f64().unwrap() / 1e-5 - 1.0).abs() < 1e-2);
}

#[test]
fn budgets_give_steps_and_batches() {
    let steps = json(&[
        "steps",
        "--records",
        "60000",
        "--batch",
        "600",
        "--noise-multiplier",
        "0.76",
        "--target-epsilon",
        "9.97",
        "--delta",
        "1e-5",
        "--json",
    ]);
    assert!(
        (4990..5100).contains(&steps["steps"].as_u64().unwrap()),
        "{steps}"
    );
    let batch = json(&[
        "batch",
        "--records",
        "60000",
        "--steps",
        "5000",
        "--noise-multiplier",
        "0.76",
        "--target-epsilon",
        "9.97",
        "--delta",
        "1e-5",
        "--json",
    ]);
    assert!(
        (600..605).contains(&batch["batch"].as_u64().unwrap()),
        "{batch}"
    );
    refused(
        &[
            "batch",
            "--records",
            "60000",
            "--batch",
            "600",
            "--noise-multiplier",
            "1",
            "--target-epsilon",
            "1",
            "--delta",
            "1e-5",
            "--steps",
            "10",
        ],
        &["--batch"],
    );
}

#[test]
fn samplers_and_groups() {
    let poisson = json(&[
        "epsilon",
        "--sampler",
        "poisson",
        "--rate",
        "0.01",
        "--steps",
        "10000",
        "--noise-multiplier",
        "4",
        "--delta",
        "1e-5",
        "--json",
    ]);
    assert!((poisson["epsilon"].as_f64().unwrap() - 0.9469).abs() < 1e-3);
    assert_eq!(poisson["neighbours"], "add-remove");
    // A rate that is made of the number of records says it.
    let of_records = |more: &[&'static str]| {
        let base = [
            "epsilon",
            "--sampler",
            "poisson",
            "--records",
            "60000",
            "--batch",
            "600",
        ];
        let steps = [
            "--steps",
            "10",
            "--noise-multiplier",
            "4",
            "--delta",
            "1e-5",
            "--json",
        ];
        [&base[..], &steps, more].concat()
    };
    let public = json(&of_records(&[]));
    assert_eq!(public["neighbours"], "zero-out");
    let flags = of_records(&["--neighbours", "add-remove"]);
    refused(&flags, &["--neighbours add-remove", "zero-out", "--rate"]);
    let both = ["add-remove", "zero-out"].map(|neighbours| {
        let base = [
            "epsilon",
            "--sampler",
            "poisson",
            "--rate",
            "0.01",
            "--steps",
            "10",
        ];
        let noise = [
            "--noise-multiplier",
            "4",
            "--delta",
            "1e-5",
            "--json",
            "--neighbours",
        ];
        json(&[&base[..], &noise, &[neighbours]].concat())["epsilon"].clone()
    });
    assert_eq!(both[0], both[1]);
    let plain = json(&[
        "epsilon",
        "--sampler",
        "none",
        "--noise-multiplier",
        "1",
        "--delta",
        "1e-5",
        "--json",
    ]);
    assert!((plain["epsilon"].as_f64().unwrap() - 4.377_178).abs() < 1e-5);
    let groups = json(&[
        "epsilon",
        "--group",
        "1000:10",
        "--group",
        "500:20",
        "--steps",
        "50",
        "--noise-multiplier",
        "1",
        "--delta",
        "1e-5",
        "--json",
    ]);
    let largest = json(&[
        "epsilon",
        "--records",
        "500",
        "--batch",
        "20",
        "--steps",
        "50",
        "--noise-multiplier",
        "1",
        "--delta",
        "1e-5",
        "--json",
    ]);
    assert_eq!(groups["epsilon"], largest["epsilon"]);
    assert_eq!(groups["neighbours"], "k-end");
}

#[test]
fn accountants_that_are_no_bounds_say_so_everywhere() {
    for name in ["gdp-clt-uniform", "gdp-clt-poisson"] {
        let flags = asked(
            "epsilon",
            &[
                "--noise-multiplier",
                "0.76",
                "--delta",
                "1e-5",
                "--accountant",
                name,
            ],
        );
        let text = String::from_utf8(account(&flags).stdout).unwrap();
        assert!(text.contains("not an upper bound"), "{text}");
        let answer = json(&[&flags[..], &["--json"]].concat());
        assert_eq!(answer["is_upper_bound"], false);
        assert!(
            answer["note"]
                .as_str()
                .unwrap()
                .contains("not an upper bound")
        );
    }
}

#[test]
fn compare_puts_claims_beside_the_truth() {
    let flags = asked("compare", &["--target-epsilon", "5", "--delta", "1e-5"]);
    let text = String::from_utf8(account(&flags).stdout).unwrap();
    assert!(
        text.contains("gdp-clt-poisson") && text.contains("not an upper bound"),
        "{text}"
    );
    let answer = json(&[&flags[..], &["--json"]].concat());
    let rows = answer["accountants"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["accountant"] == name).unwrap();
    // The table of settings: z by pld, by rdp, and what the limit's noise really gives.
    let number = |value: &Value| value.as_f64().unwrap();
    assert!((number(&row("pld")["noise_multiplier"]) - 1.037).abs() < 1e-3);
    assert!((number(&row("rdp")["noise_multiplier"]) - 1.529).abs() < 2e-3);
    let clt = row("gdp-clt-poisson");
    assert!((number(&clt["noise_multiplier"]) - 0.892).abs() < 1e-3);
    assert!((number(&clt["true_epsilon_upper"]) - 6.82).abs() < 1e-2);
    assert!(
        row("gaussian")["refused"]
            .as_str()
            .unwrap()
            .contains("use pld")
    );
}

#[test]
fn curves_are_written_as_svg_and_csv() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["epsilon", "trade-off"] {
        let svg = folder.path().join(format!("{kind}.svg"));
        let csv = folder.path().join(format!("{kind}.csv"));
        let output = account(&[
            "curve",
            "--kind",
            kind,
            "--records",
            "1000",
            "--batch",
            "50",
            "--steps",
            "100",
            "--noise-multiplier",
            "2",
            "--delta",
            "1e-5",
            "--points",
            "11",
            "--svg",
            svg.to_str().unwrap(),
            "--csv",
            csv.to_str().unwrap(),
        ]);
        assert!(output.status.success());
        let picture = std::fs::read_to_string(svg).unwrap();
        assert!(picture.starts_with("<svg") && picture.contains("polyline"));
        assert!(picture.contains("not an upper bound"));
        let values = std::fs::read_to_string(csv).unwrap();
        assert_eq!(values.lines().count(), 12);
        assert!(
            values
                .lines()
                .next()
                .unwrap()
                .contains("pld,rdp,gdp-clt-uniform")
        );
    }
    for (flag, file, message) in [
        ("--svg", "curve.png", "--svg is curve.png"),
        ("--csv", "curve.svg", "--csv is curve.svg"),
    ] {
        refused(
            &[
                "curve",
                "--rate",
                "0.1",
                "--noise-multiplier",
                "1",
                "--delta",
                "1e-5",
                flag,
                file,
            ],
            &[message],
        );
    }
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
    let flags = [
        "ledger",
        path.to_str().unwrap(),
        "--delta",
        "1e-5",
        "--json",
    ];
    let spent = json(&flags);
    let direct = json(&[
        "epsilon",
        "--records",
        "2000",
        "--batch",
        "100",
        "--steps",
        "300",
        "--noise-multiplier",
        "1.1",
        "--delta",
        "1e-5",
        "--json",
    ]);
    assert_eq!(spent["epsilon"], direct["epsilon"]);
    assert_eq!(spent["releases"], 300);
    assert_eq!(spent["torn_lines"], serde_json::json!([301]));
    assert_eq!(spent["secret_noise"], true);

    writeln!(file, "\n{{\"event\": 3}}").unwrap();
    refused(&flags, &["ledger line 302"]);
    refused(
        &["ledger", "nowhere.jsonl", "--delta", "1e-5"],
        &["nowhere.jsonl"],
    );
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
        let common = ["--sampler", "none", "--noise-multiplier", z];
        for command in [
            &["epsilon", "--delta", "1e-5"][..],
            &["delta", "--epsilon", "1"],
            &["steps", "--target-epsilon", "20", "--delta", "1e-5"],
        ] {
            let text = String::from_utf8(account(&[command, &common].concat()).stdout).unwrap();
            assert_eq!(printed(&text, "noise multiplier").to_string(), z, "{text}");
        }
        let text = account(&[&["compare", "--delta", "1e-5"], &common[..]].concat()).stdout;
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.lines().any(|l| l.contains(&format!("  {z}  "))),
            "{text}"
        );
    }
}

/// That both forms of an answer agree to five digits, and that the printed one does not promise more.
fn not_less(flags: &[&str], names: &[(&str, &str)]) {
    let text = String::from_utf8(account(flags).stdout).unwrap();
    let exact = json(&[flags, &["--json"]].concat());
    for (label, name) in names {
        let (printed, exact) = (printed(&text, label), exact[*name].as_f64().unwrap());
        assert!(printed >= exact, "{flags:?}: {label} {printed} < {exact}");
        assert!(printed <= exact * (1.0 + 1e-4), "{flags:?}: {text}");
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
        let base = ["--sampler", "none", "--noise-multiplier", z];
        not_less(
            &[&["epsilon", "--delta", "1.234567e-6"], &base[..]].concat(),
            &[EPSILON, DELTA, NOISE],
        );
        not_less(
            &[&["delta", "--epsilon", "0.1234567"], &base[..]].concat(),
            &[EPSILON, DELTA, NOISE],
        );
        let line = format!(
            r#"{{"event":{{"type":"gaussian","noise_multiplier":{z}}},"count":3,"neighbours":"replace_one"}}"#
        );
        std::fs::write(&ledger, line).unwrap();
        not_less(
            &["ledger", ledger.to_str().unwrap(), "--delta", "1e-5"],
            &[EPSILON, DELTA],
        );
        let flags = [&["compare", "--delta", "1e-5"], &base[..]].concat();
        let text = String::from_utf8(account(&flags).stdout).unwrap();
        let exact = json(&[&flags[..], &["--json"]].concat());
        for row in exact["accountants"].as_array().unwrap() {
            let line = text
                .lines()
                .find(|line| line.starts_with(row["accountant"].as_str().unwrap()));
            let cells: Vec<f64> = line
                .unwrap()
                .split_whitespace()
                .filter_map(|cell| cell.parse().ok())
                .collect();
            let Some(number) = row["epsilon"].as_f64() else {
                continue;
            };
            let bound = |name: &str| row[name].as_f64().unwrap();
            assert!(
                cells[0] >= bound("noise_multiplier") && cells[1] >= number,
                "{text}"
            );
            assert!(cells[2] <= bound("true_epsilon_lower"), "{text}");
            assert!(cells[3] >= bound("true_epsilon_upper"), "{text}");
        }
    }
    for target in ["0.3", "1", "2", "7"] {
        let flags = [
            "noise",
            "--sampler",
            "none",
            "--target-epsilon",
            target,
            "--delta",
            "1e-5",
        ];
        not_less(&flags, &[EPSILON, NOISE]);
        // What is printed is typed in again.
        let text = String::from_utf8(account(&flags).stdout).unwrap();
        let z = printed(&text, "noise multiplier").to_string();
        let again = [
            "epsilon",
            "--sampler",
            "none",
            "--noise-multiplier",
            &z,
            "--delta",
            "1e-5",
            "--json",
        ];
        assert!(
            json(&again)["epsilon"].as_f64().unwrap() <= target.parse().unwrap(),
            "{z}"
        );
    }
}

#[test]
fn bad_input_is_named_with_its_bound() {
    let base = ["--noise-multiplier", "1", "--delta", "1e-5"];
    let with = |more: &[&'static str]| [&["epsilon"], &base[..], more].concat();
    refused(&with(&[]), &["--records", "--rate"]);
    refused(&with(&["--rate", "1.5"]), &["--rate is 1.5", "in (0, 1]"]);
    refused(&with(&["--rate", "NaN"]), &["--rate is NaN"]);
    refused(
        &with(&["--records", "10", "--batch", "11"]),
        &["--batch is 11", "the 10 of --records"],
    );
    refused(
        &with(&[
            "--sampler",
            "poisson",
            "--rate",
            "0.1",
            "--neighbours",
            "replace-one",
        ]),
        &["--neighbours replace-one", "add-remove"],
    );
    refused(
        &with(&["--sampler", "none", "--rate", "0.1"]),
        &["--sampler none"],
    );
    refused(
        &with(&["--rate", "0.1", "--accountant", "gaussian"]),
        &["gaussian does not cover", "--accountant pld"],
    );
    refused(
        &[
            "epsilon",
            "--sampler",
            "none",
            "--noise-multiplier",
            "0",
            "--delta",
            "1e-5",
        ],
        &["--noise-multiplier is 0"],
    );
    refused(
        &[
            "epsilon",
            "--sampler",
            "none",
            "--noise-multiplier",
            "1",
            "--delta",
            "2",
        ],
        &["--delta is 2", "in [0, 1]"],
    );
    refused(&["epsilon", "--sampler", "nothing"], &["--sampler"]);
}

#[test]
fn extremes_answer() {
    let zero = json(&asked(
        "epsilon",
        &["--noise-multiplier", "1", "--delta", "0", "--json"],
    ));
    assert_eq!(zero["epsilon"], "infinity");
    let none = json(&[
        "epsilon",
        "--rate",
        "0.1",
        "--steps",
        "0",
        "--noise-multiplier",
        "1",
        "--delta",
        "1e-5",
        "--json",
    ]);
    assert_eq!(none["epsilon"], 0.0);
}
