//! `schema` as a person runs it.

use data::Schema;

use crate::program::{Home, says};

#[test]
fn a_draft_is_written_once_for_a_person_to_confirm() {
    let home = Home::new();
    home.put("people.csv", "age,sex,note\n17,F,a\n81,M,b\n");
    let printed = home.done("schema people.csv --label sex");
    let words = [
        "HAS SEEN THE RECORDS",
        "note  LEFT OUT: text of which no value is in 5 records",
        "2 columns",
        "sliver synth",
        "--schema",
    ];
    says(&printed, &words);
    let draft = |name: &str| Schema::read(&home.at(name)).expect("a schema");
    let schema = draft("people.toml");
    assert_eq!(schema.unconfirmed(), ["age", "sex"]);
    assert_eq!(schema.label(), Some(1));

    // What a person has confirmed stays.
    let confirmed = home.text("people.toml").replace("false", "true");
    home.put("people.toml", &confirmed);
    home.refuses("schema people.csv", &["people.toml", "--out"]);
    assert_eq!(home.text("people.toml"), confirmed);
    home.done("schema people.csv --out other.toml");
    assert_eq!(draft("other.toml").label(), None);
}
