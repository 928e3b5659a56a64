//! How a run starts: new, or in the folder of one that was started before.

use std::path::Path;

use dp_core::ledger::Ledger;
use serde::Serialize;

use crate::diagnostic::Failure;
use crate::run_folder::RunFolder;

/// The settings of a run, and its folder where it was started before; nothing where it is done.
///
/// - `resume`: the folder whose settings are taken.
/// - `run`: the folder to start in, or to go on in where a run of the same settings lies there.
/// - `read`: the settings of a folder; `resolve`: those of the command line.
///
/// # Errors
///
/// [`Failure::BadInput`] for a folder that is not a run's, that is done (`resume`), or that holds a
/// run of other settings (`run`).
pub fn begin<S: PartialEq>(
    resume: Option<&Path>,
    run: Option<&Path>,
    read: impl Fn(&RunFolder) -> Result<S, Failure>,
    resolve: impl FnOnce() -> Result<S, Failure>,
) -> Result<Option<(S, Option<RunFolder>)>, Failure> {
    let done = |folder: &RunFolder| folder.file("run.json").exists();
    if let Some(path) = resume {
        let folder = RunFolder::open(path)?;
        if done(&folder) {
            return Err(Failure::input(
                format!("--resume {}: this run is done", path.display()),
                format!("look at {}", folder.file("report.html").display()),
            ));
        }
        return Ok(Some((read(&folder)?, Some(folder))));
    }
    let settings = resolve()?;
    let Some(path) = run.filter(|path| path.join("config.toml").exists()) else {
        return Ok(Some((settings, None)));
    };
    let folder = RunFolder::open(path)?;
    if read(&folder)? != settings {
        return Err(Failure::input(
            format!("--run {}: the run there has other settings", path.display()),
            format!(
                "compare {}, or name another folder",
                folder.file("config.toml").display()
            ),
        ));
    }
    if done(&folder) {
        println!("done      {}", folder.file("report.html").display());
        return Ok(None);
    }
    Ok(Some((settings, Some(folder))))
}

/// The folder of a new run: its ledger, the command that started it, and last its settings, because a
/// folder with settings can be gone on with.
///
/// # Errors
///
/// [`Failure::BadInput`] for a path that exists; [`Failure::Failed`] where it cannot be written.
pub fn create(
    path: &Path,
    settings: &impl Serialize,
    command: &str,
) -> Result<(RunFolder, Ledger), Failure> {
    let folder = RunFolder::create(path)?;
    let ledger = ledger(&folder)?;
    folder.note_command(command)?;
    let text = toml::to_string_pretty(settings).map_err(Failure::run)?;
    folder.write("config.toml", text.as_bytes())?;
    Ok((folder, ledger))
}

/// The ledger of a run, opened or begun.
///
/// # Errors
///
/// [`Failure::Failed`] where it can be neither read nor written.
pub fn ledger(folder: &RunFolder) -> Result<Ledger, Failure> {
    let path = folder.file("ledger.jsonl");
    if path.exists() {
        Ledger::open(&path)
    } else {
        Ledger::create(&path)
    }
    .map_err(Failure::run)
}

/// A failure in the middle of a run says how to go on.
pub fn resumable(failure: Failure, folder: &RunFolder) -> Failure {
    match failure {
        Failure::Interrupted {
            message,
            help: None,
        } => Failure::Interrupted {
            message,
            help: Some(format!("go on with --resume {}", folder.path().display())),
        },
        Failure::Failed { message, help } => {
            let go_on = format!(
                "what was reached is kept: go on with --resume {}",
                folder.path().display()
            );
            Failure::Failed {
                message,
                help: Some(help.map_or(go_on.clone(), |help| format!("{help}; {go_on}"))),
            }
        }
        other => other,
    }
}
