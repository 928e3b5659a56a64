//! What the documents say of the workspace: tests, snippets, commands, files.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::root;

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

/// What stands between backticks, outside of blocks of code.
fn code_words(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2))
}

/// The lists of tests of a page, `[tests: ...]` in the tables of proofs and `<!-- tests: ... -->` elsewhere: where each
/// starts and ends, and what stands in it.
fn lists_of_tests(text: &str) -> Vec<(Range<usize>, &str)> {
    let mut found = Vec::new();
    for (open, close) in [("[tests:", "]"), ("<!-- tests:", "-->")] {
        for (start, _) in text.match_indices(open) {
            let list = &text[start + open.len()..];
            let length = list.find(close).expect("an end of the list");
            let end = start + open.len() + length + close.len();
            found.push((start..end, &list[..length]));
        }
    }
    found
}

/// Whether a word has the form of a test's name: at least three underscores between small letters and digits.
fn looks_like_a_test(word: &str) -> bool {
    let name = word.rsplit("::").next().unwrap_or_default();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:".contains(c);
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(plain)
        && name.matches('_').count() >= 3
}

/// Whether the sources have a function of this name, or the name as a text of theirs, such as a key of `run.json`.
fn is_in(sources: &[(PathBuf, String)], word: &str) -> bool {
    let name = word.rsplit("::").next().unwrap_or_default();
    let forms = [
        format!("fn {name}("),
        format!("fn {name}<"),
        format!("\"{name}\""),
    ];
    let has = |text: &str| forms.iter().any(|form| text.contains(form));
    sources.iter().any(|(_, text)| has(text))
}

/// How many tests the brackets of a page name, and what is wrong with them; then the words of its other text that look
/// like tests and are nothing. A history may name what is gone.
fn names_of_tests(page: &str, text: &str, sources: &[(PathBuf, String)]) -> (usize, Vec<String>) {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (_, list) in lists_of_tests(text) {
        let before = count;
        for name in list.split('`').skip(1).step_by(2) {
            count += 1;
            let tests = tests_named(name, sources);
            if tests != 1 {
                wrong.push(format!("{page}: {tests} tests are called {name}"));
            }
        }
        if count == before {
            wrong.push(format!("{page}: no name in tests:{list}"));
        }
    }
    if !page.ends_with("CHANGELOG.md") {
        let unknown = code_words(text).filter(|w| looks_like_a_test(w) && !is_in(sources, w));
        wrong.extend(unknown.map(|word| format!("{page}: nothing is called {word}")));
    }
    (count, wrong)
}

/// A promise whose test is gone, or never was, is to be seen.
#[test]
fn every_test_that_a_document_names_exists() {
    let sources = all("rs");
    let (mut wrong, mut names, mut count) = (Vec::new(), 0, 0);
    for (path, text) in all("md") {
        let page = path.strip_prefix(root()).unwrap_or(&path);
        let page = page.display().to_string();
        let (of_page, of_page_wrong) = names_of_tests(&page, &text, &sources);
        names += of_page;
        wrong.extend(of_page_wrong);
        // Every statement of this page has its tests, or says that it has none.
        if page != "docs/privacy.md" {
            continue;
        }
        for statement in statements(&text) {
            count += 1;
            if lists_of_tests(&statement).is_empty() && !statement.contains("no test") {
                wrong.push(format!("{page}: neither tests nor 'no test': {statement}"));
            }
        }
    }
    assert!(names > 150 && count > 35, "{names} {count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The guard itself: a bracket over two lines, an empty one, a name of two tests without its place, a renamed test in
/// the text; not a key of a file, not a block of code, not a history.
#[test]
fn a_name_that_no_test_has_is_seen() {
    let source = |path: &str, text: &str| (root().join(path), text.to_string());
    let sources = [
        source("a/one.rs", "#[test]\nfn it_holds_for_all() {}\n"),
        source("b/two.rs", "#[test]\nfn it_holds_for_all() {}\n"),
        source(
            "b/keys.rs",
            "fn a_help_of_tests() { put(\"key_of_a_file\") }",
        ),
    ];
    let wrong = |page: &str, text: &str| names_of_tests(page, text, &sources).1.len();
    assert_eq!(
        wrong(
            "a.md",
            "[tests: `one::it_holds_for_all`,\n`two::it_holds_for_all`]"
        ),
        0
    );
    assert_eq!(wrong("a.md", "[tests: `it_holds_for_all`]"), 1);
    assert_eq!(wrong("a.md", "[tests:\n`a_help_of_tests`]"), 1);
    assert_eq!(wrong("a.md", "[tests: none]"), 1);
    assert_eq!(wrong("a.md", "<!-- tests:\n`it_holds_for_all` -->"), 1);
    assert_eq!(wrong("a.md", "`it_holds_for_all` and `key_of_a_file`"), 0);
    assert_eq!(wrong("a.md", "`it_holds_for_most` and `one_two`"), 1);
    assert_eq!(wrong("a.md", "```sh\nrun `it_holds_for_most`\n```\n"), 0);
    assert_eq!(wrong("CHANGELOG.md", "`it_holds_for_most`"), 0);
}

/// The fields of a line of CSV, with quotes where a comma stands in one.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match (c, fields.last_mut()) {
            ('"', _) => quoted = !quoted,
            (',', _) if !quoted => fields.push(String::new()),
            (c, Some(field)) => field.push(c),
            (_, None) => {}
        }
    }
    fields
}

/// The numbers with a point in a text, as they are written.
fn decimals(text: &str) -> Vec<&str> {
    let parts = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    let number = |part: &&str| part.contains('.') && part.parse::<f64>().is_ok();
    parts.filter(number).collect()
}

/// Whether one of `values` is `written` to its digits.
fn is_rounded(written: &str, mut values: impl Iterator<Item = f64>) -> bool {
    let digits = written
        .split_once('.')
        .map_or(0, |(_, behind)| behind.len());
    values.any(|value| format!("{value:.digits$}") == written)
}

/// The value in `column` of the one line of `csv` that has one and whose settings are `wanted`; what all runs of a sweep
/// share has no column.
fn value(csv: &[Vec<String>], wanted: &[(&str, &str)], column: &str) -> f64 {
    let place = |name: &str| csv[0].iter().position(|column| column == name);
    let result = place(column).unwrap_or_else(|| panic!("no column {column} in {:?}", csv[0]));
    let is = |line: &[String], (name, value): &(&str, &str)| {
        let Some(found) = place(name).map(|place| &line[place]) else {
            return true;
        };
        let numbers = found.parse::<f64>().ok().zip(value.parse::<f64>().ok());
        numbers.map_or(found == value, |(a, b)| a == b)
    };
    let lines = csv[1..].iter().filter(|line| !line[result].is_empty());
    let lines = lines.filter(|line| wanted.iter().all(|pair| is(line, pair)));
    let found: Vec<&Vec<String>> = lines.collect();
    assert_eq!(found.len(), 1, "lines of {wanted:?}");
    found[0][result].parse().expect("a number")
}

/// Each figure of ours in README's table stands on the page that its row links to; the accuracies of the first three
/// rows, the baseline and the ceilings are those that the sweeps wrote (docs/results/flow.md has the commands).
#[test]
fn figures_of_the_readme_are_those_of_its_pages_and_sweeps() {
    let read = |page: &str| std::fs::read_to_string(root().join(page)).expect("a page");
    let readme = read("README.md");
    let (_, table) = readme.split_once("|---|---|---|---|\n").expect("a table");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for row in &rows {
        let [what, ours, ..] = row[..] else {
            panic!("a row of other columns: {row:?}");
        };
        let (_, link) = what.split_once("](").expect("a link to a page");
        let page = read(link.split(['#', ')']).next().unwrap_or_default());
        for figure in decimals(ours) {
            count += 1;
            let there = decimals(&page);
            let values = there.iter().filter_map(|number| number.parse().ok());
            if !is_rounded(figure, values) {
                wrong.push(format!("{figure} of {what} stands not on its page"));
            }
        }
    }
    assert!(count > 8, "{count}");

    let csv = |name: &str| -> Vec<Vec<String>> {
        let text = read(&format!("docs/results/{name}.csv"));
        text.lines().map(fields).collect()
    };
    let (field, baselines) = (csv("flow-field"), csv("flow-baselines"));
    let taught = |begin: &str, of: &str| {
        format!(
            "{begin} on 10000 test images of a convolutional classifier trained on 60000 {of}, 3 seeds: mean (mean)"
        )
    };
    let samples = taught("Accuracy", "samples");
    let of = |dataset, public, epsilon| {
        let run = [("input", dataset), ("public", public), ("epsilon", epsilon)];
        value(&field, &run, &samples)
    };
    let shapes = |epsilon| of("mnist", "shapes", epsilon);
    let alone = "public records alone, varied as the samples are";
    let alone = taught("Baseline: accuracy", alone);
    let real = taught("Reads private records: accuracy", "private records");
    let real_of = |dataset| value(&baselines, &[("input", dataset)], &real);
    let (_, note) = readme
        .split_once("The same network reaches")
        .expect("the ceilings");
    for (written, values) in [
        (
            decimals(rows[0][1]),
            vec![shapes("0.2"), shapes("1"), shapes("10")],
        ),
        (decimals(rows[1][1]), vec![of("mnist", "glyphs", "1")]),
        (
            decimals(rows[2][1]),
            vec![of("fashion-mnist", "shapes", "1")],
        ),
        (
            decimals(rows[1][2]),
            vec![value(&baselines, &[("public", "glyphs")], &alone)],
        ),
        (
            decimals(note)[..2].to_vec(),
            vec![real_of("mnist"), real_of("fashion-mnist")],
        ),
    ] {
        assert_eq!(written.len(), values.len(), "{written:?}");
        for (written, value) in written.into_iter().zip(values) {
            if !is_rounded(written, [value].into_iter()) {
                wrong.push(format!("{written} is {value} in the sweep"));
            }
        }
    }
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

/// Whether a section of a page of results has numbers in a table and names nothing that prints them: neither a command nor
/// a file of the rows.
fn is_without_a_source(section: &str) -> bool {
    let mut rows = section.lines().filter(|line| line.starts_with('|'));
    let figures = rows.any(|row| !decimals(row).is_empty());
    let commands = ["just", "sliver", "cargo", "python3"];
    let named = code_words(section).any(|word| commands.iter().any(|name| word.starts_with(name)));
    figures && !named && blocks(section, "sh").is_empty() && !section.contains(".csv)")
}

/// No table of results without the command that prints it, or the file that it was printed to.
#[test]
fn every_table_of_results_says_where_it_is_from() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (page, text) in all("md") {
        if !page
            .parent()
            .is_some_and(|folder| folder.ends_with("docs/results"))
        {
            continue;
        }
        for section in text.split("\n## ") {
            count += 1;
            if is_without_a_source(section) {
                let head = section.lines().next().unwrap_or_default();
                wrong.push(format!("{}: {head}", page.display()));
            }
        }
    }
    assert!(count > 30, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(is_without_a_source("A table\n\n| a |\n|---|\n| 0.5 |\n"));
    assert!(!is_without_a_source("| 0.5 |\nby `just sweep x.toml`"));
    assert!(!is_without_a_source("| 0.5 |\n[all](rows.csv)"));
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

/// Recipes, programs, examples and files that the commands of a page name are there.
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
    let mut programs: Vec<String> = code.iter().filter_map(|(path, _)| stem(path)).collect();
    programs.push("sliver".into());
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
