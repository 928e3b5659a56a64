//! Runs that are stopped, killed and damaged, through the binary.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use private_training::Checkpoint;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::program::{
    Home, Ran, bytes_at, done, files, folder, json, killed_after, last_checkpoint, lines,
    make_folder, metrics, number, put, refusal, remove, rename, says, signal, sliver,
    stopped_after, text, text_at,
};

const STEPS: usize = 40;

/// The flags of a run whose noise is known, so that it can be repeated.
fn flags(steps: usize) -> String {
    format!(
        "swae --backend flex --records 200 --batch 20 --steps {steps} --delta 1e-3 --slices 8 --epsilon 5 --ema 0.9 \
         --insecure-noise-seed 3 --checkpoint-every 3 --quick-scores"
    )
}

fn start(out: &Path, more: &str) -> Command {
    let mut command = sliver(&format!("{} {more} --out", flags(STEPS)));
    command.arg(out);
    command
}

fn resume(out: &Path) -> Command {
    let flags = "--backend flex --checkpoint-every 3 --quick-scores";
    let mut command = sliver(&format!("swae {flags} --resume"));
    command.arg(out);
    command
}

/// The moments that were released, behind their checksum and how many releases came before them.
fn moments(out: &Path) -> Vec<u8> {
    bytes_at(out.join("class-moments.bin"))[72..].to_vec()
}

fn samples(out: &Path) -> Vec<u8> {
    bytes_at(out.join("samples.png"))
}

/// A run of so many steps that it is stopped in the middle for sure.
fn endless(out: &Path) -> Command {
    let mut command = sliver(&format!("{} --unconditional --out", flags(100_000)));
    command.arg(out);
    command
}

/// Starts a run, and sends it a signal once its ledger has grown by some lines.
fn signalled(mut command: Command, out: &Path, name: &str) -> Output {
    let before = lines(out);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    for _ in 0..100_000_000_u64 {
        if lines(out) >= before + 5 {
            signal(child.id(), name);
            return child.wait_with_output().expect("a child");
        }
        assert!(child.try_wait().expect("a child").is_none(), "it ended");
        std::thread::yield_now();
    }
    child.kill().expect("killed");
    panic!("the ledger does not grow");
}

/// What a run is asked for that its settings do not say is done when it resumes, by whatever flags; of a run that is done
/// nothing is asked for that would be passed over.
#[test]
fn what_a_run_was_asked_for_survives_a_kill() {
    let home = Home::new();
    let swae = flags(STEPS);
    let asked = format!("{swae} --export taken --count 7 --out run");
    stopped_after(&mut home.sliver(&asked), 9);
    says(
        &home.done("swae --resume run --format npz"),
        &[
            "asked",
            "--count=7",
            "--quick-scores",
            "--checkpoint-every=3",
            "--format=npz",
        ],
    );
    assert_eq!(home.json("taken/card.json")["count"], 7);
    assert!(!home.has("taken/png"));
    // The scores were quick, as they were asked for.
    let run = home.json("run/run.json");
    assert!(run["images"].is_null(), "{run}");
    let cases = "
        --memorisation => --memorisation | is done | sliver swae --rescore
        --count 3 => --count | nothing is exported
    ";
    home.refuses_each(&format!("{swae} --run run"), cases);
    home.done(&format!("{swae} --run run"));
    home.done(&format!("{swae} --run run --export more --count 3"));
    assert_eq!(home.json("more/card.json")["count"], 3);
}

/// What a run leaves, without what depends on time and place.
#[test]
fn twenty_kills_change_nothing_but_the_ledger() {
    let (_keep, whole) = folder();
    done(start(&whole, ""));
    let (_keep, killed) = folder();
    let mut rng = ChaCha20Rng::seed_from_u64(20);
    let mut command = start(&killed, "");
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
    assert!(samples(&killed) == samples(&whole));
    let ((scores, spent), (others, planned)) = (metrics(&killed), metrics(&whole));
    assert_eq!(scores, others);
    // What was made again is counted during the run too.
    assert!(spent.iter().zip(&planned).all(|(s, p)| s >= p));
    assert!(spent.last() > planned.last());
    // Steps and moments, and those that were made again.
    assert_eq!(lines(&whole), STEPS + 1);
    assert!(lines(&killed) > STEPS + 1, "{}", lines(&killed));
    // The page speaks of what the ledger holds, not of what was planned.
    let epsilon = |out: &Path| number(&json(&out.join("run.json"))["epsilon_spent_upper"]);
    assert!(epsilon(&killed) > epsilon(&whole));
    let page = text_at(killed.join("report.html"));
    says(&page, &[&lab::report::upper(epsilon(&killed))]);
    // Settings, which say what was asked for, stand behind all that is promised.
    let promised = page.split("<h2>Settings</h2>").next().unwrap_or_default();
    assert!(!promised.contains(&format!(">{}<", lab::report::upper(epsilon(&whole)))));
    // The key of the noise does not outlive the run.
    assert!(!killed.join("checkpoints").exists());
}

#[test]
fn a_stopped_run_resumes_without_a_step_made_twice() {
    let (_keep, whole) = folder();
    done(start(&whole, "--unconditional"));
    let (_keep, stopped) = folder();
    stopped_after(&mut start(&stopped, "--unconditional"), 5);
    stopped_after(&mut resume(&stopped), 17);
    done(resume(&stopped));
    assert_eq!(lines(&stopped), STEPS);
    assert!(samples(&stopped) == samples(&whole));
    assert_eq!(metrics(&stopped), metrics(&whole));
    says(&refusal(resume(&stopped)), &["this run is done"]);
}

/// What the last checkpoint tells of the weights.
fn state(out: &Path) -> (Vec<f32>, Vec<u8>, Vec<u8>) {
    let bytes = bytes_at(last_checkpoint(out).join("training.bin"));
    let checkpoint = Checkpoint::from_bytes(&bytes).expect("a checkpoint");
    (checkpoint.weights, checkpoint.optimizer, checkpoint.average)
}

#[test]
fn signals_stop_at_a_checkpoint_and_a_kill_before_one() {
    let (_keep, out) = folder();
    for (name, command) in [("INT", endless(&out)), ("TERM", resume(&out))] {
        let output = signalled(command, &out, name);
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        says(&text(&output.stderr), &["--resume"]);
        // A checkpoint of the very step.
        let (last, step) = (last_checkpoint(&out), format!("step-{:09}", lines(&out)));
        assert!(last.ends_with(step), "{last:?}");
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
fn stopped(out: &Path, more: &str) {
    stopped_after(&mut start(out, more), 4);
}

#[test]
fn a_damaged_or_foreign_checkpoint_is_refused_by_name() {
    let (_keep, out) = folder();
    stopped(&out, "");
    let (_other, other) = folder();
    stopped(&other, "--alpha 0.2");
    let checkpoint = last_checkpoint(&out);

    // Of another run.
    let hidden = out.join("hidden");
    rename(out.join("checkpoints"), &hidden);
    rename(other.join("checkpoints"), out.join("checkpoints"));
    says(&refusal(resume(&out)), &["other settings"]);
    remove(out.join("checkpoints"));
    rename(&hidden, out.join("checkpoints"));

    // One bit.
    let file = checkpoint.join("training.bin");
    let mut bytes = bytes_at(&file);
    bytes[1000] ^= 1;
    put(&file, bytes);
    says(&refusal(resume(&out)), &["training.bin"]);

    // Without it the run resumes from the one before, or from the start.
    remove(&checkpoint);
    done(resume(&out));
}

#[test]
fn no_space_is_an_error_that_keeps_what_was_reached() {
    let (_keep, out) = folder();
    stopped(&out, "");
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
    stopped(&out, "");
    let held = lab::run_folder::RunFolder::open(&out).expect("this process's own");
    let words = ["another process", "waiting up to"];
    says(&refusal(resume(&out)), &words);
    drop(held);
    done(resume(&out));
}

/// What is refused with these words, and leaves everything as it was.
fn refused(command: Command, out: &Path, needles: &[&str]) {
    let before = files(out);
    says(&refusal(command), needles);
    assert!(files(out) == before);
}

fn rescore(out: &Path) -> Command {
    let mut command = sliver("swae --backend flex --quick-scores --rescore");
    command.arg(out);
    command
}

#[test]
fn a_run_that_is_not_finished_is_sent_on_instead_of_judged() {
    let (_keep, out) = folder();
    stopped(&out, "");
    let needles = ["is not finished", "resume it with --resume"];
    refused(rescore(&out), &out, &needles);
    // Trained, and killed before its last release.
    done(resume(&out));
    remove(out.join("run.json"));
    let moments = out.join("class-moments.bin");
    let whole = bytes_at(&moments);
    remove(&moments);
    refused(rescore(&out), &out, &needles);
    // What was released cannot be had again for nothing.
    for damaged in [&whole[..whole.len() / 2], b"{}", &[0xff; 4]] {
        put(&moments, damaged);
        for command in [rescore(&out), resume(&out)] {
            let needles = ["class-moments.bin", "start the run anew", "is spent"];
            refused(command, &out, &needles);
        }
    }
}

#[test]
fn a_run_resumes_and_is_judged_again_with_its_whole_ledger_alone() {
    let (_keep, out) = folder();
    stopped(&out, "");
    let ledger = out.join("ledger.jsonl");
    let whole = text_at(&ledger);
    let made = whole.lines().count();
    let shorter =
        |text: &str| text[..text[..text.len() - 1].rfind('\n').expect("lines") + 1].to_string();
    let recorded = format!("tells of {made}");
    remove(&ledger);
    let refuses = |words: &str| {
        let needles = [words, "checkpoints/step-", &recorded];
        refused(resume(&out), &out, &needles);
    };
    refuses("ledger is missing");
    for (text, holds) in [(String::new(), 0), (shorter(&whole), made - 1)] {
        put(&ledger, text);
        refuses(&format!("holds {holds} releases"));
    }
    put(&ledger, &whole);
    done(resume(&out));

    let rescore = || rescore(&out);
    let whole = text_at(&ledger);
    put(&ledger, shorter(&whole));
    refused(rescore(), &out, &["run.json", "tells of 41"]);
    rename(out.join("run.json"), out.join("hidden"));
    refused(rescore(), &out, &["class-moments.bin tells of 41"]);
    remove(&ledger);
    refused(rescore(), &out, &["ledger is missing", "tells of 41"]);
    put(&ledger, &whole);
    done(rescore());

    // A key that a kill at the very end left goes first, however the judging ends.
    let key = out.join("checkpoints/step-000000040/noise.json");
    make_folder(key.parent().expect("a folder"));
    put(&key, "secret");
    remove(out.join("model.bpk"));
    refusal(rescore());
    assert!(!out.join("checkpoints").exists());
}

#[test]
fn resume_takes_no_setting_and_needs_a_run() {
    let (_keep, out) = folder();
    says(&refusal(resume(&out)), &["config.toml"]);
    let mut command = resume(&out);
    command.args(["--epsilon", "3"]);
    says(&refusal(command), &["--epsilon"]);
}
