//! The cells of a sweep as one array job of Slurm.
//!
//! Slurm places, starts and stops the tasks. Each writes the exit status of its run as the last line of its log, so a
//! log without one means that a task was lost as a whole, with or without Slurm's accounting; such a run is
//! submitted again, and resumes by itself.

mod slurm;

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use reporting::checksum::hex;
use reporting::diagnostic::{Failure, OrFailed};
use reporting::interrupt::Interrupt;

use super::grid::GridCell;
use super::runner::{Runner, report_outcome};

/// How many times a run is submitted again.
const RESUBMISSIONS: u32 = 3;
/// The first pause before the queue is asked, by which each is longer than the last, and the longest.
const PAUSE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];
/// What a run, or its shell, ends with after SIGINT or SIGTERM, by which Slurm announces the end of a task.
const STOPPED: [i32; 2] = [130, 143];

/// How an array job is submitted.
pub(super) struct Array<'a> {
    /// At most so many tasks at a time.
    pub(super) workers: Option<usize>,
    /// Further flags of the command that submits.
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
        cells: &[GridCell],
        folder: &Path,
        interrupt: &Interrupt,
    ) -> Result<Vec<String>, Failure> {
        let logs = folder.join(slurm::NAME);
        std::fs::create_dir_all(&logs).map_err(|e| {
            Failure::input(format!("{}: {e}", logs.display()), "choose another --out")
        })?;
        // One folder, one name: so the queue tells whether an array is at these runs.
        let path = folder.canonicalize().or_failed()?;
        let name = format!("sliver-{}", &hex(path.as_os_str().as_encoded_bytes())[..10]);
        if let Some(job) = slurm::queued(&name)?.first() {
            return Err(Failure::input(
                format!(
                    "{}: array job {job} of this folder is still in the queue of Slurm",
                    folder.display()
                ),
                format!(
                    "wait until it has ended, or end it with {}; then the same command goes on",
                    slurm::cancel_command(job)
                ),
            ));
        }
        let mut open: Vec<&GridCell> = cells.iter().collect();
        let mut failed = Vec::new();
        for submission in 0..=RESUBMISSIONS {
            if open.is_empty() || interrupt.asked() {
                break;
            }
            let script = logs.join("array.sh");
            let text = script_of(runner, &open, folder);
            std::fs::write(&script, text).or_failed()?;
            let job = slurm::submit(&script, open.len(), &name, self)?;
            eprintln!("slurm     array job {job}: {} runs", open.len());
            wait(&name, interrupt);
            if interrupt.asked() {
                slurm::cancel(&name)?;
                eprintln!(
                    "slurm     array job {job} is cancelled; waiting until its runs have stopped"
                );
                // A second signal ends this.
                wait(&name, &Interrupt::default());
                break;
            }
            let given_up = slurm::given_up(&job);
            let mut lost = Vec::new();
            for (task, cell) in open.into_iter().enumerate() {
                let log = logs.join(format!("{job}_{task}.log"));
                let text = std::fs::read_to_string(&log);
                let result = match outcome(
                    text.as_deref().unwrap_or_default(),
                    given_up.get(&task).map(|word| format!("Slurm says {word}")),
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
                report_outcome(cell, &result);
                if result.is_err() {
                    failed.push(cell.name.clone());
                }
            }
            open = lost;
        }
        Ok(failed)
    }
}

/// Waits until no task of this name is in the queue, or until somebody asks to stop. A command that waits by itself
/// asks the queue just as often, but may return while tasks are still ending or are about to be started again.
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
        match slurm::queued(name) {
            Ok(jobs) if jobs.is_empty() => return,
            Ok(_) => {}
            // A controller that restarts does not end its jobs.
            Err(error) => eprintln!("slurm     {error}; asking again"),
        }
    }
}

/// What each task does, whose number is the place of its cell. A handler of SIGTERM lets the shell outlive the run, which
/// writes a checkpoint then.
fn script_of(runner: &Runner, cells: &[&GridCell], folder: &Path) -> String {
    let mut text = "#!/bin/sh\ntrap : TERM\ncase \"$SLURM_ARRAY_TASK_ID\" in\n".to_string();
    for (task, cell) in cells.iter().enumerate() {
        let place = folder.join(&cell.name);
        let line = runner.line(cell, &["--run", &place.to_string_lossy()]);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{task}) set -- {line} ;;");
    }
    text + "esac\nfor run do :; done\n\"$@\" >\"$run.log\" 2>&1\nstatus=$?\necho \"exit $status\"\nexit $status\n"
}

/// How a task ended whose log is this, and which Slurm has given up for this reason, if it has.
fn outcome(log: &str, given_up: Option<String>, run_log: &Path) -> Outcome {
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
        _ => match given_up {
            Some(why) => Outcome::Failed(format!("{why}; see {}", run_log.display())),
            None => Outcome::Lost,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_lost_is_told_from_what_failed() {
        let of = |log, given_up: &str| {
            let given_up = (!given_up.is_empty()).then(|| given_up.to_string());
            match outcome(log, given_up, Path::new("a.log")) {
                Outcome::Done => "done".to_string(),
                Outcome::Lost => "lost".into(),
                Outcome::Failed(why) => why,
            }
        };
        for (log, state, ends) in [
            ("exit 0\n", "", "done"),
            // What was started again by Slurm itself.
            (
                "slurmstepd: error: PREEMPTION\nexit 130\nexit 0\n",
                "",
                "done",
            ),
            ("exit 2\n", "", "failed, exit status: 2; see a.log"),
            ("exit 137\n", "", "failed, exit status: 137; see a.log"),
            ("", "", "lost"),
            ("exit \n", "", "lost"),
            (
                "slurmstepd: error: DUE TO TIME LIMIT\nexit 130\n",
                "",
                "lost",
            ),
            ("exit 143\n", "", "lost"),
            ("exit 130\n", "cancelled", "cancelled; see a.log"),
            ("", "out of memory", "out of memory; see a.log"),
        ] {
            assert_eq!(of(log, state), ends, "{log:?} {state:?}");
        }
    }
}
