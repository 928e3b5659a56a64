//! The private records of a run, public test records, and the groups of both.

use std::path::Path;

use data::split::Use;
use data::{BiasedConfig, DataError, GroupedTable, Labels, LoadOptions, Missing, Schema, biased};
use dp_core::sampling::Sampler;
use lab::prelude::*;

use super::settings::{Notion, Settings, Task};
use crate::random::stream;
use crate::records::{of_path, options};

/// Every run sees the same simulated records: the data is what runs are compared on.
const SIMULATION: u64 = 0;

pub(super) fn simulated(settings: &Settings) -> Result<Tables, Failure> {
    let config = BiasedConfig {
        records: settings.records.unwrap_or(BiasedConfig::default().records),
        ..BiasedConfig::default()
    };
    let simulate = |number| {
        let sampled = biased::simulate(&config, &mut stream(SIMULATION, number))?;
        match settings.task {
            Task::Regression2d => sampled.plane_regression(),
            Task::Regression1d => sampled.line_regression(),
            _ => sampled.classification(),
        }
    };
    let private = simulate(0).and_then(|table| match settings.task {
        Task::Representation => of_itself(&table),
        _ => Ok(table),
    });
    Ok(Tables {
        name: "the simulated bias".into(),
        private: private.map_err(refused)?,
        public: simulate(1).map_err(refused)?,
        used: Vec::new(),
    })
}

/// Features that are their own targets.
fn of_itself(table: &GroupedTable) -> Result<GroupedTable, DataError> {
    let (width, values) = (table.width(), table.features().to_vec());
    let (features, groups) = (values.clone(), table.groups().to_vec());
    let labels = Labels::Values { width, values };
    GroupedTable::new(table.names().to_vec(), features, labels, groups)
}

pub(super) fn adult(
    settings: &Settings,
    sensitive: &str,
    data_dir: Option<&Path>,
) -> Result<Tables, Failure> {
    let options = LoadOptions {
        train: settings.records,
        ..options(data_dir)
    };
    let adult = data::adult::load(sensitive, Missing::Level, &options).map_err(refused)?;
    let [train, test] = adult.sha256;
    Ok(Tables {
        private: adult.train,
        public: adult.test,
        name: format!("Adult, sensitive: {sensitive}"),
        used: vec![
            Used::new("adult", "adult", &train, Use::AllPrivate),
            Used::new("adult-test", "adult-test", &test, Use::AllPublic),
        ],
    })
}

/// A table of one's own, with test records: those of another file, or a share of its own rows, by their numbers, which become public.
pub(super) fn read(settings: &Settings, csv: &Path, schema: &Path) -> Result<Tables, Failure> {
    let name = csv.display().to_string();
    let test = settings.test.as_deref();
    let Some(share) = settings.test_share.or(test.map(|_| 0.0)) else {
        return Err(Failure::input(
            format!(
                "--input {name}: no test records are named, and none of its rows becomes public by itself"
            ),
            "give public ones with --test FILE, or say --test-share 0.2: about one row in five is public then",
        ));
    };
    let schema = Schema::read(schema).map_err(refused)?;
    let all = schema.read_csv(csv).map_err(refused)?;
    if !matches!(all.table.labels(), Labels::Classes { count: 2, .. }) {
        let why = format!("{name}: its label has no two classes");
        return Err(Failure::input(why, "name two classes in the schema"));
    }
    let (private, public, used) = match test {
        Some(path) => {
            let tests = schema.read_csv(path).map_err(refused)?;
            if tests.sha256 == all.sha256 {
                return Err(Failure::input(
                    format!("--test {}: the same records as --input", path.display()),
                    "give a file of other records",
                ));
            }
            let train = of_path("table", csv, &all.sha256, Use::AllPrivate);
            let test = of_path("table", path, &tests.sha256, Use::AllPublic);
            (all.table, tests.table, vec![train, test])
        }
        None => {
            let (train, test) = all.split_by_row(share).map_err(|e| {
                Failure::input(
                    format!("{name}: public and private rows: {e}"),
                    "give more rows, another --test-share, or a file of tests with --test",
                )
            })?;
            let used = of_path("table", csv, &all.sha256, Use::TestShare(share));
            (train, test, vec![used])
        }
    };
    Ok(Tables {
        name,
        private,
        public,
        used,
    })
}

fn refused(error: DataError) -> Failure {
    private::refused(&error, "see --input, --schema, --sensitive and --data-dir")
}

/// The indices of each group's records in the order in which groups stand in a batch.
pub(super) fn groups(table: &GroupedTable, notion: Notion) -> Vec<Vec<usize>> {
    match (notion, table.indices_by_group_and_class()) {
        (Notion::Eo, Some(lists)) => {
            // From group after group to class after class.
            let (first, second) = lists.split_at(lists.len() / 2);
            let pairs = first.iter().zip(second);
            pairs.flat_map(|(a, b)| [a.clone(), b.clone()]).collect()
        }
        _ => table.indices_by_group(),
    }
}

/// What draws the batches of a table.
pub(super) fn sampler(settings: &Settings, table: &GroupedTable) -> Result<Sampler, Failure> {
    let groups = groups(table, settings.notion());
    // Both groups of a table have records, but not of each class.
    if let Some(empty) = groups.iter().position(Vec::is_empty) {
        let (group, class) = (empty % 2, empty / 2);
        return Err(Failure::input(
            format!("group {group} of class {class} has no record: at least 1 is needed"),
            "choose another sensitive attribute, or --notion sp",
        ));
    }
    let share = |group: &Vec<usize>| (group.len() as f64 * settings.rate).round();
    let batches = groups.iter().map(|group| (share(group) as usize).max(1));
    let batches: Vec<usize> = batches.collect();
    Sampler::stratified(groups, &batches).or_failed()
}

/// The classes of all records of a table.
pub(super) fn labels(table: &GroupedTable) -> Result<&[usize], Failure> {
    match table.labels() {
        Labels::Classes { values, .. } => Ok(values),
        Labels::Values { .. } => Err(Failure::failed("a table without classes")),
    }
}
