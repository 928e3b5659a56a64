//! Samples to take away, through the binaries: at the end of a run, from its folder, and in Python.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use data::idx::{read_images, read_labels};
use lab::checkpoint::hex;

use crate::program::{Ran, json, refusal, says, sliver, text, words};

/// A folder with a cache, runs and exports of its own.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A run of seconds with noise from a known seed.
    fn command(&self, experiment: &str, run: &str, more: &[&str]) -> Command {
        let own: &[&str] = match experiment {
            "swae" => &["--batch", "40", "--steps", "3", "--slices", "12"],
            _ if more.contains(&"generator") => &words("--steps 2 --slices 8 --slices-per-step 4"),
            _ if more.contains(&"marginals") => &words("--steps 3 --slices 8 --latent 4"),
            _ => &["--latent", "4"],
        };
        let mut command = sliver(experiment);
        command.args(own);
        command.args(["--backend", "flex", "--delta", "1e-4", "--quick-scores"]);
        command.args(["--insecure-noise-seed", "5", "--scored", "100"]);
        command.args(more).arg("--cache-dir").arg(self.at("cache"));
        command.arg("--out").arg(self.at(run));
        command.current_dir(self.0.path());
        command
    }

    fn export(&self, run: &str, to: &str, more: &[&str]) -> Output {
        let mut command = sliver("export");
        command.arg(run).args(["--out", to]).args(more);
        command.current_dir(self.0.path());
        // Nothing of the system leads to data either.
        command.env_remove("SLIVER_DATA").env_remove("HOME");
        command.ran()
    }
}

#[track_caller]
fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(at: &Path, home: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(at).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, home, found);
            } else {
                let name = path.strip_prefix(home).expect("below").to_path_buf();
                found.insert(name, std::fs::read(&path).expect("readable"));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(folder, folder, &mut found);
    found
}

/// Both exports have the same files, to the last byte.
#[track_caller]
fn same(a: &Path, b: &Path) {
    let [a, b] = [a, b].map(files);
    assert!(a.len() > 4, "{:?}", a.keys());
    assert!(a.keys().eq(b.keys()), "{:?} {:?}", a.keys(), b.keys());
    for (name, bytes) in &a {
        assert!(bytes == &b[name], "{}", name.display());
    }
}

#[test]
fn an_export_from_the_runs_folder_alone_is_the_export_at_its_end() {
    for (experiment, more, most) in [
        (
            "swae",
            &["--records", "200", "--conditional", "--vary-pose", "1"][..],
            1050,
        ),
        ("swae", &["--records", "200", "--unconditional"], 1050),
        (
            "synth",
            &words(
                "glyphs --records 150 --public half --public-records 60 --public-epochs 1 --method marginals",
            ),
            150,
        ),
        // Latents without weights; where samples vary, each particle makes any number of them.
        ("synth", &words("glyphs --records 150 --public none"), 400),
        (
            "synth",
            &words(
                "glyphs --records 150 --public half --public-records 60 --public-epochs 1 --vary-texture 1",
            ),
            400,
        ),
        (
            "synth",
            &words("glyphs --records 200 --method generator"),
            1050,
        ),
    ] {
        let home = Home::new();
        let count = most.to_string();
        let mut command = home.command(experiment, "run", more);
        command.args(["--count", &count]);
        let png: &[&str] = match experiment {
            // Its copy lies in the run's folder.
            "synth" => &["--format", "png"],
            _ => &[],
        };
        match experiment {
            "synth" => command.args(png),
            _ => command.args(["--export", "first"]),
        };
        let said = done(&command.ran());
        assert!(said.contains("NOT PRIVATE"), "{said}");
        // A run that trains nothing public has none.
        let _ = std::fs::remove_dir_all(home.at("cache"));
        done(&home.export("run", "again", &[&["--count", &count], png].concat()));
        if experiment == "synth" {
            std::fs::rename(home.at("run/copy"), home.at("first")).expect("a copy");
        }
        same(&home.at("first"), &home.at("again"));

        let card = json(&home.at("first/card.json"));
        let run = json(&home.at("run/run.json"));
        let ledger = std::fs::read(home.at("run/ledger.jsonl")).expect("a ledger");
        let privacy = &card["privacy"];
        assert_eq!(privacy["ledger_sha256"], hex(&ledger), "{experiment}");
        assert_eq!(privacy["private"], false, "the noise is known");
        assert_eq!(privacy["delta"], 1e-4);
        assert_eq!(privacy["neighbours"], run["plan"]["neighbours"]);
        assert_eq!(privacy["accountant"], run["plan"]["accountant"]);
        assert_eq!(privacy["epsilon_upper"], run["epsilon_spent_upper"]);
        assert_eq!(card["public_knowledge"], run["public_knowledge"]);
        assert_eq!(
            (&card["count"], &card["sampling"]["seed"]),
            (&most.into(), &0.into())
        );
        for (name, sum) in card["sha256"].as_object().expect("sums") {
            let bytes = std::fs::read(home.at("first").join(name)).expect("a file");
            assert_eq!(sum, &serde_json::json!(hex(&bytes)), "{name}");
        }
        let pictures = files(&home.at("first/png"));
        assert_eq!(pictures.len(), most);
    }
}

#[test]
fn labels_and_images_are_read_back_and_the_first_ones_do_not_depend_on_how_many_follow() {
    let home = Home::new();
    let more = ["--records", "200", "--conditional"];
    done(&home.command("swae", "run", &more).ran());
    let exported = |name: &str, more: &[&str]| {
        done(&home.export("run", name, &[&["--format", "idx"], more].concat()));
        let raw = home.at(name).join("MNIST/raw");
        let images = read_images(&raw.join("train-images-idx3-ubyte.gz")).expect("images");
        let labels = read_labels(&raw.join("train-labels-idx1-ubyte.gz")).expect("labels");
        assert_eq!((images.height, images.width), (28, 28));
        assert_eq!(images.count, labels.len());
        (images.pixels, labels)
    };
    let (pixels, labels) = exported("some", &["--count", "1010"]);
    let counts = |class| labels.iter().filter(|&&label| label == class).count();
    assert!((0..10).all(|class| counts(class) == 101));
    let (more, further) = exported("more", &["--count", "2300"]);
    assert!(more.starts_with(&pixels) && further.starts_with(&labels));
    // What read private records stays with the run.
    let mut run = json(&home.at("run/run.json"));
    let secret = serde_json::json!({"name": "Reads private records: nearest", "value": 0.125});
    run["metrics"].as_array_mut().expect("scores").push(secret);
    std::fs::write(home.at("run/run.json"), run.to_string()).expect("written");
    let (other, _) = exported("other", &["--count", "1010", "--sample-seed", "1"]);
    assert_ne!(other, pixels);
    let scores = json(&home.at("other/card.json"))["scores"].clone();
    assert_eq!(
        scores.as_array().map(Vec::len),
        Some(run["metrics"].as_array().expect("scores").len() - 1)
    );
    let page = std::fs::read_to_string(home.at("other/README.md")).expect("a page");
    assert!(
        page.contains("## Scores") && !page.contains("Reads private"),
        "{page}"
    );
}

#[test]
fn what_cannot_be_exported_is_refused_and_nothing_is_left() {
    let home = Home::new();
    let swae = |run: &str, more: &[&str]| {
        let more = [&["--records", "200", "--unconditional"], more].concat();
        home.command("swae", run, &more).ran()
    };
    std::fs::create_dir(home.at("taken")).expect("a folder");
    // Before the run: it is not made.
    for (flags, words) in [
        (&["--count", "5"][..], "--export"),
        (&["--export", "new", "--count", "0"], "--count 0"),
        (
            &["--export", "new", "--count", "9000000000"],
            "--count 9000000000",
        ),
        (&["--export", "new", "--format", "csv"], "csv"),
        (&["--export", "taken"], "exists already"),
        (&["--export", "taken", "--force"], "no earlier export"),
    ] {
        let message = refusal(swae("refused", flags));
        assert!(message.contains(words), "{flags:?}: {message}");
        assert!(!home.at("refused").exists(), "{flags:?}");
    }
    let more = words("glyphs --records 150 --public half --public-records 60 --count 1000");
    let message = refusal(home.command("synth", "refused", &more));
    says(&message, &["--count 1000: the run has 15"]);
    // After it.
    done(&swae("run", &[]));
    let refused = |run: &str, words: &str| {
        let message = refusal(home.export(run, "new", &["--count", "3"]));
        assert!(message.contains(words), "{message}");
        assert!(!home.at("new").exists());
    };
    refused("taken", "no run");
    let file = |name: &str| home.at("run").join(name);
    let changed = |name: &str, bytes: Option<&[u8]>, words: &str| {
        let before = std::fs::read(file(name)).expect("a file");
        match bytes {
            Some(bytes) => std::fs::write(file(name), bytes).expect("written"),
            None => std::fs::remove_file(file(name)).expect("removed"),
        }
        refused("run", words);
        std::fs::write(file(name), before).expect("written");
    };
    changed("run.json", None, "not finished");
    changed("samples.json", None, "no samples.json");
    changed("samples.json", Some(b"{}"), "samples.json");
    changed("model.bpk", Some(b"nothing"), "model.bpk");
    changed("ledger.jsonl", None, "ledger is missing");
    let ledger = std::fs::read_to_string(file("ledger.jsonl")).expect("a ledger");
    let shorter = &ledger[..ledger.trim_end().rfind('\n').map_or(0, |at| at + 1)];
    changed("ledger.jsonl", Some(shorter.as_bytes()), "holds 2 releases");
    done(&home.export("run", "new", &["--count", "3"]));
    let output = home.export("run", "new", &["--count", "4"]);
    assert!(text(&output.stderr).contains("exists already"));
    done(&home.export("run", "new", &["--count", "4", "--force"]));
    assert_eq!(json(&home.at("new/card.json"))["count"], 4);
    // The same command again: the run is done, the export is made.
    let mut again = home.command("swae", "run", &["--records", "200", "--unconditional"]);
    let out: Vec<_> = again
        .get_args()
        .map(std::ffi::OsStr::to_os_string)
        .collect();
    again = Command::new(again.get_program());
    again.args(out.iter().map(|a| {
        if a == "--out" {
            "--run".into()
        } else {
            a.clone()
        }
    }));
    again.arg("--export").arg(home.at("again"));
    again.args(["--count", "4"]);
    done(&again.ran());
    same(&home.at("again"), &home.at("new"));
}

/// The blocks of the page, as they stand there.
fn snippets() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/images.md");
    let page = std::fs::read_to_string(page).expect("a page");
    let after = page.split("```python\n").skip(1);
    after
        .filter_map(|rest| Some(rest.split_once("```")?.0.to_string()))
        .collect()
}

#[test]
fn python_reads_an_export_as_the_page_says() {
    let home = Home::new();
    let more = words("--records 200 --conditional --export export --count 30");
    done(&home.command("swae", "run", &more).ran());
    let raw = home.at("export/MNIST/raw");
    let images = read_images(&raw.join("train-images-idx3-ubyte.gz")).expect("images");
    let sum: u64 = images.pixels.iter().map(|&p| u64::from(p)).sum();
    let snippets = snippets();
    for (module, shown) in [
        ("numpy", "print(images.shape, labels.shape, images.sum())"),
        (
            "torchvision",
            "print(tuple(train.data.shape), (len(train.targets),), int(train.data.sum()))",
        ),
        (
            "torchvision",
            "print((len(folder), 28, 28), (len(folder.targets),), sum(sum(x.convert('L').tobytes()) for x, _ in folder))",
        ),
    ] {
        let name = shown
            .split(['(', '.'])
            .nth(1)
            .unwrap_or_default()
            .trim_start_matches("tuple");
        let of = |code: &&String| match module {
            "numpy" => code.contains("numpy"),
            _ if shown.contains("folder") => code.contains("ImageFolder"),
            _ => code.contains("datasets.MNIST"),
        };
        let code = snippets
            .iter()
            .find(of)
            .unwrap_or_else(|| panic!("no code for {name}"));
        assert!(code.trim().lines().count() <= 4, "{code}");
        let Some(mut python) = test_support::python(&[module]) else {
            continue;
        };
        let output = python
            .current_dir(home.0.path())
            .args(["-c", &format!("{code}\n{shown}")])
            .ran();
        let said = done(&output);
        assert_eq!(said.trim(), format!("(30, 28, 28) (30,) {sum}"), "{module}");
    }
}
