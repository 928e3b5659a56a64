//! Task arrays of HyperQueue, by `hq`, whose server and workers somebody else has started.
//!
//! Its server starts the tasks of a worker that is lost again; a task that outlives its patience is submitted again.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use reporting::diagnostic::{Failure, OrFailed};
use serde_json::Value;

use super::{Array, Scheduler, printed};

/// What tasks get of this process's environment, of which HyperQueue passes nothing on.
const PASSED: &str = "SLIVER_";

/// See [the module](self).
pub(in crate::sweep) struct HyperQueue;

impl Scheduler for HyperQueue {
    fn name(&self) -> &'static str {
        "hq"
    }

    fn variable(&self) -> &'static str {
        "HQ_TASK_ID"
    }

    fn submit(
        &self,
        script: &Path,
        tasks: usize,
        name: &str,
        array: &Array,
    ) -> Result<String, Failure> {
        if let Some(workers) = array.workers {
            return Err(Failure::input(
                format!("--workers {workers}: the workers of HyperQueue bound the tasks at a time"),
                "say what a task takes: --submit \"--cpus 4\"",
            ));
        }
        let tasks = format!("0-{}", tasks - 1);
        let log = script.with_file_name("%{JOB_ID}_%{TASK_ID}.log");
        let own = ["--output-mode=quiet", "submit", "--directives=off"];
        let own = own.into_iter().chain(["--array", &tasks, "--name", name]);
        let mut words: Vec<OsString> = own.map(OsString::from).collect();
        words.extend(["--stderr", "none", "--stdout"].map(OsString::from));
        words.push(log.into_os_string());
        for (variable, value) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with(PASSED) {
                let mut pair = variable;
                pair.push("=");
                pair.push(value);
                words.extend(["--env".into(), pair]);
            }
        }
        words.extend(array.flags.iter().map(OsString::from));
        words.extend(["--", "sh"].map(OsString::from));
        words.push(script.as_os_str().to_os_string());
        Ok(self.printed(words)?.trim().to_string())
    }

    fn queued(&self, name: &str) -> Result<Vec<String>, Failure> {
        let jobs = self.asked(["job", "list", "--filter", "waiting,running"])?;
        let jobs = jobs.as_array().into_iter().flatten();
        let ours = jobs.filter(|job| job["name"] == name);
        Ok(ours.map(|job| job["id"].to_string()).collect())
    }

    fn cancel_command(&self, job: &str) -> String {
        format!("hq job cancel {job}")
    }

    fn cancel(&self, name: &str) -> Result<(), Failure> {
        let jobs = self.queued(name)?.join(",");
        if jobs.is_empty() {
            return Ok(());
        }
        self.printed(["job", "cancel", &jobs]).map(drop)
    }

    /// What a person cancelled stays so.
    fn given_up(&self, job: &str) -> HashMap<usize, String> {
        let tasks = self.asked(["task", "list", job]).unwrap_or_default();
        let tasks = tasks[job].as_array().into_iter().flatten();
        let canceled = tasks.filter(|task| task["state"] == "canceled");
        let number = |task: &Value| Some((task["id"].as_u64()? as usize, "canceled".to_string()));
        canceled.filter_map(number).collect()
    }
}

impl HyperQueue {
    fn printed<W: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = W>,
    ) -> Result<String, Failure> {
        printed(self.name(), "hq", words)
    }

    fn asked<const N: usize>(&self, words: [&str; N]) -> Result<Value, Failure> {
        let words = std::iter::once("--output-mode=json").chain(words);
        serde_json::from_str(&self.printed(words)?).or_failed()
    }
}
