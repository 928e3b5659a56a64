//! The private records of a run in groups of public sizes, and public test records.

use std::path::Path;

use burn::tensor::Device;
use data::split::Use;
use data::{BiasedConfig, GroupedTable, Labels, LoadOptions, Missing, Schema, biased};
use lab::diagnostic::Failure;
use lab::session::{
    DataSummary, RunRecords, Used, name_of_path, table_batch, table_bytes, table_targets,
};
use private_training::Batch;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::network::Network;
use super::settings::{Notion, Settings, Task};

/// Every run sees the same simulated records: the data is what runs are compared on.
const SIMULATION: u64 = 0;

/// Private records and public tests.
pub(crate) struct Tables {
    /// Private.
    pub train: GroupedTable,
    /// Public.
    pub test: GroupedTable,
    /// What they are, in words.
    pub name: String,
    /// The files that they come from.
    pub used: Vec<Used>,
    /// What is learned of them.
    pub task: Task,
    /// The first features that tell of the response, where they are known.
    pub core: usize,
}

impl Tables {
    /// Loads or simulates what the settings ask for.
    pub(crate) fn load(settings: &Settings, data_dir: Option<&Path>) -> Result<Self, Failure> {
        if let (Some(csv), Some(schema)) = (&settings.csv, &settings.schema) {
            return Self::read(csv, settings.test_csv.as_deref(), schema);
        }
        if settings.task == Task::Adult {
            let sensitive = settings.sensitive.as_deref().unwrap_or("sex");
            let options = LoadOptions {
                data_dir: data_dir.map(Path::to_path_buf),
                train: settings.records,
                ..LoadOptions::default()
            };
            let adult = data::adult::load(sensitive, Missing::Level, &options).map_err(refused)?;
            let [train, test] = adult.sha256;
            return Ok(Self {
                train: adult.train,
                test: adult.test,
                name: format!("Adult, sensitive: {sensitive}"),
                used: vec![
                    Used::new("adult", "adult", &train, Use::AllPrivate),
                    Used::new("adult-test", "adult-test", &test, Use::AllPublic),
                ],
                task: settings.task,
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
            let sampled = biased::simulate(&config, &mut rng).map_err(refused)?;
            match settings.task {
                Task::Regression2d => sampled.plane_regression(),
                Task::Regression1d => sampled.line_regression(),
                _ => sampled.classification(),
            }
            .map_err(refused)
        };
        Ok(Self {
            train: simulate(0)?,
            test: simulate(1)?,
            name: "the simulated bias".into(),
            used: Vec::new(),
            task: settings.task,
            core: config.core,
        })
    }

    fn read(csv: &Path, test: Option<&Path>, schema: &Path) -> Result<Self, Failure> {
        let schema = Schema::read(schema).map_err(refused)?;
        let all = schema.read_csv(csv).map_err(refused)?;
        if !matches!(all.table.labels(), Labels::Classes { count: 2, .. }) {
            return Err(Failure::input(
                format!("{}: its label has no two classes", csv.display()),
                "name two classes in the schema",
            ));
        }
        let file = |path: &Path, sha256: &str, of| {
            let (what, name) = (path.display().to_string(), name_of_path("table", path));
            Used::new(what, name, sha256, of)
        };
        let (train, test, used) = if let Some(path) = test {
            let tests = schema.read_csv(path).map_err(refused)?;
            if tests.sha256 == all.sha256 {
                return Err(Failure::input(
                    format!("--test-csv {}: the same records as --csv", path.display()),
                    "give a file of other records, or leave --test-csv out",
                ));
            }
            let train = file(csv, &all.sha256, Use::AllPrivate);
            let test = file(path, &tests.sha256, Use::AllPublic);
            (all.table, tests.table, vec![train, test])
        } else {
            let (train, test) = all.split_by_row().map_err(|e| {
                Failure::input(
                    format!("{}: public and private rows: {e}", csv.display()),
                    "give more rows, or a file of tests with --test-csv",
                )
            })?;
            (train, test, vec![file(csv, &all.sha256, Use::TestRows)])
        };
        Ok(Self {
            train,
            test,
            name: csv.display().to_string(),
            used,
            task: Task::Classification,
            core: 0,
        })
    }

    /// Targets of all records of a table: labels, values, or the features themselves.
    pub(crate) fn targets(&self, table: &GroupedTable) -> Result<Vec<f32>, Failure> {
        match self.task {
            Task::Representation => Ok(table.features().to_vec()),
            _ => labels(table),
        }
    }

    /// The indices of each group's records in the order in which groups stand in a batch.
    pub(crate) fn groups(table: &GroupedTable, notion: Notion) -> Vec<Vec<usize>> {
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

/// Labels or values of all records of a table.
pub(crate) fn labels(table: &GroupedTable) -> Result<Vec<f32>, Failure> {
    table_targets(table, &(0..table.len()).collect::<Vec<_>>())
}

impl RunRecords<Network> for Tables {
    fn summary(&self) -> DataSummary {
        DataSummary {
            name: self.name.clone(),
            private: self.train.len(),
            test: self.test.len(),
            used: self.used.clone(),
        }
    }

    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        table_bytes(&self.train)
    }

    fn batch(
        &self,
        _: &Network,
        sampled: &[Vec<usize>],
        device: &Device,
    ) -> Result<Batch<2>, Failure> {
        let found = table_batch(&self.train, sampled, device)?;
        if self.task != Task::Representation {
            return Ok(found);
        }
        let rows = found.inputs().clone();
        Batch::new(rows.clone(), rows, &found.sizes()).map_err(Failure::failed)
    }
}
