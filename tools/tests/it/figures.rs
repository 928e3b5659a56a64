//! Charts of the pages of results.

use std::path::Path;

use clap::Parser as _;
use tools::report::{Arguments, run};

/// `just figures docs` draws them anew where a table has changed.
#[test]
fn charts_of_the_docs_are_those_of_their_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (tables, pictures) = (root.join("docs/results"), root.join("assets/pictures"));
    let out = tempfile::tempdir().expect("a folder");
    let words = ["report", "--figures", "docs"].map(AsRef::as_ref);
    let words =
        words
            .into_iter()
            .chain([tables.as_os_str(), "--out".as_ref(), out.path().as_os_str()]);
    run(&Arguments::parse_from(words)).expect("charts");
    let mut count = 0;
    for entry in std::fs::read_dir(out.path()).expect("charts") {
        let path = entry.expect("a chart").path();
        let name = path.file_name().expect("a name");
        let text = |path: &Path| std::fs::read_to_string(path).expect("a chart");
        let (drawn, kept) = (text(&path), text(&pictures.join(name)));
        assert!(drawn == kept, "{}: `just figures docs`", path.display());
        assert!(drawn.contains("prefers-color-scheme: dark"));
        count += 1;
    }
    assert_eq!(count, 9);
}

#[test]
fn a_table_that_is_not_there_or_has_another_form_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let refused = || {
        let words = ["report", "--figures", "docs"].map(AsRef::as_ref);
        let words = words
            .into_iter()
            .chain([here.as_os_str(), "--out".as_ref(), here.as_os_str()]);
        run(&Arguments::parse_from(words))
            .expect_err("refused")
            .to_string()
    };
    assert!(refused().contains("flow-field.csv"), "{}", refused());
    for (name, text) in [
        ("flow-field.csv", "input,public\nmnist,shapes\n"),
        ("flow-baselines.csv", "input\n"),
        ("fair-adult.csv", "epsilon\n"),
        ("fair-repair.csv", "epsilon\n"),
        ("fair-published.csv", "method\n"),
        ("published.toml", "published = []\n"),
    ] {
        std::fs::write(here.join(name), text).expect("written");
    }
    assert!(refused().contains("no column epsilon"), "{}", refused());
}
