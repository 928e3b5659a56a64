//! `sweep --on slurm` against Slurm's own daemons: a cluster of one node, which the test starts and stops.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::program::{Ran, text, unwrapped};
use crate::schedulers::{
    SWEEP, Scheduler, TRIES, files, goes_on_after_losses, is_as_here, is_cancelled, sweep_command,
};

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
}

impl Scheduler for Cluster {
    const ON: &'static str = "slurm";

    fn sweep(&self, folder: &Path, sweep: &str) -> Command {
        let mut command = sweep_command(folder, sweep);
        self.configured(command.args(["--on", "slurm", "--submit", "--cpus-per-task 1"]));
        command
    }

    fn queue(&self, running: bool) -> String {
        let states: &[&str] = if running {
            &["--states", "running"]
        } else {
            &[]
        };
        self.says("squeue", &[&["-ho", "%A"], states].concat())
    }

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
