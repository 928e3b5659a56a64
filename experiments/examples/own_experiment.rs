//! A whole experiment on [`lab::session`]: a private logistic regression on synthetic records.
//!
//! What it has for these lines: `--epsilon`, `--steps`, `--seed` and all other common flags, with bad values refused
//! by name; batches that are secret and accounted; a ledger that is written before anything leaves; checkpoints, and
//! runs that resume to the same end; `metrics.jsonl`, `run.json` and a page that states the promise.
//!
//! ```text
//! cargo run --release --locked -p experiments --example own_experiment -- --epsilon 1 --run /tmp/mine
//! just report /tmp/mine
//! ```

use burn::module::{Initializer, Module};
use burn::nn::{Linear, LinearConfig};
use data::{BiasedConfig, biased};
use dp_core::DpError;
use dp_core::per_sample::nn::Chain;
use dp_core::sampling::Sampler;
use lab::prelude::*;
use private_training::{Layers, Loss, Network, Optimizer, TrainingConfig};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

fn main() -> std::process::ExitCode {
    lab::session::main::<Regression>()
}

/// The values of a run that no flag gives.
const PRESET: &str = "
    records = 2000
    epsilon = 3.0
    delta = 1e-5
    steps = 100
    learning-rate = 0.5
    batch = 200
    max-grad-norm = 1.0
";

lab::settings! {
    /// Everything that decides a run's result, as written to `config.toml`.
    common {
        records: usize, epsilon: Option<f64>, delta: f64, steps: u64, learning_rate: f64, seed: u64,
        insecure_noise_seed: Option<u64>,
    }
    flags {
        /// Records in a batch, sampled afresh without replacement.
        batch: usize,
        /// The bound on each record's gradient.
        #[bound(norm)]
        max_grad_norm: f64,
    }
    optional {
        /// Score, and keep, a moving average of the weights with this decay.
        #[bound(within(0.0..1.0))]
        ema: f64,
        /// Fixed batches in a cycle instead, with noise that is correlated over so many steps.
        bandwidth: u64,
    }
}

impl lab::session::Settings for Settings {
    fn resolve(arguments: &Arguments<Flags>) -> Result<Self, Failure> {
        arguments.over(PRESET)
    }

    fn check(&self) -> Result<(), Failure> {
        let (batch, records) = (self.batch, self.records);
        let bound = format!("between 1 and {records}, the records");
        bounded("batch", batch, (1..=records).contains(&batch), &bound)
    }

    fn name(&self) -> String {
        budget_name(self.epsilon)
    }
}

/// What is trained: any burn module that says what it computes, and of which layers.
#[derive(Module, Debug)]
pub(crate) struct Model {
    linear: Linear,
}

impl Network<2> for Model {
    fn layers(&self) -> Layers<'_, 2> {
        let [inputs, _] = self.linear.weight.dims();
        Layers::chain(Chain::features(inputs).linear(&self.linear))
    }
}

/// The experiment: its records, private and public, and its training.
pub(crate) struct Regression {
    steps: TrainingSteps<Model, Tables>,
}

impl Experiment for Regression {
    const NAME: &'static str = "own_experiment";
    const ABOUT: &'static str = "A private logistic regression.";
    type Settings = Settings;

    fn load(settings: &Settings, _: &Arguments<Flags>, chosen: &Chosen) -> Result<Self, Failure> {
        let config = BiasedConfig {
            records: settings.records,
            ..BiasedConfig::default()
        };
        let table = |seed| {
            let sampled = biased::simulate(&config, &mut ChaCha20Rng::seed_from_u64(seed));
            let table = sampled.and_then(|sampled| sampled.classification());
            table.map_err(|e| Failure::input(e.to_string(), "give more --records"))
        };
        let tables = Tables {
            name: "synthetic records".into(),
            private: table(0)?,
            public: table(1)?,
            used: Vec::new(),
        };
        let loss = Loss::binary_cross_entropy_with_logits().max_grad_norm(settings.max_grad_norm);
        let config = TrainingConfig::new(loss)
            .optimizer(Optimizer::sgd())
            .learning_rate(settings.learning_rate)
            .average(settings.ema);
        let linear =
            LinearConfig::new(tables.private.width(), 1).with_initializer(Initializer::Zeros);
        let linear = linear.init(&chosen.device);
        // The sampler that draws is the one that is accounted: it is in the plan.
        let (records, batch) = (settings.records, settings.batch);
        let (basics, model) = (lab::basics!(settings), Model { linear });
        let refused = |e: DpError| Failure::input(e.to_string(), "give another --batch");
        let start = match settings.bandwidth {
            None => {
                let sampler = Sampler::fixed_size(records, batch).map_err(refused)?;
                Start::new(basics, config, model, sampler)
            }
            Some(bandwidth) => {
                let sampler = Sampler::cyclic(records, batch).map_err(refused)?;
                let mut start = Start::new(basics, config, model, sampler);
                start.plan = start.plan.map(|plan| plan.correlated(bandwidth));
                start
            }
        };
        Ok(Self {
            steps: start.training(tables, chosen)?,
        })
    }

    fn training(&mut self) -> Option<&mut dyn Steps> {
        Some(&mut self.steps)
    }

    fn scores(&mut self, session: &Session) -> Result<Scores, Failure> {
        let public = &self.steps.records.public;
        let found = Predictions::of(&self.steps.scored()?, public, &session.chosen.device)?;
        let (name, found) = ("Accuracy on public records", found.accuracy(0.0, public)?);
        Ok(Scores::default().with("accuracy", name, found, Better::Higher))
    }
}
