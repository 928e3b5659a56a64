//! The cells of a sweep as one array job of Slurm.
//!
//! Slurm places, starts and stops the tasks. Each writes the exit status of its run as the last line of its log, so a
//! log without one tells of a task that was lost as a whole, with or without Slurm's accounting; such a run is
//! submitted again, and resumes by itself.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use reporting::checksum::hex;
use reporting::diagnostic::{Failure, OrFailed};
use reporting::interrupt::Interrupt;

use super::grid::Cell;
use super::runner::{Runner, told};

/// How many times a run is submitted again.
const RESUBMISSIONS: u32 = 3;
/// The first pause before the queue is asked, by which each is longer than the last, and the longest.
const PAUSE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];
/// What a run, or its shell, ends with after SIGTERM, by which Slurm announces a time limit or a preemption.
const STOPPED: [i32; 2] = [130, 143];

/// How an array job is submitted.
pub(super) struct Array<'a> {
    /// At most so many tasks at a time.
    pub(super) workers: Option<usize>,
    /// Further flags of `sbatch`.
    pub(super) flags: &'a [&'a str],
}

/// How a task ended.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Failed(String),
    Lost,
}

impl Array<'_> {
    /// Runs all `cells` below `folder`, and names those that failed.
    pub(super) fn run(
        &self,
        runner: &Runner,
        cells: &[Cell],
        folder: &Path,
        interrupt: &Interrupt,
    ) -> Result<Vec<String>, Failure> {
        let logs = folder.join("slurm");
        std::fs::create_dir_all(&logs).map_err(|e| {
            Failure::input(format!("{}: {e}", logs.display()), "choose another --out")
        })?;
        // One folder, one name: so the queue tells whether an array is at these runs.
        let path = folder.canonicalize().or_failed()?;
        let name = format!("sliver-{}", &hex(path.as_os_str().as_encoded_bytes())[..10]);
        if let Some(job) = queued(&name)?.first() {
            return Err(Failure::input(
                format!(
                    "{}: array job {job} of this folder is still in Slurm's queue",
                    folder.display()
                ),
                format!(
                    "wait until it has ended, or end it with scancel {job}; then the same command goes on"
                ),
            ));
        }
        let mut open: Vec<&Cell> = cells.iter().collect();
        let mut failed = Vec::new();
        for submission in 0..=RESUBMISSIONS {
            if open.is_empty() || interrupt.asked() {
                break;
            }
            let job = self.submit(runner, &open, folder, &logs, &name)?;
            eprintln!("slurm     array job {job}: {} runs", open.len());
            wait(&name, interrupt);
            if interrupt.asked() {
                slurm("scancel", ["--name", &name])?;
                eprintln!(
                    "slurm     array job {job} is cancelled; waiting for its last checkpoints"
                );
                // A second signal ends this.
                wait(&name, &Interrupt::default());
                break;
            }
            let states = states(&job);
            let mut lost = Vec::new();
            for (task, cell) in open.into_iter().enumerate() {
                let log = logs.join(format!("{job}_{task}.log"));
                let text = std::fs::read_to_string(&log);
                let result = match outcome(
                    text.as_deref().unwrap_or_default(),
                    states.get(&task).map_or("", String::as_str),
                    &folder.join(format!("{}.log", cell.name)),
                ) {
                    Outcome::Done => Ok(()),
                    Outcome::Failed(why) => Err(why),
                    Outcome::Lost if submission < RESUBMISSIONS => {
                        eprintln!("cell      {}: lost; it is submitted again", cell.name);
                        lost.push(cell);
                        continue;
                    }
                    Outcome::Lost => Err(match text {
                        Ok(_) => format!("lost {} times; see {}", submission + 1, log.display()),
                        Err(e) => format!(
                            "lost {} times; {}: {e}: all nodes must share this folder",
                            submission + 1,
                            log.display()
                        ),
                    }),
                };
                told(cell, &result);
                if result.is_err() {
                    failed.push(cell.name.clone());
                }
            }
            open = lost;
        }
        Ok(failed)
    }

    /// Submits one task for each cell; its number is the place of the cell.
    fn submit(
        &self,
        runner: &Runner,
        cells: &[&Cell],
        folder: &Path,
        logs: &Path,
        name: &str,
    ) -> Result<String, Failure> {
        let path = logs.join("array.sh");
        std::fs::write(&path, script(runner, cells, folder)).or_failed()?;
        let mut tasks = format!("0-{}", cells.len() - 1);
        if let Some(workers) = self.workers {
            tasks += &format!("%{workers}");
        }
        // In a pattern of Slurm %% is a per cent sign.
        let pattern = PathBuf::from(logs.to_string_lossy().replace('%', "%%")).join("%A_%a.log");
        let mut words: Vec<&OsStr> = self.flags.iter().map(OsStr::new).collect();
        let own = [
            "--parsable",
            "--array",
            &tasks,
            "--job-name",
            name,
            "--output",
        ];
        words.extend(own.map(OsStr::new));
        words.extend([pattern.as_os_str(), path.as_os_str()]);
        let printed = slurm("sbatch", words)?;
        // The number of the job, and with several clusters the name of its own.
        let job = printed.trim().split(';').next().unwrap_or_default();
        Ok(job.to_string())
    }
}

/// What each task does. A handler of SIGTERM lets the shell outlive the run, which writes a checkpoint then.
fn script(runner: &Runner, cells: &[&Cell], folder: &Path) -> String {
    let mut text = "#!/bin/sh\ntrap : TERM\ncase \"$SLURM_ARRAY_TASK_ID\" in\n".to_string();
    for (task, cell) in cells.iter().enumerate() {
        let place = folder.join(&cell.name);
        let line = runner.line(cell, &["--run", &place.to_string_lossy()]);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{task}) set -- {line} ;;");
    }
    text + "esac\nfor run do :; done\n\"$@\" >\"$run.log\" 2>&1\nstatus=$?\necho \"exit $status\"\nexit $status\n"
}

/// How a task ended whose log is this, and of which Slurm says `state`, where it knows one.
fn outcome(log: &str, state: &str, run_log: &Path) -> Outcome {
    let status = log
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("exit "));
    let status: Option<i32> = status.and_then(|status| status.parse().ok());
    match status {
        Some(0) => Outcome::Done,
        Some(status) if !STOPPED.contains(&status) => Outcome::Failed(format!(
            "failed, exit status: {status}; see {}",
            run_log.display()
        )),
        // What a person cancelled stays so, and what had too little memory would have too little again.
        _ if state.starts_with("CANCELLED") || state == "OUT_OF_MEMORY" => {
            Outcome::Failed(format!("Slurm says {state}; see {}", run_log.display()))
        }
        _ => Outcome::Lost,
    }
}

/// Waits until no task of this name is in the queue, or until somebody asks to stop. `sbatch --wait` asks the queue just
/// as often, but returns while tasks are still ending or are about to be started again.
fn wait(name: &str, interrupt: &Interrupt) {
    let [first, longest] = PAUSE;
    let mut pause = first;
    loop {
        let asked = Instant::now();
        while asked.elapsed() < pause {
            if interrupt.asked() {
                return;
            }
            std::thread::sleep(first / 5);
        }
        pause = (pause + first).min(longest);
        match queued(name) {
            Ok(jobs) if jobs.is_empty() => return,
            Ok(_) => {}
            // A controller that restarts does not end its jobs.
            Err(error) => eprintln!("slurm     {error}; asking again"),
        }
    }
}

/// The jobs of this name that have not ended.
fn queued(name: &str) -> Result<Vec<String>, Failure> {
    let printed = slurm("squeue", ["--noheader", "--format=%F", "--name", name])?;
    Ok(printed.split_whitespace().map(String::from).collect())
}

/// The states of the tasks of a job: of Slurm's accounting, where there is any, and of the controller, which forgets
/// a task some minutes after its end.
fn states(job: &str) -> HashMap<usize, String> {
    let accounting = [
        "--noheader",
        "--allocations",
        "--array",
        "--parsable2",
        "--format=JobID,State",
    ];
    let memory = ["--noheader", "--array", "--states=all", "--format=%F_%K|%T"];
    let printed = [
        slurm("sacct", accounting.into_iter().chain(["--jobs", job])),
        slurm("squeue", memory.into_iter().chain(["--jobs", job])),
    ];
    let mut states = HashMap::new();
    for line in printed.iter().flatten().flat_map(|text| text.lines()) {
        if let Some((task, state)) = line.split_once('|')
            && let Some((_, task)) = task.rsplit_once('_')
            && let Ok(task) = task.parse()
        {
            states.insert(task, state.to_string());
        }
    }
    states
}

/// What a command of Slurm prints.
fn slurm<W: AsRef<OsStr>>(
    program: &str,
    words: impl IntoIterator<Item = W>,
) -> Result<String, Failure> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null());
    // Ctrl-C is for the sweep: a submission that it broke off could be in the queue unknown to us.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let output = command.output().map_err(|e| {
        Failure::input(
            format!("--on slurm: {program}: {e}"),
            "start the sweep where Slurm's commands are, or without --on",
        )
    })?;
    if !output.status.success() {
        return Err(Failure::Failed {
            message: format!(
                "{program}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ),
            help: Some("nothing is lost: the same command goes on".into()),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_lost_is_told_from_what_failed() {
        let of = |log, state| match outcome(log, state, Path::new("a.log")) {
            Outcome::Done => "done".to_string(),
            Outcome::Lost => "lost".into(),
            Outcome::Failed(why) => why,
        };
        for (log, state, ends) in [
            ("exit 0\n", "", "done"),
            // What was started again by Slurm itself.
            (
                "slurmstepd: error: PREEMPTION\nexit 130\nexit 0\n",
                "COMPLETED",
                "done",
            ),
            ("exit 2\n", "FAILED", "failed, exit status: 2; see a.log"),
            ("exit 137\n", "", "failed, exit status: 137; see a.log"),
            ("", "", "lost"),
            ("", "NODE_FAIL", "lost"),
            ("exit \n", "FAILED", "lost"),
            (
                "slurmstepd: error: DUE TO TIME LIMIT\nexit 130\n",
                "TIMEOUT",
                "lost",
            ),
            ("exit 143\n", "PREEMPTED", "lost"),
            ("exit 130\n", "CANCELLED", "Slurm says CANCELLED; see a.log"),
            (
                "",
                "CANCELLED by 1000",
                "Slurm says CANCELLED by 1000; see a.log",
            ),
            ("", "OUT_OF_MEMORY", "Slurm says OUT_OF_MEMORY; see a.log"),
        ] {
            assert_eq!(of(log, state), ends, "{log:?} {state:?}");
        }
    }
}
