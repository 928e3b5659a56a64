//! Array jobs of Slurm, by `sbatch`, `squeue` and `scancel`.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reporting::diagnostic::Failure;

use super::Array;

/// The folder of its logs.
pub(super) const NAME: &str = "slurm";

/// Submits an array of `tasks`, numbered from 0, whose logs are `JOB_TASK.log` in the folder of `script`. The job's number.
pub(super) fn submit(
    script: &Path,
    tasks: usize,
    name: &str,
    array: &Array,
) -> Result<String, Failure> {
    let mut tasks = format!("0-{}", tasks - 1);
    if let Some(workers) = array.workers {
        tasks += &format!("%{workers}");
    }
    // In a pattern of Slurm %% is a per cent sign.
    let logs = script
        .with_file_name("")
        .to_string_lossy()
        .replace('%', "%%");
    let pattern = PathBuf::from(logs).join("%A_%a.log");
    let mut words: Vec<&OsStr> = array.flags.iter().map(OsStr::new).collect();
    let own = [
        "--parsable",
        "--array",
        &tasks,
        "--job-name",
        name,
        "--output",
    ];
    words.extend(own.map(OsStr::new));
    words.extend([pattern.as_os_str(), script.as_os_str()]);
    let printed = printed("sbatch", words)?;
    // The number of the job, and with several clusters the name of its own.
    let job = printed.trim().split(';').next().unwrap_or_default();
    Ok(job.to_string())
}

/// The jobs of this name that have not ended.
pub(super) fn queued(name: &str) -> Result<Vec<String>, Failure> {
    let printed = printed("squeue", ["--noheader", "--format=%F", "--name", name])?;
    Ok(printed.split_whitespace().map(String::from).collect())
}

/// How a person ends a job, in words.
pub(super) fn cancel_command(job: &str) -> String {
    format!("scancel {job}")
}

/// Ends the jobs of this name.
pub(super) fn cancel(name: &str) -> Result<(), Failure> {
    printed("scancel", ["--name", name]).map(drop)
}

/// The tasks of a job that another start would not help, with Slurm's word for their end: a person cancelled them, or they had
/// too little memory. Slurm's accounting says so, if there is any, and the controller, which forgets a task some minutes after
/// its end.
pub(super) fn given_up(job: &str) -> HashMap<usize, String> {
    let accounting = [
        "--noheader",
        "--allocations",
        "--array",
        "--parsable2",
        "--format=JobID,State",
    ];
    let memory = ["--noheader", "--array", "--states=all", "--format=%F_%K|%T"];
    let printed = [
        printed("sacct", accounting.into_iter().chain(["--jobs", job])),
        printed("squeue", memory.into_iter().chain(["--jobs", job])),
    ];
    let lines = printed.iter().flatten().flat_map(|text| text.lines());
    lines.filter_map(final_state).collect()
}

/// What a command of Slurm prints.
fn printed<W: AsRef<OsStr>>(
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
            "start the sweep where this command is, or without --on",
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

/// The task of a line `JOB_TASK|STATE` whose state says that it was given up.
fn final_state(line: &str) -> Option<(usize, String)> {
    let (task, state) = line.split_once('|')?;
    let (_, task) = task.rsplit_once('_')?;
    let ended = state.starts_with("CANCELLED") || state == "OUT_OF_MEMORY";
    Some((task.parse().ok().filter(|_| ended)?, state.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cancelled_or_had_too_little_memory_is_given_up() {
        for (state, given) in [
            ("COMPLETED", false),
            ("FAILED", false),
            ("NODE_FAIL", false),
            ("TIMEOUT", false),
            ("PREEMPTED", false),
            ("CANCELLED", true),
            ("CANCELLED by 1000", true),
            ("OUT_OF_MEMORY", true),
        ] {
            let found = final_state(&format!("12_3|{state}"));
            assert_eq!(found, given.then(|| (3, state.to_string())));
        }
        // Tasks that have not begun, and those of a job without an array.
        assert_eq!(final_state("12_[4-7]|CANCELLED"), None);
        assert_eq!(final_state("12|CANCELLED"), None);
    }
}
