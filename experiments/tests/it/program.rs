//! What tests of the program need of a run: its command, its folder, its text, its JSON.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use data::NpyArray;
use dp_core::accounting::{Accountant, Event, PldAccountant};
use dp_core::ledger::{Entries, Ledger};
pub(crate) use test_support::says;

/// The program with its subcommand, or with a whole line of words without spaces.
pub(crate) fn sliver(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sliver"));
    command.args(words(line));
    command
}

/// A temporary folder, kept as long as the first part lives, and the run's own place in it.
pub(crate) fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("run");
    (folder, out)
}

/// A temporary folder, in which the program runs and keeps its cache: lines name files by their places in it.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and the folders that it lies in.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        make_folder(path.parent().expect("a folder"));
        put(&path, content);
        path
    }

    pub(crate) fn text(&self, name: &str) -> String {
        text_at(self.at(name))
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        bytes_at(self.at(name))
    }

    pub(crate) fn json(&self, name: &str) -> serde_json::Value {
        json(&self.at(name))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.at(name).exists()
    }

    /// Removes files and folders.
    pub(crate) fn lose(&self, names: &str) {
        words(names).iter().for_each(|name| remove(self.at(name)));
    }

    pub(crate) fn sliver(&self, line: &str) -> Command {
        let mut command = sliver(line);
        command.current_dir(self.0.path());
        command.env("XDG_CACHE_HOME", self.at("cache"));
        command
    }

    /// What a line prints that must succeed.
    #[track_caller]
    pub(crate) fn done(&self, line: &str) -> String {
        text(&done(self.sliver(line)).stdout)
    }

    /// A line that must be refused with these words.
    #[track_caller]
    pub(crate) fn refuses(&self, line: &str, words: &[&str]) -> String {
        let message = refusal(self.sliver(line));
        says(&message, words);
        message
    }

    /// Refuses the flags of each line `FLAGS => WORDS | WORDS` behind `before`; none leaves a folder `none`, where they may write.
    #[track_caller]
    pub(crate) fn refuses_each(&self, before: &str, cases: &str) {
        for case in cases.lines().filter(|line| !line.trim().is_empty()) {
            let (flags, says) = case.split_once("=>").expect("FLAGS => WORDS");
            let words: Vec<&str> = says.split('|').map(str::trim).collect();
            self.refuses(&format!("{before} {flags}"), &words);
            assert!(!self.has("none"), "{flags}");
        }
    }
}

#[track_caller]
pub(crate) fn text_at(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("a text")
}

#[track_caller]
pub(crate) fn bytes_at(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

#[track_caller]
pub(crate) fn put(path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
    std::fs::write(path, content).expect("written");
}

#[track_caller]
pub(crate) fn make_folder(path: impl AsRef<Path>) {
    std::fs::create_dir_all(path).expect("a folder");
}

/// Removes a file, or a folder with all that is in it.
#[track_caller]
pub(crate) fn remove(path: impl AsRef<Path>) {
    let path = path.as_ref();
    let removed = match path.is_dir() {
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    };
    removed.expect("removed");
}

#[track_caller]
pub(crate) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    std::fs::rename(from, to).expect("moved");
}

/// What lies in a folder, at any depth: paths in it, and contents.
pub(crate) fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).expect("below").to_path_buf();
                found.insert(name, bytes_at(&path));
            }
        }
    }
    found
}

/// The same files, to the last byte; of differing ones the first line that differs is said.
#[track_caller]
pub(crate) fn same(one: &BTreeMap<PathBuf, Vec<u8>>, other: &BTreeMap<PathBuf, Vec<u8>>) {
    let names = [one, other].map(|files| files.keys().collect::<Vec<_>>());
    assert_eq!(names[0], names[1]);
    for (name, bytes) in one {
        let [lines, others] = [bytes, &other[name]].map(|bytes| text(bytes));
        let differ = lines.lines().zip(others.lines()).find(|(a, b)| a != b);
        assert!(bytes == &other[name], "{}: {differ:?}", name.display());
    }
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
    serde_json::from_str(&text_at(path)).expect("JSON")
}

/// Takes files and the copy away from the run of `synth` in the folder `run`, and resumes it: one that was released stays, and those
/// that are made again, as many as said, are counted again.
#[track_caller]
pub(crate) fn made_again(home: &Home, stays: &str, gone: &str, releases: usize) {
    let run = home.at("run");
    let before = (bytes_at(run.join(stays)), lines(&run));
    for name in words(gone).into_iter().chain(["copy"]) {
        remove(run.join(name));
    }
    home.done("synth --resume run");
    assert!(bytes_at(run.join(stays)) == before.0);
    assert_eq!(lines(&run), before.1 + releases);
    assert!(home.has("run/copy/card.json"));
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
    remove(last_checkpoint(run));
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

pub(crate) fn signal(process: u32, name: &str) {
    let mut kill = Command::new("kill");
    kill.args([format!("-{name}"), process.to_string()]);
    assert!(kill.status().expect("kill").success());
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
    text_at(out.join("metrics.jsonl"))
        .lines()
        .map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let spent = line["epsilon_upper"].take().as_f64().unwrap_or(0.0);
            (line, spent)
        })
        .unzip()
}

/// A file of NumPy: an array of numbers in one column, or in several.
pub(crate) fn npy(width: Option<usize>, values: &[f32]) -> Vec<u8> {
    let array = NpyArray {
        rows: values.len() / width.unwrap_or(1),
        width,
        values: values.to_vec(),
    };
    let mut file = Vec::new();
    data::npy::write(&mut file, &array).expect("an array");
    file
}

/// The columns of a table of one's own.
pub(crate) const SCHEMA: &str = r#"
column = [
    { name = "x", kind = "numeric", min = 0, max = 10 },
    { name = "sex", kind = "sensitive", zero = ["F"], one = ["M"] },
    { name = "y", kind = "label", classes = [["no"], ["yes"]] },
]
"#;
