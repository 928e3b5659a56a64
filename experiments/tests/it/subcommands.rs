//! The command line of the program: its help, its mistakes, and what documents show of it.

use std::path::Path;
use std::process::Command;

use dp_core::delta::loose_delta;

use crate::program::{Ran, refusal, text};
use experiments::program::{command, parse};

fn sliver(words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sliver"));
    let output = command.args(words).ran();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn each_subcommand_has_its_help_and_version() {
    command().debug_assert();
    let version = concat!(" ", env!("CARGO_PKG_VERSION"), "\n");
    let (code, printed, _) = sliver(&["--version"]);
    assert_eq!((code, &*printed), (Some(0), &*format!("sliver{version}")));
    let (code, all, _) = sliver(&["--help"]);
    assert_eq!(code, Some(0));
    let mut count = 0;
    for subcommand in command().get_subcommands() {
        let name = subcommand.get_name();
        let listed = all.lines().find(|l| l.trim().starts_with(name));
        let listed = listed.unwrap_or_else(|| panic!("no {name} in {all}"));
        assert!((20..130).contains(&listed.len()), "{listed}");
        let (code, help, _) = sliver(&[name, "--help"]);
        assert!(help.contains(&format!("Usage: sliver {name}")), "{help}");
        assert_eq!(code, Some(0), "{name}");
        let (code, printed, _) = sliver(&[name, "--version"]);
        assert_eq!(code, Some(0), "{name}");
        assert_eq!(printed, format!("sliver {name}{version}"));
        count += 1;
    }
    assert_eq!(count, 11);
}

/// The help of a subcommand, and of those that it has.
fn helps(command: &mut clap::Command, found: &mut Vec<(String, String)>) {
    let name = command.get_display_name().unwrap_or_default().to_string();
    found.push((name, command.render_help().to_string()));
    for subcommand in command.get_subcommands_mut() {
        helps(subcommand, found);
    }
}

#[test]
fn help_fits_a_screen_and_names_where_all_flags_are() {
    let mut command = command();
    command.build();
    let mut found = Vec::new();
    helps(&mut command, &mut found);
    assert!(found.len() > 30, "{}", found.len());
    for (name, help) in found {
        assert!(help.lines().count() <= 45, "{name}: {help}");
    }
    let [(_, all, _), (_, short, _)] = [
        &["help", "synth", "images"][..],
        &["synth", "images", "--help"],
    ]
    .map(sliver);
    assert!(
        short.contains("`sliver help synth images` prints all flags"),
        "{short}"
    );
    assert!(all.contains("--vary-pose") && !short.contains("--vary-pose"));
}

#[test]
fn mistakes_are_answered_with_what_there_is() {
    for (words, says) in [
        (&["distanc"][..], "similar subcommand exists: 'distance'"),
        (&[], "Usage: sliver <COMMAND>"),
        (
            &["swae", "--record", "3"],
            "similar argument exists: '--records'",
        ),
        (
            &["synth", "--resume", "x", "--steps", "3"],
            "Usage: sliver synth",
        ),
        (&["report"], "Usage: sliver report"),
    ] {
        let (code, _, message) = sliver(words);
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains(says), "{message}");
    }
}

/// Whatever else a subcommand needs.
#[test]
fn a_backend_called_list_lists_the_devices() {
    let (code, listed, _) = sliver(&["swae", "--backend", "list"]);
    assert_eq!(code, Some(0));
    assert!(
        listed.starts_with("flex:0    flex on ") && listed.contains("\nndarray:0  "),
        "{listed}"
    );
    for line in ["distance", "synth", "synth mnist --method fixed"] {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.extend(["--backend", "list"]);
        assert_eq!(sliver(&words), (Some(0), listed.clone(), String::new()));
    }
}

#[test]
fn what_a_run_is_on_may_come_first() {
    for (short, long) in [
        ("swae mnist --epsilon 1", "swae --dataset mnist --epsilon 1"),
        ("swae --epsilon 1", "swae --epsilon 1"),
        ("synth", "synth images"),
        ("synth mnist", "synth images --input mnist"),
        ("ldp a.npy", "ldp --input a.npy"),
        ("fair adult --alpha 1", "fair --task adult --alpha 1"),
        (
            "distance a.npy b.npy",
            "distance --source a.npy --target b.npy",
        ),
        ("export run --out there", "export run --out there"),
    ] {
        let [short, long] = [short, long].map(|line| {
            let words = std::iter::once("sliver").chain(line.split(' '));
            parse(words.map(Into::into)).unwrap_or_else(|e| panic!("{line}: {e}"))
        });
        assert_eq!(short, long);
    }
    let (code, _, message) = sliver(&["fair", "regression1d", "mnist"]);
    assert_eq!(code, Some(2));
    assert!(message.contains("unexpected argument 'mnist'"), "{message}");
}

/// All orders of some parts of a command line, and of each a line.
fn orders(parts: &[&str]) -> Vec<String> {
    if parts.is_empty() {
        return vec![String::new()];
    }
    let first = |place: usize| {
        let mut rest = parts.to_vec();
        let part = rest.remove(place);
        let lines = orders(&rest).into_iter();
        lines.map(move |line| format!("{part} {line}").trim_end().to_string())
    };
    (0..parts.len()).flat_map(first).collect()
}

/// Values that stand without their flags may stand anywhere, and a flag and its value may be one word.
#[test]
fn the_order_of_words_says_nothing() {
    let mut lines = 0;
    for (before, parts, long) in [
        (
            "synth",
            &[
                "people.csv",
                "--schema people.toml",
                "--epsilon 2",
                "--ceilings",
                "--seed 3",
            ][..],
            "synth table --input people.csv --schema people.toml --epsilon 2 --ceilings --seed 3",
        ),
        (
            "synth",
            &["--input people.csv", "--epsilon 2", "--count 7"],
            "synth table --input people.csv --epsilon 2 --count 7",
        ),
        (
            "synth",
            &["scans/", "--side 32", "--channels 3", "--epsilon 2"],
            "synth images --input scans/ --side 32 --channels 3 --epsilon 2",
        ),
        (
            "synth",
            &["adult", "--epsilon 2", "--compare other.csv"],
            "synth table --input adult --epsilon 2 --compare other.csv",
        ),
        (
            "swae",
            &[
                "mnist",
                "--conditional",
                "--epsilon 2",
                "--export out",
                "--count 9",
            ],
            "swae --dataset mnist --conditional --epsilon 2 --export out --count 9",
        ),
        (
            "synth",
            &["mnist", "--method resampled", "--batch 50", "--epsilon 2"],
            "synth images --input mnist --method resampled --batch 50 --epsilon 2",
        ),
        (
            "ldp",
            &["a.npy", "--dataset mnist", "--loss w2"],
            "ldp --input a.npy --dataset mnist --loss w2",
        ),
        (
            "distance",
            &["a.npy b.npy", "--radius 3", "--epsilon 2", "--test"],
            "distance --source a.npy --target b.npy --radius 3 --epsilon 2 --test",
        ),
        (
            "schema",
            &["people.csv", "--label income", "--open"],
            "schema --input people.csv --label income --open",
        ),
        (
            "privatise",
            &[
                "in.csv out.safetensors",
                "--mechanism laplace",
                "--epsilon 2",
            ],
            "privatise --input in.csv --out out.safetensors --mechanism laplace --epsilon 2",
        ),
    ] {
        let read = |line: &str| {
            let words = std::iter::once("sliver").chain(line.split(' '));
            parse(words.map(Into::into)).unwrap_or_else(|e| panic!("{line}: {e}"))
        };
        let long = read(long);
        for line in orders(parts) {
            // `--flag=value` in the place of `--flag value`.
            let words: Vec<&str> = line.split(' ').collect();
            let mut joined = String::new();
            for (place, word) in words.iter().enumerate() {
                let of_flag = place > 0 && words[place - 1].starts_with("--");
                let takes = parts
                    .iter()
                    .any(|part| part.starts_with(&format!("{} ", words[place.saturating_sub(1)])));
                joined += if of_flag && takes { "=" } else { " " };
                joined += word;
            }
            for line in [format!("{before} {line}"), format!("{before}{joined}")] {
                assert_eq!(read(&line), long, "{line}");
                lines += 1;
            }
        }
    }
    assert!(lines > 500, "{lines}");
    for (line, says) in [
        (
            "synth --epsilon 1 table people.csv",
            "'table' must stand before all flags",
        ),
        ("swae mnist usps", "unexpected argument 'usps'"),
        ("swae mnist --dataset usps", "cannot be used with"),
        ("schema --open", "--input <INPUT>"),
        ("distance a.npy", "--target <TARGET>"),
    ] {
        let (code, _, message) = sliver(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(code, Some(2), "{line}");
        assert!(message.contains(says), "{line}: {message}");
    }
}

/// Whatever has a budget: its delta is at most a tenth over its private records where none is given.
#[test]
fn no_run_warns_of_a_delta_that_nobody_gave() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, shift) in [("a.csv", 0), ("b.csv", 4)] {
        let row = |i: usize| format!("{}.5,{}.25,{}\n", i % 7 + shift, i % 5, i % 3);
        let rows: String = (0..300).map(row).collect();
        std::fs::write(folder.path().join(name), rows).expect("written");
    }
    let files = format!("{} {}", path("a.csv"), path("b.csv"));
    let mut runs = vec![
        "swae".to_string(),
        "synth shapes".into(),
        "synth shapes --method marginals".into(),
        "synth shapes --method fixed".into(),
        "synth shapes --method resampled".into(),
        "synth shapes --method latent-generator".into(),
        "synth shapes --method generator".into(),
        "synth shapes --method projections --slices 4096".into(),
        "synth shapes --method merf".into(),
        "synth biased".into(),
        format!("distance {files} --radius 3"),
    ];
    let tasks = "classification regression1d regression2d representation";
    runs.extend(tasks.split(' ').map(|task| format!("fair {task}")));
    for line in runs {
        let cache = path("cache");
        let mut words: Vec<&str> = line.split(' ').collect();
        words.extend(["--plan", "--backend", "flex", "--cache-dir", &cache]);
        let (code, printed, message) = sliver(&words);
        assert_eq!(code, Some(0), "{line}: {message}");
        let last = printed.lines().last().expect("a line");
        let plan: serde_json::Value = serde_json::from_str(last).expect("JSON");
        let [delta, records] =
            ["delta", "records"].map(|key| plan[key].as_f64().expect("a number"));
        assert_eq!(loose_delta(delta, records), None, "{line}: {delta}");
        assert!(delta * records > 0.049, "{line}: {delta}");
    }
}

/// Subcommands of one name: the name, the setting that says which, the first, and another one.
const KINDS: [[&str; 4]; 1] = [["synth", "kind", "images", "table"]];

#[test]
fn a_run_of_another_subcommand_is_refused_by_its_name() {
    for [name, key, asked, other] in KINDS {
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().to_string_lossy();
        let settings = folder.path().join("config.toml");
        std::fs::write(settings, format!("{key} = \"{other}\"\n")).expect("written");
        for flag in ["--resume", "--run"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_sliver"));
            let message = refusal(command.args([name, asked, flag, &run]).ran());
            for says in [
                format!("{run} is a run of `sliver {name} {other}`, not of `{asked}`"),
                format!("resume it with `sliver {name} {other} --resume {run}`"),
            ] {
                assert!(message.contains(&says), "{name} {flag}: {message}");
            }
            assert!(!message.contains(&format!("--{key}")), "{message}");
        }
    }
}

/// A run that is resumed says itself which of the subcommands of one name it is of.
#[test]
fn a_resumed_run_has_the_kind_that_it_is_of() {
    for [name, key, first, other] in KINDS {
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().to_string_lossy();
        let kind = |flag: &str| {
            let words = match flag.strip_suffix('=') {
                Some(_) => vec!["sliver".to_string(), name.into(), format!("{flag}{run}")],
                None => vec![
                    "sliver".to_string(),
                    name.into(),
                    flag.into(),
                    run.to_string(),
                ],
            };
            let matches = parse(words.into_iter().map(Into::into));
            let matches = matches.unwrap_or_else(|e| panic!("{name} {flag}: {e}"));
            let (_, group) = matches.subcommand().expect("a group");
            group.subcommand_name().expect("a kind").to_string()
        };
        assert_eq!(kind("--resume"), first);
        let settings = folder.path().join("config.toml");
        std::fs::write(settings, format!("{key} = \"{other}\"\n")).expect("written");
        for flag in ["--resume", "--run", "--resume=", "--run="] {
            assert_eq!(kind(flag), other, "{name} {flag}");
        }
        assert_eq!(kind("--out"), first);
    }
}

#[test]
fn a_run_of_a_kind_that_is_gone_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().to_string_lossy();
    std::fs::write(folder.path().join("config.toml"), "kind = \"gaussian\"\n").expect("written");
    for line in [vec!["synth"], vec!["synth", "gaussian"]] {
        let (code, _, message) = sliver(&[&line[..], &["--resume", &run]].concat());
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains("the run is of gaussian"), "{message}");
    }
}

/// Every cell of every sweep is a command that can be given.
#[test]
fn cells_of_sweeps_can_be_given() {
    let sweeps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/sweeps");
    let mut cells = 0;
    for entry in std::fs::read_dir(sweeps).expect("a folder") {
        let path = entry.expect("an entry").path();
        let (code, printed, message) = sliver(&["sweep", &path.to_string_lossy(), "--plan"]);
        assert_eq!(code, Some(0), "{message}");
        for line in printed.lines().filter(|line| line.contains(" --run ")) {
            let words = line.split_whitespace().skip(1);
            let given = std::iter::once("sliver").chain(words).map(Into::into);
            parse(given).unwrap_or_else(|e| panic!("{line}: {e}"));
            cells += 1;
        }
    }
    assert!(cells > 500, "{cells}");
}

/// The lines of the pages' blocks of code that call the program.
fn shown(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !name.starts_with('.') && !["target", "runs"].contains(&&*name) {
            shown(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            let page = std::fs::read_to_string(&path).expect("a page");
            let page = page.replace("\\\n", " ");
            let lines = page.lines().filter(|line| line.starts_with("sliver "));
            found.extend(lines.map(String::from));
        }
    }
}

#[test]
fn commands_that_pages_show_are_understood() {
    let mut lines = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    shown(&root, &mut lines);
    assert!(lines.len() >= 5, "{lines:?}");
    for line in lines {
        let words = line.split_whitespace().take_while(|w| !w.starts_with('#'));
        let parsed = parse(words.map(Into::into));
        assert!(parsed.is_ok(), "{line}: {}", parsed.expect_err("refused"));
    }
}
