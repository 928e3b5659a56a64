//! Runs every case on every backend and prints the table of `docs/contributing/portability.md`:
//! `just portability`, or with `--write FILE` into that file. `--need "vulkan cuda"` fails where one of
//! those backends has no device. `--processes 8` shares the cases among as many processes: a GPU's kernels are
//! compiled at their first use, by one thread a process, which is most of the time there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};
use system_tests::portability::{Case, TestDevice, Tolerance, cases, test_devices};

/// The worst of the cases of one group that have one tolerance, at each test device; none where it refuses them.
#[derive(Serialize, Deserialize)]
struct Row {
    cases: usize,
    worst: Vec<Option<f64>>,
}

impl Row {
    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        for (worst, error) in self.worst.iter_mut().zip(&other.worst) {
            *worst = worst.zip(*error).map(|(worst, error)| worst.max(error));
        }
    }
}

/// What a process has found: the rows by their place, group and tolerance, and the cases beyond their tolerance.
#[derive(Default, Serialize, Deserialize)]
struct Found {
    rows: Vec<((usize, String, String), Row)>,
    wrong: Vec<String>,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut file, mut needed, mut processes, mut part) = (None, String::new(), 1, None);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match (flag.as_str(), value.parse()) {
            ("--write", _) => file = Some(PathBuf::from(value)),
            ("--need", _) => needed = value,
            ("--processes", Ok(count @ 1..=64)) => processes = count,
            // Of the processes, this is one of those that the first started.
            ("--part", Ok(index)) => part = Some(index),
            _ => {
                eprintln!(
                    "usage: portability [--write FILE] [--need BACKENDS] [--processes 1..64]"
                );
                return ExitCode::from(2);
            }
        }
    }
    let (test_devices, missing) = test_devices();
    for name in needed.split_whitespace() {
        if !test_devices
            .iter()
            .any(|test_device| test_device.name.starts_with(name))
        {
            eprintln!("{name} has no device here: {missing:?}");
            return ExitCode::FAILURE;
        }
    }
    let found = match (part, processes) {
        (Some(part), _) => run(&test_devices, part, processes),
        (None, 1) => run(&test_devices, 0, 1),
        (None, _) => match shared(processes) {
            Ok(found) => found,
            Err(why) => {
                eprintln!("{why}");
                return ExitCode::FAILURE;
            }
        },
    };
    if part.is_some() {
        println!("{}", serde_json::to_string(&found).expect("plain data"));
        return ExitCode::SUCCESS;
    }
    let page = page(&test_devices, &missing, found.rows);
    print!("{page}");
    if !found.wrong.is_empty() {
        eprintln!("beyond its tolerance:\n{}", found.wrong.join("\n"));
        return ExitCode::FAILURE;
    }
    if let Some(file) = file {
        let written = file.with_extension("md.new");
        let done = std::fs::write(&written, page).and_then(|()| std::fs::rename(&written, &file));
        if let Err(error) = done {
            eprintln!("{}: {error}", file.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The findings of so many processes of this program, each with its part of the cases.
fn shared(processes: usize) -> Result<Found, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let start = |part: usize| -> Result<Child, String> {
        Command::new(&program)
            .args(["--processes", &processes.to_string()])
            .args(["--part", &part.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("part {part}: {error}"))
    };
    let started: Vec<_> = (0..processes).map(start).collect();
    let mut all = Found::default();
    for (part, child) in started.into_iter().enumerate() {
        let output = child?.wait_with_output().map_err(|e| e.to_string())?;
        let found: Found = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("part {part} ended with {}: {error}", output.status))?;
        all.rows.extend(found.rows);
        all.wrong.extend(found.wrong);
    }
    Ok(all)
}

/// Runs each `processes`-th case, from `part` on.
fn run(test_devices: &[TestDevice], part: usize, processes: usize) -> Found {
    let mut found = Found::default();
    let cases: Vec<Case> = cases();
    for (index, case) in cases.iter().enumerate().skip(part).step_by(processes) {
        eprintln!(
            "{}/{} {}: {}",
            index + 1,
            cases.len(),
            case.group,
            case.name
        );
        let worst = case.errors(test_devices);
        for (test_device, &error) in test_devices.iter().zip(&worst) {
            if let Some(error) = error.filter(|&error| error > case.tolerance.most(test_device)) {
                found.wrong.push(format!(
                    "{}: {}: {}: {error:e}",
                    test_device.name, case.group, case.name
                ));
            }
        }
        let position = cases.iter().position(|c| c.group == case.group);
        let key = (
            position.unwrap_or(0),
            case.group.to_string(),
            words(case.tolerance).to_string(),
        );
        found.rows.push((key, Row { cases: 1, worst }));
    }
    found
}

fn words(tolerance: Tolerance) -> &'static str {
    match tolerance {
        Tolerance::Exact => "equal",
        Tolerance::Operation => "1e-5",
        Tolerance::Clip | Tolerance::Run => "1e-3",
    }
}

fn page(
    test_devices: &[TestDevice],
    missing: &[(String, String)],
    found: Vec<((usize, String, String), Row)>,
) -> String {
    let mut rows: BTreeMap<_, Row> = BTreeMap::new();
    for (key, row) in found {
        match rows.get_mut(&key) {
            Some(sum) => sum.add(&row),
            None => drop(rows.insert(key, row)),
        }
    }
    let mut page = String::from(
        "# Portability\n\n\
         `just portability` writes this page: the worst relative error of each group of cases on every\n\
         backend of the build that the machine has, beside the largest that the suite accepts (the policy is\n\
         in `tests/src/portability/mod.rs`; on CUDA, ROCm and unknown backends, whose products may have factors\n\
         of 11 bits, 1e-2 instead, and private steps are refused: on the same cards they run through Vulkan or\n\
         WebGPU).\n\
         References are formulas of the suite's own in `f64` (`tests/src/portability/reference`), but for runs\n\
         of ten steps and public autoencoders, which are compared with the host, and burn's own layers, which are\n\
         compared with burn's autodiff on the host, one record at a time.\n\n",
    );
    let names: Vec<&str> = test_devices
        .iter()
        .map(|test_device| test_device.name.as_str())
        .collect();
    let _ = writeln!(
        page,
        "| cases | number | accepted | {} |",
        names.join(" | ")
    );
    let _ = writeln!(page, "|---|---|---|{}", "---|".repeat(test_devices.len()));
    for ((_, group, accepted), row) in rows {
        let errors: Vec<String> = row
            .worst
            .iter()
            .map(|error| error.map_or("refused".into(), |error| format!("{error:.1e}")))
            .collect();
        let (number, errors) = (row.cases, errors.join(" | "));
        let _ = writeln!(page, "| {group} | {number} | {accepted} | {errors} |");
    }
    let _ = writeln!(page, "\nNot on that machine, or not in that build:\n");
    for (backend, why) in missing {
        let _ = writeln!(page, "- {backend}: {why}");
    }
    page
}
