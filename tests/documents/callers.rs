//! What the libraries offer is called by somebody, stands in an example or on a page of theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::root;

const LIBRARIES: [&str; 8] = [
    "crates/classifiers",
    "crates/dp-accountant",
    "crates/dp-audit",
    "crates/dp-core",
    "crates/model",
    "crates/queries",
    "crates/swd",
    "crates/training",
];

/// Public for tests alone, as oracles of fast paths and for parts that training combines: none is added to these.
const KNOWN: [&str; 22] = [
    "CellSpread of crates/swd/src/sensitivity/spread.rs",
    "HostSpace of crates/model/src/latent/host.rs",
    "Matching of crates/training/src/penalty/prior.rs",
    "discrete_laplace of crates/dp-core/src/mechanism/noise.rs",
    "draw_error of crates/dp-accountant/src/accounting/event/repetitions.rs",
    "dropout_mask of crates/dp-core/src/per_sample/nn/dropout.rs",
    "gaussian_delta of crates/dp-accountant/src/numerics/normal.rs",
    "gradient_y of crates/swd/src/sinkhorn/transport.rs",
    "independent_slices of crates/training/src/penalty/mod.rs",
    "lower_tail of crates/dp-accountant/src/numerics/binomial.rs",
    "max_grad_norms of crates/training/src/training.rs",
    "of_classes of crates/training/src/loss.rs",
    "only_strata of crates/training/src/loss.rs",
    "parts_upper of crates/training/src/objective.rs",
    "records_of of crates/training/src/ranks/mod.rs",
    "shift_upper of crates/swd/src/sensitivity/spread.rs",
    "sliced_cotangents of crates/swd/src/transport/host.rs",
    "stable_orders of crates/swd/src/sort.rs",
    "standard_normal of crates/dp-core/src/mechanism/noise.rs",
    "transport_residual of crates/swd/src/transport/host.rs",
    "transport_residual of crates/swd/src/transport/tensor/mod.rs",
    "with_target of crates/training/src/penalty/mod.rs",
];

static ITEM: LazyLock<Regex> = LazyLock::new(|| {
    let item = r"(?m)^ *pub (?:const |unsafe )*(?:fn|struct|enum|trait|const|type|static) (\w+)";
    Regex::new(item).expect("a pattern")
});

/// Types that public items name: those of arguments, answers and fields, and of implementations.
static BESIDE: LazyLock<Regex> = LazyLock::new(|| {
    let beside = r"(?m)^ *(?:pub (?:const |unsafe )*fn \w+([^{;]*)|pub \w+: (.*)|type \w+ = (.*)|impl.* for (.*))";
    Regex::new(beside).expect("a pattern")
});

static EXAMPLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?ms)^ *//[/!] ```\w*\n(.*?)^ *//[/!] ```").expect("a pattern"));

static TESTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?ms)^#\[cfg\(test\)\]\n(?:pub(?:\(.*\))? )?mod \w+ \{.*?^\}\n")
        .expect("a pattern")
});

static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\w+").expect("a pattern"));

/// Sources without their unit tests and pages, by their paths.
fn texts() -> BTreeMap<String, String> {
    let mut folders: Vec<PathBuf> = ["crates", "experiments", "tools", "benches", "python/src"]
        .map(|folder| root().join(folder))
        .into();
    let mut texts = BTreeMap::new();
    let mut take = |path: &Path| {
        let text = std::fs::read_to_string(path).expect("readable");
        let name = path.strip_prefix(root()).expect("of the workspace");
        texts.insert(
            name.to_string_lossy().into_owned(),
            TESTS.replace_all(&text, "").into_owned(),
        );
    };
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            match path.is_dir() {
                true if name != "tests" && name != "target" => folders.push(path),
                false if name.ends_with(".rs") && name != "tests.rs" || name == "README.md" => {
                    take(&path)
                }
                _ => {}
            }
        }
    }
    take(&root().join("README.md"));
    texts
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    WORD.find_iter(text).map(|word| word.as_str())
}

/// `max_pool1d` as `MaxPool1d`, which is how pages name the layers of burn.
fn in_capitals(name: &str) -> String {
    let part = |part: &str| {
        part.chars()
            .take(1)
            .flat_map(char::to_uppercase)
            .chain(part.chars().skip(1))
            .collect()
    };
    name.split('_')
        .map(|word| -> String { part(word) })
        .collect()
}

#[test]
fn what_is_public_is_called() {
    let texts = texts();
    let (mut callers, mut pages) = (BTreeMap::<&str, BTreeSet<&str>>::new(), BTreeSet::new());
    for (path, text) in &texts {
        match path.ends_with("README.md") {
            true => pages.extend(words(text)),
            false => words(text).for_each(|word| {
                callers.entry(word).or_default().insert(path);
            }),
        }
    }
    let mut uncalled = BTreeSet::new();
    let mut public = 0;
    for library in LIBRARIES {
        let source = format!("{library}/src/");
        let own = || texts.iter().filter(|(path, _)| path.starts_with(&source));
        let mut named: BTreeSet<&str> = BTreeSet::new();
        for (_, text) in own() {
            let beside = BESIDE
                .captures_iter(text)
                .flat_map(|found| found.iter().skip(1).flatten().collect::<Vec<_>>());
            named.extend(beside.flat_map(|found| words(found.as_str())));
            let examples = EXAMPLE.captures_iter(text).filter_map(|found| found.get(1));
            named.extend(examples.flat_map(|found| words(found.as_str())));
        }
        for (path, text) in own() {
            for found in ITEM.captures_iter(text) {
                public += 1;
                let name = found.get(1).expect("a name").as_str();
                let by_others = callers[name].iter().any(|path| !path.starts_with(&source));
                let on_a_page = pages.contains(name) || pages.contains(in_capitals(name).as_str());
                if !(by_others || on_a_page || named.contains(name)) {
                    uncalled.insert(format!("{name} of {path}"));
                }
            }
        }
    }
    assert!(public > 600, "{public}");
    let known = KNOWN.iter().map(ToString::to_string).collect();
    let new: Vec<&String> = uncalled.difference(&known).collect();
    assert!(new.is_empty(), "public, and nobody calls them: {new:#?}");
    let gone: Vec<&String> = known.difference(&uncalled).collect();
    assert!(gone.is_empty(), "no longer so: {gone:#?}");
}
