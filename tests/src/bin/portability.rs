//! Runs every case on every backend and prints the table of `docs/contributing/portability.md`:
//! `just portability`, or with `--write FILE` into that file. `--need "vulkan cuda"` fails where one of
//! those backends has no device.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use system_tests::portability::{Case, TestDevice, Tolerance, cases, test_devices};

/// The worst of the cases of one group that have one tolerance, at each test device; none where it refuses them.
struct Row {
    cases: usize,
    worst: Vec<Option<f64>>,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut file, mut needed) = (None, String::new());
    while let Some(flag) = arguments.next() {
        match (flag.as_str(), arguments.next()) {
            ("--write", Some(path)) => file = Some(PathBuf::from(path)),
            ("--need", Some(names)) => needed = names,
            _ => {
                eprintln!("usage: portability [--write FILE] [--need BACKENDS]");
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
            eprintln!("{name} has no device here: {:?}", missing);
            return ExitCode::FAILURE;
        }
    }
    let (rows, wrong) = run(&test_devices);
    let page = page(&test_devices, &missing, &rows);
    print!("{page}");
    if !wrong.is_empty() {
        eprintln!("beyond its tolerance:\n{}", wrong.join("\n"));
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

type Rows = BTreeMap<(usize, &'static str, &'static str), Row>;

fn run(test_devices: &[TestDevice]) -> (Rows, Vec<String>) {
    let (mut rows, mut wrong) = (Rows::new(), Vec::new());
    let cases: Vec<Case> = cases();
    for (index, case) in cases.iter().enumerate() {
        eprintln!(
            "{}/{} {}: {}",
            index + 1,
            cases.len(),
            case.group,
            case.name
        );
        let errors = case.errors(test_devices);
        for (test_device, &error) in test_devices.iter().zip(&errors) {
            if let Some(error) = error.filter(|&error| error > case.tolerance.most(test_device)) {
                wrong.push(format!(
                    "{}: {}: {}: {error:e}",
                    test_device.name, case.group, case.name
                ));
            }
        }
        let position = cases.iter().position(|c| c.group == case.group);
        let key = (position.unwrap_or(0), case.group, words(case.tolerance));
        let row = rows.entry(key).or_insert_with(|| Row {
            cases: 0,
            worst: vec![Some(0.0); test_devices.len()],
        });
        row.cases += 1;
        for (worst, error) in row.worst.iter_mut().zip(errors) {
            *worst = match (*worst, error) {
                (Some(worst), Some(error)) => Some(worst.max(error)),
                _ => None,
            };
        }
    }
    (rows, wrong)
}

fn words(tolerance: Tolerance) -> &'static str {
    match tolerance {
        Tolerance::Exact => "equal",
        Tolerance::Operation => "1e-5",
        Tolerance::Clip | Tolerance::Run => "1e-3",
    }
}

fn page(test_devices: &[TestDevice], missing: &[(String, String)], rows: &Rows) -> String {
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
