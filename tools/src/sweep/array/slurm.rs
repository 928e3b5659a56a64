//! Array jobs of Slurm, by `sbatch`, `squeue` and `scancel`.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use reporting::diagnostic::Failure;

use super::{Array, Scheduler, printed};

/// See [the module](self).
pub(in crate::sweep) struct Slurm;

impl Scheduler for Slurm {
    fn name(&self) -> &'static str {
        "slurm"
    }

    fn variable(&self) -> &'static str {
        "SLURM_ARRAY_TASK_ID"
    }

    fn submit(
        &self,
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
        let printed = self.printed("sbatch", words)?;
        // The number of the job, and with several clusters the name of its own.
        let job = printed.trim().split(';').next().unwrap_or_default();
        Ok(job.to_string())
    }

    fn queued(&self, name: &str) -> Result<Vec<String>, Failure> {
        let printed = self.printed("squeue", ["--noheader", "--format=%F", "--name", name])?;
        Ok(printed.split_whitespace().map(String::from).collect())
    }

    fn cancel_command(&self, job: &str) -> String {
        format!("scancel {job}")
    }

    fn cancel(&self, name: &str) -> Result<(), Failure> {
        self.printed("scancel", ["--name", name]).map(drop)
    }

    /// What a person cancelled stays so, and what had too little memory would have too little again: of Slurm's accounting,
    /// where there is any, and of the controller, which forgets a task some minutes after its end.
    fn given_up(&self, job: &str) -> HashMap<usize, String> {
        let accounting = [
            "--noheader",
            "--allocations",
            "--array",
            "--parsable2",
            "--format=JobID,State",
        ];
        let memory = ["--noheader", "--array", "--states=all", "--format=%F_%K|%T"];
        let printed = [
            self.printed("sacct", accounting.into_iter().chain(["--jobs", job])),
            self.printed("squeue", memory.into_iter().chain(["--jobs", job])),
        ];
        let lines = printed.iter().flatten().flat_map(|text| text.lines());
        lines.filter_map(given_up).collect()
    }
}

impl Slurm {
    fn printed<W: AsRef<OsStr>>(
        &self,
        program: &str,
        words: impl IntoIterator<Item = W>,
    ) -> Result<String, Failure> {
        printed(self.name(), program, words)
    }
}

/// The task of a line `JOB_TASK|STATE` whose state says that it was given up.
fn given_up(line: &str) -> Option<(usize, String)> {
    let (task, state) = line.split_once('|')?;
    let (_, task) = task.rsplit_once('_')?;
    let final_state = state.starts_with("CANCELLED") || state == "OUT_OF_MEMORY";
    Some((
        task.parse().ok().filter(|_| final_state)?,
        state.to_string(),
    ))
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
            let found = given_up(&format!("12_3|{state}"));
            assert_eq!(found, given.then(|| (3, state.to_string())));
        }
        // Tasks that have not begun, and those of a job without an array.
        assert_eq!(given_up("12_[4-7]|CANCELLED"), None);
        assert_eq!(given_up("12|CANCELLED"), None);
    }
}
