//! Runs that are stopped, killed and damaged, through the binary.
#![cfg(unix)]

mod course;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use course::metrics;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

const STEPS: usize = 40;

/// A run whose noise is known, so that it can be repeated.
fn start(out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swae"));
    command
        .args(["--backend", "flex", "--records", "200", "--batch", "20"])
        .args(["--steps", &STEPS.to_string(), "--delta", "1e-3"])
        .args(["--slices", "8", "--epsilon", "5", "--ema", "0.9"])
        .args(["--insecure-noise-seed", "3", "--checkpoint-every", "3"])
        .arg("--out")
        .arg(out)
        .args(more);
    command
}

fn resume(out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swae"));
    command
        .args(["--backend", "flex", "--checkpoint-every", "3", "--resume"])
        .arg(out);
    command
}

fn done(mut command: Command) -> Output {
    let output = command.output().expect("the binary starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("run");
    (folder, out)
}

/// The moments that were released; how many releases came before them is no result.
fn weights(out: &Path) -> serde_json::Value {
    let moments = std::fs::read_to_string(out.join("class-moments.json")).expect("moments");
    let mut moments: serde_json::Value = serde_json::from_str(&moments).expect("JSON");
    moments["releases"].take();
    moments
}

fn lines(out: &Path) -> usize {
    std::fs::read_to_string(out.join("ledger.jsonl")).map_or(0, |t| t.lines().count())
}

/// Runs until the ledger has grown by `more` lines; false where the run ended before.
fn grown(child: &mut Child, out: &Path, more: usize) -> bool {
    let before = lines(out);
    loop {
        if lines(out) >= before + more {
            return true;
        }
        if child.try_wait().expect("a child").is_some() {
            return false;
        }
        std::thread::yield_now();
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([format!("-{name}"), child.id().to_string()])
        .status()
        .expect("kill");
    assert!(status.success());
}

/// What a run leaves, without what depends on time and place.
#[test]
fn twenty_kills_change_nothing_but_the_ledger() {
    let (_keep, whole) = folder();
    done(start(&whole, &[]));
    let (_keep, killed) = folder();
    let mut rng = ChaCha20Rng::seed_from_u64(20);
    let mut command = start(&killed, &[]);
    let mut made = 0;
    for kill in 0..20 {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        // The first kills come early enough for the run to outlive all twenty.
        let alive = grown(&mut child, &killed, rng.random_range(1..6));
        for _ in 0..rng.random_range(0..2000) {
            std::thread::yield_now();
        }
        if alive {
            signal(&child, "KILL");
        }
        child.wait().expect("a child");
        let now = lines(&killed);
        assert!(now >= made, "kill {kill}: {now} lines after {made}");
        made = now;
        if killed.join("run.json").exists() {
            break;
        }
        command = resume(&killed);
    }
    if !killed.join("run.json").exists() {
        done(resume(&killed));
    }
    assert_eq!(weights(&killed), weights(&whole));
    assert_eq!(
        std::fs::read(killed.join("samples.png")).expect("samples"),
        std::fs::read(whole.join("samples.png")).expect("samples")
    );
    let ((scores, spent), (others, planned)) = (metrics(&killed), metrics(&whole));
    assert_eq!(scores, others);
    // What was made again is counted in the course of the run too.
    assert!(spent.iter().zip(&planned).all(|(s, p)| s >= p));
    assert!(spent.last() > planned.last());
    // Steps and moments, and those that were made again.
    assert_eq!(lines(&whole), STEPS + 1);
    assert!(lines(&killed) > STEPS + 1, "{}", lines(&killed));
    // The page speaks of what the ledger holds, not of what was planned.
    let epsilon = |out: &Path| {
        let run = std::fs::read_to_string(out.join("run.json")).expect("readable");
        let run: serde_json::Value = serde_json::from_str(&run).expect("JSON");
        run["epsilon_spent_upper"].as_f64().expect("a number")
    };
    assert!(epsilon(&killed) > epsilon(&whole));
    let page = std::fs::read_to_string(killed.join("report.html")).expect("a page");
    assert!(page.contains(&lab::report::upper(epsilon(&killed))));
    assert!(!page.contains(&format!(">{}<", lab::report::upper(epsilon(&whole)))));
    // The key of the noise does not outlive the run.
    assert!(!killed.join("checkpoints").exists());
}

#[test]
fn a_signal_stops_at_a_checkpoint_and_the_run_goes_on() {
    let (_keep, whole) = folder();
    done(start(&whole, &["--unconditional"]));
    let (_keep, stopped) = folder();
    for (name, mut command) in [
        ("INT", start(&stopped, &["--unconditional"])),
        ("TERM", resume(&stopped)),
    ] {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        assert!(grown(&mut child, &stopped, 5));
        signal(&child, name);
        let output = child.wait_with_output().expect("a child");
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("--resume"));
    }
    done(resume(&stopped));
    assert_eq!(lines(&stopped), STEPS, "no step was made twice");
    assert_eq!(
        std::fs::read(stopped.join("samples.png")).expect("samples"),
        std::fs::read(whole.join("samples.png")).expect("samples")
    );
    assert_eq!(metrics(&stopped), metrics(&whole));
    let again = resume(&stopped).output().expect("the binary starts");
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("this run is done"));
}

/// A run that was stopped at its first checkpoint.
fn stopped(out: &Path, more: &[&str]) {
    let mut child = start(out, more)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    assert!(grown(&mut child, out, 4));
    signal(&child, "INT");
    assert_eq!(child.wait().expect("a child").code(), Some(130));
}

fn last_checkpoint(out: &Path) -> PathBuf {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(out.join("checkpoints"))
        .expect("checkpoints")
        .map(|e| e.expect("an entry").path())
        .collect();
    paths.sort();
    paths.pop().expect("a checkpoint")
}

#[test]
fn a_damaged_or_foreign_checkpoint_is_refused_by_name() {
    let (_keep, out) = folder();
    stopped(&out, &[]);
    let (_other, other) = folder();
    stopped(&other, &["--alpha", "0.2"]);
    let checkpoint = last_checkpoint(&out);
    let name = checkpoint.file_name().expect("a name").to_string_lossy();

    // Of another run.
    let hidden = out.join("hidden");
    std::fs::rename(out.join("checkpoints"), &hidden).expect("moved");
    std::fs::rename(other.join("checkpoints"), out.join("checkpoints")).expect("moved");
    let refused = resume(&out).output().expect("the binary starts");
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("other settings"), "{said}");
    std::fs::remove_dir_all(out.join("checkpoints")).expect("removed");
    std::fs::rename(&hidden, out.join("checkpoints")).expect("moved");

    // One bit.
    let file = checkpoint.join("optimizer.bin");
    let mut bytes = std::fs::read(&file).expect("readable");
    bytes[1000] ^= 1;
    std::fs::write(&file, bytes).expect("written");
    let refused = resume(&out).output().expect("the binary starts");
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr).replace(['\n', '│'], "");
    assert!(said.contains("optimizer.bin"), "{name}: {said}");

    // Without it the run goes on from the one before, or from the start.
    std::fs::remove_dir_all(&checkpoint).expect("removed");
    done(resume(&out));
}

#[test]
fn no_space_is_an_error_that_keeps_what_was_reached() {
    let (_keep, out) = folder();
    stopped(&out, &[]);
    let reached = lines(&out);
    // Files of at most 100 kB, less than a checkpoint.
    let script = "trap '' XFSZ; ulimit -f 200; exec \"$0\" --backend flex --resume \"$1\" \
                  --checkpoint-every 3";
    let failed = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_swae")])
        .arg(&out)
        .output()
        .expect("sh");
    let said = text(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(
        said.contains("could not be written") && said.contains("--resume"),
        "{said}"
    );
    assert!(lines(&out) > reached);
    done(resume(&out));
}

#[test]
fn two_processes_cannot_be_at_one_run() {
    let (_keep, out) = folder();
    stopped(&out, &[]);
    let held = lab::run_folder::RunFolder::open(&out).expect("this process's own");
    let second = resume(&out).output().expect("the binary starts");
    assert_eq!(second.status.code(), Some(2));
    let said = text(&second.stderr);
    assert!(said.contains("another process"), "{said}");
    assert!(said.contains("waiting up to"), "{said}");
    drop(held);
    done(resume(&out));
}

/// What is refused with these words, and leaves everything as it was.
fn refused(mut command: Command, out: &Path, needles: &[&str]) {
    let files = || {
        let entries = std::fs::read_dir(out).expect("a folder");
        let mut files: Vec<_> = entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_file())
            .map(|path| (std::fs::read(&path).expect("readable"), path))
            .collect();
        files.sort();
        files
    };
    let before = files();
    let refused = command.output().expect("the binary starts");
    let said = text(&refused.stderr).replace(['\n', '│'], "");
    let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(refused.status.code(), Some(2), "{said}");
    for needle in needles {
        assert!(said.contains(needle), "no {needle} in {said}");
    }
    assert!(files() == before);
}

fn rescore(out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swae"));
    command.args(["--backend", "flex", "--quick-scores", "--rescore"]);
    command.arg(out);
    command
}

#[test]
fn a_run_that_is_not_finished_is_sent_on_instead_of_judged() {
    let (_keep, out) = folder();
    stopped(&out, &[]);
    let needles = ["is not finished", "go on with --resume"];
    refused(rescore(&out), &out, &needles);
    // Trained, and killed before its last release.
    done(resume(&out));
    std::fs::remove_file(out.join("run.json")).expect("removed");
    let moments = out.join("class-moments.json");
    let whole = std::fs::read(&moments).expect("readable");
    std::fs::remove_file(&moments).expect("removed");
    refused(rescore(&out), &out, &needles);
    // What was released cannot be had again for nothing.
    for damaged in [&whole[..whole.len() / 2], b"{}", &[0xff; 4]] {
        std::fs::write(&moments, damaged).expect("written");
        for command in [rescore(&out), resume(&out)] {
            let needles = ["class-moments.json", "start the run anew", "is spent"];
            refused(command, &out, &needles);
        }
    }
}

#[test]
fn a_run_goes_on_and_is_judged_again_with_its_whole_ledger_alone() {
    let (_keep, out) = folder();
    stopped(&out, &[]);
    let ledger = out.join("ledger.jsonl");
    let whole = std::fs::read_to_string(&ledger).expect("readable");
    let made = whole.lines().count();
    let shorter =
        |text: &str| text[..text[..text.len() - 1].rfind('\n').expect("lines") + 1].to_string();
    let told = format!("tells of {made}");
    std::fs::remove_file(&ledger).expect("removed");
    refused(
        resume(&out),
        &out,
        &["ledger is missing", "checkpoints/step-", &told],
    );
    for (text, holds) in [(String::new(), 0), (shorter(&whole), made - 1)] {
        std::fs::write(&ledger, text).expect("written");
        let holds = format!("holds {holds} releases");
        refused(resume(&out), &out, &[&holds, "checkpoints/step-", &told]);
    }
    std::fs::write(&ledger, &whole).expect("written");
    done(resume(&out));

    let rescore = || rescore(&out);
    let whole = std::fs::read_to_string(&ledger).expect("readable");
    std::fs::write(&ledger, shorter(&whole)).expect("written");
    refused(rescore(), &out, &["run.json", "tells of 41"]);
    std::fs::rename(out.join("run.json"), out.join("hidden")).expect("moved");
    refused(rescore(), &out, &["class-moments.json tells of 41"]);
    std::fs::remove_file(&ledger).expect("removed");
    refused(rescore(), &out, &["ledger is missing", "tells of 41"]);
    std::fs::write(&ledger, &whole).expect("written");
    done(rescore());

    // A key that a kill at the very end left goes first, however the judging ends.
    let key = out.join("checkpoints/step-000000040/noise.json");
    std::fs::create_dir_all(key.parent().expect("a folder")).expect("made");
    std::fs::write(&key, "secret").expect("written");
    std::fs::remove_file(out.join("model.bpk")).expect("removed");
    let failed = rescore().output().expect("the binary starts");
    assert_eq!(failed.status.code(), Some(2), "{}", text(&failed.stderr));
    assert!(!out.join("checkpoints").exists());
}

#[test]
fn resume_takes_no_setting_and_needs_a_run() {
    let (_keep, out) = folder();
    let refused = resume(&out).output().expect("the binary starts");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("config.toml"));
    let refused = resume(&out)
        .args(["--epsilon", "3"])
        .output()
        .expect("the binary starts");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--epsilon"));
}
