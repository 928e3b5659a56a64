//! Whole pages and charts beside those that were kept; `SLIVER_BLESS=1` keeps what is found.

use std::fs;
use std::path::Path;

/// Fails at the first line that differs from the kept one. What is encoded of a picture is left out.
#[track_caller]
pub(crate) fn same(name: &str, found: &[u8]) {
    let text = String::from_utf8_lossy(found);
    let mut parts = text.split(";base64,");
    let mut found = parts.next().unwrap_or_default().to_string();
    for part in parts {
        found += ";base64,...";
        found += part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "+/=".contains(c));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    if std::env::var_os("SLIVER_BLESS").is_some() {
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(name), &found).expect("written");
    }
    let kept = fs::read_to_string(folder.join(name)).expect(name);
    let mut lines = kept.lines().zip(found.lines());
    let differs = lines.find(|(kept, found)| kept != found);
    assert!(kept == found, "{name}: {differs:?}");
}
