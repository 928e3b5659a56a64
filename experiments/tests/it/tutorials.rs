//! The tutorials as a reader follows them: each command of docs/tutorials, and the lines that it is said to print.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{Home, Ran, files, make_folder, says, text, text_at};

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
fn follow(page: &str) -> Result<Home, String> {
    let home = Home::new();
    let (here, programs) = (home.at("here"), home.at("bin"));
    for place in [&here, &programs] {
        make_folder(place);
    }
    symlink(env!("CARGO_BIN_EXE_sliver"), programs.join("sliver")).expect("a link");
    let path = std::env::var("PATH").expect("programs");
    let commands = blocks(page, "sh");
    let commands = commands.lines().filter(|line| !line.starts_with("cargo "));
    let commands = commands.collect::<Vec<_>>().join("\n");
    let mut shell = Command::new("sh");
    shell.args(["-euc", &commands]).current_dir(&here);
    shell.env("PATH", format!("{}:{path}", programs.display()));
    let output = shell.env("XDG_CACHE_HOME", home.at("cache")).ran();
    if !output.status.success() {
        return Err(text(&output.stderr));
    }
    let printed = text(&output.stdout);
    let said = blocks(page, "text");
    let mut said = said.lines();
    match said.find(|line| !printed.lines().any(|l| l == *line)) {
        Some(missing) => Err(format!("not printed: {missing}\n{printed}")),
        None => Ok(home),
    }
}

/// A tutorial, followed to its end.
fn followed(name: &str) -> Home {
    let page = text_at(pages().join(name));
    assert!(blocks(&page, "sh").contains("sliver ") && !blocks(&page, "text").is_empty());
    follow(&page).unwrap_or_else(|wrong| panic!("{name}: {wrong}"))
}

#[test]
fn images_are_copied_as_the_tutorial_says() {
    let home = followed("images.md");
    let card = home.json("here/give-away/card.json");
    let privacy = &card["privacy"];
    assert_eq!(privacy["private"], true);
    assert!(privacy["epsilon_upper"].as_f64().expect("a number") <= 2.0);
    let neighbours = "replace all images of one unit, 2 of which count at most";
    assert_eq!(privacy["neighbours"], neighbours);
    for file in [
        "scans-copy/report.html",
        "scans-copy/samples.png",
        "give-away/images.npz",
        "give-away/README.md",
    ] {
        assert!(home.at("here").join(file).exists(), "{file}");
    }
}

#[test]
fn a_table_is_copied_as_the_tutorial_says() {
    let home = followed("table.md");
    let table = home.text("here/people-copy/copy/table.csv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("age,job,hours,start,end,income"));
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
    let card = home.json("here/people-copy/copy/card.json");
    assert_eq!(card["privacy"]["private"], true);
    assert!(home.has("here/people-copy/report.html"));
}

#[test]
fn noise_is_what_the_tutorial_says() {
    followed("network.md");
}

#[test]
fn no_tutorial_is_passed_over() {
    let names = files(&pages()).into_keys();
    let names: Vec<String> = names.map(|name| name.display().to_string()).collect();
    assert_eq!(names, ["images.md", "network.md", "table.md"]);
}

/// The guard itself: a command that fails, wherever it stands, and a line that no command prints.
#[test]
fn a_page_that_is_wrong_is_seen() {
    let page = |command: &str, line: &str| {
        let words =
            format!("```sh\n{command}\n```\n\n```sh\necho done\n```\n\n```text\n{line}\n```\n");
        follow(&words).map(drop)
    };
    assert_eq!(page("sliver --version > version", "done"), Ok(()));
    let wrong = page("sliver synth nothing.csv --epsilon 1", "done").expect_err("no such file");
    says(&wrong, &["nothing.csv"]);
    let wrong = page("sliver --version", "epsilon 1").expect_err("not printed");
    says(&wrong, &["not printed: epsilon 1"]);
}
