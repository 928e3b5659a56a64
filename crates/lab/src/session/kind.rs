//! Which of the subcommands of one name a run is of.

use super::Experiment;
use crate::diagnostic::Failure;
use crate::run_folder::RunFolder;

/// Refuses a run of another subcommand than that of `E`, before its settings are read: they have other fields.
pub(super) fn check<E: Experiment>(folder: &RunFolder) -> Result<(), Failure> {
    let Some((key, kind)) = E::KIND else {
        return Ok(());
    };
    let settings: toml::Table = folder.read_toml("config.toml")?;
    let found = settings.get(key).and_then(toml::Value::as_str);
    let Some(found) = found.filter(|&found| found != kind) else {
        return Ok(());
    };
    let (name, run) = (E::NAME, folder.path().display());
    Err(Failure::input(
        format!("{run} is a run of `sliver {name} {found}`, not of `{kind}`"),
        format!("resume it with `sliver {name} {found} --resume {run}`, or name another folder"),
    ))
}
