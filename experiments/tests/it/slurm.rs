//! `sweep --on slurm` against Slurm's own daemons: a cluster of one node, which the test starts and stops.

use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::program::{Ran, done, lines, refusal, says, sliver, text, unwrapped, words};

/// How often a daemon, the queue or a ledger is looked at before the test fails.
const TRIES: usize = 10_000;

/// Runs with known noise: one that is refused, and two of some steps.
const SWEEP: &str = r#"
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
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(folder.path(), open).expect("permitted");
        let key = folder.path().join("munge.key");
        let mut random = [0; 128];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut random))
            .expect("random bytes");
        std::fs::write(&key, random).expect("written");
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o400);
        std::fs::set_permissions(&key, own).expect("permitted");
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
        std::fs::write(folder.path().join("slurm.conf"), configuration).expect("written");
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
    fn sweep(&self, folder: &Path, sweep: &str) -> Command {
        let mut command = sweep_command(folder, sweep);
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

fn sweep_command(folder: &Path, sweep: &str) -> Command {
    let file = folder.join("sweep.toml");
    std::fs::write(&file, sweep).expect("written");
    let mut command = sliver("sweep");
    command.arg(file).arg("--out").arg(folder.join("runs"));
    command
}

/// What lies in a folder, by its place there.
fn files(folder: &Path) -> Vec<PathBuf> {
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
fn is_as_here(cluster: &mut Cluster) {
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
    found.retain(|path| !path.starts_with("slurm"));
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

/// A run that is lost is submitted again, three times at most; the same command goes on after that, where it stopped.
fn goes_on_after_losses(cluster: &mut Cluster) {
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
fn is_cancelled(cluster: &mut Cluster) {
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

/// What Slurm refuses is said in its words, with what was asked for.
fn says_what_is_missing(cluster: &mut Cluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |command: &mut Command, code: i32, words: &[&str]| {
        let output: Output = command.ran();
        let message = unwrapped(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{message}");
        test_support::says(&message, words);
    };
    let nowhere = &mut cluster.sweep(folder.path(), SWEEP);
    refused(
        nowhere.env("SBATCH_PARTITION", "nowhere"),
        1,
        &["partition specified: nowhere"],
    );
    let no_commands = &mut cluster.sweep(folder.path(), SWEEP);
    refused(
        no_commands.env("PATH", folder.path()),
        2,
        &["--on slurm: squeue", "where this command is"],
    );
    let private = &mut cluster.sweep(folder.path(), SWEEP);
    refused(
        private.args(["--private", "--select", "x"]),
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
    refused(&mut cluster.sweep(folder.path(), SWEEP), 1, &words);
    assert!(
        files(&folder.path().join("runs"))
            .iter()
            .all(|path| path.starts_with("slurm"))
    );
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
