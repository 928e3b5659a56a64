//! What every run on a private table does: its plan, its releases, and what it says of them.

use dp_core::mechanism::Releaser;
use dp_core::plan::{CheckedPlan, TrainingPlan};
use lab::prelude::*;
use private_synth::table::{Aim, Released, Signal, TableCopy, check_size};
use serde_json::json;

use super::{Asked, Input};
use crate::in_run::{self, InRun};

impl Input {
    /// The plan of all releases, of which a score gets a share of the budget; None without privacy.
    pub(crate) fn plan(
        &self,
        [epsilon, delta]: [Option<f64>; 2],
        asked: &Asked<'_>,
        (score, share): (&str, f64),
    ) -> Result<Option<TrainingPlan>, Failure> {
        let Some(epsilon) = epsilon else {
            return Ok(None);
        };
        let copy = TableCopy::new().epsilon(epsilon).reserve(score, share);
        let copy = copy.finding(asked.private_schema.unwrap_or(0.0));
        let copy = delta.into_iter().fold(copy, TableCopy::delta);
        copy.plan(&self.records).map(Some).map_err(in_run::refused)
    }

    /// What the counts of a plan say.
    pub(crate) fn signal(&self, releaser: Option<&Releaser>) -> Signal {
        Signal::new(self.records.neighbours(), noise(releaser))
    }

    /// Refuses columns of which pairs have too many counts.
    pub(crate) fn check_size(&self, releaser: Option<&Releaser>) -> Result<(), Failure> {
        let fits = check_size(&self.records, self.signal(releaser));
        fits.map(drop).map_err(in_run::refused)
    }

    /// Refuses to resume a run of another table, as far as what is public tells: what was released is of that.
    pub(crate) fn check_same(&self, session: &Session) -> Result<(), Failure> {
        let here = json!({
            "neighbours": self.records.neighbours(),
            "schema": hex(self.text.as_bytes()),
            "label": self.records.label(),
        });
        in_run::same_input(session, "the table", &here)
    }

    /// All releases of counts, and whether they completed the schema.
    pub(crate) fn release(
        &mut self,
        asked: &Asked<'_>,
        aim: Aim,
        releaser: Option<&mut Releaser>,
        session: &mut Session,
    ) -> Result<(Released, bool), Failure> {
        let (noise, open) = (noise(releaser.as_deref()), self.records.is_open());
        let by = &mut InRun::new(session, releaser);
        let released = Released::of(&mut self.records, noise, aim, by)?;
        if let Some(schema) = &released.found {
            self.text.clone_from(schema);
        }
        if open {
            self.settle(asked)?;
        }
        Ok((released, open))
    }

    /// The data of a run.
    pub(crate) fn summary(&self) -> DataSummary {
        DataSummary {
            name: self.used[0].what.clone(),
            private: self.records.neighbours(),
            test: self.test.as_ref().map_or(0, |test| test.rows),
            used: self.used.clone(),
        }
    }

    /// What is promised of a run, in words.
    pub(crate) fn wording(&self) -> Wording {
        let unit = self.records.units().map(|_| {
            format!(
                "all records of one unit, {} of which count at most",
                self.records.most_per_unit()
            )
        });
        Wording {
            unit,
            releases: "all that is read of the private records".into(),
            public: self.public.clone(),
            without_noise: "Not private: --no-privacy adds no noise.".into(),
            ..Wording::default()
        }
    }

    /// The checksum of the records. Which of the file's count, and as what, the settings and the schema say.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let of = format!(
            "{} {}",
            self.records.table().sha256,
            hex(self.text.as_bytes())
        );
        Fingerprint::of(of.as_bytes())
    }
}

/// The noise multiplier of a plan; 0 without privacy.
pub(crate) fn noise(releaser: Option<&Releaser>) -> f64 {
    let plan = releaser.map(Releaser::plan);
    plan.map_or(0.0, CheckedPlan::noise_multiplier)
}
