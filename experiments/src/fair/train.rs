//! The training run: load, plan, loop { sample, gradient, release, update }, evaluate, report.

use std::path::{Path, PathBuf};
use std::time::Instant;

use dp_core::ledger::Ledger;
use lab::checkpoint::{Checkpoints, Identity};
use lab::diagnostic::Failure;
use lab::interrupt::Interrupt;
use lab::progress::Progress;
use lab::report::upper;
use lab::resume::{begin, create, ledger, resumable};
use lab::run_folder::RunFolder;
use serde_json::json;

use crate::not_private::not_private;
use crate::spent::spent_so_far;
use crate::uses::{noted, untaken};
use crate::weights;

use super::metrics::{Outputs, scores};
use super::run::Run;
use super::settings::Settings;
use super::table::Tables;
use super::{Arguments, plan, postprocess, report};

/// Points of the loss curve.
const EVALUATIONS: u64 = 25;
const COMMAND: &str = "cargo run --release --locked --bin fair --";

/// Runs one training from its command line, or goes on with one.
///
/// # Errors
///
/// [`Failure::BadInput`] before anything is created; [`Failure::Failed`] afterwards;
/// [`Failure::Interrupted`] after SIGINT or SIGTERM, with a checkpoint written.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let begun = begin(
        arguments.resume.as_deref(),
        arguments.run.as_deref(),
        Settings::read,
        || Settings::resolve(&arguments),
    )?;
    let Some((settings, folder)) = begun else {
        return Ok(());
    };
    let chosen = arguments.backend.choose()?;
    if settings.epsilon.is_some() {
        chosen.exact_enough()?;
    }
    let place = place(&arguments, &settings);
    if folder.is_none() {
        untaken(&place)?;
    }
    let tables = Tables::load(&settings, &arguments)?;
    let sampler = plan::groups(&settings, &tables.train)?;
    let checked = plan::plan(&settings, tables.train.len(), &sampler)?;
    let cache = arguments.cache_dir.as_deref();
    let elsewhere = noted(cache, &tables.used, settings.promises())?;
    let mut run = Run::new(settings, chosen, tables, sampler, checked, elsewhere)?;
    run.announce()?;
    let identity = run.identity()?;
    let interrupt = Interrupt::listen()?;
    let (folder, mut ledger) = match folder {
        Some(folder) => {
            postprocess::check(&folder)?;
            run.kept().restore(&folder, &identity)?;
            let ledger = ledger(&folder, run.releaser.is_some(), [])?;
            folder.keep_json_lines("metrics.jsonl", |line| {
                line["step"].as_u64().is_some_and(|step| step <= run.step)
            })?;
            (folder, ledger)
        }
        None => create(&place, &run.settings, COMMAND)?,
    };
    let every = arguments.checkpoint_every;
    let finished = run
        .train(&folder, &mut ledger, &identity, &interrupt, every)
        .and_then(|()| {
            let said = Outputs::of(&run.evaluated()?, &run.tables.test, &run.chosen.device);
            let said = match run.settings.post_process {
                Some(beta) => postprocess::fair(&mut run, &folder, &mut ledger, said, beta)?,
                None => said,
            };
            report::write(&folder, &run, &ledger, &said, COMMAND)
        });
    finished.map_err(|failure| resumable(failure, &folder))?;
    Checkpoints::of(folder.path()).remove()
}

fn place(arguments: &Arguments, settings: &Settings) -> PathBuf {
    arguments
        .run
        .clone()
        .or_else(|| arguments.out.clone())
        .unwrap_or_else(|| {
            let privacy = settings
                .epsilon
                .map_or("no-privacy".to_string(), |e| format!("eps{e}"));
            let name = format!("{}-alpha{}-{privacy}", settings.task.name(), settings.alpha);
            RunFolder::unused(&Path::new("runs/fair").join(name))
        })
}

impl Run {
    /// Says what will be done and what it promises, before anything is done.
    fn announce(&mut self) -> Result<(), Failure> {
        println!(
            "data      {}: {} private records, {} test records (public)",
            self.tables.name,
            self.tables.train.len(),
            self.tables.test.len()
        );
        println!("device    {}", self.chosen.description);
        println!(
            "steps     {} on batches of {:?}",
            self.settings.steps,
            self.sampler.batches()
        );
        let Some(plan) = self.plan() else {
            println!("privacy   {}", report::NOT_PRIVATE);
            return Ok(());
        };
        println!(
            "privacy   {}epsilon {} at delta {}; neighbours: {}; accountant: {}",
            not_private(self.settings.insecure_noise_seed, None).unwrap_or_default(),
            upper(plan.epsilon_upper()),
            upper(plan.delta()),
            report::neighbours(self.settings.notion),
            plan.accountant()
        );
        println!("noise     multiplier {}", plan.noise_multiplier());
        let (own, paper) = self.sensitivities()?;
        println!(
            "step      sensitivity {} (the paper's bound: {}, ratio {})",
            upper(own),
            upper(paper),
            upper(own / paper)
        );
        if let Some(note) = self.note() {
            println!("note      {note}");
        }
        Ok(())
    }

    fn train(
        &mut self,
        folder: &RunFolder,
        ledger: &mut Ledger,
        identity: &Identity,
        interrupt: &Interrupt,
        every: u64,
    ) -> Result<(), Failure> {
        let steps = self.settings.steps;
        let progress = Progress::from(self.step, steps);
        if self.step == 0 {
            self.look(folder, ledger, &progress)?;
        }
        while self.step < steps {
            let start = Instant::now();
            self.one_step(ledger)?;
            self.step += 1;
            progress.step();
            let step = self.step;
            if step.is_multiple_of((steps / EVALUATIONS).max(1)) || step == steps {
                self.look(folder, ledger, &progress)?;
            }
            self.seconds += start.elapsed().as_secs_f64();
            let stop = interrupt.asked();
            if stop || step.is_multiple_of(every) || step == steps {
                self.kept().save(folder, identity, ledger.releases())?;
            }
            if stop && step < steps {
                progress.finish();
                return Err(Failure::Interrupted {
                    message: format!("stopped after step {step} of {steps}"),
                    help: Some(format!("go on with --resume {}", folder.path().display())),
                });
            }
        }
        progress.finish();
        weights::save(folder, &self.evaluated()?)
    }

    /// Scores on public test records, to the progress bar and to `metrics.jsonl`.
    fn look(
        &self,
        folder: &RunFolder,
        ledger: &Ledger,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let said = Outputs::of(&self.evaluated()?, &self.tables.test, &self.chosen.device);
        let kind = (self.settings.task, self.settings.notion);
        let scores = scores(
            &said,
            &self.tables,
            kind,
            self.settings.alpha,
            self.settings.ball(),
        )?;
        progress.message(format!("objective {:.4}", scores.objective));
        let epsilon = match self.plan() {
            Some(plan) if self.step > 0 => Some(spent_so_far(plan, ledger)?),
            _ => None,
        };
        let mut line = json!(scores);
        line["step"] = json!(self.step);
        line["epsilon_upper"] = json!(epsilon);
        folder.append_json("metrics.jsonl", &line)
    }
}
