//! Samples to take away, through the binaries: at the end of a run, from its folder, and in Python.

use std::path::Path;
use std::process::Command;

use data::idx::{read_images, read_labels};
use lab::checkpoint::hex;

use crate::program::{Home, Ran, done, files, make_folder, refusal, rename, same, says, text};

/// A run of seconds with noise from a known seed.
fn run(line: &str) -> String {
    let own = if line.starts_with("swae") {
        "--batch 40 --steps 3 --slices 12"
    } else if line.contains("generator") {
        "--steps 2 --slices 8 --slices-per-step 4"
    } else if line.contains("marginals") {
        "--steps 3 --slices 8 --latent 4"
    } else {
        "--latent 4"
    };
    format!(
        "{line} {own} --backend flex --delta 1e-4 --quick-scores --insecure-noise-seed 5 --scored 100"
    )
}

fn export(home: &Home, line: &str) -> Command {
    let mut command = home.sliver(&format!("export {line}"));
    // Nothing of the system leads to data either.
    for name in ["SLIVER_DATA", "HOME", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    command
}

#[test]
fn an_export_from_the_runs_folder_alone_is_the_export_at_its_end() {
    let half = "--public half --public-records 60 --public-epochs 1";
    for (line, most) in [
        (
            "swae --records 200 --conditional --vary-pose 1".into(),
            1050,
        ),
        ("swae --records 200 --unconditional".into(), 1050),
        (
            format!("synth glyphs --records 150 {half} --method marginals"),
            150,
        ),
        // Latents without weights; where samples vary, each particle makes any number of them.
        ("synth glyphs --records 150 --public none".into(), 400),
        (
            format!("synth glyphs --records 150 {half} --vary-texture 1"),
            400,
        ),
        ("synth glyphs --records 200 --method generator".into(), 1050),
    ] {
        let home = Home::new();
        let synth = line.starts_with("synth");
        // The copy of `synth` lies in the run's folder.
        let [form, place] = match synth {
            true => ["--format png", "run/copy"],
            false => ["", "first"],
        };
        let first = if synth { form } else { "--export first" };
        let line = format!("{line} --count {most} {first} --out run");
        says(&home.done(&run(&line)), &["NOT PRIVATE"]);
        // A run that trains nothing public has none.
        let _ = std::fs::remove_dir_all(home.at("cache"));
        let line = format!("run --out again --count {most} {form}");
        done(export(&home, &line));
        if synth {
            rename(home.at(place), home.at("first"));
        }
        let first = files(&home.at("first"));
        assert!(first.len() > 4);
        same(&first, &files(&home.at("again")));

        let (card, run) = (home.json("first/card.json"), home.json("run/run.json"));
        let privacy = &card["privacy"];
        assert_eq!(
            privacy["ledger_sha256"],
            hex(&home.bytes("run/ledger.jsonl"))
        );
        assert_eq!(privacy["private"], false, "the noise is known");
        assert_eq!(privacy["delta"], 1e-4);
        assert_eq!(privacy["neighbours"], run["plan"]["neighbours"]);
        assert_eq!(privacy["accountant"], run["plan"]["accountant"]);
        assert_eq!(privacy["epsilon_upper"], run["epsilon_spent_upper"]);
        assert_eq!(card["public_knowledge"], run["public_knowledge"]);
        let made = (&card["count"], &card["sampling"]["seed"]);
        assert_eq!(made, (&most.into(), &0.into()));
        for (name, sum) in card["sha256"].as_object().expect("sums") {
            assert_eq!(*sum, hex(&first[Path::new(name)]), "{name}");
        }
        let png = if synth { "first" } else { "first/png" };
        let beside = if synth { 2 } else { 0 };
        assert_eq!(files(&home.at(png)).len(), most + beside);
    }
}

#[test]
fn labels_and_images_are_read_back_and_the_first_ones_do_not_depend_on_how_many_follow() {
    let home = Home::new();
    home.done(&run("swae --records 200 --conditional --out run"));
    let exported = |line: &str| {
        done(export(&home, &format!("run --format idx --out {line}")));
        let name = line.split(' ').next().expect("a name");
        let raw = home.at(name).join("MNIST/raw");
        let images = read_images(&raw.join("train-images-idx3-ubyte.gz")).expect("images");
        let labels = read_labels(&raw.join("train-labels-idx1-ubyte.gz")).expect("labels");
        assert_eq!((images.height, images.width), (28, 28));
        assert_eq!(images.count, labels.len());
        (images.pixels, labels)
    };
    let (pixels, labels) = exported("some --count 1010");
    let counts = |class| labels.iter().filter(|&&label| label == class).count();
    assert!((0..10).all(|class| counts(class) == 101));
    let (more, further) = exported("more --count 2300");
    assert!(more.starts_with(&pixels) && further.starts_with(&labels));
    // What read private records stays with the run.
    let mut run = home.json("run/run.json");
    let secret = serde_json::json!({"name": "Reads private records: nearest", "value": 0.125});
    let scores = run["metrics"].as_array_mut().expect("scores");
    let kept = scores.len();
    scores.push(secret);
    home.put("run/run.json", run.to_string());
    let (other, _) = exported("other --count 1010 --sample-seed 1");
    assert_ne!(other, pixels);
    let card = home.json("other/card.json");
    assert_eq!(card["scores"].as_array().map(Vec::len), Some(kept));
    let page = home.text("other/README.md");
    says(&page, &["## Scores"]);
    assert!(!page.contains("Reads private"), "{page}");
}

#[test]
fn what_cannot_be_exported_is_refused_and_nothing_is_left() {
    let home = Home::new();
    make_folder(home.at("taken"));
    let swae = run("swae --records 200 --unconditional");
    let cases = "
        --count 0 => --count 0
        --count 9000000000 => --count 9000000000
    ";
    home.refuses_each(&format!("{swae} --out none --export new"), cases);
    let half = run("synth glyphs --records 150 --public half --public-records 60");
    let cases = "--count 1000 => --count 1000: the run has 15";
    home.refuses_each(&format!("{half} --out none"), cases);
    home.done(&format!("{swae} --out run"));
    let refused = |run: &str, words: &str| {
        let message = refusal(export(&home, &format!("{run} --out new --count 3")));
        says(&message, &[words]);
        assert!(!home.has("new"));
    };
    refused("taken", "no run");
    let ledger = home.text("run/ledger.jsonl");
    let shorter = &ledger[..ledger.trim_end().rfind('\n').map_or(0, |at| at + 1)];
    for (name, text, words) in [
        ("run.json", None, "not finished"),
        ("samples.json", None, "no samples.json"),
        ("samples.json", Some("{}"), "samples.json"),
        ("model.bpk", Some("nothing"), "model.bpk"),
        ("ledger.jsonl", None, "ledger is missing"),
        ("ledger.jsonl", Some(shorter), "holds 2 releases"),
    ] {
        let name = format!("run/{name}");
        let before = home.bytes(&name);
        home.lose(&name);
        if let Some(text) = text {
            home.put(&name, text);
        }
        refused("run", words);
        home.put(&name, before);
    }
    done(export(&home, "run --out new --count 3"));
    let message = refusal(export(&home, "run --out new --count 4"));
    says(&message, &["exists already"]);
    done(export(&home, "run --out new --count 4 --force"));
    assert_eq!(home.json("new/card.json")["count"], 4);
    // The same command again: the run is done, the export is made.
    home.done(&format!("{swae} --run run --export again --count 4"));
    same(&files(&home.at("again")), &files(&home.at("new")));
}

#[test]
fn python_reads_an_export_as_the_page_says() {
    let home = Home::new();
    home.done(&run(
        "swae --records 200 --conditional --export export --count 30 --out run",
    ));
    let raw = home.at("export/MNIST/raw");
    let images = read_images(&raw.join("train-images-idx3-ubyte.gz")).expect("images");
    let sum: u64 = images.pixels.iter().map(|&p| u64::from(p)).sum();
    // The blocks of the page, as they stand there.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/images.md");
    let page = std::fs::read_to_string(page).expect("a page");
    let blocks = page.split("```python\n").skip(1);
    let blocks: Vec<&str> = blocks
        .filter_map(|rest| Some(rest.split_once("```")?.0))
        .collect();
    for (module, has, shown) in [
        (
            "numpy",
            "numpy",
            "print(images.shape, labels.shape, images.sum())",
        ),
        (
            "torchvision",
            "datasets.MNIST",
            "print(tuple(train.data.shape), (len(train.targets),), int(train.data.sum()))",
        ),
        (
            "torchvision",
            "ImageFolder",
            "print((len(folder), 28, 28), (len(folder.targets),), sum(sum(x.convert('L').tobytes()) for x, _ in folder))",
        ),
    ] {
        let code = blocks.iter().find(|code| code.contains(has));
        let code = code.unwrap_or_else(|| panic!("no code for {has}"));
        assert!(code.trim().lines().count() <= 4, "{code}");
        let Some(mut python) = test_support::python(&[module]) else {
            continue;
        };
        python.current_dir(home.at(""));
        let output = done(python.args(["-c", &format!("{code}\n{shown}")]).ran());
        let said = text(&output.stdout);
        assert_eq!(said.trim(), format!("(30, 28, 28) (30,) {sum}"), "{module}");
    }
}
