//! Runs the cases as tests, one for each case and device, with `--list`, filters and the like: `just portability`. Behind
//! them comes the table of `docs/contributing/portability.md`, or with `--write FILE` it goes into that file. The program
//! fails where a backend that `SLIVER_NEED` names has no device.
//!
//! All of them run on one thread. A GPU's kernels are compiled at their first use by one thread of a process, which takes
//! most of the time there, so that more threads would gain nothing: who has many cores runs the parts, `[clipping]` and so
//! on, in processes of their own (`benches/gpu-check.sh`). And what a step reads from a GPU is heard of the whole process.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use clap::Parser;
use lab::run_folder::write_file;
use libtest_mimic::{Arguments, Trial};
use portability::{Case, TestDevice, Tolerance, available_devices, parts};

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    tests: Arguments,
    /// Where the table goes.
    #[arg(long, conflicts_with_all = ["filter", "skip"])]
    write: Option<PathBuf>,
}

/// A case and what it found at each test device: nothing where it did not run.
struct Row {
    case: Case,
    errors: Mutex<Vec<Option<f64>>>,
}

fn main() -> ExitCode {
    let mut flags = Flags::parse();
    flags.tests.test_threads = Some(1);
    let test_devices = Arc::new(available_devices());
    let (mut rows, mut trials) = (Vec::new(), Vec::new());
    for (part, cases) in parts() {
        for case in cases {
            let errors = Mutex::new(vec![None; test_devices.len()]);
            let row = Arc::new(Row { case, errors });
            trials.extend(tests(part, &row, &test_devices));
            rows.push(row);
        }
    }
    // The long ones first.
    trials.reverse();
    let conclusion = libtest_mimic::run(&flags.tests, trials);
    if conclusion.has_failed() || flags.tests.list {
        return conclusion.exit_code();
    }
    let page = page(&test_devices, &rows);
    let written = flags.write.map(|file| write_file(&file, page.as_bytes()));
    match written {
        None => print!("{page}"),
        Some(Ok(())) => {}
        Some(Err(error)) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// A test for each device where the case runs.
fn tests(
    part: &'static str,
    row: &Arc<Row>,
    test_devices: &Arc<Vec<TestDevice>>,
) -> impl Iterator<Item = Trial> {
    let places = 0..test_devices.len();
    let places = places.filter(|&place| row.case.runs_on(&test_devices[place]));
    places.map(move |place| {
        let (row, test_devices) = (row.clone(), test_devices.clone());
        let (case, on) = (&row.case, &test_devices[place]);
        let sabotaged = if case.sabotaged { ", sabotaged" } else { "" };
        let name = format!("{}: {}{sabotaged}, {}", case.group, case.name, on.name);
        let test = move || {
            let error = row.case.error(&test_devices[place]);
            if row.case.refutes(error, &test_devices[place]) {
                return Err(format!("its relative error is {error:e}").into());
            }
            row.errors.lock().expect("one thread")[place] = Some(error);
            Ok(())
        };
        Trial::test(name, test).with_kind(part)
    })
}

fn words(tolerance: Tolerance) -> &'static str {
    match tolerance {
        Tolerance::Exact => "equal",
        Tolerance::Operation => "1e-5",
        Tolerance::Clip | Tolerance::Run => "1e-3",
    }
}

/// The worst of the cases of each group that have one tolerance; `left out` where one of them did not run.
fn page(test_devices: &[TestDevice], rows: &[Arc<Row>]) -> String {
    type Errors = Vec<Option<f64>>;
    let mut groups: Vec<([&str; 2], usize, Errors)> = Vec::new();
    for row in rows {
        let (case, errors) = (&row.case, row.errors.lock().expect("one thread"));
        if case.sabotaged || errors.iter().all(Option::is_none) {
            continue;
        }
        let group = [case.group, words(case.tolerance)];
        match groups.iter_mut().find(|(known, ..)| *known == group) {
            Some((_, number, worst)) => {
                *number += 1;
                for (worst, error) in worst.iter_mut().zip(errors.iter()) {
                    *worst = worst.zip(*error).map(|(worst, error)| worst.max(error));
                }
            }
            None => groups.push((group, 1, errors.clone())),
        }
    }
    let mut page = String::from(
        "# Portability\n\n\
         `just portability` writes this page: the worst relative error of each group of cases on every\n\
         backend of the build that the machine has, beside the largest that the suite accepts (the policy is\n\
         in `tests/portability/lib.rs`; on CUDA, ROCm and unknown backends, whose products may have factors\n\
         of 11 bits, 1e-2 instead, and private steps are left out: on the same cards they run through Vulkan or\n\
         WebGPU; training of public autoencoders is left out on a software GPU, which compiles for minutes). A\n\
         backend without a column had no device there, or was not in that build.\n\
         References are formulas of the suite's own in `f64` (`tests/portability/reference`), but for runs\n\
         of ten steps and public autoencoders, which are compared with the host, and burn's own layers, which are\n\
         compared with burn's autodiff on the host, one record at a time.\n\n",
    );
    let names: Vec<&str> = test_devices.iter().map(|on| on.name.as_str()).collect();
    let names = names.join(" | ");
    let _ = writeln!(page, "| cases | number | accepted | {names} |");
    let _ = writeln!(page, "|---|---|---|{}", "---|".repeat(test_devices.len()));
    for ([group, accepted], number, worst) in groups {
        let error = |error: Option<f64>| error.map_or("left out".into(), |e| format!("{e:.1e}"));
        let errors: Vec<String> = worst.into_iter().map(error).collect();
        let errors = errors.join(" | ");
        let _ = writeln!(page, "| {group} | {number} | {accepted} | {errors} |");
    }
    page
}
