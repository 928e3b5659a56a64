//! The private records of a run in groups of public sizes, and public test records.

use std::path::Path;

use data::{BiasedConfig, GroupedTable, Labels, LoadOptions, Missing, Schema, biased};
use lab::diagnostic::Failure;
use model::fairness::GroupedBatch;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;

use super::Arguments;
use super::settings::{Notion, Settings, Task};

/// Every run sees the same simulated records: the data is what runs are compared on.
const SIMULATION: u64 = 0;
/// The seed of the split of a table without a file of tests. One for all runs: a record that was public
/// in one run must not be private in another.
const SPLIT: u64 = 0;
/// One record in so many of a table is a test record where no file of tests is given.
const TESTS: usize = 5;

/// Private records and public tests.
pub struct Tables {
    /// Private.
    pub train: GroupedTable,
    /// Public.
    pub test: GroupedTable,
    /// What they are, in words.
    pub name: String,
    /// The first features that tell of the response, where they are known.
    pub core: usize,
}

impl Tables {
    /// Loads or simulates what the settings ask for.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the file, the line and what is wrong with it.
    pub fn load(settings: &Settings, arguments: &Arguments) -> Result<Self, Failure> {
        if let (Some(csv), Some(schema)) = (&settings.csv, &settings.schema) {
            return Self::read(csv, settings.test_csv.as_deref(), schema);
        }
        if settings.task == Task::Adult {
            let sensitive = settings.sensitive.as_deref().unwrap_or("sex");
            let options = LoadOptions {
                data_dir: arguments.data_dir.clone(),
                train: settings.records,
                ..LoadOptions::default()
            };
            let adult = data::adult::load(sensitive, Missing::Level, &options).map_err(refused)?;
            return Ok(Self {
                train: adult.train,
                test: adult.test,
                name: format!("Adult, sensitive: {sensitive}"),
                core: 0,
            });
        }
        let config = BiasedConfig {
            records: settings.records.unwrap_or(BiasedConfig::default().records),
            ..BiasedConfig::default()
        };
        let simulate = |stream| {
            let mut rng = ChaCha20Rng::seed_from_u64(SIMULATION);
            rng.set_stream(stream);
            let drawn = biased::simulate(&config, &mut rng).map_err(refused)?;
            match settings.task {
                Task::Regression2d => drawn.plane_regression(),
                Task::Regression1d => drawn.line_regression(),
                _ => drawn.classification(),
            }
            .map_err(refused)
        };
        Ok(Self {
            train: simulate(0)?,
            test: simulate(1)?,
            name: "the simulated bias".into(),
            core: config.core,
        })
    }

    fn read(csv: &Path, test: Option<&Path>, schema: &Path) -> Result<Self, Failure> {
        let schema = Schema::read(schema).map_err(refused)?;
        let all = schema.read_csv(csv).map_err(refused)?.table;
        if !matches!(all.labels(), Labels::Classes { count: 2, .. }) {
            return Err(Failure::input(
                format!("{}: its label has no two classes", csv.display()),
                "name two classes in the schema",
            ));
        }
        let (train, test) = match test {
            Some(path) => (all, schema.read_csv(path).map_err(refused)?.table),
            None => {
                let mut order: Vec<usize> = (0..all.len()).collect();
                let mut rng = ChaCha20Rng::seed_from_u64(SPLIT);
                rng.set_stream(7);
                order.shuffle(&mut rng);
                let (test, train) = order.split_at(all.len() / TESTS);
                (
                    all.select(train).map_err(refused)?,
                    all.select(test).map_err(refused)?,
                )
            }
        };
        Ok(Self {
            train,
            test,
            name: csv.display().to_string(),
            core: 0,
        })
    }

    /// The indices of each group's records in the order in which groups stand in a batch.
    pub fn groups(table: &GroupedTable, notion: Notion) -> Vec<Vec<usize>> {
        match (notion, table.indices_by_group_and_class()) {
            (Notion::Eo, Some(lists)) => {
                // From group after group to class after class.
                let classes = lists.len() / 2;
                (0..classes)
                    .flat_map(|class| [lists[class].clone(), lists[classes + class].clone()])
                    .collect()
            }
            _ => table.indices_by_group(),
        }
    }
}

fn refused(error: data::DataError) -> Failure {
    Failure::input(
        error.to_string(),
        "see --csv, --schema, --sensitive and --data-dir",
    )
}

/// Targets of some records: labels, values, or the features themselves.
pub fn targets(
    table: &GroupedTable,
    task: Task,
    indices: &[usize],
) -> Result<(Vec<f32>, usize), Failure> {
    let lost = || Failure::run("a sampled index lies outside the data");
    if task == Task::Representation {
        let rows = table.gather(indices).ok_or_else(lost)?;
        return Ok((rows, table.width()));
    }
    match table.labels() {
        Labels::Classes { .. } => {
            let classes = table.gather_classes(indices).ok_or_else(lost)?;
            Ok((classes.into_iter().map(|c| c as f32).collect(), 1))
        }
        Labels::Values { width, .. } => {
            Ok((table.gather_values(indices).ok_or_else(lost)?, *width))
        }
    }
}

/// A batch of the records of each group.
pub fn batch(
    table: &GroupedTable,
    task: Task,
    groups: &[Vec<usize>],
) -> Result<GroupedBatch, Failure> {
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    let indices = groups.concat();
    let rows = table
        .gather(&indices)
        .ok_or_else(|| Failure::run("a sampled index lies outside the data"))?;
    let (targets, width) = targets(table, task, &indices)?;
    GroupedBatch::new(rows, table.width(), targets, width, &sizes).map_err(Failure::run)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// A record that is public in one run must not be private in another.
    #[test]
    fn a_table_is_split_alike_for_all_seeds() {
        let folder = tempfile::tempdir().unwrap();
        let (csv, schema) = (
            folder.path().join("mine.csv"),
            folder.path().join("mine.toml"),
        );
        let line = |i: usize| {
            let (sex, y) = (["F", "M"][i % 2], ["no", "yes"][i % 3 % 2]);
            format!("{i},{sex},{y}\n")
        };
        let lines: String = (0..100).map(line).collect();
        std::fs::write(&csv, format!("x,sex,y\n{lines}")).unwrap();
        let columns = "[[column]]\nname = \"x\"\nkind = \"numeric\"\nmin = 0\nmax = 100\n\
            [[column]]\nname = \"sex\"\nkind = \"sensitive\"\nzero = [\"F\"]\none = [\"M\"]\n\
            [[column]]\nname = \"y\"\nkind = \"label\"\nclasses = [[\"no\"], [\"yes\"]]\n";
        std::fs::write(&schema, columns).unwrap();
        let load = |seed: &str| {
            let arguments = Arguments::parse_from([
                "fair",
                "--seed",
                seed,
                "--csv",
                csv.to_str().unwrap(),
                "--schema",
                schema.to_str().unwrap(),
            ]);
            let settings = Settings::resolve(&arguments).unwrap();
            Tables::load(&settings, &arguments).unwrap()
        };
        let (first, second) = (load("0"), load("1"));
        assert_eq!((first.train.len(), first.test.len()), (80, 20));
        assert_eq!(first.train, second.train);
        assert_eq!(first.test, second.test);
    }
}
