//! A run's settings: defaults, then flags, then checks.

use std::path::PathBuf;

use lab::prelude::*;

use crate::records::stem;
use crate::tables::Asked;

/// The values of a run that no flag gives.
const DEFAULTS: &str = "
    kind = \"table\"
    input = \"biased\"
    epsilon = 1.0
    score-share = 0.02
";

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        records: Option<usize>, epsilon: Option<f64>, delta: Option<f64>, seed: u64, insecure_noise_seed: Option<u64>,
    }
    preset {
        /// What `classify` learns from.
        kind: String,
    }
    flags {
        /// The private table: a CSV or Parquet file, a folder, a pattern of files; or by its name adult, or penguins or biased, which need no file.
        input: String,
        /// Share of the budget (of `1/z^2`) for a noisy score on the private records, without --test; 0 for none.
        #[bound(within(0.0..=0.5))]
        score_share: f64,
        /// Learn even if noise hides all classes when each has equally many records: say it if some classes are rare or absent.
        #[flag(num_args = 0, default_missing_value = "true", hide_possible_values = true)]
        #[setting(default)]
        rare_classes: bool,
    }
    optional {
        /// The share of the budget that finds the ranges and categories which the schema leaves out.
        #[flag(value_name = "SHARE", conflicts_with = "schema_from")]
        #[bound(within((Excluded(0.0), Excluded(0.5))))]
        private_schema: f64,
        /// What the columns hold, as a TOML file: public, and so asked for. `sliver schema FILE` drafts one.
        #[flag(conflicts_with = "schema_from")]
        schema: PathBuf,
        /// A public table of the same form that says it instead.
        #[flag(value_name = "FILE")]
        schema_from: PathBuf,
        /// A column of the schema that the model does not look at, by its name; said once for each.
        #[flag(value_name = "NAME")]
        leave_out: Vec<String>,
        /// The column to predict (default: the schema's).
        label: String,
        /// The column that says whose a record is; a unit's records are private together. The schema ignores it.
        #[flag(value_name = "COLUMN", requires = "most_per_unit")]
        unit: String,
        /// Maximum number of records used per unit: noise grows with it.
        #[flag(value_name = "K", requires = "unit")]
        #[bound(at_least(1))]
        most_per_unit: usize,
        /// A public table of the same form, which the model is judged by (default: that of adult).
        test: PathBuf,
    }
    switches {}
}

impl Settings {
    /// What is said of the private table.
    pub(super) fn asked(&self) -> Asked<'_> {
        Asked {
            input: &self.input,
            records: self.records,
            schema: self.schema.as_deref(),
            schema_from: self.schema_from.as_deref(),
            private_schema: self.private_schema,
            leave_out: self.leave_out.as_deref().unwrap_or_default(),
            label: self.label.as_deref(),
            unit: self.unit.as_deref(),
            most_per_unit: self.most_per_unit,
            test: self.test.as_deref(),
        }
    }
}

impl lab::session::Settings for Settings {
    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        arguments.over(DEFAULTS)
    }

    fn name(&self) -> String {
        let (stem, budget) = (stem(self.input.as_ref()), budget_name(self.epsilon));
        format!("{stem}-{budget}")
    }
}
