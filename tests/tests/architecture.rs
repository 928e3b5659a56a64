//! What the workspace is built from, by `cargo tree`: nothing is compiled a second time for another
//! command.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Each dependency with the sets of features that it is compiled with; two where macros, which run while
/// compiling, ask for others.
type Compiled = BTreeMap<String, BTreeSet<String>>;

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
    let all = compiled(&["--workspace"], TEST);
    assert!(all.len() > 300, "{}", all.len());
    // `cargo run`, `build` and `doc`; then `test`, `clippy --all-targets` and `bench`.
    let mut commands = vec![(vec![], BUILD), (vec![], TEST)];
    let packages = [
        "dp-core",
        "swd",
        "model",
        "data",
        "lab",
        "experiments",
        "system-tests",
        "test-support",
        "benches",
    ];
    for package in packages {
        commands.extend([BUILD, TEST].map(|kinds| (vec!["--package", package], kinds)));
    }
    let mut twice = Vec::new();
    for (selection, kinds) in commands {
        for (package, found) in compiled(&selection, kinds) {
            for features in found.difference(&all[&package]) {
                let others = &all[&package];
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
    let recipes = std::fs::read_to_string(root().join("justfile")).expect("the justfile");
    let builds = recipes
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter(|line| line.contains("cargo ") && !line.contains("cargo fmt"));
    let mut seen = 0;
    for line in builds {
        // `cargo bench` has the release profile and knows no flag for it.
        let profile = line.contains("--release") || line.contains("cargo bench");
        assert!(profile && line.contains("--locked"), "{line}");
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

/// What a library's user compiles: neither a downloader nor a decoder of images.
#[test]
fn the_libraries_know_neither_the_network_nor_pictures() {
    for package in ["dp-core", "swd", "model"] {
        let needs = compiled(&["--package", package], "normal");
        for heavy in ["ureq ", "rustls ", "image ", "plotters ", "turso "] {
            let found = needs.keys().find(|name| name.starts_with(heavy));
            assert_eq!(found, None, "{package}");
        }
    }
}
