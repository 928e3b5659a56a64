//! The mechanism under attack: a plan, its releaser, its ledger, run after run.

use burn::module::ParamId;
use burn::tensor::Device;
use dp_core::DpError;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{BoundedGradient, NoiseSource, ParameterGradient, Releaser, Sensitivity};
use dp_core::per_sample::ParameterSlot;
use dp_core::plan::{Noise, TrainingPlan};
use dp_core::sampling::AllRecords;
use lab::diagnostic::Failure;

use super::Arguments;

/// Records of the data set: the one that is attacked, and one that nothing is asked of.
const RECORDS: usize = 2;

/// What is attacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Mechanism {
    /// The release of a gradient with Gaussian noise, of all records.
    Gaussian,
}

/// A bug that is planted, to see that it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Sabotage {
    /// Half of the noise: the sensitivity is declared at half of what the record moves.
    HalfNoise,
    /// Every release has new noise, and one of them is accounted for.
    AccountedOnce,
}

/// Runs of one mechanism.
pub(super) struct Target {
    delta: f64,
    steps: u64,
    sabotage: Option<Sabotage>,
    noise_seed: Option<u64>,
    noise_multiplier: f64,
    planned: u64,
    made: u64,
    folder: tempfile::TempDir,
}

impl Target {
    pub(super) fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let Mechanism::Gaussian = arguments.mechanism;
        let once = arguments.sabotage == Some(Sabotage::AccountedOnce);
        let planned = if once { 1 } else { arguments.steps };
        if once && arguments.steps < 2 {
            let message =
                "--sabotage accounted-once with --steps 1: one release is accounted for once";
            return Err(Failure::input(message, "say --steps 4"));
        }
        let records = AllRecords::new(RECORDS).map_err(Failure::failed)?;
        let plan = TrainingPlan::within(arguments.epsilon, arguments.delta, planned, records);
        let plan = plan
            .check()
            .map_err(|error| Failure::input(error.to_string(), "claim another budget"))?;
        Ok(Self {
            delta: arguments.delta,
            steps: arguments.steps,
            sabotage: arguments.sabotage,
            noise_seed: arguments.insecure_noise_seed,
            noise_multiplier: plan.noise_multiplier(),
            planned,
            made: 0,
            folder: tempfile::tempdir().map_err(Failure::failed)?,
        })
    }

    pub(super) fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// The shift, in units of the noise, that the releases which were planned leave of a record.
    pub(super) fn claimed_mu(&self) -> f64 {
        (self.planned as f64).sqrt() / self.noise_multiplier
    }

    /// What the attacker sees of one run: the sum of all releases, coordinate by coordinate.
    ///
    /// - `canaries`: what the record, or the canary of that coordinate, adds to each release; at most 1, which is the
    ///   sensitivity of every one of them.
    pub(super) fn scores(&mut self, canaries: &[f32]) -> Result<Vec<f64>, Failure> {
        self.released(canaries).map_err(Failure::failed)
    }

    fn released(&mut self, canaries: &[f32]) -> Result<Vec<f64>, DpError> {
        self.made += 1;
        let path = self.folder.path().join(format!("{}.jsonl", self.made));
        let mut ledger = Ledger::create(&path)?;
        let declared = match self.sabotage {
            Some(Sabotage::HalfNoise) => 0.5,
            _ => 1.0,
        };
        let slot = ParameterSlot {
            id: ParamId::new(),
            shape: vec![canaries.len()],
        };
        let mut sums = vec![0.0; canaries.len()];
        let mut releaser = self.releaser(0)?;
        for step in 0..self.steps {
            if releaser.step() == self.planned {
                releaser = self.releaser(step)?;
            }
            let draw = releaser.draw()?;
            let gradient =
                ParameterGradient::from_host(vec![slot.clone()], canaries, &Device::flex())?;
            let bounded =
                BoundedGradient::new(gradient, Sensitivity::l2(declared)?, &[RECORDS], draw)?;
            let released = releaser.release(bounded, &mut ledger)?;
            for (sum, value) in sums.iter_mut().zip(released.gradient().to_host()) {
                *sum += f64::from(value);
            }
        }
        drop(ledger);
        let _ = std::fs::remove_file(&path);
        Ok(sums)
    }

    fn releaser(&self, step: u64) -> Result<Releaser, DpError> {
        let noise = match self.noise_seed {
            // Another one for each run and each releaser.
            Some(seed) => NoiseSource::insecure(seed ^ (self.made << 20) ^ (step << 44)),
            None => NoiseSource::secret().map_err(|message| DpError::Device { message })?,
        };
        let plan = TrainingPlan {
            noise: Noise::Multiplier(self.noise_multiplier),
            ..TrainingPlan::within(1.0, self.delta, self.planned, AllRecords::new(RECORDS)?)
        };
        Ok(plan.check()?.releaser(noise))
    }
}
