//! How a run starts: new, or in the folder of one that was started before.

use std::path::Path;

use dp_core::ledger::Ledger;
use reporting::released::recorded;
use serde::Serialize;

use crate::checkpoint::Checkpoints;
use crate::diagnostic::{Failure, OrFailed};
use crate::run_folder::RunFolder;

const LEDGER: &str = "ledger.jsonl";

/// The settings of a run, and its folder if it was started before; nothing if it is done.
///
/// - `resume`: the folder whose settings are taken.
/// - `run`: the folder to start in, or to resume in if a run of the same settings lies there.
/// - `read`: the settings of a folder; `resolve`: those of the command line.
///
/// A folder is refused that is not a run's, that is done (`resume`), or that holds a run of other settings (`run`).
pub fn begin<S: PartialEq>(
    resume: Option<&Path>,
    run: Option<&Path>,
    read: impl Fn(&RunFolder) -> Result<S, Failure>,
    resolve: impl FnOnce() -> Result<S, Failure>,
) -> Result<Option<(S, Option<RunFolder>)>, Failure> {
    if let Some(path) = resume {
        let folder = RunFolder::open(path)?;
        if done(&folder)? {
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
    if done(&folder)? {
        println!("done      {}", folder.file("report.html").display());
        return Ok(None);
    }
    Ok(Some((settings, Some(folder))))
}

/// Whether the run in a folder is done. Then its checkpoints go, should a kill have left some: the last
/// one holds a key of its noise.
pub fn done(folder: &RunFolder) -> Result<bool, Failure> {
    let done = folder.file("run.json").exists();
    if done {
        Checkpoints::of(folder.path()).remove()?;
    }
    Ok(done)
}

/// The folder of a new run: its ledger, the command that started it, what it is asked for beside its settings, and these last,
/// because a folder with settings can be resumed.
pub fn create(
    path: &Path,
    settings: &impl Serialize,
    asked: &[String],
) -> Result<(RunFolder, Ledger), Failure> {
    let folder = RunFolder::create(path)?;
    let path = folder.file(LEDGER);
    // Empty if it is there: the folder holds no run.
    let ledger = match path.exists() {
        true => Ledger::open(&path),
        false => Ledger::create(&path),
    };
    let ledger = ledger.or_failed()?;
    folder.note_command()?;
    folder.note_asked(asked)?;
    let text = toml::to_string_pretty(settings).or_failed()?;
    folder.write("config.toml", text.as_bytes())?;
    Ok((folder, ledger))
}

/// The ledger of a run that resumes or is judged again. A private one must hold what else lies in the
/// folder tells of: with a ledger that was lost or shortened, less would be reported as spent than was.
///
/// - `private`: whether the run adds noise; one without has nothing to record.
/// - `others`: what else records releases, by name, and how many; the files of the folder are asked here.
pub fn ledger(
    folder: &RunFolder,
    private: bool,
    others: impl IntoIterator<Item = (String, u64)>,
) -> Result<Ledger, Failure> {
    let path = folder.file(LEDGER);
    let refuse = |why: String| {
        Failure::input(
            format!("{}: {why}", path.display()),
            "put the whole ledger of this run back and try again; without it nothing says what was \
             spent, and all that is left is to start the run anew in another folder, on top of what \
             this one spent",
        )
    };
    if !path.exists() && !private {
        return Ledger::create(&path).or_failed();
    }
    let (by, least) = others
        .into_iter()
        .chain(recorded(folder.path()))
        .max_by_key(|&(_, releases)| releases)
        .unwrap_or(("config.toml".into(), 0));
    if !path.exists() {
        return Err(refuse(format!(
            "the ledger is missing: 0 releases are found, and {by} tells of {least}"
        )));
    }
    // Before it is opened, which ends a line that was cut: what is refused stays as it is.
    let entries = Ledger::read(&path).map_err(|e| refuse(e.to_string()))?;
    let found = entries.releases();
    if private && found < least {
        return Err(refuse(format!(
            "the ledger holds {found} releases, and {by} tells of {least}"
        )));
    }
    Ledger::open(&path).map_err(|e| refuse(e.to_string()))
}

/// A failure in the middle of a run says how to go on.
pub fn resumable(failure: Failure, command: &str, folder: &RunFolder) -> Failure {
    let resume = format!(
        "resume it with {command} --resume {}",
        folder.path().display()
    );
    match failure {
        Failure::Interrupted {
            message,
            help: None,
        } => Failure::Interrupted {
            message,
            help: Some(resume),
        },
        Failure::Failed { message, help } => {
            let resume = format!("what was reached is kept: {resume}");
            Failure::Failed {
                message,
                help: Some(help.map_or(resume.clone(), |help| format!("{help}; {resume}"))),
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use dp_core::accounting::{Event, Neighbours};
    use dp_core::ledger::LedgerEntry;

    use super::*;
    use crate::checkpoint::hex;

    fn release() -> LedgerEntry {
        LedgerEntry {
            event: Event::Gaussian {
                noise_multiplier: 1.0,
            },
            count: 1,
            neighbours: Neighbours::ReplaceOne,
            sensitivity: None,
            deviation: None,
            secret_noise: true,
            mechanism: None,
        }
    }

    #[test]
    fn a_ledger_that_lost_a_release_is_refused_and_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let (folder, mut new) =
            create(&place.path().join("run"), &serde_json::json!({}), &[]).unwrap();
        for _ in 0..3 {
            new.append(&release()).unwrap();
        }
        let path = folder.file(LEDGER);
        let whole = fs::read_to_string(&path).unwrap();
        let stored = |releases| [("release.bin".to_string(), releases)];
        assert_eq!(ledger(&folder, true, stored(3)).unwrap().releases(), 3);
        let refusal = ledger(&folder, true, stored(4)).err().unwrap().to_string();
        for needle in ["ledger.jsonl", "holds 3 releases", "release.bin tells of 4"] {
            assert!(refusal.contains(needle), "{refusal}");
        }
        // A line that a kill cut off is no release.
        let torn = &whole[..whole.len() - 9];
        fs::write(&path, torn).unwrap();
        assert!(ledger(&folder, true, stored(3)).is_err());
        fs::write(&path, &whole).unwrap();
        fs::write(folder.file("run.json"), r#"{"releases": 5}"#).unwrap();
        let refusal = ledger(&folder, true, []).err().unwrap().to_string();
        assert!(refusal.contains("run.json tells of 5"), "{refusal}");
        assert!(ledger(&folder, false, []).is_ok());
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        fs::write(&path, "no line of a ledger\n").unwrap();
        let refusal = ledger(&folder, true, []).err().unwrap().to_string();
        assert!(refusal.contains("line 1"), "{refusal}");
    }

    #[test]
    fn a_run_that_is_done_keeps_no_key() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        let (folder, _) = create(&path, &serde_json::json!({}), &[]).unwrap();
        folder.write("run.json", b"{}").unwrap();
        drop(folder);
        let key = path.join("checkpoints/step-000000004/noise.json");
        for resume in [true, false] {
            fs::create_dir_all(key.parent().unwrap()).unwrap();
            fs::write(&key, "as a kill before the last line leaves it").unwrap();
            let (resumed, run) = if resume {
                (Some(&*path), None)
            } else {
                (None, Some(&*path))
            };
            let begun = begin(resumed, run, |_| Ok(()), || Ok(()));
            assert!(if resume {
                begun.is_err()
            } else {
                begun.unwrap().is_none()
            });
            assert!(!path.join("checkpoints").exists(), "resume: {resume}");
        }
    }

    #[test]
    fn every_file_that_tells_of_releases_is_asked() {
        let place = tempfile::tempdir().unwrap();
        let (folder, mut new) =
            create(&place.path().join("run"), &serde_json::json!({}), &[]).unwrap();
        for _ in 0..3 {
            new.append(&release()).unwrap();
        }
        let stored = |count: u64| {
            let body = [&count.to_le_bytes()[..], b"values"].concat();
            [hex(&body).as_bytes(), &body].concat()
        };
        let step = |step: u64, epsilon: &str| {
            format!("{{\"step\": {step}, \"epsilon_upper\": {epsilon}}}\n").into_bytes()
        };
        for (name, whole, more) in [
            ("release.bin", stored(3), stored(4)),
            (
                "moments.json",
                br#"{"releases": 3}"#.to_vec(),
                br#"{"releases": 4}"#.to_vec(),
            ),
            // A step without an epsilon released nothing; a line that was cut off says nothing.
            (
                "metrics.jsonl",
                [step(3, "0.5"), step(9, "null"), b"{\"step\": 8".to_vec()].concat(),
                [step(3, "0.5"), step(4, "0.6")].concat(),
            ),
            // Of steps that one line of the ledger stands for.
            (
                "metrics.jsonl",
                br#"{"step": 9, "epsilon_upper": 0.5, "releases": 3}"#.to_vec(),
                br#"{"step": 9, "epsilon_upper": 0.5, "releases": 4}"#.to_vec(),
            ),
        ] {
            fs::write(folder.file(name), whole).unwrap();
            assert_eq!(ledger(&folder, true, []).unwrap().releases(), 3);
            fs::write(folder.file(name), more).unwrap();
            let refusal = ledger(&folder, true, []).err().unwrap().to_string();
            assert!(refusal.contains(&format!("{name} tells of 4")), "{refusal}");
            fs::remove_file(folder.file(name)).unwrap();
        }
    }

    #[test]
    fn a_private_run_needs_a_ledger_whatever_it_has_made() {
        let place = tempfile::tempdir().unwrap();
        let (folder, _) = create(&place.path().join("run"), &serde_json::json!({}), &[]).unwrap();
        fs::remove_file(folder.file(LEDGER)).unwrap();
        let refusal = ledger(&folder, true, []).err().unwrap().to_string();
        assert!(refusal.contains("the ledger is missing"), "{refusal}");
        assert!(!folder.file(LEDGER).exists());
        assert_eq!(ledger(&folder, false, []).unwrap().releases(), 0);
    }
}
