//! What the program refuses, a line each in `cases/refused`: all that it says, and that it leaves nothing behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::distance::rows;
use crate::pages::three;
use crate::privatise::glyphs;
use crate::program::{Home, files, npy, refusal, text_at};
use crate::synth::images;
use crate::{synth_table, synth_table_open};

/// Lines about the same files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    given: Option<Given>,
    /// Files that are there beside what is given, by their names.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// What stands before the words of each case, and what behind them.
    #[serde(default)]
    before: String,
    #[serde(default)]
    after: String,
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    words: String,
    message: String,
}

/// Files that no text can be.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Given {
    Images,
    Numbers,
    Open,
    Runs,
    Scans,
    Table,
}

impl Given {
    fn put(self, home: &Home) {
        match self {
            Self::Images => {
                glyphs(home);
                home.put("row.npy", npy(Some(2), &[1.0, 2.0]));
                home.put("rows.npy", npy(Some(12), &[0.0; 24]));
            }
            Self::Numbers => {
                home.put("a.npy", rows(40, 0.0, 1));
                home.put("b.npy", rows(40, 0.0, 2));
            }
            Self::Open => synth_table_open::people(home, 60, ""),
            Self::Runs => three(home),
            Self::Scans => {
                images(home, &["a", "b"], 3);
                for (path, bytes) in files(&home.at("scans")) {
                    home.put(&format!("twin/{}", path.display()), &bytes);
                    home.put("damaged/a/1.png", &bytes[..bytes.len() / 2]);
                }
            }
            Self::Table => {
                synth_table::people(home, 60);
                home.put("same.csv", home.text("people.csv"));
            }
        }
    }
}

/// All files but locks of runs, which are taken before a run is looked at.
fn left(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut left = files(&home.at(""));
    left.retain(|path, _| !path.ends_with(".lock"));
    left
}

/// Refuses all lines of a file.
fn refuse(path: &Path) {
    let cases = toml::from_str::<Cases>(&text_at(path));
    let cases = cases.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let home = Home::new();
    if let Some(given) = cases.given {
        given.put(&home);
    }
    for (name, content) in &cases.files {
        home.put(name, content);
    }
    let before = left(&home);
    for case in cases.case {
        let line = format!("{} {} {}", cases.before, case.words, cases.after);
        assert_eq!(refusal(home.sliver(&line)), case.message, "{line}");
        assert!(left(&home) == before, "{line}");
    }
}

#[test]
fn bad_input_is_refused_with_the_whole_message() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/refused");
    std::thread::scope(|scope| {
        for name in files(&folder).into_keys() {
            let path = folder.join(name);
            scope.spawn(move || refuse(&path));
        }
    });
}
