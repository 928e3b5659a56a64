//! What tests of the program need of a run: its command, its folder, its text, its JSON.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dp_core::accounting::{Accountant, Event, PldAccountant};
use dp_core::ledger::{Entries, Ledger};
pub(crate) use test_support::says;

/// The program with its subcommand.
pub(crate) fn sliver(subcommand: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sliver"));
    command.arg(subcommand);
    command
}

/// A temporary folder, kept as long as the first part lives, and the run's own place in it.
pub(crate) fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("run");
    (folder, out)
}

/// What a program printed.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A message without the lines that it was broken into.
pub(crate) fn unwrapped(bytes: &[u8]) -> String {
    let text = text(bytes).replace('│', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A program that is run to its end, or was.
pub(crate) trait Ran {
    /// What it left, whatever its exit code.
    fn ran(self) -> Output;
}

impl Ran for Output {
    fn ran(self) -> Output {
        self
    }
}

impl Ran for &mut Command {
    #[track_caller]
    fn ran(self) -> Output {
        self.output().expect("the program starts")
    }
}

impl Ran for Command {
    #[track_caller]
    fn ran(mut self) -> Output {
        self.output().expect("the program starts")
    }
}

/// What a program left that must have succeeded.
#[track_caller]
pub(crate) fn done(program: impl Ran) -> Output {
    let output = program.ran();
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

/// The message of a program that must have refused its input, without the lines that it was broken into.
#[track_caller]
pub(crate) fn refusal(program: impl Ran) -> String {
    let output = program.ran();
    let message = unwrapped(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    message
}

/// The words of a line of flags.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[track_caller]
pub(crate) fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().expect("a number")
}

/// The ledger of a run.
#[track_caller]
pub(crate) fn ledger(run: &Path) -> Entries {
    Ledger::read(&run.join("ledger.jsonl")).expect("a ledger")
}

/// Epsilon of an event by the accountant that plans use.
#[track_caller]
pub(crate) fn pld(event: &Event, delta: f64) -> f64 {
    let epsilon = PldAccountant::default().epsilon(event, delta);
    epsilon.expect("covered")
}

/// A file as JSON.
pub(crate) fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("readable")).expect("JSON")
}

/// Refuses the flags of each line `FLAGS => WORDS`: exit code 2, the words in the message, nothing created.
pub(crate) fn refuses<R: Ran>(cases: &str, run: impl Fn(&Path, &[&str]) -> R) {
    let cases = cases.lines().filter(|line| !line.trim().is_empty());
    for case in cases {
        let (flags, says) = case.split_once("=>").expect("FLAGS => WORDS");
        let (_keep, out) = folder();
        let message = refusal(run(&out, &words(flags)));
        assert!(message.contains(says.trim()), "{flags}: {message}");
        assert!(!out.exists(), "{flags}");
    }
}

/// Resumes a finished run of `synth` from which these files, and its copy, are gone.
pub(crate) fn made_again(run: &Path, files: &[&str]) {
    for name in files {
        std::fs::remove_file(run.join(name)).expect("removed");
    }
    std::fs::remove_dir_all(run.join("copy")).expect("removed");
    let mut again = sliver("synth");
    again.arg("--resume").arg(run).arg("--cache-dir");
    done(again.arg(run.with_file_name("cache")));
}

/// Runs until `step` steps are done, as with a SIGINT that comes then.
pub(crate) fn stopped_after(command: &mut Command, step: usize) {
    let stop = ["--stop-after-step".to_string(), step.to_string()];
    let output = command.args(stop).output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
}

/// Leaves `run` as a kill after `step` steps does, before the next checkpoint is written.
pub(crate) fn killed_after(command: &mut Command, run: &Path, step: usize) {
    stopped_after(command, step);
    std::fs::remove_dir_all(last_checkpoint(run)).expect("a checkpoint");
}

/// A run from its first step to its last, and one that is killed after some steps and then resumes: their folders.
pub(crate) fn whole_and_killed(
    run: impl Fn(&Path) -> Command,
    steps: &[usize],
) -> [(tempfile::TempDir, PathBuf); 2] {
    let (whole, killed) = (folder(), folder());
    for step in steps {
        killed_after(&mut run(&killed.1), &killed.1, *step);
    }
    for (_, out) in [&whole, &killed] {
        done(run(out));
    }
    [whole, killed]
}

/// The last checkpoint of a run.
pub(crate) fn last_checkpoint(run: &Path) -> PathBuf {
    let checkpoints = std::fs::read_dir(run.join("checkpoints")).expect("checkpoints");
    let paths = checkpoints.map(|entry| entry.expect("an entry").path());
    let whole = paths.filter(|path| path.join("manifest.json").exists());
    whole.max().expect("a checkpoint")
}

/// The weights in the `model.bpk` of a run, where it has one.
pub(crate) fn weights(run: &Path) -> Option<Vec<u8>> {
    let model = std::fs::read(run.join("model.bpk")).ok()?;
    // Its head names tensors by ids that are new in each run; its length stands behind the magic and the version.
    let head: [u8; 4] = model[6..10].try_into().expect("four bytes");
    Some(model[10 + u32::from_le_bytes(head) as usize..].to_vec())
}

/// Lines of the ledger of a run.
pub(crate) fn lines(run: &Path) -> usize {
    std::fs::read_to_string(run.join("ledger.jsonl")).map_or(0, |t| t.lines().count())
}

/// The lines of `metrics.jsonl`, and the epsilon spent at each of a private step.
pub(crate) fn metrics(out: &Path) -> (Vec<serde_json::Value>, Vec<f64>) {
    let text = std::fs::read_to_string(out.join("metrics.jsonl")).expect("metrics");
    text.lines()
        .map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let spent = line["epsilon_upper"].take().as_f64().unwrap_or(0.0);
            (line, spent)
        })
        .unzip()
}

/// The columns of a table of one's own.
pub(crate) const SCHEMA: &str = r#"
[[column]]
name = "x"
kind = "numeric"
min = 0
max = 10
[[column]]
name = "sex"
kind = "sensitive"
zero = ["F"]
one = ["M"]
[[column]]
name = "y"
kind = "label"
classes = [["no"], ["yes"]]
"#;
