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
