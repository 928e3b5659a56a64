//! `sliver classify` and `sliver predict`, as people run them.

use crate::program::{Home, lines, npy, number, stopped_after};
use crate::synth::images;

fn rows(home: &Home, name: &str, count: usize, shift: usize) {
    let value = |record: usize, place: usize| {
        let noise = (((record + shift) * 7 + place * 13) % 29) as f32 / 29.0 - 0.5;
        noise + if place == record % 3 { 2.0 } else { 0.0 }
    };
    let values: Vec<f32> = (0..count * 6).map(|i| value(i / 6, i % 6)).collect();
    let labels: Vec<f32> = (0..count).map(|record| (record % 3) as f32).collect();
    home.put(&format!("{name}.npy"), npy(Some(6), &values));
    home.put(&format!("{name}-labels.npy"), npy(None, &labels));
}

/// The share of lines of a file of predictions whose class is that of the record's number.
fn right(home: &Home, name: &str) -> f64 {
    let text = home.text(name);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("record,class,p(0),p(1),p(2)"));
    let (mut right, mut all) = (0, 0);
    for (place, line) in lines.enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[0], place.to_string());
        let sum: f64 = fields[2..]
            .iter()
            .map(|p| p.parse::<f64>().expect("a number"))
            .sum();
        assert!((sum - 1.0).abs() < 1e-5);
        right += usize::from(fields[1] == (place % 3).to_string());
        all += 1;
    }
    assert!(all > 0);
    f64::from(right as u32) / f64::from(all)
}

/// Its model is in the folder alone: the records that it learned from are gone when it predicts.
#[test]
fn a_model_of_rows_predicts_without_the_private_records() {
    let home = Home::new();
    rows(&home, "mine", 1200, 0);
    rows(&home, "new", 90, 5);
    let line = "classify mine.npy --labels mine-labels.npy --classes 3 --epsilon 2 --run run --insecure-noise-seed 3";
    let said = home.done(line);
    assert!(said.contains("3 classes on 7 features"), "{said}");
    // A share of the budget says how good it is, in the same plan.
    let run = home.json("run/run.json");
    let metric = &run["metrics"][0];
    assert!(
        metric["name"]
            .as_str()
            .expect("a name")
            .contains("noisy counts"),
        "{metric}"
    );
    assert!(number(&metric["value"]) > 0.8, "{metric}");
    home.lose("mine.npy mine-labels.npy");
    home.done("predict run new.npy --out new.csv");
    assert!(right(&home, "new.csv") > 0.9);
    home.done("predict run/model new.npy --out again.csv");
    assert_eq!(home.text("new.csv"), home.text("again.csv"));
    let refused = home.refuses(
        "predict run new.npy --out new.csv",
        &["--out new.csv", "--force"],
    );
    assert!(!refused.is_empty());
    let card = home.json("run/model/card.json");
    assert_eq!(card["privacy"]["delta"], run["plan"]["delta"]);
    assert!(card["run"]["settings"].get("input").is_none(), "{card}");
}

/// With public test rows nothing is bought for a score.
#[test]
fn test_rows_judge_a_model() {
    let home = Home::new();
    rows(&home, "mine", 1200, 0);
    rows(&home, "test", 300, 5);
    home.done(
        "classify mine.npy --labels mine-labels.npy --classes a,b,c --epsilon 2 --test test.npy --test-labels test-labels.npy \
         --public test.npy --steps 9 --run run --insecure-noise-seed 3",
    );
    let run = home.json("run/run.json");
    assert_eq!(run["metrics"][0]["name"], "Accuracy on public test records");
    assert!(number(&run["metrics"][0]["value"]) > 0.9);
    assert_eq!(lines(&home.at("run")), 9);
    assert!(home.has("run/mistakes.svg"));
}

/// A run that was cut off has the end of one that was not.
#[test]
fn a_classifier_of_images_resumes() {
    let home = Home::new();
    images(&home, &["cat", "dog"], 20);
    let line = |run: &str| {
        format!(
            "classify scans --side 32 --channels 3 --public none --epsilon 8 --steps 6 --insecure-noise-seed 3 --run {run}"
        )
    };
    home.done(&line("whole"));
    stopped_after(&mut home.sliver(&line("cut")), 4);
    home.done(&line("cut"));
    for file in ["model/model.safetensors", "model/model.toml"] {
        assert_eq!(
            home.bytes(&format!("whole/{file}")),
            home.bytes(&format!("cut/{file}"))
        );
    }
    assert_eq!([lines(&home.at("whole")), lines(&home.at("cut"))], [7, 7]);
    home.done("predict cut scans --out p.csv");
    let text = home.text("p.csv");
    assert_eq!(text.lines().count(), 41);
    assert!(text.starts_with("record,class,p(cat),p(dog)\n"), "{text}");
    assert!(text.contains("cat/"), "{text}");
}

/// What the columns of a table of people hold, with one that is ignored.
const PEOPLE: &str = r#"
    header = true
    column = [
        { name = "id", kind = "ignore" },
        { name = "age", kind = "integer", min = 0, max = 99, outside = "clamp", public = true },
        { name = "town", kind = "categorical", levels = ["Aa", "Bb"], other = "elsewhere", public = true },
        { name = "retired", kind = "label", classes = [["no"], ["yes"]], public = true },
    ]
    [[rule]]
    when = { column = "retired", values = ["yes"] }
    then = { column = "age", min = 50 }
"#;

/// Lines of people; the last column is left out where it is asked for.
fn people(home: &Home, name: &str, count: usize, labelled: bool) {
    let line = |place: usize| {
        let (age, town) = (place * 7 % 100, ["Aa", "Bb"][place % 2]);
        let retired = ["no", "yes"][usize::from(age > 64)];
        match labelled {
            true => format!("p{place},{age},{town},{retired}\n"),
            false => format!("{town},{age}\n"),
        }
    };
    let names = match labelled {
        true => "id,age,town,retired\n",
        false => "town,age\n",
    };
    home.put(
        name,
        names.to_string() + &(0..count).map(line).collect::<String>(),
    );
    home.put("people.toml", PEOPLE);
}

/// New records need neither the label nor what is ignored, and their columns may have another order.
#[test]
fn a_model_of_a_table_predicts_without_the_private_records() {
    let home = Home::new();
    people(&home, "people.csv", 2000, true);
    let said = home.done(
        "classify people.csv --schema people.toml --epsilon 2 --run run --insecure-noise-seed 3",
    );
    assert!(
        said.contains("model     of retired, 2 classes, by 2 other columns"),
        "{said}"
    );
    let run = home.json("run/run.json");
    let metric = &run["metrics"][0];
    assert!(number(&metric["value"]) > 0.9, "{metric}");
    assert_eq!(run["learner"], "logistic regression");
    let influence = &run["influences"][0];
    assert_eq!(influence["column"], "age");
    assert!(number(&influence["loss"]) > 10.0 * number(&influence["deviation"]));
    home.lose("people.csv people.toml");
    people(&home, "new.csv", 100, false);
    people(&home, "all.csv", 100, true);
    for (model, new, out) in [
        ("run", "new.csv", "a.csv"),
        ("run/model", "all.csv", "b.csv"),
    ] {
        home.done(&format!("predict {model} {new} --out {out}"));
    }
    let text = home.text("a.csv");
    assert_eq!(text, home.text("b.csv"));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("record,class,p(no),p(yes)"));
    let right = lines.enumerate().filter(|(place, line)| {
        let age = place * 7 % 100;
        line.starts_with(&format!(
            "{},{},",
            place + 1,
            ["no", "yes"][usize::from(age > 64)]
        ))
    });
    assert!(right.count() > 90, "{text}");
    // A value that the schema does not have is refused by its place, and nothing is written.
    home.put("bad.csv", "town,age\nAa,old\n");
    let message = home.refuses("predict run bad.csv --out c.csv", &["bad.csv", "age"]);
    assert!(!home.has("c.csv"), "{message}");
    let card = home.json("run/model/card.json");
    assert_eq!(card["privacy"]["delta"], run["plan"]["delta"]);
    assert!(!home.text("run/model/schema.toml").contains("p1"));
}

/// A run that was cut off after its releases makes the same model of them, and spends nothing again.
#[test]
fn a_model_of_a_table_resumes() {
    let home = Home::new();
    people(&home, "people.csv", 600, true);
    home.done(
        "classify people.csv --schema people.toml --epsilon 2 --run run --insecure-noise-seed 3",
    );
    let model = home.bytes("run/model/model.safetensors");
    let ledger = home.text("run/ledger.jsonl");
    home.lose("run/model run/run.json run/report.html");
    home.done("classify --resume run");
    assert_eq!(model, home.bytes("run/model/model.safetensors"));
    assert_eq!(ledger, home.text("run/ledger.jsonl"));
    home.put("people.csv", "id,age,town,retired\np,1,Aa,no\nq,2,Aa,no\n");
    home.refuses(
        "classify people.csv --schema people.toml --label age --run other",
        &["--label age", "2 to 64"],
    );
    home.refuses(
        "classify people.csv --schema people.toml --label id --run other",
        &["--label"],
    );
}
