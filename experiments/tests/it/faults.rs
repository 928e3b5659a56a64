//! What disks do to a run: files that are cut or have a bit turned, a disk that is full, a folder that is read-only.
//! Each run either says so and keeps what it had, or ends with the samples of a run that nothing befell.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use crate::program::{
    Ran, bytes_at, done, files, folder, json, last_checkpoint, lines, make_folder, put, says,
    sliver, stopped_after, text,
};

const STEPS: usize = 12;
/// Where the run is stopped: behind the checkpoints of steps 3, 6 and 8.
const STOPPED: usize = 8;

/// A run whose noise is known, so that it can be repeated.
fn start(out: &Path) -> Command {
    let mut command = sliver(&format!(
        "swae --backend flex --unconditional --records 60 --batch 6 --steps {STEPS} --delta 1e-3 --slices 8 --epsilon 5 \
         --insecure-noise-seed 3 --checkpoint-every 3 --quick-scores --out"
    ));
    command.arg(out);
    command
}

const RESUME: &str = "swae --backend flex --checkpoint-every 3 --quick-scores --resume";

fn resume(out: &Path) -> Command {
    let mut command = sliver(RESUME);
    command.arg(out);
    command
}

/// What the weights make: their own file has names that are new in every process.
fn samples(out: &Path) -> Vec<u8> {
    bytes_at(out.join("samples.png"))
}

/// The samples of a run that nothing befell, and the folder of one that was stopped on its way.
fn whole_and_stopped() -> (Vec<u8>, tempfile::TempDir, PathBuf) {
    let (_whole, whole) = folder();
    done(start(&whole));
    let (keep, stopped) = folder();
    stopped_after(&mut start(&stopped), STOPPED);
    (samples(&whole), keep, stopped)
}

fn copy(from: &Path, to: &Path) {
    for name in files(from).into_keys() {
        let target = to.join(&name);
        make_folder(target.parent().expect("a folder"));
        fs::copy(from.join(name), target).expect("a copy");
    }
}

/// A damaged run resumes to the same end, or is refused as bad input and keeps its ledger.
fn same_or_refused(out: &Path, damage: &str, whole: &[u8]) -> bool {
    let before = fs::read(out.join("ledger.jsonl")).ok();
    let output = resume(out).ran();
    let message = text(&output.stderr);
    if output.status.success() {
        assert!(samples(out) == whole, "{damage}: other samples");
        let lines = lines(out);
        assert!(lines >= STEPS, "{damage}: a ledger of {lines} lines");
        return true;
    }
    assert_eq!(output.status.code(), Some(2), "{damage}: {message}");
    assert!(!message.contains("panicked"), "{damage}: {message}");
    let after = fs::read(out.join("ledger.jsonl")).ok();
    assert!(before == after, "{damage}: the ledger is another");
    false
}

#[test]
fn cut_files_and_turned_bits_are_refused_or_change_nothing() {
    let (whole, _keep, stopped) = whole_and_stopped();
    let (mut same, mut refused) = (0, 0);
    for (name, bytes) in files(&stopped) {
        // The checkpoint before the last is not read.
        let last = last_checkpoint(&stopped);
        let earlier = name.starts_with("checkpoints") && !stopped.join(&name).starts_with(last);
        if bytes.is_empty() || earlier {
            continue;
        }
        // Settings: what a turned bit makes of a number or a comment may be as good as what was there. The checkpoint
        // knows the settings it belongs to, so weights never mix.
        let cut = bytes[..bytes.len() / 2].to_vec();
        let mut turned = bytes;
        let place = turned.len() / 3;
        turned[place] ^= 1;
        for (what, damaged) in [("cut", cut), ("a bit of", turned)] {
            let (_other, other) = folder();
            copy(&stopped, &other);
            put(other.join(&name), damaged);
            match same_or_refused(&other, &format!("{what} {}", name.display()), &whole) {
                true => same += 1,
                false => refused += 1,
            }
        }
    }
    // The files of the last checkpoint are under checksums.
    assert!(
        refused >= 6 && same >= 2,
        "{refused} refused, {same} the same"
    );
}

/// A shell with a file system of its own, where this machine lets one make one.
fn with_tmpfs(size: &str, mounted: &Path, script: &str, more: &[&Path]) -> Option<Output> {
    let prelude = format!("mount -t tmpfs -o size={size} none \"$1\" || exit 99; {script}");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command.args([&prelude, "sh"]).arg(mounted).args(more);
    let output = command.output().ok()?;
    // Without user namespaces it says so before the script.
    let none = output.status.code() == Some(99) || text(&output.stderr).starts_with("unshare:");
    (!none).then_some(output)
}

/// The script runs in a file system of so many bytes; the folder is copied out of it before it goes.
fn on_a_small_disk(size: &str, stopped: &Path, whole: &[u8]) -> Option<bool> {
    let (_keep, mounted) = folder();
    make_folder(&mounted);
    let (_copied, copied) = folder();
    let script = format!(
        "cp -r \"$2\" \"$1/run\" || exit 98; \"$4\" {RESUME} \"$1/run\"; code=$?; cp -r \"$1/run\" \"$3\"; exit $code"
    );
    let binary = Path::new(env!("CARGO_BIN_EXE_sliver"));
    let output = with_tmpfs(size, &mounted, &script, &[stopped, &copied, binary])?;
    let message = text(&output.stderr);
    if output.status.code() == Some(98) {
        return Some(false);
    }
    assert!(!message.contains("panicked"), "{size}: {message}");
    if output.status.success() {
        assert!(samples(&copied) == whole, "{size}: other samples");
        return Some(false);
    }
    assert_eq!(output.status.code(), Some(1), "{size}: {message}");
    assert!(lines(&copied) >= STOPPED, "{size}: the ledger lost lines");
    // With room it goes on.
    done(resume(&copied));
    assert!(samples(&copied) == whole, "{size}: other samples");
    assert!(lines(&copied) >= STEPS, "{size}");
    Some(true)
}

#[test]
fn a_full_disk_loses_nothing() {
    let (whole, _keep, stopped) = whole_and_stopped();
    let held: usize = files(&stopped).values().map(Vec::len).sum();
    let mut full = 0;
    for more in [40, 200, 1200, 3000, 6000] {
        let size = format!("{}k", held / 1024 + more);
        match on_a_small_disk(&size, &stopped, &whole) {
            None => return test_support::skipped("namespaces", "unshare cannot mount here"),
            Some(was_full) => full += usize::from(was_full),
        }
    }
    assert!(full >= 2, "the disk was full {full} times");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let (_whole, _keep, stopped) = whole_and_stopped();
    let (_mounted, mounted) = folder();
    make_folder(&mounted);
    let script = "cp -r \"$2\" \"$1/run\"; mount -o remount,ro none \"$1\" || exit 99; \
                  \"$3\" swae --backend flex --resume \"$1/run\"; code=$?; \
                  \"$3\" swae --backend flex --records 60 --batch 6 --steps 2 --delta 1e-3 --epsilon 5 --out \"$1/new\"; \
                  exit $((code * 10 + $?))";
    let binary = Path::new(env!("CARGO_BIN_EXE_sliver"));
    let Some(output) = with_tmpfs("100m", &mounted, script, &[&stopped, binary]) else {
        return test_support::skipped("namespaces", "unshare cannot mount here");
    };
    let message = text(&output.stderr);
    // Both are refused as bad input.
    assert_eq!(output.status.code(), Some(22), "{message}");
    says(&message.to_lowercase(), &["read-only"]);
    assert!(!message.contains("panicked"), "{message}");
}

/// A clock that was set between two parts of a run, by a century forwards or backwards, shows in nothing: neither in
/// which checkpoint is the last, nor in what the ledger counts, nor in the time that the run says it took.
#[test]
fn a_clock_that_jumps_changes_nothing() {
    let (whole, _keep, stopped) = whole_and_stopped();
    let century = Duration::from_secs(100 * 365 * 86_400);
    for when in [SystemTime::UNIX_EPOCH, SystemTime::now() + century] {
        let (_keep, out) = folder();
        copy(&stopped, &out);
        for name in files(&out).into_keys() {
            let file = fs::File::options().write(true).open(out.join(name));
            let file = file.expect("open");
            file.set_modified(when).expect("set");
        }
        done(resume(&out));
        assert_eq!(lines(&out), STEPS);
        assert!(samples(&out) == whole, "other samples");
        let seconds = json(&out.join("run.json"))["training_seconds"].as_f64();
        assert!((0.0..3600.0).contains(&seconds.expect("a number")));
    }
}
