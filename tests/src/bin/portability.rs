//! Runs every case on every backend and prints the table of `docs/contributing/portability.md`:
//! `just portability`, or with `--write FILE` into that file. `--need "vulkan cuda"` fails where one of
//! those backends has no device. `--processes 8` shares the parts of the suite among as many processes: a GPU's kernels
//! are compiled at their first use, by one thread a process, which is most of the time there.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use lab::run_folder::write_file;
use serde::{Deserialize, Serialize};
use system_tests::portability::{TestDevice, Tolerance, parts, test_devices};

/// The worst of the cases of one group that have one tolerance, at each test device; none where they do not run.
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

/// What a process has found: rows with their part, group and tolerance, and cases beyond their tolerance.
#[derive(Default, Serialize, Deserialize)]
struct Found {
    rows: Vec<(usize, [String; 2], Row)>,
    wrong: Vec<String>,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut file, mut needed, mut processes, mut claims) = (None, String::new(), 1, None);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match (flag.as_str(), value.parse()) {
            ("--write", _) => file = Some(PathBuf::from(value)),
            ("--need", _) => needed = value,
            ("--processes", Ok(count @ 1..=64)) => processes = count,
            // This is a process that the first one started, which takes what no other has taken in this folder.
            ("--claims", _) => claims = Some(PathBuf::from(value)),
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
    if let Some(folder) = claims {
        let found = run(&test_devices, |part| claimed(&folder, part));
        println!("{}", serde_json::to_string(&found).expect("plain data"));
        return ExitCode::SUCCESS;
    }
    let found = match processes {
        1 => run(&test_devices, |_| true),
        _ => match shared(processes) {
            Ok(found) => found,
            Err(why) => {
                eprintln!("{why}");
                return ExitCode::FAILURE;
            }
        },
    };
    let page = page(&test_devices, &missing, found.rows);
    print!("{page}");
    if !found.wrong.is_empty() {
        eprintln!("beyond its tolerance:\n{}", found.wrong.join("\n"));
        return ExitCode::FAILURE;
    }
    if let Some(file) = file
        && let Err(error) = write_file(&file, page.as_bytes())
    {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The findings of so many processes of this program, each with its part of the cases.
fn shared(processes: usize) -> Result<Found, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let claims = tempfile::tempdir().map_err(|error| error.to_string())?;
    let start = |process: usize| -> Result<Child, String> {
        Command::new(&program)
            .arg("--claims")
            .arg(claims.path())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("process {process}: {error}"))
    };
    let started: Vec<_> = (0..processes).map(start).collect();
    let mut all = Found::default();
    for (process, child) in started.into_iter().enumerate() {
        let output = child?.wait_with_output().map_err(|e| e.to_string())?;
        let found: Found = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("process {process} ended with {}: {error}", output.status))?;
        all.rows.extend(found.rows);
        all.wrong.extend(found.wrong);
    }
    let expected = parts()
        .into_iter()
        .flatten()
        .filter(|case| !case.sabotaged)
        .count();
    if all.rows.len() != expected {
        return Err(format!("{} of {expected} cases ran", all.rows.len()));
    }
    Ok(all)
}

/// Whether this process is the first to ask for a part.
fn claimed(folder: &Path, part: usize) -> bool {
    File::create_new(folder.join(part.to_string())).is_ok()
}

/// Runs the parts that are `mine`, the long ones first.
fn run(test_devices: &[TestDevice], mine: impl Fn(usize) -> bool) -> Found {
    let mut found = Found::default();
    for (part, cases) in parts().into_iter().enumerate().rev() {
        if !mine(part) {
            continue;
        }
        let count = cases.len();
        for (index, case) in cases.into_iter().enumerate() {
            let sabotaged = if case.sabotaged { ", sabotaged" } else { "" };
            let name = format!("{}: {}{sabotaged}", case.group, case.name);
            eprintln!("{part}, {}/{count} {name}", index + 1);
            let worst = case.errors(test_devices);
            for (test_device, &error) in test_devices.iter().zip(&worst) {
                if let Some(error) = error.filter(|&error| case.refutes(error, test_device)) {
                    let wrong = format!("{}: {name}: {error:e}", test_device.name);
                    found.wrong.push(wrong);
                }
            }
            if !case.sabotaged {
                let group = [case.group, words(case.tolerance)].map(str::to_string);
                found.rows.push((part, group, Row { cases: 1, worst }));
            }
        }
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
    mut found: Vec<(usize, [String; 2], Row)>,
) -> String {
    found.sort_by_key(|&(part, ..)| part);
    let mut rows: Vec<([String; 2], Row)> = Vec::new();
    for (_, group, row) in found {
        match rows.iter_mut().find(|(known, _)| *known == group) {
            Some((_, sum)) => sum.add(&row),
            None => rows.push((group, row)),
        }
    }
    let mut page = String::from(
        "# Portability\n\n\
         `just portability` writes this page: the worst relative error of each group of cases on every\n\
         backend of the build that the machine has, beside the largest that the suite accepts (the policy is\n\
         in `tests/src/portability/mod.rs`; on CUDA, ROCm and unknown backends, whose products may have factors\n\
         of 11 bits, 1e-2 instead, and private steps are left out: on the same cards they run through Vulkan or\n\
         WebGPU; training of public autoencoders is left out on a software GPU, which compiles for minutes).\n\
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
    for ([group, accepted], row) in rows {
        let errors: Vec<String> = row
            .worst
            .iter()
            .map(|error| error.map_or("left out".into(), |error| format!("{error:.1e}")))
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
