//! `swae` as a person runs it: through the binary, in a folder of its own.

use std::path::Path;

use dp_core::accounting::{Accountant, Event, GaussianAccountant};

use crate::program::{Home, done, files, ledger, number, pld, refusal, remove, says, sliver, text};

/// A run of a few seconds.
const SMALL: &str = concat!(
    "swae --backend flex --records 300 --batch 40 --steps 6 --delta 1e-3 --slices 12 --out run --cache-dir ",
    env!("CARGO_TARGET_TMPDIR"),
    "/swae-cache"
);

#[test]
fn a_private_run_leaves_everything_behind() {
    for form in ["--conditional", "--unconditional"] {
        let home = Home::new();
        let printed = home.done(&format!("{SMALL} --epsilon 5 {form} --quick-scores"));
        says(&printed, &["(Rodriguez-Vitores et al. 2025: "]);
        let out = home.at("run");
        for name in ["reconstructions.png", "samples.png", "interpolations.png"] {
            let picture = image::open(out.join(name)).expect(name);
            assert!(picture.width() > 100 && picture.height() > 50, "{name}");
            says(&printed, &[name]);
        }
        says(&printed, &["latents.svg"]);
        assert!(home.text("run/latents.svg").starts_with("<svg"));
        let page = home.text("run/report.html");
        assert!(page.contains("differentially private") && !page.contains("{{"));
        assert!(home.bytes("run/model.bpk").len() > 100_000);
        assert!(home.has("run/config.toml"));
        let run = home.json("run/run.json");
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
        let events = entries.into_iter().map(|e| e.event.repeated(e.count));
        let events = events.collect();
        let replayed = pld(&Event::Composed { events }, 1e-3);
        assert!((replayed - epsilon).abs() < 1e-3 * epsilon, "{replayed}");

        // No loss of private records is written.
        for line in home.text("run/metrics.jsonl").lines() {
            let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
            assert!(value["training_loss_not_private"].is_null());
        }
    }
}

#[test]
fn a_run_without_privacy_says_so() {
    let home = Home::new();
    let printed = home.done(&format!("{SMALL} --no-privacy"));
    says(&printed, &["privacy   Not private"]);
    let run = home.json("run/run.json");
    assert_eq!(run["private"], false);
    assert!(run["images"]["downstream_mlp"].is_object(), "{run}");
    assert_eq!(home.text("run/ledger.jsonl"), "");
    // Losses of training batches, under a name that says what they are.
    let metrics = home.text("run/metrics.jsonl");
    let last = metrics.lines().last().expect("a line");
    let last: serde_json::Value = serde_json::from_str(last).expect("JSON");
    assert!(last["training_loss_not_private"]["reconstruction"].is_number());
}

#[test]
fn a_known_noise_seed_repeats_a_run_and_is_stamped_on_it() {
    let [one, other] = [(); 2].map(|()| {
        let home = Home::new();
        let flags = "--insecure-noise-seed 7 --seed 3 --quick-scores";
        is_of_known_noise(&home.done(&format!("{SMALL} {flags}")));
        assert_eq!(home.json("run/run.json")["private"], false);
        let entries = ledger(&home.at("run")).entries;
        assert!(entries.iter().all(|e| !e.secret_noise));
        let page = home.text("run/report.html");
        says(&page, &["Not private: the noise is known"]);
        home.bytes("run/samples.png")
    });
    assert!(one == other);
}

/// Whatever a run prints of its promise says that its noise is known.
pub(crate) fn is_of_known_noise(printed: &str) {
    let mut promises = printed.lines().filter(|l| l.starts_with("privacy"));
    let known = "privacy   NOT PRIVATE, because the noise comes from a known seed";
    assert!(promises.all(|l| l.starts_with(known)), "{printed}");
}

/// On a machine without any Vulkan driver a GPU that was demanded is refused, not replaced.
#[test]
fn a_gpu_that_is_not_there_is_refused() {
    let home = Home::new();
    let mut command = home.sliver("swae --backend wgpu --out none");
    for name in [
        "VK_DRIVER_FILES",
        "VK_ICD_FILENAMES",
        "__EGL_VENDOR_LIBRARY_FILENAMES",
        "LIBGL_DRIVERS_PATH",
    ] {
        command.env(name, "/nonexistent");
    }
    says(&refusal(command), &["no GPU was found"]);
    assert!(!home.has("none"));
}

/// A machine without a display is no error of ours. The line came from Mesa's layer under Vulkan, so this
/// can fail only where that is installed.
#[test]
fn looking_for_devices_reports_no_error_without_a_display() {
    let mut command = sliver("swae --backend list");
    for name in ["XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY"] {
        command.env_remove(name);
    }
    let output = done(command);
    says(&text(&output.stdout), &["flex"]);
    let message = text(&output.stderr);
    assert!(!message.contains("error:"), "{message}");
}

#[test]
fn a_few_steps_on_mnist() {
    if test_support::data_folder().is_some() {
        let line =
            "swae --backend flex --dataset mnist --preset paper --steps 3 --quick-scores --out run";
        says(&Home::new().done(line), &["60000 private records"]);
    }
}

#[test]
fn a_plan_tells_what_a_run_would_promise_and_creates_nothing() {
    let home = Home::new();
    let plan = |flags: &str| -> serde_json::Value {
        let line = SMALL.replace("--out run", "--plan --json");
        let printed = home.done(&format!("{line} --epsilon 5 {flags}"));
        assert!(files(&home.at("")).is_empty());
        serde_json::from_str(printed.trim()).expect("JSON")
    };
    let of = plan("--conditional");
    let event: Event = serde_json::from_value(of["event"].clone()).expect("an event");
    let (epsilon, upper) = (pld(&event, 1e-3), number(&of["epsilon_upper"]));
    let same = (epsilon - upper).abs() < 1e-3;
    assert!(same && upper <= 5.0, "{epsilon} {upper}");
    assert_eq!((&of["private"], &of["releases"]), (&true.into(), &7.into()));
    assert_eq!(of["neighbours"], "k_end");
    assert_eq!(plan("--insecure-noise-seed 1")["private"], false);
}

#[test]
fn the_field_s_protocol_judges_samples_and_ceilings_lie_outside_of_the_guarantee() {
    let home = Home::new();
    // Of a version that kept ceilings, in a cache that runs share.
    let kept = Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/swae-cache/ceilings"));
    if kept.exists() {
        remove(kept);
    }
    let field = "--epsilon 5 --conditional --protocol field --scored 300 --ceilings --memorisation";
    home.done(&format!("{SMALL} {field}"));
    let run = home.json("run/run.json");
    let (judged, ceilings) = (&run["images"]["field"], &run["images"]["ceilings"]);
    for of in [judged, ceilings] {
        assert_eq!(of["training_records"], 300);
    }
    for name in ["convolutional", "mlp", "logistic"] {
        let seeds = judged[name]["values"].as_array().map(Vec::len);
        assert_eq!(seeds, Some(3), "{judged}");
    }
    number(&judged["nearest_neighbours"]);
    assert!(run["images"]["downstream_mlp"].is_null());
    assert_eq!(ceilings["reads_private_records"], true);
    let memory = &run["images"]["memorisation"];
    number(&memory["p_value"]);
    assert_eq!(memory["reads_private_records"], true);
    let names = run["metrics"].as_array().expect("results").iter();
    let names: Vec<&str> = names.filter_map(|m| m["name"].as_str()).collect();
    let count = |begin: &str, word: &str| {
        let names = names.iter();
        names
            .filter(|n| n.starts_with(begin) && n.contains(word))
            .count()
    };
    // Mean and deviation of three classifiers, and one without seeds.
    assert_eq!(count("Accuracy", "samples"), 7, "{names:?}");
    let seeds = count("Reads private records", "private records, 3 seeds");
    assert_eq!(seeds, 6, "{names:?}");
    let trained = "trained on 300 private records";
    assert_eq!(count("", trained), count("Reads private", trained));
    says(&home.text("run/report.html"), &["outside of the guarantee"]);
    // Nothing of them is kept beside the run: a name that tells these records from others would tell of them.
    assert!(!kept.exists(), "{}", kept.display());
}
