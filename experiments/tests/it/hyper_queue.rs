//! `sweep --on hq` against HyperQueue's own server and worker, which the test starts and stops.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::program::{Ran, refusal, says, text, unwrapped};
use crate::schedulers::{
    SWEEP, Scheduler, goes_on_after_losses, is_as_here, is_cancelled, step, sweep_command, until,
};

/// A server and a worker, with all of their files in one folder.
struct Cluster {
    folder: tempfile::TempDir,
    server: Child,
    worker: Child,
}

/// `hq` with its files in this folder.
fn hq(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("hq");
    command.args(words).env("HQ_SERVER_DIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null());
    command
}

fn said(folder: &Path, words: &[&str]) -> String {
    let output = hq(folder, words).stdout(Stdio::piped()).output();
    text(&output.expect("it starts").stdout)
}

fn worker(folder: &Path) -> Child {
    let started = hq(folder, &["worker", "start", "--cpus", "2"]).spawn();
    let started = started.expect("it starts");
    let running = || said(folder, &["--output-mode=quiet", "worker", "list"]);
    until("a worker", || !running().trim().is_empty());
    started
}

impl Cluster {
    /// Starts the daemons; an error says what this machine lacks.
    fn start() -> Result<Self, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let server = hq(folder.path(), &["server", "start"]).spawn();
        let server = server.map_err(|e| format!("hq: {e}"))?;
        let asked = || hq(folder.path(), &["server", "info"]).status();
        until("the server", || {
            asked().is_ok_and(|status| status.success())
        });
        Ok(Self {
            worker: worker(folder.path()),
            server,
            folder,
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = hq(self.folder.path(), &["job", "cancel", "all"]).status();
        for daemon in [&mut self.worker, &mut self.server] {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// A process and those that it started, and so on.
fn with_children(pid: String) -> Vec<String> {
    let listed = Command::new("pgrep").args(["-P", &pid]).output();
    let listed = text(&listed.expect("pgrep").stdout);
    let children = listed.split_whitespace().map(String::from);
    let below = children.flat_map(with_children).collect::<Vec<_>>();
    std::iter::once(pid).chain(below).collect()
}

impl Scheduler for Cluster {
    const ON: &'static str = "hq";

    fn sweep(&self, folder: &Path, sweep: &str) -> Command {
        let mut command = sweep_command(folder, sweep);
        // A task that was lost is not started again by the server.
        command.args([
            "--on",
            "hq",
            "--submit",
            "--cpus 1 --crash-limit never-restart",
        ]);
        command.env("HQ_SERVER_DIR", self.folder.path());
        command
    }

    fn queue(&self, running: bool) -> String {
        let states = if running {
            "running"
        } else {
            "waiting,running"
        };
        let words = ["--output-mode=quiet", "job", "list", "--filter", states];
        let listed = said(self.folder.path(), &words);
        let jobs = listed.lines().filter_map(|line| line.split(' ').next());
        jobs.collect::<Vec<_>>().join("\n")
    }

    fn lose(&mut self, _: &str) {
        let pids = with_children(self.worker.id().to_string());
        // Stopped first, so that the shell does not live to see its run end.
        for signal in ["-STOP", "-KILL"] {
            let status = Command::new("kill").arg(signal).args(&pids).status();
            assert!(status.expect("kill").success(), "{pids:?}");
        }
        self.worker.wait().expect("a child");
        self.worker = worker(self.folder.path());
    }
}

/// What a person cancels is not submitted again.
fn stays_cancelled(cluster: &Cluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let endless = SWEEP
        .replace("[-1, 2, 5]", "[5]")
        .replace("steps = 3", "steps = 2000");
    let started = cluster
        .sweep(folder.path(), &endless)
        .stderr(Stdio::piped())
        .spawn();
    let started = started.expect("the binary starts");
    step(cluster, folder.path(), 0);
    said(cluster.folder.path(), &["job", "cancel", "last"]);
    let output = started.wait_with_output().expect("a child");
    let message = unwrapped(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    says(&message, &["failed: ", "hq says canceled"]);
    assert_eq!(message.matches("array job").count(), 1, "{message}");
}

/// A task reads the data that the sweep names, and how many there are at a time is the workers' affair.
fn has_its_variables(cluster: &Cluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let sweep = SWEEP.replace("[-1, 2, 5]", "[5]");
    let sweep = sweep.replace("[grid]", "dataset = \"mnist\"\n[grid]");
    let nowhere = folder.path().join("nowhere");
    let mut command = cluster.sweep(folder.path(), &sweep);
    let output = command.env("SLIVER_DATA", &nowhere).ran();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let logs = std::fs::read_dir(folder.path().join("runs")).expect("a folder");
    let logs = logs.flatten().map(|entry| entry.path());
    let mut logs = logs.filter(|path| path.extension().is_some_and(|e| e == "log"));
    let log = std::fs::read(logs.next().expect("a log")).expect("readable");
    says(&unwrapped(&log), &[&nowhere.to_string_lossy()]);

    let mut command = cluster.sweep(folder.path(), &sweep);
    let message = refusal(command.args(["--workers", "2"]));
    says(&message, &["--workers 2", "--cpus 4"]);
}

#[test]
fn a_sweep_is_a_task_array() {
    let mut cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(why) => return test_support::skipped("hq", &why),
    };
    is_as_here(&mut cluster);
    goes_on_after_losses(&mut cluster);
    is_cancelled(&mut cluster);
    stays_cancelled(&cluster);
    has_its_variables(&cluster);
}

#[test]
fn what_cannot_be_is_refused_without_hq() {
    let folder = tempfile::tempdir().expect("a folder");
    let sweep = |flags: &[&str]| {
        let mut command = sweep_command(folder.path(), SWEEP);
        command.args(["--on", "hq"]).args(flags);
        command.env("HQ_SERVER_DIR", folder.path().join("none"));
        command
    };
    let no_command = sweep(&[]).env("PATH", folder.path()).ran();
    assert_eq!(no_command.status.code(), Some(2));
    let message = unwrapped(&no_command.stderr);
    says(&message, &["--on hq: hq", "where this command is"]);
    let message = refusal(sweep(&["--private", "--select", "x"]));
    says(&message, &["cannot be used with"]);
}
