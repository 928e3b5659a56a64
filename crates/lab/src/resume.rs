//! How a run starts: new, or in the folder of one that was started before.

use std::path::Path;

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

/// A failure in the middle of a run says how to go on.
pub fn resumable(failure: Failure, folder: &RunFolder) -> Failure {
    match failure {
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
