//! What the documents say of the workspace: tests, snippets, commands, files.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files below a folder of the workspace whose names end in `ending`, with their text.
fn files(folder: &Path, ending: &str, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let skipped = name.starts_with('.') || ["target", "runs"].contains(&&*name);
        if path.is_dir() && !skipped {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|e| e == ending) {
            let text = std::fs::read_to_string(&path).expect("readable");
            found.push((path, text));
        }
    }
}

fn all(ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&root(), ending, &mut found);
    assert!(found.len() > 10, "only {} files", found.len());
    found
}

/// The bullets of a page, each with the lines that go on from it, and the rows of its tables.
fn statements(page: &str) -> Vec<String> {
    let mut statements: Vec<String> = Vec::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let rule = |line: &str| line.starts_with("|--");
        let head = lines.peek().is_some_and(|next| rule(next));
        if line.starts_with("- ") || (line.starts_with('|') && !head && !rule(line)) {
            statements.push(line.into());
        } else if let (true, Some(last)) = (line.starts_with("  "), statements.last_mut()) {
            last.push_str(line);
        }
    }
    statements
}

/// How many files have a test of this name; `place::name` is one in a file or a folder of that name.
fn tests_named(name: &str, sources: &[(PathBuf, String)]) -> usize {
    let (place, name) = name.rsplit_once("::").unwrap_or(("", name));
    let lies_there = |path: &Path| {
        let mut parts = path.strip_prefix(root()).unwrap_or(path).iter();
        place.is_empty() || parts.any(|part| Path::new(part).file_stem() == Some(place.as_ref()))
    };
    let is_test = |text: &str| {
        let head = format!("fn {name}(");
        let mut places = text.match_indices(&head);
        places.any(|(at, _)| text[..at].trim_end().ends_with("#[test]"))
    };
    let found = sources
        .iter()
        .filter(|(path, text)| lies_there(path) && is_test(text));
    found.count()
}

/// A promise whose test is gone, or never was, is to be seen.
#[test]
fn every_test_that_a_document_names_exists() {
    let found = all("rs");
    let (mut wrong, mut names, mut count) = (Vec::new(), 0, 0);
    for page in ["docs/privacy.md", "docs/pitfalls.md"] {
        let text = std::fs::read_to_string(root().join(page)).expect("a page");
        for statement in statements(&text) {
            count += 1;
            if !statement.contains("[tests: `") && !statement.contains("no test") {
                wrong.push(format!("{page}: neither tests nor 'no test': {statement}"));
            }
        }
        for bracket in text.split("[tests: ").skip(1) {
            let (bracket, _) = bracket.split_once(']').expect("an end of the bracket");
            for name in bracket.split('`').skip(1).step_by(2) {
                names += 1;
                let tests = tests_named(name, &found);
                if tests != 1 {
                    wrong.push(format!("{page}: {tests} tests are called {name}"));
                }
            }
        }
    }
    assert!(names > 100 && count > 40, "{names} {count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The code of a page in `language`, block by block.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    let after = page.split(&open).skip(1);
    after
        .filter_map(|rest| Some(rest.split_once("```")?.0))
        .collect()
}

/// A library's own page is compiled by its doctests; what other pages show stands in an example.
#[test]
fn snippets_are_compiled() {
    let mut examples = all("rs");
    examples.retain(|(path, _)| path.iter().any(|part| part == "examples"));
    let mut count = 0;
    for (page, text) in all("md") {
        let library = page.with_file_name("src").join("lib.rs");
        let own = std::fs::read_to_string(library).unwrap_or_default();
        for block in blocks(&text, "rust") {
            count += 1;
            let compiled = own.starts_with("#![doc = include_str!(\"../README.md\")]")
                || examples.iter().any(|(_, code)| code.contains(block));
            assert!(compiled, "{}: in no example:\n{block}", page.display());
        }
    }
    assert!(count > 4, "{count}");
}

/// Recipes, binaries, examples and files that the commands of a page name are there.
#[test]
fn commands_of_pages_can_be_given() {
    let justfile = std::fs::read_to_string(root().join("justfile")).expect("a justfile");
    let heads = justfile
        .lines()
        .filter(|line| !line.starts_with([' ', '#']));
    let recipes: Vec<&str> = heads
        .filter_map(|line| line.split([' ', ':']).next())
        .collect();
    let mut code = all("rs");
    let stem = |path: &Path| Some(path.file_stem()?.to_string_lossy().into_owned());
    let kind = |path: &Path| Some(path.parent()?.file_name()?.to_string_lossy().into_owned());
    code.retain(|(path, _)| kind(path).is_some_and(|k| k == "bin" || k == "examples"));
    let programs: Vec<String> = code.iter().filter_map(|(path, _)| stem(path)).collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (page, text) in all("md") {
        for line in blocks(&text, "sh").iter().flat_map(|block| block.lines()) {
            let words: Vec<&str> = line
                .split_whitespace()
                .take_while(|w| !w.starts_with('#'))
                .collect();
            let known = |pair: &[&str]| match pair {
                ["just", recipe] => recipes.contains(recipe),
                ["--bin" | "--example", name] => programs.iter().any(|p| p == name),
                [_, file] if file.starts_with("assets/") || file.starts_with("benches/") => {
                    root().join(file).exists()
                }
                _ => true,
            };
            count += words.len();
            // The first word behind such a recipe is what it runs on.
            let flags = words.windows(3).filter(|three| {
                let [just, recipe, flag] = three else {
                    return false;
                };
                *just == "just" && recipe.starts_with("run-") && flag.starts_with("--")
            });
            wrong.extend(flags.map(|three| format!("{}: {}", page.display(), three.join(" "))));
            let unknown = words.windows(2).filter(|pair| !known(pair));
            wrong.extend(unknown.map(|pair| format!("{}: {}", page.display(), pair.join(" "))));
        }
    }
    assert!(count > 300, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pages link to files that are there.
#[test]
fn links_of_pages_lead_somewhere() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (page, text) in all("md") {
        for link in text.split("](").skip(1) {
            let target = link.split([')', '#', ' ']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            count += 1;
            if !page.with_file_name(target).exists() {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(count > 60, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
