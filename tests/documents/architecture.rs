//! What the workspace is built from, by `cargo tree`: nothing is compiled a second time for another
//! command. What is published, by `cargo package`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::root;

/// Each dependency with the sets of features that it is compiled with; two where macros, which run while
/// compiling, ask for others.
type Compiled = BTreeMap<String, BTreeSet<String>>;

/// A package of this workspace.
struct Package {
    name: String,
    folder: PathBuf,
    published: bool,
    /// Other packages of this workspace that it takes, tests aside, in order.
    needs: Vec<String>,
}

/// The packages of this workspace but for the one that asks for features on behalf of all others.
fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .args(["--locked", "--offline"])
        .output()
        .expect("cargo");
    let workspace: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = workspace["packages"].as_array().expect("packages");
    let names: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let packages = packages.iter().map(|package| Package {
        name: package["name"].as_str().expect("a name").into(),
        folder: Path::new(package["manifest_path"].as_str().expect("a path"))
            .parent()
            .expect("a folder")
            .into(),
        // `publish = false` is an empty list of registries.
        published: package["publish"].is_null(),
        needs: {
            let all = package["dependencies"].as_array().expect("a list");
            let needed = all.iter().filter(|needed| needed["kind"].is_null());
            let needed: BTreeSet<&str> = needed.filter_map(|n| n["name"].as_str()).collect();
            let ours = needed
                .intersection(&names)
                .filter(|n| **n != "workspace-hack");
            ours.map(ToString::to_string).collect()
        },
    });
    packages
        .filter(|package| package.name != "workspace-hack")
        .collect()
}

/// What cargo compiles for a selection of packages, of another origin than this workspace.
fn compiled(selection: &[&str], kinds: &str) -> Compiled {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["tree", "--locked", "--offline", "--prefix", "none"])
        .args(["--edges", kinds, "--format", "{p}|{f}|"])
        .args(selection)
        .output()
        .expect("cargo");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{selection:?}: {error}");
    let mut compiled = Compiled::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut parts = line.split('|');
        let (Some(package), Some(features)) = (parts.next(), parts.next()) else {
            continue;
        };
        if !package.contains("(/") {
            let sets = compiled.entry(package.to_string()).or_default();
            sets.insert(features.to_string());
        }
    }
    compiled
}

#[test]
fn every_command_shares_every_compiled_dependency() {
    const BUILD: &str = "normal,build";
    const TEST: &str = "normal,build,dev";
    let mut all = compiled(&["--workspace"], TEST);
    // What macros use as well is compiled twice, and shown once, with the features of whoever comes first: of
    // the roots `data`, which needs no macro for it, and without that the macros below burn.
    for (package, features) in compiled(&["--workspace", "--exclude", "data"], TEST) {
        all.entry(package).or_default().extend(features);
    }
    assert!(all.len() > 300, "{}", all.len());
    let packages = packages();
    assert!(packages.len() > 8, "{}", packages.len());
    // `cargo run`, `build` and `doc`; then `test` and `clippy --all-targets`.
    let mut commands = vec![(vec![], BUILD), (vec![], TEST)];
    for Package {
        name, published, ..
    } in &packages
    {
        let selection = || vec!["--package", name.as_str()];
        commands.push((selection(), TEST));
        // A published library alone, without its tests, is what its users compile.
        if !published {
            commands.push((selection(), BUILD));
        }
    }
    let mut twice = Vec::new();
    for (selection, kinds) in commands {
        for (package, found) in compiled(&selection, kinds) {
            let others = all.get(&package).cloned().unwrap_or_default();
            for features in found.difference(&others) {
                twice.push(format!(
                    "{selection:?} ({kinds}): {package} with [{features}], elsewhere {others:?}"
                ));
            }
        }
    }
    let message = "name what is missing in crates/workspace-hack/Cargo.toml";
    assert!(twice.is_empty(), "{message}:\n{}", twice.join("\n"));
}

/// Another profile would compile every dependency again.
#[test]
fn every_recipe_builds_with_the_release_profile_and_the_locked_versions() {
    // What compiles nothing of the workspace, or, as a fuzzer, with flags of its own.
    const OTHERS: [&str; 4] = ["cargo fmt", "cargo fuzz", "cargo deny", "cargo sbom"];
    let recipes = std::fs::read_to_string(root().join("justfile")).expect("the justfile");
    let builds = recipes
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter(|line| line.contains("cargo "))
        .filter(|line| !OTHERS.iter().any(|other| line.contains(other)));
    let mut seen = 0;
    for line in builds {
        let profile = line.contains("--release");
        assert!(profile && line.contains("--locked"), "{line}");
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

/// What a program compiles that takes a library and chooses burn's backends itself: no downloader, no decoder of
/// images, no command line, no backend that it did not ask for.
#[test]
fn the_libraries_bring_neither_tools_nor_backends() {
    let selections: [&[&str]; 4] = [
        &["--package", "dp-core"],
        &["--package", "swd"],
        &["--package", "private-training"],
        &["--package", "model", "--no-default-features"],
    ];
    for selection in selections {
        let needs = compiled(selection, "normal");
        assert!(needs.len() > 50, "{}", needs.len());
        for heavy in [
            "burn-cubecl ",
            "burn-ndarray ",
            "clap ",
            "image ",
            "rustls ",
            "turso ",
            "ureq ",
            "wgpu ",
        ] {
            let found = needs.keys().find(|name| name.starts_with(heavy));
            assert_eq!(found, None, "{selection:?}");
        }
    }
}

/// What has no tensors is compiled without any: the accountant for anyone who wants it, and `just account` in under a
/// minute from nothing.
#[test]
fn the_accountant_data_the_reports_and_the_tools_need_no_tensors() {
    for package in ["dp-accountant", "dp-audit", "data", "reporting", "tools"] {
        let needs = compiled(&["--package", package], "normal,build");
        assert!((20..200).contains(&needs.len()), "{}", needs.len());
        for heavy in ["burn", "cubecl", "wgpu", "nalgebra ", "ndarray "] {
            let found = needs.keys().find(|name| name.starts_with(heavy));
            assert_eq!(found, None, "{package}");
        }
    }
}

/// `docs/architecture.md` draws these.
#[test]
fn arrows_go_one_way() {
    let arrows: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("dp-accountant", &[][..]),
        ("swd", &[]),
        ("files", &[]),
        ("data", &["files"]),
        ("dp-audit", &["dp-accountant"]),
        ("dp-core", &["dp-accountant"]),
        ("private-classifiers", &["dp-core"]),
        ("private-queries", &["dp-core", "swd"]),
        ("private-training", &["dp-core", "swd"]),
        (
            "private-synth",
            &[
                "data",
                "dp-core",
                "model",
                "private-classifiers",
                "private-queries",
                "private-training",
            ],
        ),
        ("model", &["dp-core", "private-training"]),
        ("reporting", &["dp-accountant", "files"]),
        (
            "evaluating",
            &[
                "data",
                "dp-core",
                "files",
                "model",
                "private-classifiers",
                "private-training",
                "reporting",
                "swd",
            ],
        ),
        (
            "lab",
            &[
                "data",
                "dp-core",
                "evaluating",
                "files",
                "model",
                "private-queries",
                "private-training",
                "reporting",
            ],
        ),
        ("tools", &["dp-accountant", "files", "reporting"]),
    ]);
    let packages = packages();
    for Package { name, needs, .. } in &packages {
        if let Some(allowed) = arrows.get(name.as_str()) {
            assert_eq!(needs, allowed, "{name}");
        }
    }
    let known = |name: &&str| packages.iter().any(|package| package.name == **name);
    assert!(arrows.keys().all(known));
}

/// The source of the packages that are not published, without their unit tests, by its path.
fn sources() -> Vec<(String, String)> {
    let home = root();
    let mut folders: Vec<PathBuf> = packages()
        .into_iter()
        .filter(|package| !package.published)
        .map(|package| package.folder.join("src"))
        // That of the tests has none.
        .filter(|folder| folder.exists())
        .collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).expect("readable");
                let code = text.split("#[cfg(test)]\nmod tests {").next();
                let home = home.canonicalize().expect("the workspace");
                let path = path.canonicalize().expect("a file");
                let path = path.strip_prefix(home).expect("of the workspace");
                let path = path.to_string_lossy().into_owned();
                if !path.ends_with("tests.rs") && !path.contains("/tests/") {
                    found.push((path, code.unwrap_or_default().to_string()));
                }
            }
        }
    }
    assert!(found.len() > 200, "{}", found.len());
    found
}

/// A new name is lost with the power unless its folder is flushed too, which `files::atomic` does.
#[test]
fn files_get_their_names_in_one_place() {
    let sources = sources();
    let named: Vec<&str> = sources
        .iter()
        .filter(|(_, code)| {
            ["fs::rename(", ".persist(", ".persist_noclobber("]
                .iter()
                .any(|call| code.contains(call))
        })
        .map(|(path, _)| path.as_str())
        .collect();
    assert_eq!(named, ["crates/files/src/atomic.rs"]);
}

/// A panic of a decoder would end the program, with words that may quote a record: `files::foreign` turns it into an error.
#[test]
fn decoders_of_others_cannot_panic() {
    const DECODERS: [&str; 14] = [
        "GzDecoder::new(",
        "ZipArchive::new(",
        "tar::Archive::new(",
        "ImageReader::new(",
        "image::open(",
        "image::load_from_memory",
        "png::Decoder::new(",
        "SerializedFileReader::new(",
        ".get_column_reader(",
        ".read_records(",
        ".read_byte_record(",
        "csv::Reader",
        "Store::from_file(",
        ".try_load_file(",
    ];
    // What is called by one that is guarded, and what reads the pages of this project.
    const OTHERS: [&str; 2] = [
        "crates/data/src/table/parquet/texts.rs",
        "tools/src/report/figures/docs/table.rs",
    ];
    let mut seen = std::collections::BTreeSet::new();
    for (path, code) in sources() {
        let named: Vec<&str> = DECODERS
            .into_iter()
            .filter(|name| code.contains(name))
            .collect();
        let guards = ["quietly(", "decoded(", "Decoder("];
        let guarded = guards.iter().any(|call| code.contains(call));
        assert!(
            named.is_empty() || guarded || OTHERS.contains(&path.as_str()),
            "{path}: {named:?} without files::foreign"
        );
        seen.extend(named);
    }
    assert!(seen.len() > 8, "{seen:?}");
}

/// Runs a command that must succeed, and gives what it printed.
fn output(command: &mut Command) -> String {
    let output = command.output().expect("the command starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Not that what is packaged compiles: that would compile burn again (CONTRIBUTING.md has the command).
#[test]
fn the_libraries_can_be_published() {
    let packages = packages();
    let published = || packages.iter().filter(|package| package.published);
    let names: Vec<&str> = published().map(|package| package.name.as_str()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        [
            "dp-accountant",
            "dp-audit",
            "dp-core",
            "private-training",
            "swd"
        ]
    );
    // The pages name the same ones: the commands that publish, and the table of crates.
    let text = |page: &str| std::fs::read_to_string(root().join(page)).expect("a page");
    let (contributing, readme) = (text("CONTRIBUTING.md"), text("README.md"));
    let commands = ["cargo package ", "cargo publish "].map(|command| {
        let line = contributing.lines().find(|line| line.contains(command));
        let words = line.expect("a command").split_whitespace();
        let words: Vec<&str> = words.collect();
        let pairs = words.windows(2).filter(|pair| pair[0] == "-p");
        let mut named: Vec<&str> = pairs.map(|pair| pair[1]).collect();
        named.sort_unstable();
        named
    });
    assert_eq!(commands, [sorted.clone(), sorted]);
    let rows = readme.lines().filter(|line| line.starts_with("| [`"));
    let rows: Vec<&str> = rows.filter(|line| line.contains("](crates/")).collect();
    assert_eq!(rows.len(), names.len(), "{rows:?}");
    assert!(
        names
            .iter()
            .all(|name| readme.contains(&format!("| [`{name}`](crates/")))
    );
    let folder = tempfile::tempdir().expect("a folder");
    // Those that need each other are packaged together.
    let mut package = Command::new(env!("CARGO"));
    package.current_dir(root()).args(["package", "--no-verify"]);
    package.args(["--allow-dirty", "--locked", "--offline", "--target-dir"]);
    package.arg(folder.path());
    output(package.args(names.iter().flat_map(|name| ["--package", name])));
    let home = std::fs::canonicalize(root()).expect("the workspace");
    let home = home.to_str().expect("UTF-8");
    for Package {
        name, folder: at, ..
    } in published()
    {
        let version = env!("CARGO_PKG_VERSION");
        let archive = folder
            .path()
            .join(format!("package/{name}-{version}.crate"));
        let tar = |flags: &str| output(Command::new("tar").arg(flags).arg(&archive));
        let files = tar("-tzf");
        let files: Vec<&str> = files
            .lines()
            .filter_map(|path| path.split_once('/'))
            .map(|(_, path)| path)
            .collect();
        for needed in ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs"] {
            assert!(files.contains(&needed), "{name}: no {needed} in {files:?}");
        }
        let text = tar("-xzOf");
        assert!(
            !text.contains(home) && !text.contains("path = \"../"),
            "{name}"
        );
        // The page of a package says how to ask for it, and tries its example.
        let page = std::fs::read_to_string(at.join("README.md")).expect("a page");
        let (release, _) = version.rsplit_once('.').expect("a version");
        assert!(page.contains(&format!("{name} = \"{release}\"")), "{name}");
        let library = std::fs::read_to_string(at.join("src/lib.rs")).expect("a library");
        assert!(
            library.contains("include_str!(\"../README.md\")") && page.contains("```rust\n"),
            "{name}"
        );
    }
}
