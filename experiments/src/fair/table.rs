//! The private records of a run, public test records, and the groups of both.

use std::path::Path;

use data::split::Use;
use data::{BiasedConfig, DataError, GroupedTable, Labels, LoadOptions, Missing, Schema, biased};
use dp_core::sampling::GroupSampler;
use lab::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::judges::Judges;
use super::settings::{Notion, Settings, Task};

/// Every run sees the same simulated records: the data is what runs are compared on.
const SIMULATION: u64 = 0;

pub(super) fn simulated(settings: &Settings) -> Result<Tables, Failure> {
    let config = BiasedConfig {
        records: settings.records.unwrap_or(BiasedConfig::default().records),
        ..BiasedConfig::default()
    };
    let simulate = |stream| {
        let mut rng = ChaCha20Rng::seed_from_u64(SIMULATION);
        rng.set_stream(stream);
        let sampled = biased::simulate(&config, &mut rng)?;
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
        data_dir: data_dir.map(Path::to_path_buf),
        train: settings.records,
        ..LoadOptions::default()
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

/// A table of one's own, with test records.
pub(super) fn read(csv: &Path, test: Judges<'_>, schema: &Path) -> Result<Tables, Failure> {
    let schema = Schema::read(schema).map_err(refused)?;
    let all = schema.read_csv(csv).map_err(refused)?;
    let name = csv.display().to_string();
    if !matches!(all.table.labels(), Labels::Classes { count: 2, .. }) {
        let why = format!("{name}: its label has no two classes");
        return Err(Failure::input(why, "name two classes in the schema"));
    }
    let file = |path: &Path, sha256: &str, of| {
        let (what, name) = (path.display().to_string(), name_of_path("table", path));
        Used::new(what, name, sha256, of)
    };
    let (private, public, used) = match test {
        Judges::File(path) => {
            let tests = schema.read_csv(path).map_err(refused)?;
            if tests.sha256 == all.sha256 {
                return Err(Failure::input(
                    format!("--test {}: the same records as --input", path.display()),
                    "give a file of other records",
                ));
            }
            let train = file(csv, &all.sha256, Use::AllPrivate);
            let test = file(path, &tests.sha256, Use::AllPublic);
            (all.table, tests.table, vec![train, test])
        }
        Judges::Share(share) => {
            let (train, test) = all.split_by_row(share).map_err(|e| {
                Failure::input(
                    format!("{name}: public and private rows: {e}"),
                    "give more rows, another --test-share, or a file of tests with --test",
                )
            })?;
            let used = file(csv, &all.sha256, Use::TestShare(share));
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
pub(super) fn sampler(settings: &Settings, table: &GroupedTable) -> Result<GroupSampler, Failure> {
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
    GroupSampler::new(groups, &batches).or_failed()
}

/// The classes of all records of a table.
pub(super) fn labels(table: &GroupedTable) -> Result<&[usize], Failure> {
    match table.labels() {
        Labels::Classes { values, .. } => Ok(values),
        Labels::Values { .. } => Err(Failure::failed("a table without classes")),
    }
}
