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

/// Rows of four values.
fn fours(count: usize, shift: usize) -> Vec<f32> {
    let value = |record: usize, place: usize| {
        (((record + shift) * 7 + place * 13 + record * place) % 29) as f32 / 29.0 - 0.5
    };
    (0..count * 4).map(|i| value(i / 4, i % 4)).collect()
}

/// The numbers of such rows: 30, and 20 times their first value over their norm.
fn numbers(count: usize, shift: usize) -> Vec<f32> {
    let number = |row: &[f32]| 30.0 + 20.0 * row[0] / row.iter().map(|x| x * x).sum::<f32>().sqrt();
    fours(count, shift).chunks_exact(4).map(number).collect()
}

fn measured(home: &Home, name: &str, count: usize, shift: usize) {
    home.put(&format!("{name}.npy"), npy(Some(4), &fours(count, shift)));
    home.put(
        &format!("{name}-labels.npy"),
        npy(None, &numbers(count, shift)),
    );
}

/// A model of a number is far better than the median, says so by either score, and predicts numbers of the range.
#[test]
fn a_model_of_a_number_predicts() {
    let home = Home::new();
    measured(&home, "mine", 2000, 0);
    measured(&home, "test", 300, 5);
    for (loss, more) in [
        ("squared", ""),
        ("absolute", " --test test.npy --test-labels test-labels.npy"),
    ] {
        let said = home.done(&format!(
            "classify mine.npy --labels mine-labels.npy --range 0..60 --loss {loss} --epsilon 4 --run {loss} --insecure-noise-seed 3{more}"
        ));
        let model = format!("a number from 0 to 60 on 5 features, {loss} loss");
        assert!(said.contains(&model), "{said}");
        // What the run says of its error is what its predictions of the same rows have, but for noise of which it says how much.
        let of = if more.is_empty() { "mine" } else { "test" };
        home.done(&format!("predict {loss}/model {of}.npy --out {loss}.csv"));
        let lines = home.text(&format!("{loss}.csv"));
        let said = lines
            .lines()
            .skip(1)
            .map(|line| line.split(',').nth(1).expect("a number").to_string());
        let said: Vec<f64> = said.map(|said| said.parse().expect("a number")).collect();
        let truth = if more.is_empty() {
            numbers(2000, 0)
        } else {
            numbers(300, 5)
        };
        assert_eq!(said.len(), truth.len());
        let off = said
            .iter()
            .zip(&truth)
            .map(|(a, &b)| (a - f64::from(b)).abs());
        let exact = off.sum::<f64>() / truth.len() as f64;
        let run = home.json(&format!("{loss}/run.json"));
        let metrics = run["metrics"].as_array().expect("metrics");
        let of = |start: &str| {
            let metric = metrics.iter().find(|m| {
                m["name"]
                    .as_str()
                    .is_some_and(|name| name.starts_with(start))
            });
            metric.map(|metric| number(&metric["value"]))
        };
        let off = of("Mean distance").expect("a distance");
        let noise = of("Bound on what noise adds to that mean distance").unwrap_or(1e-3);
        assert!(
            (off - exact).abs() < 4.0 * noise && noise < 2.0,
            "{off}, not {exact}: {noise}"
        );
        let deviation = of("Standard deviation").expect("a baseline");
        assert!(exact < 1.0 && deviation > 7.0, "{exact}, {deviation}");
    }
    home.lose("mine.npy mine-labels.npy");
    home.done("predict absolute/model test.npy --out test.csv");
    let text = home.text("test.csv");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("record,number"));
    let numbers = lines.map(|line| line.split(',').nth(1).and_then(|x| x.parse().ok()));
    let numbers: Vec<f32> = numbers.map(|number| number.expect("a number")).collect();
    assert_eq!(numbers.len(), 300);
    assert!(numbers.iter().all(|x| (0.0..=60.0).contains(x)), "{text}");
    let card = home.json("absolute/model/card.json");
    assert!(card["run"]["settings"].get("labels").is_none(), "{card}");
}

/// One record in twelve is of the second class, near the first: only with class weights it is found, and the counts that they need are a line
/// of the ledger.
#[test]
fn a_balanced_model_finds_the_rare_class() {
    let home = Home::new();
    let tilt =
        |i: usize| if i.is_multiple_of(12) { 0.4 } else { 0.0 } + ((i * 37) % 101) as f32 / 101.0;
    let values: Vec<f32> = (0..3000).flat_map(|i| [1.0, tilt(i) - 0.5]).collect();
    let labels: Vec<f32> = (0..3000_usize)
        .map(|i| f32::from(u8::from(i.is_multiple_of(12))))
        .collect();
    home.put("mine.npy", npy(Some(2), &values));
    home.put("labels.npy", npy(None, &labels));
    let line = "classify mine.npy --labels labels.npy --classes 2 --epsilon 8 --insecure-noise-seed 3 --run";
    home.done(&format!("{line} plain"));
    stopped_after(
        &mut home.sliver(&format!("{line} balanced --balance 0.02")),
        4,
    );
    home.done(&format!("{line} balanced --balance 0.02"));
    let found = ["plain", "balanced"].map(|run| {
        let metrics = home.json(&format!("{run}/run.json"))["metrics"].clone();
        let metrics = metrics.as_array().expect("metrics").clone();
        let of = |metric: &&serde_json::Value| metric["name"] == "Share of 1 that is found";
        number(&metrics.iter().find(of).expect("a share")["value"])
    });
    assert!(found[0] < 0.35 && found[1] > 0.6, "{found:?}");
    assert_eq!(lines(&home.at("plain")) + 1, lines(&home.at("balanced")));
}

/// What could only learn noise is refused before anything is spent; so is what is no range.
#[test]
fn what_noise_leaves_nothing_of_is_refused() {
    let home = Home::new();
    rows(&home, "mine", 300, 0);
    let line = "classify mine.npy --labels mine-labels.npy --run run";
    home.refuses(
        &format!("{line} --classes 60 --epsilon 0.5"),
        &[
            "classes is 60",
            "of 300 records, equally many of each, noise leaves an accuracy of 0.0",
            "where chance has 0.017",
        ],
    );
    home.refuses(
        &format!("{line} --range 5..5"),
        &["--range 5..5", "the lower one first"],
    );
    home.refuses(&format!("{line} --range 0..inf"), &["--range 0..inf"]);
    home.refuses(
        &format!("{line} --classes 3 --most-per-unit 3"),
        &["--most-per-unit 3", "beside --unit"],
    );
    home.put("long-labels.npy", npy(None, &[1.0; 301]));
    home.refuses(
        "classify mine.npy --labels long-labels.npy --range 0..5 --run run",
        &["--labels long-labels.npy", "as many as there are rows"],
    );
    assert!(!home.has("run/ledger.jsonl"));
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

/// Whatever becomes of the files of a model, `predict` says what is wrong with them or predicts; it neither panics nor is killed.
#[test]
fn damaged_models_are_refused_or_harmless() {
    let home = Home::new();
    rows(&home, "mine", 900, 0);
    people(&home, "people.csv", 600, true);
    home.done("classify mine.npy --labels mine-labels.npy --classes 3 --epsilon 2 --run rows");
    home.done("classify people.csv --schema people.toml --epsilon 2 --run table");
    let mut refused = 0;
    for (run, input, files) in [
        ("rows", "mine.npy", &["model.toml", "model.safetensors"][..]),
        (
            "table",
            "people.csv",
            &["model.toml", "model.safetensors", "schema.toml"],
        ),
    ] {
        for file in files {
            let name = format!("{run}/model/{file}");
            let whole = home.bytes(&name);
            for round in 0..24_usize {
                let mut bytes = whole.clone();
                // Places spread over the file, most of them near its start, where sizes and names are.
                let place = (round * round * 7919)
                    % whole
                        .len()
                        .min(if round % 3 == 0 { usize::MAX } else { 200 });
                match round % 4 {
                    0 => bytes.truncate(place),
                    1 => bytes[place] ^= 1 << (round % 8),
                    2 => bytes[place] = b'9',
                    _ => drop(bytes.drain(place..(place + 3).min(whole.len()))),
                }
                home.put(&name, bytes);
                let line = format!("predict {run}/model {input} --out p.csv --force");
                let output = home.sliver(&line).output().expect("a program");
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let stopped = output.status.code() == Some(2) && said.contains("bad_input");
                assert!(
                    output.status.success() || stopped,
                    "{name}, {round}: {said}"
                );
                refused += usize::from(stopped);
            }
            home.put(&name, whole);
        }
    }
    assert!(refused > 40, "{refused}");
}
