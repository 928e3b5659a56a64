//! What decides any training: its budget, its steps, its seeds; and settings of these alone.

use dp_core::delta::default_delta;
use dp_core::plan::TrainingPlan;
use dp_core::sampling::BatchSampler;

use super::flags::bounded;
use crate::diagnostic::Failure;

/// What decides any training; [`basics!`](crate::basics) takes it from settings.
#[derive(Debug, Clone, Copy)]
pub struct Basics {
    /// The budget; none without privacy.
    pub epsilon: Option<f64>,
    /// Delta; [`default_delta`] if none is given.
    pub delta: Option<f64>,
    pub steps: u64,
    /// Learning rate of the first step.
    pub learning_rate: f64,
    /// The decay of an average of the weights.
    pub ema: Option<f64>,
    pub seed: u64,
    /// The seed of batches and noise, if it is known.
    pub insecure_noise_seed: Option<u64>,
}

impl Basics {
    /// Refuses a batch that is empty, or more than all `records`.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the flag, the value and the bound.
    pub fn check_batch(batch: usize, records: usize) -> Result<(), Failure> {
        let bound = format!("between 1 and {records}, the records");
        bounded("batch", batch, (1..=records).contains(&batch), &bound)
    }

    /// The learning rate after some steps, if it falls along a line to a share of itself at the last one.
    pub fn falling_to(self, last: f64) -> impl Fn(u64) -> f64 + Send + 'static {
        move |step| {
            let done = step as f64 / self.steps.saturating_sub(1).max(1) as f64;
            self.learning_rate * (1.0 - (1.0 - last) * done)
        }
    }

    pub(super) fn plan(&self, sampler: &BatchSampler) -> Option<TrainingPlan> {
        let epsilon = self.epsilon?;
        let records = sampler.presumed_records();
        let delta = self.delta.unwrap_or(default_delta(records));
        let plan = TrainingPlan::within(epsilon, delta, self.steps, sampler.clone());
        Some(plan)
    }
}

/// The [`Basics`](crate::session::Basics) among the fields of settings.
#[macro_export]
macro_rules! basics {
    ($settings:expr) => {
        $crate::session::Basics {
            epsilon: $settings.epsilon,
            delta: $settings.delta.into(),
            steps: $settings.steps,
            learning_rate: $settings.learning_rate,
            ema: $settings.ema,
            seed: $settings.seed,
            insecure_noise_seed: $settings.insecure_noise_seed,
        }
    };
}

/// Settings of a training on batches of fixed size, with one clipped loss: those that every such run has, from a preset.
#[macro_export]
macro_rules! training_settings {
    ($preset:expr) => {
        $crate::settings! {
            /// Everything that decides a run's result, as written to `config.toml`.
            common {
                records: usize, epsilon: Option<f64>, delta: f64, steps: u64, learning_rate: f64, seed: u64,
                insecure_noise_seed: Option<u64>,
            }
            preset {}
            flags {
                /// Records in a batch, sampled afresh without replacement.
                batch: usize,
                /// The bound on each record's gradient.
                #[bound(norm)]
                max_grad_norm: f64,
            }
            optional {
                /// Score, and keep, a moving average of the weights with this decay.
                #[bound(within(0.0, 1.0, $crate::session::Ends::FIRST))]
                ema: f64,
                /// Fixed batches in a cycle instead, with noise that is correlated over so many steps.
                bandwidth: u64,
            }
            switches {}
        }

        impl $crate::session::Settings for Settings {
            type Flags = Flags;

            fn resolve(
                arguments: &$crate::session::Arguments<Flags>,
            ) -> Result<Self, $crate::diagnostic::Failure> {
                arguments.over($preset)
            }

            fn check(&self) -> Result<(), $crate::diagnostic::Failure> {
                $crate::session::Basics::check_batch(self.batch, self.records)
            }

            fn name(&self) -> String {
                $crate::session::budget_name(self.epsilon)
            }

            fn insecure_noise_seed(&self) -> Option<u64> {
                self.insecure_noise_seed
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_along_a_line() {
        let basics = |steps| Basics {
            epsilon: None,
            delta: None,
            steps,
            learning_rate: 2.0,
            ema: None,
            seed: 0,
            insecure_noise_seed: None,
        };
        assert_eq!([0, 1, 2].map(basics(3).falling_to(0.5)), [2.0, 1.5, 1.0]);
        assert_eq!(basics(1).falling_to(0.5)(0), 2.0);
    }
}
