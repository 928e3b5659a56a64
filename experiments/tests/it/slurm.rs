//! `sweep --on slurm` against Slurm's own daemons: a cluster of one node, which the test starts and stops.

use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::program::{
    Home, Ran, done, files, lines, put, refusal, says, signal, text, text_at, unwrapped, words,
};
use crate::sweep::{SWEEP, one_failed, sweep};

/// How often a daemon, the queue or a ledger is looked at before the test fails.
const TRIES: usize = 10_000;

/// munged, slurmctld and slurmd, with all of their files in one folder.
struct Cluster {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Cluster {
    /// Starts the daemons; an error says what this machine lacks.
    fn start() -> Result<Self, String> {
        for program in ["munged", "slurmctld", "slurmd", "sbatch"] {
            let found = Command::new(program).arg("--version").output();
            found.map_err(|e| format!("{program}: {e}"))?;
        }
        let said = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output();
            Ok::<_, String>(text(&output.map_err(|e| format!("{program}: {e}"))?.stdout))
        };
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().display().to_string();
        // munge wants its socket to be within everybody's reach.
        let permit = |path: &Path, mode| {
            let mode = PermissionsExt::from_mode(mode);
            std::fs::set_permissions(path, mode).expect("permitted");
        };
        permit(folder.path(), 0o711);
        let key = folder.path().join("munge.key");
        let mut random = [0; 128];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut random))
            .expect("random bytes");
        put(&key, random);
        permit(&key, 0o400);
        let host = said("hostname", &["-s"])?.trim().to_string();
        let user = said("id", &["-un"])?.trim().to_string();
        // Two at once, so that they differ.
        let free = || TcpListener::bind("127.0.0.1:0").expect("a free port");
        let ports = [free(), free()].map(|port| port.local_addr().expect("an address").port());
        let configuration = format!(
            "ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={}
SlurmdPort={}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket
StateSaveLocation={root}
SlurmdSpoolDir={root}
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
JobRequeue=0
KillWait=60
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES State=UP
",
            ports[0], ports[1]
        );
        put(folder.path().join("slurm.conf"), configuration);
        let mut cluster = Self {
            folder,
            daemons: Vec::new(),
        };
        let in_folder = |flag: &str, name: &str| format!("{flag}={root}/{name}");
        cluster.daemon(Command::new("munged").arg("--foreground").args([
            in_folder("--key-file", "munge.key"),
            in_folder("--socket", "munge.socket"),
            in_folder("--pid-file", "munged.pid"),
            in_folder("--log-file", "munged.log"),
            in_folder("--seed-file", "munged.seed"),
        ]))?;
        let socket = in_folder("--socket", "munge.socket");
        cluster.ready("munged", || {
            let asked = Command::new("munge").args(["--no-input", &socket]).output();
            asked.is_ok_and(|output| output.status.success())
        })?;
        cluster.daemon(Command::new("slurmctld").arg("-D"))?;
        cluster.daemon(Command::new("slurmd").arg("-D"))?;
        cluster.ready("slurmd", || cluster.says("sinfo", &["-ho", "%T"]) == "idle")?;
        Ok(cluster)
    }

    fn configured<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf"))
    }

    fn daemon(&mut self, command: &mut Command) -> Result<(), String> {
        let command = self.configured(command).stdin(Stdio::null());
        let started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        self.daemons
            .push(started.map_err(|e| format!("{command:?}: {e}"))?);
        Ok(())
    }

    /// Asks until the answer is yes; an error has the logs.
    fn ready(&self, what: &str, mut asked: impl FnMut() -> bool) -> Result<(), String> {
        if (0..TRIES).any(|_| asked()) {
            return Ok(());
        }
        let log = |name: &str| std::fs::read_to_string(self.folder.path().join(name));
        let logs =
            ["munged.log", "slurmctld.log", "slurmd.log"].map(|name| log(name).unwrap_or_default());
        Err(format!("{what} is not ready: {}", logs.join("\n")))
    }

    /// What a command of Slurm prints.
    fn says(&self, program: &str, arguments: &[&str]) -> String {
        let output = self
            .configured(Command::new(program).args(arguments))
            .output();
        text(&output.expect("it starts").stdout).trim().to_string()
    }

    /// `sweep --on slurm` of a text in a folder.
    fn sweep(&self, folder: &Path, text: &str) -> Command {
        let mut command = sweep(folder, text);
        self.configured(command.args(["--on", "slurm", "--submit", "--cpus-per-task 1"]));
        command
    }

    /// The jobs in the queue that run, or all of them.
    fn queue(&self, running: bool) -> String {
        let states: &[&str] = if running {
            &["--states", "running"]
        } else {
            &[]
        };
        self.says("squeue", &[&["-ho", "%A"], states].concat())
    }

    /// Kills every process of a job at once, as the loss of its node does.
    fn lose(&mut self, job: &str) {
        let listed = self.says("scontrol", &["listpids", job]);
        let pids = listed
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().next());
        let pids: Vec<&str> = pids.filter(|pid| *pid != "-1").collect();
        // Stopped first, so that the shell does not live to see its run end.
        for signal in ["-STOP", "-KILL"] {
            let status = Command::new("kill").arg(signal).args(&pids).status();
            assert!(status.expect("kill").success(), "{listed}");
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A task outlives the daemon that started it; without its controller the cluster has none.
        if self.daemons.len() == 3 {
            self.says("scancel", &["--partition", "main"]);
            let _ = (0..TRIES).any(|_| self.queue(false).is_empty());
        }
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Asks until the answer is yes.
fn until(what: &str, mut asked: impl FnMut() -> bool) {
    assert!((0..TRIES).any(|_| asked()), "{what} does not come");
}

/// Waits for a run of the sweep to release more often than `before`.
fn step(cluster: &Cluster, folder: &Path, before: usize) {
    until("a step", || {
        // The question to the queue sets the pace.
        !cluster.queue(true).is_empty() && lines(&run_of(folder)) > before
    });
}

/// The one run of a sweep.
fn run_of(folder: &Path) -> PathBuf {
    let runs = std::fs::read_dir(folder.join("runs")).into_iter().flatten();
    let mut runs = runs.flatten().map(|entry| entry.path());
    let run = runs.find(|path| path.is_dir() && path.join("ledger.jsonl").exists());
    run.unwrap_or_else(|| folder.join("none yet"))
}

/// The same runs as on this machine: what fails by itself is reported and not tried again.
fn is_as_here(cluster: &mut Cluster) {
    let [there, here] = [(); 2].map(|()| Home::new());
    let three = SWEEP.replace("[2, 5]", "[-1, 2, 5]");
    for command in [
        cluster.sweep(&there.at(""), &three),
        sweep(&here.at(""), &three),
    ] {
        let message = one_failed(command, 3);
        says(&message, &["failed, exit status: 2; see"]);
        assert!(message.matches("array job").count() <= 1, "{message}");
    }
    let [mut found, all] = [&there, &here].map(|home| files(&home.at("runs")));
    found.retain(|path, _| !path.starts_with("slurm"));
    assert!(found.keys().eq(all.keys()));
    let lasting = words("ledger.jsonl metrics.jsonl config.toml samples.png");
    let lasting: Vec<&PathBuf> = all
        .keys()
        .filter(|path| lasting.iter().any(|name| path.ends_with(name)))
        .collect();
    assert_eq!(lasting.len(), 8);
    for path in lasting {
        assert!(found[path] == all[path], "{}", path.display());
    }
}

/// A run that is lost is submitted again, three times at most; the same command goes on after that, where it stopped.
fn goes_on_after_losses(cluster: &mut Cluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let long = SWEEP
        .replace("[2, 5]", "[5]")
        .replace("steps = 3", "steps = 200\n    checkpoint-every = 1");
    let mut started = cluster.sweep(folder.path(), &long);
    let started = started.stderr(Stdio::piped()).spawn();
    let started = started.expect("the binary starts");
    for loss in 1..=4 {
        let before = lines(&run_of(folder.path()));
        step(cluster, folder.path(), before);
        let job = cluster.queue(true);
        cluster.lose(&job);
        until("the end", || cluster.queue(false) != job);
        let run = run_of(folder.path());
        assert!(!run.join("run.json").exists(), "loss {loss}");
    }
    let output = started.wait_with_output().expect("a child");
    let message = unwrapped(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    let again = message.matches("lost; it is submitted again").count();
    assert_eq!(again, 3, "{message}");
    says(&message, &["lost 4 times; see"]);
    done(cluster.sweep(folder.path(), &long));
    let run = run_of(folder.path());
    says(&text_at(run.with_extension("log")), &["resum"]);
    assert!(run.join("run.json").exists());
}

/// While an array is in the queue, nothing else starts its runs; Ctrl-C takes it out, and its runs keep their steps.
fn is_cancelled(cluster: &mut Cluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let endless = SWEEP
        .replace("[2, 5]", "[2, 5, 6]")
        .replace("steps = 3", "steps = 100000");
    let mut started = cluster.sweep(folder.path(), &endless);
    let started = started.stderr(Stdio::piped()).spawn();
    let started = started.expect("the binary starts");
    step(cluster, folder.path(), 5);
    let message = refusal(cluster.sweep(folder.path(), &endless));
    says(&message, &["of this folder is still in the queue"]);
    signal(started.id(), "INT");
    let output = started.wait_with_output().expect("a child");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    says(&message, &["is cancelled"]);
    assert_eq!(cluster.queue(false), "");
    assert!(run_of(folder.path()).join("checkpoints").exists());
}

/// What Slurm refuses is said in its words, with what was asked for.
fn says_what_is_missing(cluster: &mut Cluster) {
    let home = Home::new();
    let refused = |command: &mut Command, code: i32, words: &[&str]| {
        let output = command.ran();
        let message = unwrapped(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{message}");
        says(&message, words);
    };
    let command = || cluster.sweep(&home.at(""), SWEEP);
    refused(
        command().env("SBATCH_PARTITION", "nowhere"),
        1,
        &["partition specified: nowhere"],
    );
    refused(
        command().env("PATH", home.at("")),
        2,
        &["--on slurm: squeue", "where this command is"],
    );
    refused(
        command().args(["--private", "--select", "x"]),
        2,
        &["cannot be used with"],
    );
    let mut controller = cluster.daemons.remove(1);
    controller
        .kill()
        .and_then(|()| controller.wait())
        .expect("killed");
    let words = [
        "Unable to contact slurm controller",
        "the same command goes on",
    ];
    refused(&mut cluster.sweep(&home.at(""), SWEEP), 1, &words);
    let mut left = files(&home.at("runs")).into_keys();
    assert!(left.all(|path| path.starts_with("slurm")));
}

#[test]
fn a_sweep_is_an_array_job() {
    let mut cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(why) => return test_support::skipped("slurm", &why),
    };
    is_as_here(&mut cluster);
    goes_on_after_losses(&mut cluster);
    is_cancelled(&mut cluster);
    says_what_is_missing(&mut cluster);
}
