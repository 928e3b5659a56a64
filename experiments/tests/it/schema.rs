//! `schema` as a person runs it.

use std::path::Path;

use data::Schema;

use crate::program::{Ran, done, refusal, says, sliver, text, unwrapped};

#[test]
fn a_draft_is_written_once_for_a_person_to_confirm() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("people.csv");
    std::fs::write(&table, "age,sex,note\n17,F,a\n81,M,b\n").expect("written");
    let run = |words: &[&str]| {
        let mut command = sliver("schema");
        command.arg(&table).args(words).ran()
    };
    let draft = |path: &Path| Schema::read(path).expect("a schema");
    let output = done(run(&["--label", "sex"]));
    let (path, printed) = (table.with_extension("toml"), text(&output.stdout));
    says(
        &printed,
        &[
            "HAS SEEN THE RECORDS",
            "3 columns",
            "sliver synth",
            "--schema",
        ],
    );
    let schema = draft(&path);
    assert_eq!(schema.unconfirmed(), ["age", "sex", "note"]);
    assert_eq!(schema.label(), Some(1));

    // What a person has confirmed stays.
    let confirmed = std::fs::read_to_string(&path)
        .expect("text")
        .replace("false", "true");
    std::fs::write(&path, &confirmed).expect("written");
    let message = refusal(run(&[]));
    says(&message, &["people.toml", "--out"]);
    assert_eq!(std::fs::read_to_string(&path).expect("text"), confirmed);
    let other = folder.path().join("other.toml");
    done(run(&["--out", &other.to_string_lossy()]));
    assert_eq!(draft(&other).label(), None);

    let new = folder.path().join("new.toml");
    let output = run(&["--label", "income", "--out", &new.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(unwrapped(&output.stderr).contains("label 'income'"));
    std::fs::write(&table, "age,sex\n17,secret,3\n").expect("written");
    let message = refusal(run(&["--out", &new.to_string_lossy()]));
    assert!(
        message.contains("another number of fields than 2") && !message.contains("secret"),
        "{message}"
    );
    assert!(!new.exists());
}
