//! `schema` as a person runs it.

use data::Schema;

use crate::program::{Home, Ran, says, text};

#[test]
fn a_draft_is_written_once_for_a_person_to_confirm() {
    let home = Home::new();
    let records = ["17,F,a", "81,M,b", "33,F,c", "18,M,d", "17,F,e"].join("\n");
    let others = records
        .replace(",F,", ",X,")
        .replace(",M,", ",F,")
        .replace(",X,", ",M,");
    home.put("people.csv", format!("age,sex,note\n{records}\n{others}\n"));
    let printed = home.done("schema people.csv --label sex");
    let words = [
        "HAS SEEN THE RECORDS",
        "note  LEFT OUT: text of which no value is in 5 records, such as a",
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

/// Where a draft would leave most of a table out, a person says so of each column; `synth` takes the same words.
#[test]
fn most_of_a_table_is_left_out_by_name_alone() {
    let home = Home::new();
    let line = |i: usize| {
        let (id, age, ward) = (i * 7_919 % 99_991, 20 + i % 50, i % 3);
        let ill = ["no", "yes"][i % 2];
        format!("{id},Ann B{i},a{i}@b.org,n{i},{age},{ward},{ill}\n")
    };
    let people: String = (0..100).map(line).collect();
    let names = "id,full name,mail,note,age,ward,ill";
    home.put("people.csv", format!("{names}\n{people}"));
    let asked = home.sliver("schema people.csv").output().expect("run");
    assert!(!asked.status.success() && !home.has("people.toml"));
    says(
        &text(&asked.stdout),
        &[
            "PRIVATE   full name  LEFT OUT: text of which almost every record has its own, such as Aaa A99: names, identifiers, notes, or numbers or dates in a form that is not known",
            "PRIVATE   --leave-out id --leave-out 'full name' --leave-out mail --leave-out note\n",
        ],
    );
    home.refuses(
        "synth people.csv --leave-out id --leave-out mail --out none",
        &["confirm people.toml as it says"],
    );
    let draft = home.text("people.toml");
    assert_eq!(draft.matches("why = \"--leave-out\"").count(), 2, "{draft}");
    home.put(
        "people.toml",
        draft.replace("public = false", "public = true"),
    );
    home.done(
        "synth people.csv --schema people.toml --leave-out age --no-privacy --count 9 --out run",
    );
    assert!(home.text("run/copy/table.csv").starts_with("ward,ill\n"));
    for name in ["README.md", "card.json"] {
        let page = home.text(&format!("run/copy/{name}"));
        let left_out = "left out: id, full name, mail, note, age";
        says(&page, &[left_out]);
        assert!(!page.contains("A99"), "{page}");
    }
    assert!(!home.text("run/copy/schema.toml").contains("age"));
}

/// Without a schema nothing is made, and the last line is the command that was given, with the draft, as a shell reads it.
#[test]
fn a_copy_without_a_schema_ends_with_the_command_to_go_on() {
    let home = Home::new();
    home.put("my data/people.csv", "age,sex\n17,F\n81,M\n");
    let words = "my data/people.csv;--label;sex;--epsilon;2;--out;a copy";
    let command = "sliver synth 'my data/people.csv' --label sex --epsilon 2 --out 'a copy' \
                   --schema 'my data/people.toml'";
    for before in ["          ", "next      "] {
        let output = home.sliver("synth").args(words.split(';')).ran();
        assert_eq!(output.status.code(), Some(2));
        let printed = text(&output.stdout);
        assert_eq!(printed.lines().last(), Some(&*format!("{before}{command}")));
        assert!(!home.has("a copy"));
    }
}
