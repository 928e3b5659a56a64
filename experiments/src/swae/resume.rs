//! What this run is, and what a checkpoint keeps of it.

use lab::checkpoint::{Identity, Training};
use lab::diagnostic::Failure;
use model::swae::Swae;
use sha2::{Digest, Sha256};

use super::run::Run;

impl Run {
    /// What this run is.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the program cannot read itself.
    pub fn identity(&self) -> Result<Identity, Failure> {
        let settings = toml::to_string_pretty(&self.settings).map_err(Failure::run)?;
        let mut records = Sha256::new();
        records.update((self.data.train.len() as u64).to_le_bytes());
        records.update(self.data.train.pixels());
        records.update(self.data.train.labels());
        let records = records.finalize();
        let records = records.iter().map(|b| format!("{b:02x}")).collect();
        Identity::of("swae", &settings, records, self.chosen.backend)
    }

    /// What a checkpoint keeps.
    pub fn kept(&mut self) -> Training<'_, Swae> {
        Training {
            chosen: &self.chosen,
            network: &mut self.model,
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
