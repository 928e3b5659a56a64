//! The private side's own log.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use data::privatised::Header;
use files::atomic::{folder, sync_folder};
use lab::diagnostic::Failure;
use serde_json::json;

use super::Counts;

/// Adds a line to the file of `path`, on the disk when this returns: before the records it speaks of can leave. It says how many
/// records were held back by the bound, which says something of the records: **private**, and nowhere else. The file is made for its
/// owner alone.
pub(super) fn log(
    path: &Path,
    out: &Path,
    header: &Header,
    counts: &Counts,
) -> Result<(), Failure> {
    let line = json!({
        "PRIVATE": "not to leave the private side: the counts depend on the records and have no noise",
        "time": lab::report::timestamp(SystemTime::now()),
        "out": out.display().to_string(),
        "records": counts.records,
        "projected": counts.projected,
        "not_finite": counts.not_finite,
        "dropped": counts.dropped,
        "mechanism": header.mechanism,
        "epsilon": header.epsilon,
        "delta": header.delta,
        "radius": header.radius,
        "noise_seed": header.noise_seed,
    });
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(path)
        .and_then(|mut file| {
            file.write_all(format!("{line}\n").as_bytes())?;
            file.sync_all()?;
            sync_folder(folder(path))
        })
        .map_err(|e| Failure::failed(format!("--log {}: {e}", path.display())))
}
