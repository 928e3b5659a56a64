//! `synth --method` as a person runs it: what each method releases, promises and leaves, and how it stops and resumes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Once;

use dp_core::accounting::{Accountant, GaussianAccountant};
use dp_core::ledger::Ledger;

use crate::program::{
    Ran, done, folder, json, killed_after, last_checkpoint, ledger, lines, metrics, number, pld,
    refusal, refuses, says, sliver, stopped_after, text, words,
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
    let mut command = sliver("synth");
    command.args(words(line));
    command.args(["--backend", "flex", "--cache-dir"]);
    command.arg(cache());
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
    std::fs::read(out.join("latents.f32")).expect("latents")
}

#[test]
fn releases_are_of_one_budget_however_many_steps() {
    for (method, releases) in [(MARGINALS, 2), (FIXED, 1), (GENERATOR, 1)] {
        for steps in [3, 12] {
            let (_keep, out) = folder();
            done(small(
                &out,
                &format!("{method} --epsilon 2 --steps {steps}"),
            ));
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
        (
            "--method marginals --slices 16 --steps 3 --start public",
            true,
        ),
        (
            "--method marginals --slices 16 --steps 3 --labels public",
            false,
        ),
        ("--method fixed --slices 16 --steps 3", false),
        ("--cells 1", true),
    ] {
        let (_keep, out) = folder();
        let output = done(small(&out, &format!("{more} --epsilon 2")));
        let relation = match private {
            true => "neighbours: replace one record;",
            false => within,
        };
        let (printed, run) = (text(&output.stdout), json(&out.join("run.json")));
        assert!(printed.contains(relation), "{printed}");
        let sentence = run["privacy"].as_str().expect("a promise");
        assert!(
            sentence.contains(relation) && sentence.contains("of their labels") == private,
            "{sentence}"
        );
        let knew = run["public_knowledge"].as_str().expect("a sentence");
        for (says, holds) in [
            ("sizes of the classes are public", !private),
            ("class by class, by their labels", more.contains("--start")),
        ] {
            assert_eq!(knew.contains(says), holds, "{knew}");
        }
        // As many latents as asked for: their number depends on no class size.
        let samples = std::fs::read(out.join("labels.u8")).expect("labels").len();
        assert!((400..420).contains(&samples) && (!private || samples == 400));
    }
}

/// All records are private, unless the user says that half of them is public.
#[test]
fn a_half_is_public_where_the_user_says_so() {
    for (public, split) in [
        ("shapes --public-records 50", false),
        ("half --public-records 50", true),
    ] {
        let keep = tempfile::tempdir().expect("a folder");
        let (out, cache) = (keep.path().join("run"), keep.path().join("cache"));
        let mut command = sliver("synth");
        command.args(words(&format!(
            "glyphs --backend flex --public {public} --public-epochs 1 --records 300 --delta 1e-4 --quick-scores --count 9"
        )));
        command.arg("--cache-dir").arg(&cache);
        done(command.arg("--run").arg(&out));
        let notes = std::fs::read_dir(cache.join("splits")).expect("notes");
        let names: Vec<_> = notes
            .map(|file| file.expect("a file").file_name())
            .collect();
        let all = names
            .iter()
            .any(|name| name.to_string_lossy().contains(".use."));
        assert_eq!(all, !split, "{names:?}");
        let promise = json(&out.join("run.json"))["privacy"].to_string();
        let says = "and the other half of its training images";
        assert_eq!(promise.contains(says), split, "{promise}");
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
    let printed = text(&output.stdout);
    says(
        &printed,
        &["training an autoencoder on 500 records of shapes"],
    );
    let run = json(&out.join("run.json"));
    let knew = run["public_knowledge"].as_str().expect("a sentence");
    says(&knew, &["500 public images: shapes that the program draws"]);
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
    for (method, releases) in [
        (MARGINALS, 2),
        (FIXED, 1),
        (RESAMPLED, 5),
        (LATENT, 5),
        (GENERATOR, 1),
        (PROJECTIONS, 5),
    ] {
        let (_keep, out) = folder();
        done(small(&out, &format!("{method} --steps 5")));
        let run = json(&out.join("run.json"));
        assert_eq!(run["private"], true);
        for name in ["samples.png", "report.html", "copy/card.json"] {
            assert!(out.join(name).exists(), "{method}: {name}");
        }
        assert_eq!(ledger(&out).releases(), releases, "{method}");
        if [RESAMPLED, LATENT].contains(&method) {
            let rows = latents(&out).len() / 4 / 8;
            assert!((400..=420).contains(&rows), "{rows}");
            // The rows of a release lie in the order of the records: none of them is published.
            let files = std::fs::read_dir(&out).expect("a folder");
            let names = files.map(|f| f.expect("a file").file_name().into_string().expect("UTF-8"));
            let others: Vec<String> = names
                .filter(|n| !words(PUBLISHED).contains(&&**n))
                .collect();
            assert!(others.is_empty(), "{others:?}");
        }
    }
}

#[test]
fn the_ledger_of_a_resampled_copy_gives_its_epsilon() {
    let (_keep, out) = folder();
    done(small(
        &out,
        &format!("{RESAMPLED} --steps 8 --noise-multiplier 0.9"),
    ));
    let replayed = pld(&ledger(&out).event().expect("one event"), 1e-4);
    let promised = number(&json(&out.join("run.json"))["plan"]["epsilon_upper"]);
    assert!(
        (replayed - promised).abs() < 1e-3 * promised,
        "{replayed} {promised}"
    );
}

/// Images without classes, in an autoencoder of photographs.
#[test]
fn a_folder_of_photographs() {
    let (keep, out) = folder();
    for (name, places) in [("private", 0..30_u32), ("public", 30..50), ("test", 50..60)] {
        let folder = keep.path().join(name);
        std::fs::create_dir(&folder).expect("created");
        for i in places {
            let colour = |x: u32, y: u32| image::Rgb([(x * 2) as u8, (y * 2) as u8, (4 * i) as u8]);
            let picture = image::RgbImage::from_fn(90, 70, colour);
            picture
                .save(folder.join(format!("{i}.png")))
                .expect("a picture");
        }
    }
    let mut command = synth(
        "private --public public --test test --side 64 --channels 3 --encoder learned --width 2 --latent 8 --public-epochs 1 \
         --method resampled --slices 16 --particles 30 --steps 3 --batch 10",
    );
    done(command.current_dir(keep.path()).arg("--run").arg(&out));
    let run = json(&out.join("run.json"));
    assert_eq!(run["plan"]["neighbours"], "replace one record");
    // One tenth of one in as many as there are.
    assert!(number(&run["plan"]["delta"]) <= 0.1 / 30.0);
    assert!(run["images"]["sliced_w2_squared"].as_f64().is_some());
    assert!(run["latent_sliced_w2_squared"].as_f64().is_some());
    assert_eq!(ledger(&out).releases(), 3);
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
        std::fs::remove_file(out.join("run.json")).expect("removed");
        std::fs::remove_file(&picture).expect("removed");
        std::fs::create_dir(&picture).expect("a folder");
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
    let known = "--insecure-noise-seed 4 --checkpoint-every 7 --steps 40";
    let (_keep, whole) = folder();
    done(small(&whole, &format!("{RESAMPLED} {known}")));
    let (_keep, killed) = folder();
    for step in [10, 20, 30] {
        let mut command = small(&killed, &format!("{RESAMPLED} {known}"));
        killed_after(&mut command, &killed, step);
    }
    done(small(&killed, &format!("{RESAMPLED} {known}")));
    assert!(latents(&killed) == latents(&whole));
    // From checkpoints at 7, 14 and 28.
    assert_eq!(lines(&killed), 40 + 3 + 6 + 2);
    for method in [GENERATOR, PROJECTIONS] {
        let settings = format!("{method} --steps 6 --insecure-noise-seed 3 --checkpoint-every 2");
        let (_keep, whole) = folder();
        done(small(&whole, &settings));
        let (_keep, again) = folder();
        killed_after(&mut small(&again, &settings), &again, 5);
        done(small(&again, &settings));
        let weights = |out: &Path| std::fs::read(out.join("weights.f32")).expect("weights");
        assert!(weights(&again) == weights(&whole), "{method}");
        assert_eq!(metrics(&again).0, metrics(&whole).0, "{method}");
    }
}

/// What a program printed, on one line.
fn line(bytes: &[u8]) -> String {
    let message = text(bytes).replace('│', " ");
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_stored_release_tells_of_a_ledger_that_was_lost() {
    let (_keep, out) = folder();
    let settings = format!("{FIXED} --epsilon 2 --steps 3");
    done(small(&out, &settings));
    let before = json(&out.join("run.json"));
    // As where it was killed before its last line.
    std::fs::remove_file(out.join("run.json")).expect("removed");
    let (ledger, hidden) = (out.join("ledger.jsonl"), out.join("hidden"));
    std::fs::rename(&ledger, &hidden).expect("moved");
    for lost in [true, false] {
        if !lost {
            std::fs::write(&ledger, "").expect("written");
        }
        let message = refusal(small(&out, &settings));
        assert!(message.contains("release.bin tells of 1"), "{message}");
        assert_eq!(ledger.exists(), !lost);
    }
    std::fs::rename(&hidden, &ledger).expect("moved");
    done(small(&out, &settings));
    assert_eq!(Ledger::read(&ledger).expect("a ledger").entries.len(), 1);
    let after = json(&out.join("run.json"));
    assert_eq!(after["epsilon_spent_upper"], before["epsilon_spent_upper"]);
}

/// Noise of a run meets no latents of another autoencoder, and no other images; new noise is said.
#[test]
fn noise_never_meets_other_latents() {
    let (keep, out) = folder();
    let cache = keep.path().join("cache");
    let mine = |line: &str| {
        let mut command = sliver("synth");
        command.args(words(line)).args(["--backend", "flex"]);
        command.arg("--cache-dir").arg(&cache);
        command
    };
    let mut command = mine(&format!(
        "{HALF} {RESAMPLED} --steps 300 --checkpoint-every 7"
    ));
    command.arg("--run").arg(&out);
    stopped_after(&mut command, 20);
    let resume = || mine("").arg("--resume").arg(&out).ran();

    let weights = std::fs::read_dir(cache.join("autoencoders")).expect("a folder");
    let weights = weights.map(|entry| entry.expect("an entry").path()).next();
    let weights = weights.expect("an autoencoder");
    let bytes = std::fs::read(&weights).expect("readable");
    let mut other = bytes[64..].to_vec();
    other[400] ^= 1;
    let sum = lab::checkpoint::hex(&other).into_bytes();
    std::fs::write(&weights, [sum, other].concat()).expect("written");
    let public = out.join("public.json");
    let kept = std::fs::read(&public).expect("public");
    says(&refusal(resume()), &["is another than the run began with"]);
    // Not by that file alone.
    std::fs::remove_file(&public).expect("removed");
    says(&refusal(resume()), &["other weights of the autoencoder"]);
    std::fs::write(&public, kept).expect("written");
    std::fs::write(&weights, bytes).expect("written");

    // A checkpoint whose key went resumes with new noise, and says so, on the page too.
    std::fs::remove_file(last_checkpoint(&out).join("noise.json")).expect("a key");
    let message = line(&done(resume()).stdout);
    assert!(message.contains("new noise"), "{message}");
    let warnings = json(&out.join("run.json"))["warnings"].to_string();
    assert!(warnings.contains("new noise"), "{warnings}");
}

/// The longest part of a copy stops too, keeps its training, and resumes with it.
#[cfg(unix)]
#[test]
fn a_signal_stops_the_autoencoder_which_resumes_where_it_was() {
    let (keep, out) = folder();
    let cache = keep.path().join("cache");
    let start = |line: &str| {
        let mut command = sliver("synth");
        command.args(words(line)).arg(&out);
        command
            .args(["--backend", "flex", "--cache-dir"])
            .arg(&cache);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the binary starts")
    };
    // Minutes of training, if nothing stops it.
    let long = "glyphs --public half --records 400 --public-records 200 --public-epochs 2000 --delta 1e-4 --run";
    let mut child = start(&format!("{FIXED} {long}"));
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(lines.any(|l| l.expect("text").contains("training an autoencoder")));
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &id]).status();
    assert!(killed.expect("kill").success());
    lines.for_each(drop);
    let output: Output = child.wait_with_output().expect("a child");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    says(
        &message,
        &["an autoencoder was trained, after step", "--resume"],
    );
    let mut child = start("--resume");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let line = lines.find_map(|l| Some(l.expect("text")).filter(|l| l.contains("training an")));
    assert!(line.expect("a line").contains(", from step "));
    child.kill().expect("killed");
    child.wait().expect("a child");
}

#[test]
fn without_privacy_nothing_is_promised() {
    let (_keep, out) = folder();
    done(small(&out, &format!("{GENERATOR} --steps 3 --no-privacy")));
    assert_eq!(json(&out.join("run.json"))["private"], false);
}

/// Runs of subcommands that are gone are no runs of `synth`.
#[test]
fn folders_of_before_are_refused() {
    for settings in ["mechanism = \"mixture\"\n", "release = \"marginals\"\n"] {
        let (_keep, out) = folder();
        std::fs::create_dir(&out).expect("a folder");
        std::fs::write(out.join("config.toml"), settings).expect("written");
        let message = refusal(synth("").arg("--resume").arg(&out));
        assert!(message.contains("the program that started it"), "{message}");
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    let cases = "
            --method marginals --slices 3 --latent 8 => --slices 3
            --method marginals --bins 12 => --bins 12
            --delta 0.01 --public half => delta = 0.01
            --public glyphs => --public glyphs
            --public half --input shapes => --public half
            --method marginals --public none --start public => --public none
            --cells 0 => --cells 0
            --cells 65 => --cells 65
            --particles 9 => --particles 9
            --vary-tone -1 => --vary-tone -1: it must be at least 0 and at most 3
            --public none --public-epochs 2 => --public none
            --records 999999 => --records 999999
            --public-records 0 => --public-records 0
            --method marginals --learning-rate -1 => --learning-rate -1
            --method resampled --batch 5 => --batch 5
            --method resampled --labels private => --labels
            --method fixed --batch 5 => --batch 5: it must be left out
            --method generator --slices 0 => --slices 0
            --method generator --bins 12 => --bins 12
            --method generator --slices 10 --slices-per-step 11 => --slices-per-step 11
            --method generator --public half => --public half: it must be shapes
            --method projections --slices 1000 => a power of two
            --method projections --slices 512 => at least 794
            --method projections --batch 500 => --batch 500
            --method mean => invalid value 'mean'
            --input shapes --records 50 --method fixed => --records 50: it must be left out with --method fixed
            --input shapes --records 50 --method generator => --records 50: it must be left out with --method generator
        ";
    refuses(cases, |out, more| {
        let records = if more.contains(&"--records") {
            ""
        } else {
            "--records 400"
        };
        let input = if more.contains(&"--input") {
            ""
        } else {
            "--input glyphs"
        };
        let line = format!("{input} {records} {}", more.join(" "));
        synth(&line).arg("--out").arg(out).ran()
    });
}
