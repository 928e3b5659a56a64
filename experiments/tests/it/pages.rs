//! `report` as a person runs it: through the program, on run folders.

use crate::program::{Home, says};

/// A run folder in miniature.
fn write(home: &Home, name: &str, epsilon: f64, seed: u64, score: f64) {
    let run = format!(
        r#"{{"experiment": "swae", "version": "0.1.0", "device": "flex",
            "settings": {{"dataset": "glyphs", "epsilon": {epsilon}, "seed": {seed}}},
            "privacy": "({epsilon}, 1e-5)-differentially private", "private": true,
            "plan": {{"epsilon_upper": {epsilon}, "delta": 1e-5}},
            "metrics": [{{"name": "score", "value": {score}}}]}}"#
    );
    home.put(&format!("runs/swae/{name}/run.json"), run);
}

/// Two runs of one epsilon, and one of another.
pub(crate) fn three(home: &Home) {
    write(home, "a", 1.0, 0, 10.0);
    write(home, "b", 1.0, 1, 12.0);
    write(home, "c", 5.0, 0, 20.0);
}

#[test]
fn one_run_several_runs_and_a_sweep() {
    let home = Home::new();
    three(&home);
    says(&home.done("report runs/swae/a"), &["report.html"]);
    let page = home.text("runs/swae/a/report.html");
    says(&page, &["Differentially private"]);

    let table = home.done("report runs/swae/a runs/swae/c");
    assert!(table.starts_with("| epsilon | privacy"), "{table}");
    let csv = home.done("report --sweep runs --format csv");
    // Without ledgers nothing says of which neighbours a sum would be.
    let row = "1,\"(1, 1e-5)\",not known,2,0,11,1.41";
    says(&csv, &[row]);
    let one = home.done("report runs/swae/a --format csv");
    assert_eq!(one.lines().count(), 2, "{one}");
    says(&home.done("report --sweep runs/swae"), &["| 11 +- 1.41 |"]);
}

#[test]
fn markdown_of_runs_and_of_chosen_columns() {
    let home = Home::new();
    three(&home);
    let published = r#""value": 10, "unit": "nats", "paper": 11.5, "source": "Doe 2020, table 1""#;
    let run = home.text("runs/swae/a/run.json");
    let run = run.replace("\"value\": 10", published).replace(
        "\"private\": true,",
        "\"private\": true, \"command\": \"swae --dataset glyphs\",",
    );
    home.put("runs/swae/a/run.json", run);
    assert_eq!(
        home.done("report --format markdown runs/swae/a"),
        "```sh\nswae --dataset glyphs\n```\n\n\
         | result | value | published | by |\n|---|---|---|---|\n\
         | score | 10 nats | 11.5 nats | Doe 2020, table 1 |\n\n\
         Privacy: (1, 1e-5)-differentially private\n"
    );
    let chosen = "--format=markdown --column epsilon --column SCORE";
    let table = home.done(&format!(
        "report runs/swae/a runs/swae/b runs/swae/c {chosen}"
    ));
    let start = "| epsilon | score |\n|---|---|\n| 1 | 11 +- 1.41 |\n| 5 | 20 |\n\n";
    assert!(table.starts_with(start), "{table}");
    assert!(!home.has("runs/swae/a/report.html"));
}
