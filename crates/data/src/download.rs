use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use files::atomic::NewFile;

use crate::error;
use crate::sums::sha256;
use crate::{DataError, PinnedFile, Progress};

const CONNECT: Duration = Duration::from_secs(15);
const SILENCE: Duration = Duration::from_secs(60);

/// Why one mirror did not give the file.
enum Failure {
    /// The mirror failed; the next one may do better.
    Mirror(String),
    /// This machine failed; no mirror helps.
    Here(DataError),
}

/// Downloads a file to `folder` from the first mirror that serves it whole, and returns its bytes. The
/// error says what each mirror answered.
pub(crate) fn download(
    file: &PinnedFile,
    folder: &Path,
    mirrors: &[String],
    progress: &dyn Fn(&Progress),
) -> Result<Result<Vec<u8>, String>, DataError> {
    let mut answers = Vec::new();
    for mirror in mirrors {
        let url = format!("{mirror}{}", file.name);
        match from_mirror(file, folder, &url, progress) {
            Ok(bytes) => return Ok(Ok(bytes)),
            Err(Failure::Here(error)) => return Err(error),
            Err(Failure::Mirror(reason)) => {
                answers.push(format!("{url}: {reason}"));
                progress(&Progress::MirrorFailed { url, reason });
            }
        }
    }
    if answers.is_empty() {
        answers.push("there is no mirror to ask".into());
    }
    Ok(Err(answers.join("; ")))
}

fn from_mirror(
    file: &PinnedFile,
    folder: &Path,
    url: &str,
    progress: &dyn Fn(&Progress),
) -> Result<Vec<u8>, Failure> {
    let mirror = |error: &dyn std::fmt::Display| Failure::Mirror(error.to_string());
    let here = |action| move |source| Failure::Here(error::io(folder, action)(source));

    let mut response = agent(url).get(url).call().map_err(|error| mirror(&error))?;
    let mut body = response.body_mut().as_reader();

    // The folder is made only when a mirror answers, so that a machine without network stays as it was.
    std::fs::create_dir_all(folder).map_err(here("create the folder"))?;
    let path = folder.join(&*file.name);
    let mut part = NewFile::of(&path).map_err(here("write to the folder"))?;
    let mut bytes = Vec::new();
    let mut block = vec![0; 1 << 16];
    loop {
        let count = match body.read(&mut block) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let (found, expected) = (bytes.len(), file.bytes);
                return Err(Failure::Mirror(format!(
                    "broke off after {found} bytes, expected {expected}: {error}"
                )));
            }
        };
        bytes.extend_from_slice(&block[..count]);
        if bytes.len() as u64 > file.bytes {
            return Err(Failure::Mirror(format!(
                "expected {} bytes, found more",
                file.bytes
            )));
        }
        part.write_all(&block[..count])
            .map_err(here("write to the folder"))?;
        progress(&Progress::Downloading {
            file: file.name.to_string(),
            url: url.into(),
            done: bytes.len() as u64,
            total: file.bytes,
        });
    }
    let found = sha256(&bytes);
    if found != file.sha256 {
        return Err(Failure::Mirror(format!(
            "{}: wrong SHA-256: expected {}, found {found} ({} of {} bytes)",
            file.name,
            file.sha256,
            bytes.len(),
            file.bytes
        )));
    }
    part.finish().map_err(here("write to the folder"))?;
    progress(&Progress::Saved { path });
    Ok(bytes)
}

fn agent(url: &str) -> ureq::Agent {
    let mut config = ureq::Agent::config_builder()
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(SILENCE))
        .timeout_per_read(Some(SILENCE));
    if ["http://127.0.0.1", "http://localhost", "http://[::1]"]
        .iter()
        .any(|here| url.starts_with(here))
    {
        // A mirror on this machine is reached without the proxy.
        config = config.proxy(None);
    }
    config.build().new_agent()
}
