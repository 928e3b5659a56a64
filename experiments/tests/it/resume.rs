//! Runs that are stopped, killed and damaged, through the binary.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use private_training::Checkpoint;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::program::{
    Ran, done, folder, json, killed_after, last_checkpoint, lines, metrics, number, refusal, says,
    sliver, stopped_after, text, words,
};

const STEPS: usize = 40;

/// A run whose noise is known, so that it can be repeated.
fn start(out: &Path, more: &[&str]) -> Command {
    of_steps(STEPS, out, more)
}

fn of_steps(steps: usize, out: &Path, more: &[&str]) -> Command {
    let mut command = sliver("swae");
    command
        .args(["--backend", "flex", "--records", "200", "--batch", "20"])
        .args(["--steps", &steps.to_string(), "--delta", "1e-3"])
        .args(["--slices", "8", "--epsilon", "5", "--ema", "0.9"])
        .args(words(
            "--insecure-noise-seed 3 --checkpoint-every 3 --quick-scores",
        ))
        .arg("--out")
        .arg(out)
        .args(more);
    command
}

fn resume(out: &Path) -> Command {
    let mut command = sliver("swae");
    command.args(words("--backend flex --checkpoint-every 3 --quick-scores"));
    command.arg("--resume").arg(out);
    command
}

/// The moments that were released, behind their checksum and how many releases came before them.
fn moments(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("class-moments.bin")).expect("moments")[72..].to_vec()
}

/// A run of so many steps that it is stopped in the middle for sure.
fn endless(out: &Path) -> Command {
    of_steps(100_000, out, &["--unconditional"])
}

/// Starts a run, and sends it a signal once its ledger has grown by some lines.
fn signalled(mut command: Command, out: &Path, name: &str) -> Output {
    let before = lines(out);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    for _ in 0..100_000_000_u64 {
        if lines(out) >= before + 5 {
            signal(&child, name);
            return child.wait_with_output().expect("a child");
        }
        assert!(child.try_wait().expect("a child").is_none(), "it ended");
        std::thread::yield_now();
    }
    child.kill().expect("killed");
    panic!("the ledger does not grow");
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([format!("-{name}"), child.id().to_string()])
        .status()
        .expect("kill");
    assert!(status.success());
}

/// What a run is asked for that its settings do not say is done when it resumes, by whatever flags; of a run that is done
/// nothing is asked for that would be passed over.
#[test]
fn what_a_run_was_asked_for_survives_a_kill() {
    let (home, out) = folder();
    let taken = home.path().join("taken");
    let asked = ["--export", &taken.to_string_lossy(), "--count", "7"];
    let mut started = start(&out, &asked);
    stopped_after(
        started.args(["--cache-dir", &home.path().join("cache").to_string_lossy()]),
        9,
    );
    let again = |flag: &str, more: &[&str]| {
        let mut command = sliver("swae");
        command.arg(flag).arg(&out).args(more);
        command
    };
    let printed = text(&done(again("--resume", &["--format", "npz"])).stdout);
    says(
        &printed,
        &[
            "asked",
            "--count=7",
            "--quick-scores",
            "--checkpoint-every=3",
            "--format=npz",
        ],
    );
    let card = json(&taken.join("card.json"));
    assert_eq!(
        (&card["count"], taken.join("png").exists()),
        (&7.into(), false)
    );
    // The scores were quick, as they were asked for.
    let run = json(&out.join("run.json"));
    assert!(run["images"].is_null(), "{run}");

    let command = |more: &[&str]| {
        let mut command = start(&out, &[]);
        let args: Vec<_> = command
            .get_args()
            .map(std::ffi::OsStr::to_os_string)
            .collect();
        command = Command::new(command.get_program());
        command.args(
            args.into_iter()
                .map(|arg| if arg == "--out" { "--run".into() } else { arg }),
        );
        command.args(more);
        command
    };
    let message = refusal(command(&["--memorisation"]));
    says(
        &message,
        &["--memorisation", "is done", "sliver swae --rescore"],
    );
    let message = refusal(command(&["--count", "3"]));
    says(&message, &["--count", "nothing is exported"]);
    done(command(&[]));
    let more = home.path().join("more");
    done(command(&[
        "--export",
        &more.to_string_lossy(),
        "--count",
        "3",
    ]));
    assert_eq!(json(&more.join("card.json"))["count"], 3);
}

/// What a run leaves, without what depends on time and place.
#[test]
fn twenty_kills_change_nothing_but_the_ledger() {
    let (_keep, whole) = folder();
    done(start(&whole, &[]));
    let (_keep, killed) = folder();
    let mut rng = ChaCha20Rng::seed_from_u64(20);
    let mut command = start(&killed, &[]);
    let (mut reached, mut made) = (0, 0);
    for _ in 0..20 {
        let steps = rng.random_range(1..=4);
        if reached + steps >= STEPS {
            break;
        }
        killed_after(&mut command, &killed, reached + steps);
        made += steps;
        assert_eq!(lines(&killed), made);
        // Of the checkpoints at every third step, the last one that was not the one that the kill prevented.
        reached = (reached + steps - 1) / 3 * 3;
        command = resume(&killed);
    }
    done(command);
    assert_eq!(lines(&killed), made + STEPS - reached + 1);
    assert_eq!(moments(&killed), moments(&whole));
    assert_eq!(
        std::fs::read(killed.join("samples.png")).expect("samples"),
        std::fs::read(whole.join("samples.png")).expect("samples")
    );
    let ((scores, spent), (others, planned)) = (metrics(&killed), metrics(&whole));
    assert_eq!(scores, others);
    // What was made again is counted during the run too.
    assert!(spent.iter().zip(&planned).all(|(s, p)| s >= p));
    assert!(spent.last() > planned.last());
    // Steps and moments, and those that were made again.
    assert_eq!(lines(&whole), STEPS + 1);
    assert!(lines(&killed) > STEPS + 1, "{}", lines(&killed));
    // The page speaks of what the ledger holds, not of what was planned.
    let epsilon = |out: &Path| {
        let run = std::fs::read_to_string(out.join("run.json")).expect("readable");
        let run: serde_json::Value = serde_json::from_str(&run).expect("JSON");
        number(&run["epsilon_spent_upper"])
    };
    assert!(epsilon(&killed) > epsilon(&whole));
    let page = std::fs::read_to_string(killed.join("report.html")).expect("a page");
    assert!(page.contains(&lab::report::upper(epsilon(&killed))));
    assert!(!page.contains(&format!(">{}<", lab::report::upper(epsilon(&whole)))));
    // The key of the noise does not outlive the run.
    assert!(!killed.join("checkpoints").exists());
}

#[test]
fn a_stopped_run_resumes_without_a_step_made_twice() {
    let (_keep, whole) = folder();
    done(start(&whole, &["--unconditional"]));
    let (_keep, stopped) = folder();
    stopped_after(&mut start(&stopped, &["--unconditional"]), 5);
    stopped_after(&mut resume(&stopped), 17);
    done(resume(&stopped));
    assert_eq!(lines(&stopped), STEPS);
    assert_eq!(
        std::fs::read(stopped.join("samples.png")).expect("samples"),
        std::fs::read(whole.join("samples.png")).expect("samples")
    );
    assert_eq!(metrics(&stopped), metrics(&whole));
    let again = resume(&stopped).ran();
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("this run is done"));
}

/// What the last checkpoint tells of the weights.
fn state(out: &Path) -> (Vec<f32>, Vec<u8>, Vec<u8>) {
    let bytes = std::fs::read(last_checkpoint(out).join("training.bin")).expect("a file");
    let checkpoint = Checkpoint::from_bytes(&bytes).expect("a checkpoint");
    (checkpoint.weights, checkpoint.optimizer, checkpoint.average)
}

#[test]
fn signals_stop_at_a_checkpoint_and_a_kill_before_one() {
    let (_keep, out) = folder();
    for (name, command) in [("INT", endless(&out)), ("TERM", resume(&out))] {
        let output = signalled(command, &out, name);
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("--resume"));
        // A checkpoint of the very step.
        let last = last_checkpoint(&out);
        assert!(
            last.ends_with(format!("step-{:09}", lines(&out))),
            "{last:?}"
        );
    }
    let before = lines(&out);
    let output = signalled(resume(&out), &out, "KILL");
    assert_eq!(output.status.code(), None);
    let made = lines(&out);
    assert!(made >= before + 5);
    // Whatever it had reached, the steps after its last checkpoint are made again, and are counted again.
    let end = made + 5;
    stopped_after(&mut resume(&out), end);
    assert!(lines(&out) >= end);
    let (_keep, whole) = folder();
    stopped_after(&mut endless(&whole), end);
    assert_eq!(state(&out), state(&whole));
}

/// A run that was stopped at its first checkpoint.
fn stopped(out: &Path, more: &[&str]) {
    stopped_after(&mut start(out, more), 4);
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
    let message = refusal(resume(&out));
    assert!(message.contains("other settings"), "{message}");
    std::fs::remove_dir_all(out.join("checkpoints")).expect("removed");
    std::fs::rename(&hidden, out.join("checkpoints")).expect("moved");

    // One bit.
    let file = checkpoint.join("training.bin");
    let mut bytes = std::fs::read(&file).expect("readable");
    bytes[1000] ^= 1;
    std::fs::write(&file, bytes).expect("written");
    let message = refusal(resume(&out));
    assert!(message.contains("training.bin"), "{name}: {message}");

    // Without it the run resumes from the one before, or from the start.
    std::fs::remove_dir_all(&checkpoint).expect("removed");
    done(resume(&out));
}

#[test]
fn no_space_is_an_error_that_keeps_what_was_reached() {
    let (_keep, out) = folder();
    stopped(&out, &[]);
    let reached = lines(&out);
    // Files of at most 100 kB, less than a checkpoint.
    let script = "trap '' XFSZ; ulimit -f 200; exec \"$0\" swae --backend flex --resume \"$1\" \
                  --checkpoint-every 3";
    let failed = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_sliver")])
        .arg(&out)
        .ran();
    let message = text(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{message}");
    says(&message, &["could not be written", "--resume"]);
    assert!(lines(&out) > reached);
    done(resume(&out));
}

#[test]
fn two_processes_cannot_be_at_one_run() {
    let (_keep, out) = folder();
    stopped(&out, &[]);
    let held = lab::run_folder::RunFolder::open(&out).expect("this process's own");
    let message = refusal(resume(&out));
    assert!(message.contains("another process"), "{message}");
    assert!(message.contains("waiting up to"), "{message}");
    drop(held);
    done(resume(&out));
}

/// What is refused with these words, and leaves everything as it was.
fn refused(command: Command, out: &Path, needles: &[&str]) {
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
    says(&refusal(command), needles);
    assert!(files() == before);
}

fn rescore(out: &Path) -> Command {
    let mut command = sliver("swae");
    command.args(["--backend", "flex", "--quick-scores", "--rescore"]);
    command.arg(out);
    command
}

#[test]
fn a_run_that_is_not_finished_is_sent_on_instead_of_judged() {
    let (_keep, out) = folder();
    stopped(&out, &[]);
    let needles = ["is not finished", "resume it with --resume"];
    refused(rescore(&out), &out, &needles);
    // Trained, and killed before its last release.
    done(resume(&out));
    std::fs::remove_file(out.join("run.json")).expect("removed");
    let moments = out.join("class-moments.bin");
    let whole = std::fs::read(&moments).expect("readable");
    std::fs::remove_file(&moments).expect("removed");
    refused(rescore(&out), &out, &needles);
    // What was released cannot be had again for nothing.
    for damaged in [&whole[..whole.len() / 2], b"{}", &[0xff; 4]] {
        std::fs::write(&moments, damaged).expect("written");
        for command in [rescore(&out), resume(&out)] {
            let needles = ["class-moments.bin", "start the run anew", "is spent"];
            refused(command, &out, &needles);
        }
    }
}

#[test]
fn a_run_resumes_and_is_judged_again_with_its_whole_ledger_alone() {
    let (_keep, out) = folder();
    stopped(&out, &[]);
    let ledger = out.join("ledger.jsonl");
    let whole = std::fs::read_to_string(&ledger).expect("readable");
    let made = whole.lines().count();
    let shorter =
        |text: &str| text[..text[..text.len() - 1].rfind('\n').expect("lines") + 1].to_string();
    let recorded = format!("tells of {made}");
    std::fs::remove_file(&ledger).expect("removed");
    refused(
        resume(&out),
        &out,
        &["ledger is missing", "checkpoints/step-", &recorded],
    );
    for (text, holds) in [(String::new(), 0), (shorter(&whole), made - 1)] {
        std::fs::write(&ledger, text).expect("written");
        let holds = format!("holds {holds} releases");
        refused(
            resume(&out),
            &out,
            &[&holds, "checkpoints/step-", &recorded],
        );
    }
    std::fs::write(&ledger, &whole).expect("written");
    done(resume(&out));

    let rescore = || rescore(&out);
    let whole = std::fs::read_to_string(&ledger).expect("readable");
    std::fs::write(&ledger, shorter(&whole)).expect("written");
    refused(rescore(), &out, &["run.json", "tells of 41"]);
    std::fs::rename(out.join("run.json"), out.join("hidden")).expect("moved");
    refused(rescore(), &out, &["class-moments.bin tells of 41"]);
    std::fs::remove_file(&ledger).expect("removed");
    refused(rescore(), &out, &["ledger is missing", "tells of 41"]);
    std::fs::write(&ledger, &whole).expect("written");
    done(rescore());

    // A key that a kill at the very end left goes first, however the judging ends.
    let key = out.join("checkpoints/step-000000040/noise.json");
    std::fs::create_dir_all(key.parent().expect("a folder")).expect("made");
    std::fs::write(&key, "secret").expect("written");
    std::fs::remove_file(out.join("model.bpk")).expect("removed");
    let failed = rescore().ran();
    assert_eq!(failed.status.code(), Some(2), "{}", text(&failed.stderr));
    assert!(!out.join("checkpoints").exists());
}

#[test]
fn resume_takes_no_setting_and_needs_a_run() {
    let (_keep, out) = folder();
    let refused = resume(&out).ran();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("config.toml"));
    let refused = resume(&out).args(["--epsilon", "3"]).ran();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--epsilon"));
}
