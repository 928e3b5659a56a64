//! The tutorials as a reader follows them: each command of docs/tutorials, and the lines that it is said to print.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{folder, json, text};

/// The tutorials.
fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tutorials")
}

/// What stands in a page's blocks of one language.
fn blocks(page: &str, language: &str) -> String {
    let open = format!("```{language}\n");
    let after = page.split(&open).skip(1);
    after
        .filter_map(|rest| Some(rest.split_once("```")?.0))
        .collect()
}

/// Gives the commands of a page to a shell in an empty folder, with this build as `sliver`; it stops at the first one
/// that fails. Examples, which cargo runs, are tests of their own crates. An error says what failed, or which line of a
/// `text` block was not printed.
fn follow(page: &str) -> Result<(tempfile::TempDir, PathBuf), String> {
    let (keep, here) = folder();
    let (programs, cache) = (keep.path().join("bin"), keep.path().join("cache"));
    for place in [&here, &programs] {
        fs::create_dir(place).expect("a folder");
    }
    symlink(env!("CARGO_BIN_EXE_sliver"), programs.join("sliver")).expect("a link");
    let path = std::env::var("PATH").expect("programs");
    let commands = blocks(page, "sh");
    let commands: Vec<&str> = commands
        .lines()
        .filter(|line| !line.starts_with("cargo "))
        .collect();
    let output = Command::new("sh")
        .args(["-euc", &commands.join("\n")])
        .current_dir(&here)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("XDG_CACHE_HOME", cache)
        .output()
        .expect("a shell");
    if !output.status.success() {
        return Err(text(&output.stderr));
    }
    let printed = text(&output.stdout);
    let said = blocks(page, "text");
    match said
        .lines()
        .find(|line| !printed.lines().any(|l| l == *line))
    {
        Some(missing) => Err(format!("not printed: {missing}\n{printed}")),
        None => Ok((keep, here)),
    }
}

/// A tutorial, followed to its end.
fn followed(name: &str) -> (tempfile::TempDir, PathBuf) {
    let page = fs::read_to_string(pages().join(name)).expect("a tutorial");
    assert!(blocks(&page, "sh").contains("sliver ") && !blocks(&page, "text").is_empty());
    follow(&page).unwrap_or_else(|wrong| panic!("{name}: {wrong}"))
}

#[test]
fn images_are_copied_as_the_tutorial_says() {
    let (_keep, here) = followed("images.md");
    let card = json(&here.join("give-away/card.json"));
    let privacy = &card["privacy"];
    assert_eq!(privacy["private"], true);
    assert!(privacy["epsilon_upper"].as_f64().expect("a number") <= 2.0);
    assert_eq!(
        privacy["neighbours"],
        "replace all images of one unit, 2 of which count at most"
    );
    for file in [
        "scans-copy/report.html",
        "scans-copy/samples.png",
        "give-away/images.npz",
        "give-away/README.md",
    ] {
        assert!(here.join(file).exists(), "{file}");
    }
}

#[test]
fn a_table_is_copied_as_the_tutorial_says() {
    let (_keep, here) = followed("table.md");
    let copy = here.join("people-copy/copy");
    let table = fs::read_to_string(copy.join("table.csv")).expect("a copy");
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().expect("names").split(',').collect();
    assert_eq!(head, ["age", "job", "hours", "start", "end", "income"]);
    let mut count = 0;
    for line in lines {
        count += 1;
        let year = |column: usize| line.split(',').nth(column)?.parse::<u32>().ok();
        assert!(
            year(3).expect("a year") <= year(4).expect("a year"),
            "{line}"
        );
    }
    assert!(count > 1000, "{count}");
    assert_eq!(json(&copy.join("card.json"))["privacy"]["private"], true);
    assert!(here.join("people-copy/report.html").exists());
}

#[test]
fn noise_is_what_the_tutorial_says() {
    followed("network.md");
}

#[test]
fn no_tutorial_is_passed_over() {
    let entries = fs::read_dir(pages()).expect("tutorials");
    let mut names: Vec<String> = entries
        .map(|entry| text(entry.expect("an entry").file_name().as_encoded_bytes()))
        .collect();
    names.sort();
    assert_eq!(names, ["images.md", "network.md", "table.md"]);
}

/// The guard itself: a command that fails, wherever it stands, and a line that no command prints.
#[test]
fn a_page_that_is_wrong_is_seen() {
    let page = |command: &str, line: &str| {
        let words =
            format!("```sh\n{command}\n```\n\n```sh\necho done\n```\n\n```text\n{line}\n```\n");
        follow(&words).map(|_| ())
    };
    assert_eq!(page("sliver --version > version", "done"), Ok(()));
    let wrong = page("sliver synth nothing.csv --epsilon 1", "done").expect_err("no such file");
    assert!(wrong.contains("nothing.csv"), "{wrong}");
    let wrong = page("sliver --version", "epsilon 1").expect_err("not printed");
    assert!(wrong.contains("not printed: epsilon 1"), "{wrong}");
}
