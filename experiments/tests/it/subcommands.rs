//! The command line of the program: its help, its mistakes, and what documents show of it.

use std::path::Path;

use dp_core::delta::loose_delta;
use experiments::program::{command, parse};

use crate::program::{Home, done, put, refusal, says, sliver, text, text_at};

/// What a line prints that must succeed.
#[track_caller]
fn printed(line: &str) -> String {
    text(&done(sliver(line)).stdout)
}

/// A line as the program reads it.
#[track_caller]
fn read(line: &str) -> clap::ArgMatches {
    let words = std::iter::once("sliver").chain(line.split_whitespace());
    parse(words.map(Into::into)).unwrap_or_else(|e| panic!("{line}: {e}"))
}

#[test]
fn each_subcommand_has_its_help_and_version() {
    command().debug_assert();
    let version = concat!(" ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(printed("--version"), format!("sliver{version}"));
    let all = printed("--help");
    let mut count = 0;
    for subcommand in command().get_subcommands() {
        let name = subcommand.get_name();
        let listed = all.lines().find(|l| l.trim().starts_with(name));
        let listed = listed.unwrap_or_else(|| panic!("no {name} in {all}"));
        assert!((20..130).contains(&listed.len()), "{listed}");
        let help = printed(&format!("{name} --help"));
        says(&help, &[&format!("Usage: sliver {name}")]);
        let own = printed(&format!("{name} --version"));
        assert_eq!(own, format!("sliver {name}{version}"));
        count += 1;
    }
    assert_eq!(count, 13);
    says(&refusal(sliver("")), &["Usage: sliver <COMMAND>"]);
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
    let short = printed("synth images --help");
    says(&short, &["`sliver help synth images` prints all flags"]);
    says(&printed("help synth images"), &["--vary-pose"]);
    assert!(!short.contains("--vary-pose"), "{short}");
}

/// Whatever else a subcommand needs.
#[test]
fn a_backend_called_list_lists_the_devices() {
    let listed = printed("swae --backend list");
    assert!(
        listed.starts_with("flex:0    flex on ") && listed.contains("\nndarray"),
        "{listed}"
    );
    for line in ["distance", "synth", "synth mnist --method fixed"] {
        let output = done(sliver(&format!("{line} --backend list")));
        assert_eq!(text(&output.stdout), listed);
        assert_eq!(text(&output.stderr), "");
    }
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
    // A subcommand, its parts, apart by commas, and what they mean.
    let cases = "
        synth:  => synth images
        synth: people.csv, --schema people.toml, --epsilon 2, --ceilings, --seed 3 => synth table --input people.csv --schema people.toml --epsilon 2 --ceilings --seed 3
        synth: --input people.csv, --epsilon 2, --count 7 => synth table --input people.csv --epsilon 2 --count 7
        synth: scans/, --side 32, --channels 3, --epsilon 2 => synth images --input scans/ --side 32 --channels 3 --epsilon 2
        synth: adult, --epsilon 2, --compare other.csv => synth table --input adult --epsilon 2 --compare other.csv
        swae: mnist, --conditional, --epsilon 2, --export out, --count 9 => swae --dataset mnist --conditional --epsilon 2 --export out --count 9
        synth: mnist, --method resampled, --batch 50, --epsilon 2 => synth images --input mnist --method resampled --batch 50 --epsilon 2
        ldp: a.npy, --dataset mnist, --loss w2 => ldp --input a.npy --dataset mnist --loss w2
        fair: adult, --alpha 1 => fair --task adult --alpha 1
        distance: a.npy b.npy, --radius 3, --epsilon 2, --test => distance --source a.npy --target b.npy --radius 3 --epsilon 2 --test
        schema: people.csv, --label income, --open => schema --input people.csv --label income --open
        privatise: in.csv out.safetensors, --mechanism laplace, --epsilon 2 => privatise --input in.csv --out out.safetensors --mechanism laplace --epsilon 2
    ";
    for case in cases.trim().lines() {
        let (parts, long) = case.split_once(" => ").expect("PARTS => LINE");
        let (before, parts) = parts.trim().split_once(':').expect("SUBCOMMAND: PARTS");
        let long = read(long);
        let parts: Vec<&str> = parts.trim().split(", ").collect();
        for line in orders(&parts) {
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
}

/// Whatever has a budget: its delta is at most a tenth over its private records where none is given.
#[test]
fn no_run_warns_of_a_delta_that_nobody_gave() {
    let home = Home::new();
    for (name, shift) in [("a.csv", 0), ("b.csv", 4)] {
        let row = |i: usize| format!("{}.5,{}.25,{}\n", i % 7 + shift, i % 5, i % 3);
        home.put(name, (0..300).map(row).collect::<String>());
    }
    for line in [
        "swae",
        "synth shapes",
        "synth shapes --method marginals",
        "synth shapes --method fixed",
        "synth shapes --method resampled",
        "synth shapes --method latent-generator",
        "synth shapes --method generator",
        "synth shapes --method projections --slices 4096",
        "synth shapes --method merf",
        "synth biased",
        "distance a.csv b.csv --radius 3",
        "fair classification",
        "fair regression1d",
        "fair regression2d",
        "fair representation",
    ] {
        let printed = home.done(&format!("{line} --plan --json --backend flex"));
        let last = printed.lines().last().expect("a line");
        let plan: serde_json::Value = serde_json::from_str(last).expect("JSON");
        let [delta, records] =
            ["delta", "records"].map(|key| plan[key].as_f64().expect("a number"));
        assert_eq!(loose_delta(delta, records), None, "{line}: {delta}");
        assert!(delta * records > 0.049, "{line}: {delta}");
    }
}

/// A run that is resumed says itself which of the subcommands of one name it is of.
#[test]
fn a_resumed_run_has_the_kind_that_it_is_of() {
    let home = Home::new();
    let run = home.at("").display().to_string();
    let kind = |flag: &str| {
        let matches = read(&format!("synth {flag}{run}"));
        let (_, group) = matches.subcommand().expect("a group");
        group.subcommand_name().expect("a kind").to_string()
    };
    assert_eq!(kind("--resume "), "images");
    put(home.at("config.toml"), "kind = \"table\"\n");
    for flag in ["--resume ", "--run ", "--resume=", "--run="] {
        assert_eq!(kind(flag), "table", "{flag}");
    }
    assert_eq!(kind("--out "), "images");
}

/// Every cell of every sweep is a command that can be given.
#[test]
fn cells_of_sweeps_can_be_given() {
    let sweeps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/sweeps");
    let mut cells = 0;
    for entry in std::fs::read_dir(sweeps).expect("a folder") {
        let path = entry.expect("an entry").path();
        let printed = printed(&format!("sweep {} --plan", path.display()));
        for line in printed.lines().filter(|line| line.contains(" --run ")) {
            read(line.split_once(' ').expect("words").1);
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
            let page = text_at(&path).replace("\\\n", " ");
            let lines = page.lines().filter_map(|line| line.strip_prefix("sliver "));
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
        read(line.split(" #").next().unwrap_or_default());
    }
}
