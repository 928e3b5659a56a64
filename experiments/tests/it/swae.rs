//! `swae` as a person runs it: through the binary, in a folder of its own.

use std::path::Path;
use std::process::Output;

use dp_core::accounting::{Accountant, Event, GaussianAccountant};

use crate::program::{
    Ran, done, folder, json, ledger, number, pld, refusal, says, sliver, text, words,
};

fn swae(arguments: &[&str]) -> Output {
    sliver("swae")
        .args(["--backend", "flex"])
        .args(arguments)
        .ran()
}

/// A run of a few seconds.
fn small(out: &Path, more: &[&str]) -> Output {
    let mut arguments = vec![
        "--records",
        "300",
        "--batch",
        "40",
        "--steps",
        "6",
        "--delta",
        "1e-3",
        "--slices",
        "12",
        "--cache-dir",
        concat!(env!("CARGO_TARGET_TMPDIR"), "/swae-cache"),
        "--out",
    ];
    let out = out.to_str().expect("a path in UTF-8");
    arguments.push(out);
    arguments.extend(more);
    // Scores in full take most of a run; one test of them is enough.
    if !more
        .iter()
        .any(|flag| ["--no-privacy", "--protocol"].contains(flag))
    {
        arguments.push("--quick-scores");
    }
    swae(&arguments)
}

#[test]
fn a_private_run_leaves_everything_behind() {
    for form in ["--conditional", "--unconditional"] {
        let (_keep, out) = folder();
        let output = small(&out, &["--epsilon", "5", form]);
        let printed = text(&output.stdout);
        assert!(output.status.success(), "{}", text(&output.stderr));
        says(&printed, &["(Rodriguez-Vitores et al. 2025: "]);
        for name in ["reconstructions.png", "samples.png", "interpolations.png"] {
            let picture = image::open(out.join(name)).expect(name);
            assert!(picture.width() > 100 && picture.height() > 50, "{name}");
            assert!(printed.contains(name), "{name} is not named in:\n{printed}");
        }
        let chart = std::fs::read_to_string(out.join("latents.svg")).expect("a chart");
        assert!(chart.starts_with("<svg") && printed.contains("latents.svg"));
        let page = std::fs::read_to_string(out.join("report.html")).expect("a report");
        assert!(page.contains("differentially private") && !page.contains("{{"));
        assert!(out.join("model.bpk").metadata().expect("weights").len() > 100_000);
        assert!(out.join("config.toml").exists());
        let run = json(&out.join("run.json"));
        assert_eq!(run["private"], true);
        let epsilon = number(&run["plan"]["epsilon_upper"]);
        assert!(epsilon <= 5.0 && epsilon > 4.9, "{epsilon}");

        // The ledger alone gives the same epsilon.
        let entries = ledger(&out).entries;
        let moments = usize::from(form == "--conditional");
        assert_eq!(entries.len(), 6 + moments);
        assert!(entries.iter().all(|e| e.secret_noise));
        if moments > 0 {
            // The moments alone would spend a tenth of epsilon and of delta.
            let alone = GaussianAccountant.epsilon(&entries[6].event, 0.1 * 1e-3);
            let alone = alone.expect("covered");
            assert!((0.499..=0.5).contains(&alone), "{alone}");
        }
        let events = entries
            .into_iter()
            .map(|e| e.event.repeated(e.count))
            .collect();
        let replayed = pld(&Event::Composed { events }, 1e-3);
        assert!((replayed - epsilon).abs() < 1e-3 * epsilon, "{replayed}");

        // No loss of private records is written.
        let metrics = std::fs::read_to_string(out.join("metrics.jsonl")).expect("metrics");
        for line in metrics.lines() {
            let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
            assert!(value["training_loss_not_private"].is_null());
        }
    }
}

#[test]
fn a_run_without_privacy_says_so() {
    let (_keep, out) = folder();
    let output = done(small(&out, &["--no-privacy"]));
    assert!(text(&output.stdout).contains("privacy   Not private"));
    let run = json(&out.join("run.json"));
    assert_eq!(run["private"], false);
    assert!(run["images"]["downstream_mlp"].is_object(), "{run}");
    let ledger = std::fs::read_to_string(out.join("ledger.jsonl")).expect("a ledger");
    assert!(ledger.is_empty());
    // Losses of training batches, under a name that says what they are.
    let metrics = std::fs::read_to_string(out.join("metrics.jsonl")).expect("metrics");
    let last = metrics.lines().last().expect("a line");
    let last: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert!(last["training_loss_not_private"]["reconstruction"].is_number());
}

#[test]
fn a_known_noise_seed_repeats_a_run_and_is_stamped_on_it() {
    let weights: Vec<Vec<u8>> = (0..2)
        .map(|_| {
            let (_keep, out) = folder();
            let output = done(small(&out, &["--insecure-noise-seed", "7", "--seed", "3"]));
            let printed = text(&output.stdout);
            let mut promises = printed.lines().filter(|l| l.starts_with("privacy"));
            let known = "privacy   NOT PRIVATE, because the noise comes from a known seed";
            assert!(promises.all(|l| l.starts_with(known)), "{printed}");
            assert_eq!(json(&out.join("run.json"))["private"], false);
            let entries = ledger(&out).entries;
            assert!(entries.iter().all(|e| !e.secret_noise));
            let page = std::fs::read_to_string(out.join("report.html")).expect("a report");
            assert!(page.contains("Not private: the noise is known"));
            std::fs::read(out.join("samples.png")).expect("samples")
        })
        .collect();
    assert_eq!(weights[0], weights[1]);
}

/// Every refusal: exit code 2, the value and the bound in the message, nothing created.
#[test]
fn bad_input_is_refused_by_name() {
    let cases = [
        ("--batch 301", "301 300"),
        ("--batch 0", "batch 0 at least 1"),
        ("--epsilon 0", "epsilon 0 positive"),
        ("--epsilon -1", "epsilon"),
        ("--epsilon nan", "epsilon NaN positive"),
        ("--delta 0", "delta 0"),
        ("--delta 0.5", "delta 0.5 1/n"),
        ("--alpha 1.5", "alpha 1.5 between 0 and 1"),
        ("--slices 3", "slices 3 6"),
        ("--clip-jacobian 0", "--clip-jacobian 0 from 1e-9"),
        ("--ema 1", "ema 1 below 1"),
        ("--vary-pose 3.5", "vary-pose 3.5 at most 3"),
        ("--steps 0", "steps 0 at least 1"),
        ("--backend abacus", "abacus flex"),
        ("--dataset cifar", "cifar glyphs"),
        ("--no-privacy --epsilon 1", "--epsilon --no-privacy"),
    ];
    for (flags, needles) in cases {
        let (_keep, out) = folder();
        let mut command = sliver("swae");
        command.args(["--records", "300", "--out"]).arg(&out);
        for pair in [["--batch", "40"], ["--steps", "6"], ["--delta", "1e-3"]] {
            if !flags.contains(pair[0]) {
                command.args(pair);
            }
        }
        says(&refusal(command.args(words(flags))), &words(needles));
        assert!(!out.exists(), "{flags} left {}", out.display());
    }
}

#[test]
fn an_existing_folder_is_not_overwritten() {
    let (_keep, out) = folder();
    std::fs::create_dir(&out).expect("a folder");
    std::fs::write(out.join("ledger.jsonl"), "precious").expect("a file");
    let output = small(&out, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("exists already"));
    let kept = std::fs::read_to_string(out.join("ledger.jsonl")).expect("still there");
    assert_eq!(kept, "precious");
}

#[test]
fn a_folder_of_an_earlier_version_is_refused_with_a_sentence() {
    let (_keep, out) = folder();
    std::fs::create_dir(&out).expect("a folder");
    std::fs::write(out.join("config.toml"), "start-from = \"glyphs\"\n").expect("settings");
    for flag in ["--resume", "--rescore"] {
        let message = refusal(sliver("swae").arg(flag).arg(&out));
        says(&message, &["start-from", "of an earlier version"]);
    }
}

#[test]
fn a_corrupt_data_file_is_refused_by_name() {
    let (keep, out) = folder();
    let mnist = keep.path().join("mnist");
    std::fs::create_dir(&mnist).expect("a folder");
    for name in [
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    ] {
        std::fs::write(mnist.join(name), b"not a gzip file").expect("a file");
    }
    let data = keep.path().to_str().expect("UTF-8");
    let output = small(&out, &["--dataset", "mnist", "--data-dir", data]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("ubyte"),
        "{}",
        text(&output.stderr)
    );
    assert!(!out.exists());
}

/// On a machine without any Vulkan driver a GPU that was demanded is refused, not replaced.
#[test]
fn a_gpu_that_is_not_there_is_refused() {
    let (_keep, out) = folder();
    let message = refusal(
        sliver("swae")
            .args(["--backend", "wgpu", "--out", out.to_str().expect("UTF-8")])
            .env("VK_DRIVER_FILES", "/nonexistent")
            .env("VK_ICD_FILENAMES", "/nonexistent")
            .env("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent")
            .env("LIBGL_DRIVERS_PATH", "/nonexistent")
            .ran(),
    );
    assert!(message.contains("no GPU was found"), "{message}");
    assert!(!out.exists());
}

/// A machine without a display is no error of ours. The line came from Mesa's layer under Vulkan, so this
/// can fail only where that is installed.
#[test]
fn looking_for_devices_reports_no_error_without_a_display() {
    let output = sliver("swae")
        .args(["--backend", "list"])
        .env_remove("XDG_RUNTIME_DIR")
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .ran();
    let message = text(&output.stderr);
    assert!(output.status.success(), "{message}");
    assert!(text(&output.stdout).contains("flex"));
    assert!(!message.contains("error:"), "{message}");
}

#[test]
fn a_few_steps_on_mnist() {
    if test_support::data_folder().is_none() {
        return;
    }
    let (_keep, out) = folder();
    let output = done(swae(&[
        "--dataset",
        "mnist",
        "--preset",
        "paper",
        "--steps",
        "3",
        "--quick-scores",
        "--out",
        out.to_str().expect("UTF-8"),
    ]));
    assert!(text(&output.stdout).contains("60000 private records"));
}

#[test]
fn a_plan_tells_what_a_run_would_promise_and_creates_nothing() {
    let (_keep, out) = folder();
    let flags = words("--records 300 --batch 40 --steps 6 --delta 1e-3 --epsilon 5");
    let output = done(swae(
        &[&flags[..], &["--slices", "12", "--conditional", "--plan"]].concat(),
    ));
    let plan: serde_json::Value = serde_json::from_str(text(&output.stdout).trim()).expect("JSON");
    let event: Event = serde_json::from_value(plan["event"].clone()).expect("an event");
    let epsilon = pld(&event, 1e-3);
    let upper = number(&plan["epsilon_upper"]);
    assert!(
        (epsilon - upper).abs() < 1e-3 && upper <= 5.0,
        "{epsilon} {upper}"
    );
    assert_eq!(
        (&plan["private"], &plan["releases"]),
        (&true.into(), &7.into())
    );
    assert_eq!(plan["neighbours"], "k_end");
    assert!(!out.exists());
    let known = swae(
        &[
            &flags[..],
            &["--slices", "12", "--insecure-noise-seed", "1", "--plan"],
        ]
        .concat(),
    );
    let known: serde_json::Value = serde_json::from_str(text(&known.stdout).trim()).expect("JSON");
    assert_eq!(known["private"], false);
}

#[test]
fn the_field_s_protocol_judges_samples_and_ceilings_lie_outside_of_the_guarantee() {
    let (_keep, out) = folder();
    // Of a version that kept ceilings, in a cache that runs share.
    let kept = Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/swae-cache/ceilings"));
    if kept.exists() {
        std::fs::remove_dir_all(kept).expect("removed");
    }
    let field = words("--epsilon 5 --conditional --protocol field --scored 300");
    done(small(
        &out,
        &[&field[..], &["--ceilings", "--memorisation"]].concat(),
    ));
    let run = json(&out.join("run.json"));
    let (judged, ceilings) = (&run["images"]["field"], &run["images"]["ceilings"]);
    assert_eq!(
        (&judged["training_records"], &ceilings["training_records"]),
        (&300.into(), &300.into())
    );
    for name in ["convolutional", "mlp", "logistic"] {
        assert_eq!(
            judged[name]["values"].as_array().expect("seeds").len(),
            3,
            "{judged}"
        );
    }
    assert!(
        judged["nearest_neighbours"].as_f64().is_some()
            && run["images"]["downstream_mlp"].is_null()
    );
    assert_eq!(ceilings["reads_private_records"], true);
    let memory = &run["images"]["memorisation"];
    assert!(memory["p_value"].as_f64().is_some() && memory["reads_private_records"] == true);
    let names: Vec<&str> = run["metrics"]
        .as_array()
        .expect("results")
        .iter()
        .filter_map(|m| m["name"].as_str())
        .collect();
    let count = |begin: &str, word: &str| {
        names
            .iter()
            .filter(|n| n.starts_with(begin) && n.contains(word))
            .count()
    };
    // Mean and deviation of three classifiers, and one without seeds.
    assert_eq!(count("Accuracy", "samples"), 7, "{names:?}");
    assert_eq!(
        count("Reads private records", "private records, 3 seeds"),
        6,
        "{names:?}"
    );
    assert_eq!(
        count("", "trained on 300 private records"),
        count("Reads private", "trained on 300 private records")
    );
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    assert!(page.contains("outside of the guarantee"), "{page}");
    // Nothing of them is kept beside the run: a name that tells these records from others would tell of them.
    assert!(!kept.exists(), "{}", kept.display());
}
