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
    assert_eq!(count, 19);
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
    assert!(found.len() > 50);
    for (name, help) in found {
        assert!(help.lines().count() <= 45, "{name}: {help}");
    }
    let [(_, all, _), (_, short, _)] = [
        &["help", "flow", "mixture"][..],
        &["flow", "mixture", "--help"],
    ]
    .map(sliver);
    assert!(
        short.contains("`sliver help flow mixture` prints all flags"),
        "{short}"
    );
    assert!(all.contains("--vary-pose") && !short.contains("--vary-pose"));
}

#[test]
fn mistakes_are_answered_with_what_there_is() {
    for (words, says) in [
        (&["genrator"][..], "similar subcommand exists: 'generator'"),
        (&[], "Usage: sliver <COMMAND>"),
        (
            &["swae", "--record", "3"],
            "similar argument exists: '--records'",
        ),
        (
            &["flow", "--resume", "x", "--steps", "3"],
            "Usage: sliver flow",
        ),
        (&["report"], "Usage: sliver report"),
    ] {
        let (code, _, message) = sliver(words);
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn what_a_run_is_on_may_come_first() {
    for (short, long) in [
        ("swae mnist --epsilon 1", "swae --dataset mnist --epsilon 1"),
        ("swae --epsilon 1", "swae --epsilon 1"),
        ("flow", "flow mixture"),
        ("flow fashion-mnist", "flow mixture --dataset fashion-mnist"),
        ("flow fixed mnist", "flow fixed --dataset mnist"),
        ("generator mnist", "generator marginals --dataset mnist"),
        ("ldp mnist", "ldp images --dataset mnist"),
        ("ldp points line", "ldp points --dataset line"),
        ("fair --alpha 1", "fair classification --alpha 1"),
        ("circle --steps 3", "circle gradients --steps 3"),
        (
            "circle smoothed --combine",
            "circle smoothed --combine=true",
        ),
        (
            "adapt usps mnist",
            "adapt warp --source usps --target mnist",
        ),
        (
            "adapt dann usps mnist",
            "adapt dann --source usps --target mnist",
        ),
        (
            "distance a.npy b.npy",
            "distance measure --source a.npy --target b.npy",
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

/// Subcommands of one name: the name, the setting that says which, the first, and another one.
const KINDS: [[&str; 4]; 6] = [
    ["flow", "mechanism", "mixture", "fixed"],
    ["generator", "release", "marginals", "projections"],
    ["fair", "task", "classification", "adult"],
    ["ldp", "kind", "images", "points"],
    ["circle", "method", "gradients", "smoothed"],
    ["adapt", "method", "warp", "dann"],
];

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
