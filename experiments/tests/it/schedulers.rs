//! `sweep --on`: what holds on every scheduler, against its own daemons, which a test starts and stops.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{Ran, done, lines, refusal, says, sliver, text, unwrapped, words};

/// How often a daemon, the queue or a ledger is looked at before the test fails.
pub(crate) const TRIES: usize = 10_000;

/// Runs with known noise: one that is refused, and two of some steps.
pub(crate) const SWEEP: &str = r#"
    experiment = "swae"
    name = "three"
    [fixed]
    backend = "flex"
    records = 200
    batch = 20
    steps = 3
    delta = 1e-3
    slices = 8
    quick-scores = true
    insecure-noise-seed = 3
    [grid]
    epsilon = [-1, 2, 5]
"#;

/// A scheduler on this machine.
pub(crate) trait Scheduler {
    /// Its value of `--on`.
    const ON: &'static str;

    /// `sweep --on` of a text in a folder.
    fn sweep(&self, folder: &Path, sweep: &str) -> Command;

    /// The jobs in the queue that run, or all of them.
    fn queue(&self, running: bool) -> String;

    /// Kills every process of a job at once, as the loss of its node does.
    fn lose(&mut self, job: &str);
}

/// Asks until the answer is yes.
pub(crate) fn until(what: &str, mut asked: impl FnMut() -> bool) {
    assert!((0..TRIES).any(|_| asked()), "{what} does not come");
}

/// Waits for a run of the sweep to release more than so many times.
pub(crate) fn step(cluster: &impl Scheduler, folder: &Path, before: usize) {
    until("a step", || {
        // The question to the queue sets the pace.
        !cluster.queue(true).is_empty() && lines(&run_of(folder)) > before
    });
}

pub(crate) fn sweep_command(folder: &Path, sweep: &str) -> Command {
    let file = folder.join("sweep.toml");
    std::fs::write(&file, sweep).expect("written");
    let mut command = sliver("sweep");
    command.arg(file).arg("--out").arg(folder.join("runs"));
    command
}

/// What lies in a folder, by its place there.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut open = vec![folder.to_path_buf()];
    let mut files = Vec::new();
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).expect("a folder").flatten() {
            match entry.path() {
                path if path.is_dir() => open.push(path),
                path => files.push(path.strip_prefix(folder).expect("below").to_path_buf()),
            }
        }
    }
    files.sort();
    files
}

/// The one run of a sweep.
fn run_of(folder: &Path) -> PathBuf {
    let runs = std::fs::read_dir(folder.join("runs")).into_iter().flatten();
    let mut runs = runs.flatten().map(|entry| entry.path());
    let run = runs.find(|path| path.is_dir() && path.join("ledger.jsonl").exists());
    run.unwrap_or_else(|| folder.join("none yet"))
}

/// The same runs as on this machine: what fails by itself is reported and not tried again.
pub(crate) fn is_as_here(cluster: &mut impl Scheduler) {
    let [there, here] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let outputs = [
        cluster.sweep(there.path(), SWEEP).output(),
        sweep_command(here.path(), SWEEP).output(),
    ];
    let [there, here] = [&there, &here].map(|folder| folder.path().join("runs"));
    for output in outputs.map(|output| output.expect("the binary starts")) {
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let message = unwrapped(&output.stderr);
        says(&message, &["1 of 3 cells failed: epsilon--1_"]);
        assert!(message.contains("failed, exit status: 2; see"), "{message}");
        assert!(message.matches("array job").count() <= 1, "{message}");
    }
    let all = files(&here);
    let mut found = files(&there);
    found.retain(|path| !path.starts_with(on(cluster)));
    assert_eq!(found, all);
    let lasting = words("ledger.jsonl metrics.jsonl config.toml samples.png");
    let lasting: Vec<&PathBuf> = all
        .iter()
        .filter(|path| lasting.iter().any(|name| path.ends_with(name)))
        .collect();
    assert_eq!(lasting.len(), 8);
    for path in lasting {
        let of = |folder: &Path| std::fs::read(folder.join(path)).expect("readable");
        assert!(of(&there) == of(&here), "{}", path.display());
    }
}

/// A run that is lost is submitted again, so many times; the same command goes on after that, where it stopped.
pub(crate) fn goes_on_after_losses(cluster: &mut impl Scheduler) {
    let folder = tempfile::tempdir().expect("a folder");
    let sweep = SWEEP
        .replace("[-1, 2, 5]", "[5]")
        .replace("steps = 3", "steps = 200");
    let sweep = sweep.replace("[grid]", "checkpoint-every = 1\n[grid]");
    let started = cluster
        .sweep(folder.path(), &sweep)
        .stderr(Stdio::piped())
        .spawn();
    let started = started.expect("the binary starts");
    for loss in 1..=4 {
        let before = lines(&run_of(folder.path()));
        step(cluster, folder.path(), before);
        let job = cluster.queue(true);
        cluster.lose(&job);
        until("the end", || cluster.queue(false) != job);
        assert!(
            !run_of(folder.path()).join("run.json").exists(),
            "loss {loss}"
        );
    }
    let output = started.wait_with_output().expect("a child");
    let message = unwrapped(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_eq!(
        message.matches("lost; it is submitted again").count(),
        3,
        "{message}"
    );
    assert!(message.contains("lost 4 times; see"), "{message}");
    done(cluster.sweep(folder.path(), &sweep).ran());
    let run = run_of(folder.path());
    let log = std::fs::read_to_string(run.with_extension("log")).expect("a log");
    assert!(log.contains("resum"), "{log}");
    assert!(run.join("run.json").exists());
}

/// While an array is in the queue, nothing else starts its runs; Ctrl-C takes it out, and its runs keep their steps.
pub(crate) fn is_cancelled(cluster: &mut impl Scheduler) {
    let folder = tempfile::tempdir().expect("a folder");
    let endless = SWEEP
        .replace("[-1, 2, 5]", "[2, 5, 6]")
        .replace("steps = 3", "steps = 100000");
    let started = cluster
        .sweep(folder.path(), &endless)
        .stderr(Stdio::piped())
        .spawn();
    let started = started.expect("the binary starts");
    step(cluster, folder.path(), 5);
    let message = refusal(cluster.sweep(folder.path(), &endless).ran());
    says(&message, &["of this folder is still in the queue"]);
    let status = Command::new("kill")
        .args(["-INT", &started.id().to_string()])
        .status();
    assert!(status.expect("kill").success());
    let output = started.wait_with_output().expect("a child");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    assert!(message.contains("is cancelled"), "{message}");
    assert_eq!(cluster.queue(false), "");
    assert!(run_of(folder.path()).join("checkpoints").exists());
}

/// The name of a scheduler, which its logs lie under.
fn on<C: Scheduler>(_: &C) -> &'static str {
    C::ON
}
