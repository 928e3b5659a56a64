//! `synth --method` as a person runs it: what each method releases, promises and leaves, and how it stops and resumes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;

use dp_core::accounting::{Accountant, GaussianAccountant};

use crate::program::{
    Home, Ran, bytes_at, done, files, folder, json, last_checkpoint, ledger, lines, make_folder,
    metrics, number, pld, put, refusal, remove, rename, says, signal, sliver, stopped_after, text,
    unwrapped, whole_and_killed, words,
};

/// Splits and autoencoders, shared by the tests of one run: each setting is trained once, and nothing is left over from another
/// version of the program.
fn cache() -> PathBuf {
    static EMPTIED: Once = Once::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("methods-cache");
    EMPTIED.call_once(|| {
        let _ = std::fs::remove_dir_all(&folder);
    });
    folder
}

fn synth(line: &str) -> Command {
    let mut command = sliver("synth --backend flex");
    command.args(words(line)).arg("--cache-dir").arg(cache());
    command
}

/// Beside a public half of the same data.
const HALF: &str = "glyphs --public half --records 400 --public-records 200 --public-epochs 1 --latent 8 --quick-scores \
                    --delta 1e-4 --count 20";
/// Without public images.
const ALONE: &str = "glyphs --records 300 --quick-scores --scored 100 --delta 1e-4 --count 20";

const MARGINALS: &str = "--method marginals --slices 16";
const FIXED: &str = "--method fixed --slices 16";
const RESAMPLED: &str = "--method resampled --slices 16 --batch 50";
const LATENT: &str = "--method latent-generator --slices 16 --batch 50";
const GENERATOR: &str = "--method generator --slices 12 --slices-per-step 8";
const PROJECTIONS: &str = "--method projections --batch 20 --slices-per-step 8";

/// A run of a few seconds.
fn small(out: &Path, more: &str) -> Command {
    let alone = more.contains("--method generator") || more.contains("--method projections");
    let before = if alone { ALONE } else { HALF };
    let mut command = synth(&format!("{before} {more}"));
    command.arg("--run").arg(out);
    command
}

fn latents(out: &Path) -> Vec<u8> {
    bytes_at(out.join("latents.f32"))
}

#[test]
fn releases_are_of_one_budget_however_many_steps() {
    for (method, releases) in [(MARGINALS, 2), (FIXED, 1), (GENERATOR, 1)] {
        for steps in [3, 12] {
            let (_keep, out) = folder();
            let flags = format!("{method} --epsilon 2 --steps {steps}");
            done(small(&out, &flags));
            let entries = ledger(&out);
            assert_eq!(entries.releases(), releases, "{method} {steps}");
            let event = entries.event().expect("one event");
            let epsilon = GaussianAccountant.epsilon(&event, 1e-4).expect("covered");
            assert!((1.999..=2.0).contains(&epsilon), "{epsilon}");
            let run = json(&out.join("run.json"));
            assert_eq!(run["epsilon_spent_upper"], run["plan"]["epsilon_upper"]);
        }
    }
}

/// A neighbour may have another label, unless the sizes of the classes are public.
#[test]
fn a_promise_says_whether_labels_are_private() {
    let within =
        "neighbours: replace one record by one of its group, group sizes public (groups: classes);";
    for (more, private) in [
        ("marginals --slices 16 --steps 3 --start public", true),
        ("marginals --slices 16 --steps 3 --labels public", false),
        ("fixed --slices 16 --steps 3", false),
        ("mixture --cells 1", true),
    ] {
        let (_keep, out) = folder();
        let output = done(small(&out, &format!("--method {more} --epsilon 2")));
        let relation = match private {
            true => "neighbours: replace one record;",
            false => within,
        };
        says(&text(&output.stdout), &[relation]);
        let run = json(&out.join("run.json"));
        let sentence = run["privacy"].as_str().expect("a promise");
        says(sentence, &[relation]);
        assert_eq!(sentence.contains("of their labels"), private, "{sentence}");
        let knew = run["public_knowledge"].as_str().expect("a sentence");
        for (words, holds) in [
            ("sizes of the classes are public", !private),
            ("class by class, by their labels", more.contains("--start")),
        ] {
            assert_eq!(knew.contains(words), holds, "{knew}");
        }
        // As many latents as asked for: their number depends on no class size.
        let samples = bytes_at(out.join("labels.u8")).len();
        assert!((400..420).contains(&samples) && (!private || samples == 400));
    }
}

/// All records are private, unless the user says that half of them is public.
#[test]
fn a_half_is_public_where_the_user_says_so() {
    for (public, split) in [("shapes", false), ("half", true)] {
        let home = Home::new();
        home.done(&format!(
            "synth glyphs --backend flex --public {public} --public-records 50 --public-epochs 1 --records 300 --delta 1e-4 \
             --quick-scores --count 9 --cache-dir own --run run"
        ));
        let notes = files(&home.at("own/splits")).into_keys();
        let names: Vec<String> = notes.map(|name| name.display().to_string()).collect();
        let all = names.iter().any(|name| name.contains(".use."));
        assert_eq!(all, !split, "{names:?}");
        let promise = home.json("run/run.json")["privacy"].to_string();
        let other = "and the other half of its training images";
        assert_eq!(promise.contains(other), split, "{promise}");
    }
}

/// Shapes have no end: every pass sees others.
#[test]
fn shapes_are_public_and_of_no_class() {
    let (_keep, out) = folder();
    let line = format!(
        "glyphs --public shapes --encoder learned --public-records 250 --public-epochs 2 --records 200 --latent 8 --delta 1e-4 \
         --quick-scores --steps 3 --count 9 {MARGINALS}"
    );
    let output = done(synth(&line).arg("--out").arg(&out));
    let words = ["training an autoencoder on 500 records of shapes"];
    says(&text(&output.stdout), &words);
    let words = ["500 public images: shapes that the program draws"];
    says(&json(&out.join("run.json"))["public_knowledge"], &words);
}

/// If public records show the classes of the private ones, a run reports what they teach alone. It rests on no private record:
/// another run finds it in the cache. Shapes show no class.
#[test]
fn public_records_alone_are_the_baseline_of_the_scores() {
    let run = |more: &str| {
        let (_keep, out) = folder();
        let line = format!(
            "glyphs --cells 1 --public-epochs 1 --delta 1e-4 --particles 200 --scored 200 --latent 8 --count 9 {more}"
        );
        let output = done(synth(&line).arg("--run").arg(&out));
        (text(&output.stdout), json(&out.join("run.json")))
    };
    let (printed, first) = run("--public half --records 300 --public-records 180");
    says(
        &printed,
        &["baseline  180 public records alone, varied as the samples are"],
    );
    let taught = &first["baseline"]["images"]["downstream_mlp"];
    assert_eq!(taught["training_records"], 180, "{}", first["baseline"]);
    let names = first["metrics"].as_array().expect("metrics").iter();
    let names: Vec<&str> = names.filter_map(|metric| metric["name"].as_str()).collect();
    let baseline = names
        .iter()
        .filter(|name| name.starts_with("Baseline: accuracy"));
    assert_eq!(baseline.count(), 2, "{names:?}");
    let (printed, second) = run("--public half --records 250 --public-records 180");
    says(&printed, &["baseline  the public records alone, from"]);
    assert_eq!(first["baseline"], second["baseline"]);
    let (printed, shapes) = run("--public shapes --records 300 --public-records 50");
    assert!(
        !printed.contains("baseline  ") && shapes["baseline"].is_null(),
        "{printed}"
    );
}

/// What the folder of a method that releases at each step holds at its end, beside its copy.
const PUBLISHED: &str = ".lock autoencoder.f32 labels.u8 command.txt asked.json config.toml ledger.jsonl metrics.jsonl latents.f32 \
                         public.json samples.json samples.png reconstructions.png run.json report.html copy";

#[test]
fn each_way_of_copying_leaves_everything_behind() {
    let without = format!("{GENERATOR} --no-privacy");
    for (method, releases) in [
        (MARGINALS, 2),
        (FIXED, 1),
        (RESAMPLED, 5),
        (LATENT, 5),
        (GENERATOR, 1),
        (PROJECTIONS, 5),
        (&*without, 0),
    ] {
        let (_keep, out) = folder();
        done(small(&out, &format!("{method} --steps 5")));
        let run = json(&out.join("run.json"));
        assert_eq!(run["private"], releases > 0);
        for name in ["samples.png", "report.html", "copy/card.json"] {
            assert!(out.join(name).exists(), "{method}: {name}");
        }
        assert_eq!(lines(&out), releases, "{method}");
        if method == RESAMPLED {
            // The ledger alone gives its epsilon.
            let replayed = pld(&ledger(&out).event().expect("one event"), 1e-4);
            let promised = number(&run["plan"]["epsilon_upper"]);
            let apart = (replayed - promised).abs();
            assert!(apart < 1e-3 * promised, "{replayed} {promised}");
        }
        if [RESAMPLED, LATENT].contains(&method) {
            let rows = latents(&out).len() / 4 / 8;
            assert!((400..=420).contains(&rows), "{rows}");
            // The rows of a release lie in the order of the records: none of them is published.
            for name in files(&out).into_keys() {
                let first = name.iter().next().and_then(|name| name.to_str());
                let published = words(PUBLISHED).contains(&first.expect("a name"));
                assert!(published, "{}", name.display());
            }
        }
    }
}

/// Images without classes, in an autoencoder of photographs.
#[test]
fn a_folder_of_photographs() {
    let home = Home::new();
    for (name, places) in [("private", 0..30_u32), ("public", 30..50), ("test", 50..60)] {
        for i in places {
            let colour = |x: u32, y: u32| image::Rgb([(x * 2) as u8, (y * 2) as u8, (4 * i) as u8]);
            let picture = image::RgbImage::from_fn(90, 70, colour);
            let path = home.put(&format!("{name}/{i}.png"), "");
            picture.save(path).expect("a picture");
        }
    }
    home.done(
        "synth private --public public --test test --side 64 --channels 3 --encoder learned --width 2 --latent 8 --public-epochs 1 \
         --method resampled --slices 16 --particles 30 --steps 3 --batch 10 --backend flex --run run",
    );
    let run = home.json("run/run.json");
    assert_eq!(run["plan"]["neighbours"], "replace one record");
    // One tenth of one in as many as there are.
    assert!(number(&run["plan"]["delta"]) <= 0.1 / 30.0);
    number(&run["images"]["sliced_w2_squared"]);
    number(&run["latent_sliced_w2_squared"]);
    assert_eq!(lines(&home.at("run")), 3);
}

/// Judging fails, as where it is interrupted: the steps are not made again.
#[test]
fn a_copy_that_could_not_be_judged_resumes_without_another_release() {
    for method in [RESAMPLED, LATENT] {
        let settings = format!("{method} --steps 5");
        let (_keep, out) = folder();
        done(small(&out, &settings));
        // No checkpoint is left: the run resumes from its start, and what it draws cannot be written.
        let picture = out.join("samples.png");
        remove(out.join("run.json"));
        remove(&picture);
        make_folder(&picture);
        let failed = small(&out, &settings).ran();
        assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
        assert_eq!(lines(&out), 10);
        std::fs::remove_dir(&picture).expect("removed");
        done(small(&out, &settings));
        assert_eq!(lines(&out), 10);
        assert!(!out.join("checkpoints").exists());
    }
}

#[test]
fn a_killed_run_resumes_to_the_same_end() {
    let run = |out: &Path| {
        let known = "--insecure-noise-seed 4 --checkpoint-every 7 --steps 40";
        small(out, &format!("{RESAMPLED} {known}"))
    };
    let [(_whole, whole), (_killed, killed)] = whole_and_killed(run, &[10, 20, 30]);
    assert!(latents(&killed) == latents(&whole));
    // From checkpoints at 7, 14 and 28.
    assert_eq!(lines(&killed), 40 + 3 + 6 + 2);
    let settings = format!("{GENERATOR} --steps 6 --insecure-noise-seed 3 --checkpoint-every 2");
    let run = |out: &Path| small(out, &settings);
    let [(_whole, whole), (_killed, killed)] = whole_and_killed(run, &[5]);
    let weights = |out: &Path| bytes_at(out.join("weights.f32"));
    assert!(weights(&killed) == weights(&whole));
    assert_eq!(metrics(&killed).0, metrics(&whole).0);
}

#[test]
fn a_stored_release_tells_of_a_ledger_that_was_lost() {
    let (_keep, out) = folder();
    let settings = format!("{FIXED} --epsilon 2 --steps 3");
    done(small(&out, &settings));
    let spent = || json(&out.join("run.json"))["epsilon_spent_upper"].clone();
    let before = spent();
    // As where it was killed before its last line.
    remove(out.join("run.json"));
    let (ledger, hidden) = (out.join("ledger.jsonl"), out.join("hidden"));
    rename(&ledger, &hidden);
    for lost in [true, false] {
        if !lost {
            put(&ledger, "");
        }
        let words = ["release.bin tells of 1"];
        says(&refusal(small(&out, &settings)), &words);
        assert_eq!(ledger.exists(), !lost);
    }
    rename(&hidden, &ledger);
    done(small(&out, &settings));
    assert_eq!((lines(&out), spent()), (1, before));
}

/// Noise of a run meets no latents of another autoencoder, and no other images; new noise is said.
#[test]
fn noise_never_meets_other_latents() {
    let home = Home::new();
    let out = home.at("run");
    let mut command = home.sliver(&format!(
        "synth {HALF} {RESAMPLED} --backend flex --steps 300 --checkpoint-every 7 --cache-dir own --run run"
    ));
    stopped_after(&mut command, 20);
    let resume = || home.sliver("synth --resume run --backend flex --cache-dir own");

    let folder = home.at("own/autoencoders");
    let (name, bytes) = files(&folder).pop_first().expect("an autoencoder");
    let weights = folder.join(name);
    let mut other = bytes[64..].to_vec();
    other[400] ^= 1;
    let sum = lab::checkpoint::hex(&other).into_bytes();
    put(&weights, [sum, other].concat());
    let public = out.join("public.json");
    let kept = bytes_at(&public);
    says(&refusal(resume()), &["is another than the run began with"]);
    // Not by that file alone.
    remove(&public);
    says(&refusal(resume()), &["other weights of the autoencoder"]);
    put(&public, kept);
    put(&weights, bytes);

    // A checkpoint whose key went resumes with new noise, and says so, on the page too.
    remove(last_checkpoint(&out).join("noise.json"));
    says(&unwrapped(&done(resume()).stdout), &["new noise"]);
    says(&json(&out.join("run.json"))["warnings"], &["new noise"]);
}

/// The longest part of a copy stops too, keeps its training, and resumes with it.
#[cfg(unix)]
#[test]
fn a_signal_stops_the_autoencoder_which_resumes_where_it_was() {
    let home = Home::new();
    let start = |line: &str| {
        let mut command = home.sliver(&format!("synth {line} --backend flex"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let line = lines.find_map(|l| Some(l.expect("text")).filter(|l| l.contains("training an")));
        (child, line.expect("a line"), lines)
    };
    // Minutes of training, if nothing stops it.
    let long = "glyphs --public half --records 400 --public-records 200 --public-epochs 2000 --delta 1e-4 --run run";
    let (child, _, lines) = start(&format!("{FIXED} {long}"));
    signal(child.id(), "TERM");
    lines.for_each(drop);
    let output = child.wait_with_output().expect("a child");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    let words = ["an autoencoder was trained, after step", "--resume"];
    says(&message, &words);
    let (mut child, line, _) = start("--resume run");
    says(&line, &[", from step "]);
    child.kill().expect("killed");
    child.wait().expect("a child");
}
