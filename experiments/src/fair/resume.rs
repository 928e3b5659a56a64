//! What this run is, and what a checkpoint keeps of it.

use lab::checkpoint::{Identity, Training};
use lab::diagnostic::Failure;
use sha2::{Digest, Sha256};

use super::network::Network;
use super::run::Run;
use super::table::targets;

impl Run {
    /// What this run is.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the program cannot read itself.
    pub fn identity(&self) -> Result<Identity, Failure> {
        let settings = toml::to_string_pretty(&self.settings).map_err(Failure::run)?;
        let table = &self.tables.train;
        let all: Vec<usize> = (0..table.len()).collect();
        let (labels, _) = targets(table, self.settings.task, &all)?;
        let mut records = Sha256::new();
        for value in table.features().iter().chain(&labels) {
            records.update(value.to_le_bytes());
        }
        records.update(table.groups());
        let records = records.finalize();
        let records = records.iter().map(|b| format!("{b:02x}")).collect();
        Identity::of("fair", &settings, records, self.chosen.backend)
    }

    /// What a checkpoint keeps.
    pub fn kept(&mut self) -> Training<'_, Network> {
        Training {
            chosen: &self.chosen,
            network: &mut self.network,
            ema: self.ema.as_mut(),
            optimizer: &mut self.optimizer,
            public: self.gradients.public(),
            plain: &mut self.plain,
            releaser: self.releaser.as_mut(),
            step: &mut self.step,
            seconds: &mut self.seconds,
        }
    }
}
