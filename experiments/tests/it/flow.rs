//! `flow` as a person runs it: through the binary, in a folder of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Once;

use dp_core::accounting::{Accountant, Event, GaussianAccountant};
use dp_core::ledger::{Entries, Ledger};

use crate::program::{
    Ran, done, folder, json, killed_after, last_checkpoint, ledger, lines, number, pld, refusal,
    refuses, says, sliver, stopped_after, text, words,
};

/// Splits and autoencoders, shared by the tests of one run: each setting is trained once, and nothing
/// is left over from another version of the program.
fn cache() -> PathBuf {
    static EMPTIED: Once = Once::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("flow-cache");
    EMPTIED.call_once(|| {
        let _ = std::fs::remove_dir_all(&folder);
    });
    folder
}

/// A mechanism may come first.
fn flow(arguments: &[&str]) -> Command {
    let mut command = sliver("flow");
    command.args(arguments);
    command.args(["--backend", "flex", "--cache-dir"]);
    command.arg(cache());
    command
}

/// A run of a few seconds.
fn small(out: &Path, more: &[&str]) -> Output {
    of_seconds(out, more).ran()
}

fn of_seconds(out: &Path, more: &[&str]) -> Command {
    let mut command = flow(more);
    command.args(["--records", "400", "--public-records", "200"]);
    command.args(["--public-epochs", "1", "--quick-scores"]);
    command.args(["--delta", "1e-4"]);
    command.arg("--run").arg(out);
    command
}

const fn by(name: &'static str, flag: &'static str, value: &'static str) -> [&'static str; 5] {
    [name, "--slices", "16", flag, value]
}

const MARGINALS: &[&str] = &by("marginals", "--moments-share", "0");
const FIXED: &[&str] = &by("fixed", "--slices-per-step", "8");
const RESAMPLED: &[&str] = &by("resampled", "--batch", "50");
const GENERATOR: &[&str] = &by("generator", "--batch", "50");

#[test]
fn one_release_however_many_steps() {
    for mechanism in [MARGINALS, FIXED] {
        for steps in ["3", "30"] {
            let (_keep, out) = folder();
            done(small(
                &out,
                &[mechanism, &["--epsilon", "2", "--steps", steps]].concat(),
            ));
            let entries = ledger(&out).entries;
            assert_eq!(entries.len(), 1, "{mechanism:?} {steps}");
            assert_eq!(entries[0].count, 1);
            let epsilon = GaussianAccountant
                .epsilon(&entries[0].event, 1e-4)
                .expect("covered");
            assert!((1.999..=2.0).contains(&epsilon), "{epsilon}");
        }
    }
}

#[test]
fn moments_and_marginals_are_two_releases_of_one_budget_however_many_steps() {
    for steps in ["7", "30"] {
        let (_keep, out) = folder();
        let more = [
            "marginals",
            "--slices",
            "16",
            "--epsilon",
            "2",
            "--steps",
            steps,
            "--moments-share",
            "0.3",
        ];
        done(small(&out, &more));
        let releases = ledger(&out);
        assert_eq!(releases.entries.len(), 2);
        let event = releases.event().expect("one event");
        let epsilon = pld(&event, 1e-4);
        assert!((1.99..=2.0).contains(&epsilon), "{epsilon}");
        let run = json(&out.join("run.json"));
        assert_eq!(run["epsilon_spent_upper"], run["plan"]["epsilon_upper"]);
    }
}

/// By default a neighbour may have another label; with public class sizes it is one of the same class.
#[test]
fn a_promise_says_whether_labels_are_private() {
    for (mechanism, labels, relation) in [
        ("marginals", "private", "neighbours: replace one record;"),
        ("mixture", "private", "neighbours: replace one record;"),
        (
            "marginals",
            "public",
            "neighbours: replace one record by one of its group, group sizes public (groups: classes);",
        ),
    ] {
        let (_keep, out) = folder();
        let mut more = vec![mechanism, "--epsilon", "2"];
        if labels == "public" {
            more.extend(["--labels", labels]);
        }
        if mechanism == "marginals" {
            more.extend(["--steps", "3", "--slices", "16", "--start", "public"]);
        }
        let output = done(small(&out, &more));
        let (printed, run) = (text(&output.stdout), json(&out.join("run.json")));
        assert!(printed.contains(relation), "{printed}");
        let sentence = run["privacy"].as_str().expect("a promise");
        assert!(
            sentence.contains(relation)
                && sentence.contains("of their labels") == (labels == "private"),
            "{sentence}"
        );
        let knew = run["public_knowledge"].as_str().expect("a sentence");
        assert_eq!(
            knew.contains("sizes of the classes are public"),
            labels == "public",
            "{knew}"
        );
        assert_eq!(
            knew.contains("class by class, by their labels"),
            mechanism == "marginals",
            "{knew}"
        );
        // As many samples as asked for: their number tells of no size.
        let samples = std::fs::read(out.join("labels.u8")).expect("labels").len();
        assert_eq!(samples, 400);
    }
    for (flags, said) in [
        (&["resampled", "--labels", "private"][..], "--labels"),
        (&["--private-part", "all"], "--private-part all"),
        (&["mixture", "--cells", "65"], "--cells 65"),
        (
            &["marginals", "--start", "public", "--moments-share", "0"],
            "--start",
        ),
        (&["--particles", "9"], "--particles 9"),
    ] {
        let (_keep, out) = folder();
        let refused = refusal(small(&out, flags));
        assert!(refused.contains(said), "{refused}");
    }
}

/// Beside public records of another kind, all training records may be private; half of them is, where asked for.
#[test]
fn all_records_are_private_where_none_of_them_is_public() {
    for (part, warned) in [(&[][..], false), (&["--private-part", "half"], true)] {
        let keep = tempfile::tempdir().expect("a folder");
        let out = keep.path().join("run");
        let mut command = sliver("flow");
        command.args(words(
            "--backend flex --public shapes --public-records 50 --public-epochs 1",
        ));
        command.args(["--records", "300", "--delta", "1e-4", "--quick-scores"]);
        command.arg("--cache-dir").arg(keep.path().join("cache"));
        command.args(part);
        done(command.arg("--run").arg(&out).ran());
        let config = std::fs::read_to_string(out.join("config.toml")).expect("settings");
        assert_eq!(
            config.contains("private-part = \"half\""),
            warned,
            "{config}"
        );
        let splits = std::fs::read_dir(keep.path().join("cache/splits")).expect("notes");
        let names: Vec<String> = splits
            .map(|file| {
                file.expect("a file")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .collect();
        assert_eq!(
            names.iter().any(|name| name.contains(".use.")),
            !warned,
            "{names:?}"
        );
    }
}

/// Shapes have no end: more of them than there are private records, and every pass sees others.
#[test]
fn shapes_are_public_and_of_no_class() {
    let (_keep, out) = folder();
    let more = ["--public", "shapes", "--public-records", "250"];
    let more = [&more[..], &["--public-epochs", "2", "--steps", "3"]].concat();
    let mut command = flow(MARGINALS);
    command.args(["--records", "200", "--delta", "1e-4", "--quick-scores"]);
    let output = done(command.args(more).arg("--out").arg(&out).ran());
    let printed = text(&output.stdout);
    says(
        &printed,
        &["training an autoencoder on 500 records of shapes"],
    );
    let run = json(&out.join("run.json"));
    let knew = run["public_knowledge"].as_str().expect("a sentence");
    says(&knew, &["500 records of shapes", "of no class"]);
    let promise = run["privacy"].as_str().expect("a promise");
    says(&promise, &["Public: shapes that the program draws"]);
    let none = flow(&["--public", "shapes", "--public-records", "0"]);
    let refused = text(&none.ran().stderr);
    assert!(refused.contains("--public-records 0"), "{refused}");
}

/// Where public records show the classes of the private ones, a run reports what they teach alone. It rests on
/// no private record: another run finds it in the cache. Shapes show no class.
#[test]
fn public_records_alone_are_the_baseline_of_the_scores() {
    let run = |more: &[&str]| {
        let (_keep, out) = folder();
        let base = words("mixture --cells 1 --public-epochs 1 --delta 1e-4");
        let scores = ["--particles", "200", "--scored", "200"];
        let mut command = flow(&[&base[..], &scores, more].concat());
        let output = done(command.arg("--run").arg(&out).ran());
        (text(&output.stdout), json(&out.join("run.json")))
    };
    let (printed, first) = run(&["--records", "300", "--public-records", "180"]);
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
    let (printed, second) = run(&["--records", "250", "--public-records", "180"]);
    says(&printed, &["baseline  the public records alone, from"]);
    assert_eq!(first["baseline"], second["baseline"]);
    let (printed, shapes) = run(&words("--records 300 --public shapes --public-records 50"));
    assert!(!printed.contains("baseline  "), "{printed}");
    assert!(shapes["baseline"].is_null(), "{}", shapes["baseline"]);
}

/// Where latents are cosines no public record is read, nothing is trained, and all records are private.
#[test]
fn cosines_learn_from_nothing() {
    let keep = tempfile::tempdir().expect("a folder");
    let (out, cache) = (keep.path().join("run"), keep.path().join("cache"));
    let mut command = sliver("flow");
    command.args(["--backend", "flex", "--public", "cosines"]);
    command.args(["--records", "300", "--delta", "1e-4", "--quick-scores"]);
    command.args(["--cells", "2", "--cache-dir"]);
    let output = done(command.arg(&cache).arg("--run").arg(&out).ran());
    let printed = text(&output.stdout);
    says(&printed, &["public    cosines, which learn from nothing"]);
    assert!(!printed.contains("training an autoencoder"), "{printed}");
    let run = json(&out.join("run.json"));
    let knew = run["public_knowledge"].as_str().expect("a sentence");
    assert!(knew.contains("Nothing was learned"), "{knew}");
    let promise = run["privacy"].as_str().expect("a promise");
    says(&promise, &["Public: cosines, which learn from nothing"]);
    // 300 records at epsilon 1 bear 72 (300 / 60000)^(1/4) dimensions.
    let config = std::fs::read_to_string(out.join("config.toml")).expect("settings");
    assert!(config.contains("latent = 20"), "{config}");
    let weights = std::fs::read(out.join("autoencoder.f32")).expect("no weights");
    assert!(weights.is_empty());
    // A Gaussian a class, and then one a cell of it: two releases of one budget.
    assert!(config.contains("mechanism = \"mixture\""), "{config}");
    let releases = ledger(&out);
    assert_eq!(releases.entries.len(), 2);
    let event = releases.event().expect("one event");
    let epsilon = pld(&event, 1e-4);
    assert!((0.99..=1.0).contains(&epsilon), "{epsilon}");
}

/// A run that was killed between its two releases makes the second one alone, with other noise than the first had; one that
/// has both makes none. Noise of a known seed is what it would have been.
#[test]
fn a_mixture_that_was_killed_releases_nothing_twice() {
    let settings = ["mixture", "--cells", "2", "--epsilon", "2"];
    for seed in [&[][..], &["--insecure-noise-seed", "3"]] {
        let settings = [&settings[..], seed].concat();
        let (_keep, out) = folder();
        done(small(&out, &settings));
        let ledger = out.join("ledger.jsonl");
        let both = std::fs::read_to_string(&ledger).expect("a ledger");
        let latents = std::fs::read(out.join("latents.f32")).expect("latents");
        let again = |left: &[&str]| {
            std::fs::remove_file(out.join("run.json")).expect("removed");
            for name in left {
                std::fs::remove_file(out.join(name)).expect("removed");
            }
            done(small(&out, &settings));
            std::fs::read(out.join("latents.f32")).expect("latents")
        };
        assert_eq!(again(&[]), latents);
        assert_eq!(std::fs::read_to_string(&ledger).expect("a ledger"), both);
        let first = both.lines().next().expect("a line").to_string() + "\n";
        std::fs::write(&ledger, &first).expect("written");
        assert_eq!(again(&["release.bin"]) == latents, !seed.is_empty());
        let after = Ledger::read(&ledger).expect("a ledger").entries;
        assert_eq!(after.len(), 2);
    }
}

/// What the folder of a flow of many releases holds at its end.
const PUBLISHED: &str = ".lock autoencoder.f32 labels.u8 command.txt asked.json config.toml ledger.jsonl metrics.jsonl latents.f32 \
                         samples.json samples.png reconstructions.png strip.png run.json report.html";

#[test]
fn every_mechanism_leaves_everything_behind() {
    for (mechanism, form) in [
        (MARGINALS, "--conditional"),
        (MARGINALS, "--unconditional"),
        (RESAMPLED, "--conditional"),
        (RESAMPLED, "--unconditional"),
        (GENERATOR, "--conditional"),
        (GENERATOR, "--unconditional"),
        (&["mixture", "--cells", "3"], "--conditional"),
        (&["mixture"], "--unconditional"),
    ] {
        let (_keep, out) = folder();
        let stepping = mechanism[0] != "mixture";
        let steps: &[&str] = if stepping { &["--steps", "5"] } else { &[] };
        done(small(&out, &[mechanism, &[form], steps].concat()));
        let run = json(&out.join("run.json"));
        assert_eq!(run["private"], true);
        assert!(out.join("samples.png").exists() && out.join("report.html").exists());
        let rows = std::fs::read(out.join("latents.f32"))
            .expect("latents")
            .len()
            / 4
            / 8;
        assert!((400..=420).contains(&rows), "{rows}");
        assert_eq!(out.join("labels.u8").exists(), form == "--conditional");
        if ["resampled", "generator"].contains(&mechanism[0]) {
            // The rows of a release lie in the order of the records: none of them is published.
            let files = std::fs::read_dir(&out).expect("a folder");
            let names = files.map(|f| f.expect("a file").file_name().into_string().expect("UTF-8"));
            let others: Vec<String> = names
                .filter(|n| !words(PUBLISHED).contains(&&**n))
                .collect();
            assert!(others.is_empty(), "{others:?}");
        }
        let entries = ledger(&out).entries.len();
        // One cell takes one release.
        let expected = match mechanism {
            ["resampled" | "generator", ..] => 5,
            ["mixture", "--cells", _] => 2,
            _ => 1,
        };
        assert_eq!(entries, expected, "{mechanism:?}");
    }
}

#[test]
fn the_ledger_of_a_resampled_flow_gives_its_epsilon() {
    let (_keep, out) = folder();
    let more = ["--steps", "8", "--noise-multiplier", "0.9"];
    done(small(&out, &[RESAMPLED, &more].concat()));
    let text = std::fs::read_to_string(out.join("ledger.jsonl")).expect("a ledger");
    let event = Entries::parse(&text)
        .expect("a ledger")
        .event()
        .expect("one event");
    let replayed = pld(&event, 1e-4);
    let promised = json(&out.join("run.json"))["plan"]["epsilon_upper"]
        .as_f64()
        .expect("a number");
    assert!(
        (replayed - promised).abs() < 1e-3 * promised,
        "{replayed} {promised}"
    );
}

/// Sebag et al. 2023, appendix C.5: 30000 private records, batches of 250, 70 slices in 8 dimensions, 35 and 20
/// epochs at 0.67 and 0.8 times its norm `w`, for which it claims epsilon 10 and 5. Over the
/// sensitivity of a tight frame the noise is 0.854 and 1.020 (`w` with the quantile at
/// `1 - delta / 2`, as in the reference vectors), or 0.848 and 1.013 (at `1 - delta`, as equation 23 is
/// written): the accountant reads epsilon 5.52 and 2.78, or 5.60 and 2.81, from the plan.
#[test]
fn the_published_settings_cost_less_than_published() {
    for (noise, epochs, steps, expected) in [
        ("0.8540023675436936", "35", 4200, 5.5163),
        ("1.0197043194551565", "20", 2400, 2.7799),
        ("0.8483", "35", 4200, 5.6013),
        ("1.0129", "20", 2400, 2.8136),
    ] {
        let flags = words("resampled --records 30000 --unconditional --plan");
        let more = ["--epochs", epochs, "--noise-multiplier", noise];
        let printed = text(&done(flow(&[&flags[..], &more].concat())).stdout);
        let plan: serde_json::Value = serde_json::from_str(printed.trim()).expect("JSON");
        let event: Event = serde_json::from_value(plan["event"].clone()).expect("an event");
        let epsilon = pld(&event, 1e-5);
        assert!((epsilon / expected - 1.0).abs() < 0.01, "{epsilon}");
        assert_eq!(plan["releases"], steps);
    }
}

#[test]
fn a_folder_of_photographs_flows() {
    let (keep, out) = folder();
    let [photographs, public] = ["photographs", "public"].map(|name| keep.path().join(name));
    for (folder, places) in [(&photographs, 0..30_u32), (&public, 30..60)] {
        std::fs::create_dir(folder).expect("created");
        for i in places {
            let colour = |x: u32, y: u32| image::Rgb([(x * 2) as u8, (y * 2) as u8, (4 * i) as u8]);
            let picture = image::RgbImage::from_fn(90, 70, colour);
            let name = folder.join(format!("{i}.png"));
            picture.save(name).expect("a picture");
        }
    }
    let public = public.to_str().expect("a path");
    let run = |more: &[&str]| {
        let mut command = flow(more);
        command.args(["--dataset", "images", "--width", "2", "--latent", "8"]);
        command.args(words("--public-epochs 1 --slices 16 --particles 30"));
        command.arg("--data-dir").arg(&photographs);
        command.arg("--run").arg(&out).ran()
    };
    let refused = text(&run(&["marginals"]).stderr).replace(['\n', '│'], "");
    assert!(
        refused.contains("the folder of the public ones"),
        "{refused}"
    );
    let half = ["--public", public];
    let refused = text(&run(&[&["marginals", "--conditional"], &half[..]].concat()).stderr);
    assert!(refused.contains("have no classes"), "{refused}");
    let refused = text(&run(&["fixed", "--public", "glyphs"]).stderr);
    assert!(refused.contains("--public glyphs"), "{refused}");
    done(run(&[
        &["resampled", "--steps", "5", "--batch", "10"],
        &half[..],
    ]
    .concat()));
    let run = json(&out.join("run.json"));
    assert_eq!(run["private"], true);
    // One tenth of one in as many as there are.
    assert!(number(&run["plan"]["delta"]) <= 0.1 / 30.0);
    assert!(run["images"]["sliced_w2_squared"].as_f64().is_some());
    let samples = image::open(out.join("samples.png")).expect("a picture");
    assert!(samples.color().has_color() && samples.width() > 640);
    let entries = ledger(&out).entries;
    assert_eq!(entries.len(), 5);
    // Without its folder a run cannot resume, and says what it needs.
    let lost = flow(&["--dataset", "images", "--public", public]).ran();
    assert!(text(&lost.stderr).contains("--data-dir"));
}

/// Judging fails, as where it is interrupted: the steps are not made again.
#[test]
fn a_flow_that_could_not_be_judged_resumes_without_another_release() {
    for mechanism in [RESAMPLED, GENERATOR] {
        let settings = [mechanism, &["--steps", "5"]].concat();
        let (_keep, out) = folder();
        done(small(&out, &settings));
        let lines = || {
            let ledger = std::fs::read_to_string(out.join("ledger.jsonl"));
            ledger.expect("a ledger").lines().count()
        };
        // No checkpoint is left: the run resumes from its start, and what it draws cannot be written.
        let picture = out.join("samples.png");
        std::fs::remove_file(out.join("run.json")).expect("removed");
        std::fs::remove_file(&picture).expect("removed");
        std::fs::create_dir(&picture).expect("a folder");
        let failed = small(&out, &settings);
        assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
        assert_eq!(lines(), 10);
        std::fs::remove_dir(&picture).expect("removed");
        done(small(&out, &settings));
        assert_eq!(lines(), 10);
        assert!(!out.join("checkpoints").exists());
    }
}

#[test]
fn a_stopped_flow_resumes_to_the_same_end() {
    let settings = words("--steps 60 --insecure-noise-seed 4 --checkpoint-every 7");
    let settings = [RESAMPLED, &settings].concat();
    let (_keep, whole) = folder();
    done(small(&whole, &settings));
    let (_keep, killed) = folder();
    for step in [10, 20, 30] {
        let mut command = of_seconds(&killed, &settings);
        killed_after(&mut command, &killed, step);
    }
    done(small(&killed, &settings));
    let latents = |out: &Path| std::fs::read(out.join("latents.f32")).expect("latents");
    assert_eq!(latents(&killed), latents(&whole));
    // From checkpoints at 7, 14 and 28.
    assert_eq!(lines(&killed), 60 + 3 + 6 + 2);
}

/// What a program printed, on one line.
fn line(bytes: &[u8]) -> String {
    let message = text(bytes).replace('│', " ");
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_stored_release_tells_of_a_ledger_that_was_lost() {
    let (_keep, out) = folder();
    let settings = [MARGINALS, &["--epsilon", "2", "--steps", "3"]].concat();
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

#[test]
fn noise_never_meets_the_latents_of_another_autoencoder() {
    let (keep, out) = folder();
    let cache = keep.path().join("cache");
    let mine = |arguments: &[&str]| {
        let mut command = sliver("flow");
        command.args(arguments).arg(&out);
        command.args(["--backend", "flex", "--quick-scores", "--cache-dir"]);
        command.arg(&cache);
        command
    };
    let settings = words("--records 400 --public-records 200 --delta 1e-4");
    let more = words("--public-epochs 1 --steps 300 --checkpoint-every 7 --run");
    let mut command = mine(&[RESAMPLED, &settings, &more].concat());
    stopped_after(&mut command, 20);
    let resume = || mine(&["resampled", "--resume"]).ran();

    let weights = std::fs::read_dir(cache.join("autoencoders")).expect("a folder");
    let weights = weights.map(|entry| entry.expect("an entry").path()).next();
    let weights = weights.expect("an autoencoder");
    let bytes = std::fs::read(&weights).expect("readable");
    let mut other = bytes[64..].to_vec();
    other[400] ^= 1;
    let sum = lab::checkpoint::hex(&other).into_bytes();
    std::fs::write(&weights, [sum, other].concat()).expect("written");
    let message = refusal(resume());
    says(&message, &["other weights of the autoencoder"]);
    std::fs::write(&weights, bytes).expect("written");

    // A checkpoint whose key went resumes with new noise, and says so, on the page too.
    std::fs::remove_file(last_checkpoint(&out).join("noise.json")).expect("a key");
    let output = done(resume());
    let message = line(&output.stdout);
    assert!(message.contains("new noise"), "{message}");
    let warnings = json(&out.join("run.json"))["warnings"].to_string();
    assert!(warnings.contains("new noise"), "{warnings}");
}

/// The longest part of a flow stops too, keeps its training, and resumes with it.
#[cfg(unix)]
#[test]
fn a_signal_stops_the_autoencoder_which_resumes_where_it_was() {
    let (keep, out) = folder();
    let cache = keep.path().join("cache");
    let cache = cache.to_str().expect("UTF-8");
    let out = out.to_str().expect("UTF-8");
    let start = |arguments: &[&str]| {
        sliver("flow")
            .args(arguments)
            .args(["--backend", "flex", "--cache-dir", cache])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts")
    };
    // Minutes of training, if nothing stops it.
    let epochs = ["--public-records", "200", "--public-epochs", "2000"];
    let more = ["--records", "400", "--delta", "1e-4", "--run", out];
    let mut child = start(&[FIXED, &epochs, &more].concat());
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(lines.any(|l| l.expect("text").contains("training an autoencoder")));
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &id]).status();
    assert!(killed.expect("kill").success());
    lines.for_each(drop);
    let output = child.wait_with_output().expect("a child");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    says(
        &message,
        &[
            "an autoencoder was trained, after step",
            "flow fixed --resume",
        ],
    );
    let mut child = start(&["fixed", "--resume", out]);
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let line = lines.find_map(|l| Some(l.expect("text")).filter(|l| l.contains("training an")));
    assert!(line.expect("a line").contains(", from step "));
    child.kill().expect("killed");
    child.wait().expect("a child");
}

#[test]
fn bad_input_is_refused_by_name() {
    let cases = "
            marginals --slices 3 => --slices 3
            marginals --bins 12 => --bins 12
            --delta 0.01 => delta = 0.01
            --dataset minst => --dataset minst
            --public glyphs => --public glyphs
            --public shapes --dataset images --data-dir . => --public shapes
            --public cosines --dataset images --data-dir . => --public cosines
            --public half --dataset images --data-dir . => --public half: it must be the folder of the public photographs
            --public . --dataset images --data-dir . => --public .: it must be apart from the private input
            marginals --public cosines --start public => --public cosines
            mixture --cells 0 => --cells 0
            mixture --vary-tone -1 => --vary-tone -1: it must be at least 0 and at most 3
            --public cosines --public-epochs 2 => --public cosines does not use --public-records, --public-epochs
            --records 999999 => --records 999999
            marginals --learning-rate -1 => --learning-rate -1
            marginals --final-rate 0 => --final-rate 0
            resampled --batch 5 => --batch 5
            marginals --epochs 3 => '--epochs'
        ";
    refuses(cases, |out, more| {
        let public = ["--public-records", "200", "--public-epochs", "1"];
        let mut command = flow(more);
        if !more.contains(&"cosines") {
            command.args(public);
        }
        command.arg("--run").arg(out).ran()
    });
}
