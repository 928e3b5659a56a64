//! The training run: load, plan, loop { sample, gradient, release, update }, evaluate, report.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use burn::module::Module;
use data::split::{Records, Use};
use data::{Dataset, DatasetKind, LoadOptions};
use dp_core::ledger::Ledger;
use lab::backend::say_notes;
use lab::checkpoint::{Checkpoints, Identity};
use lab::diagnostic::Failure;
use lab::interrupt::Interrupt;
use lab::progress::Progress;
use lab::report::upper;
use lab::resume::{begin, create, done, ledger, resumable};
use lab::run_folder::RunFolder;
use private_training::{GroupSizes, StepLosses};
use serde_json::json;

use crate::spent::spent_so_far;
use crate::uses::{Used, noted, untaken};
use crate::weights;

use super::batches::Batches;
use super::evaluate::Evaluator;
use super::plan::plan;
use super::run::Run;
use super::{Arguments, Settings, moments, report};

/// Interim evaluations on public test records during a run.
const EVALUATIONS: u64 = 10;
const COMMAND: &str = "cargo run --release --locked --bin swae --";
/// How often the progress bar asks the accountant what has been spent.
const ACCOUNTED_POINTS: u64 = 25;

/// Runs one training from its command line, or goes on with one.
///
/// # Errors
///
/// [`Failure::BadInput`] before anything is created; [`Failure::Failed`] afterwards;
/// [`Failure::Interrupted`] after SIGINT or SIGTERM, with a checkpoint written.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.rescore {
        return rescore(path, &arguments);
    }
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
    let (data, used) = load(&settings, &arguments)?;
    let batches = Batches::new(&settings, &data)?;
    let plan = plan(&settings, &batches)?;
    let cache = arguments.score.cache_dir.as_deref();
    let elsewhere = noted(cache, &[used], settings.promises())?;
    let mut run = Run::new(settings, chosen, data, batches, plan, elsewhere)?;
    run.announce()?;
    let identity = run.identity()?;
    let interrupt = Interrupt::listen()?;
    let judging = judging(&arguments, &interrupt);
    let (folder, mut ledger) = match folder {
        Some(folder) => {
            // What cannot be read must be known before any step is made.
            moments::read(&folder)?;
            run.kept().restore(&folder, &identity)?;
            let ledger = ledger(&folder, run.releaser.is_some(), [])?;
            folder.keep_json_lines("metrics.jsonl", |line| {
                line["step"].as_u64().is_some_and(|step| step <= run.step)
            })?;
            (folder, ledger)
        }
        None => create(&place, &run.settings, COMMAND)?,
    };
    let finished = run
        .train(&folder, &mut ledger, &identity, &interrupt, &arguments)
        .and_then(|()| {
            let classes = run.class_latents(&folder, &mut ledger, &interrupt)?;
            report::write(&folder, &run, &ledger, classes.as_ref(), &judging)
        });
    finished.map_err(|failure| resumable(failure, &folder))?;
    Checkpoints::of(folder.path()).remove()
}

fn judging(arguments: &Arguments, interrupt: &Interrupt) -> report::Judging {
    report::Judging {
        interrupt: interrupt.clone(),
        score: arguments.score.clone(),
        paper_labels: arguments.paper_labels,
    }
}

/// Judges a finished run again, from its weights and its released moments: nothing is released.
fn rescore(path: &Path, arguments: &Arguments) -> Result<(), Failure> {
    let folder = RunFolder::open(path)?;
    done(&folder)?;
    let settings = Settings::read(&folder)?;
    let weights = folder.file("model.bpk");
    let moments = settings.class_moments && settings.conditional;
    if !weights.exists() || (moments && moments::read(&folder)?.is_none()) {
        let run = folder.path().display();
        return Err(Failure::input(
            format!("the run in {run} is not finished"),
            format!("go on with --resume {run}"),
        ));
    }
    let chosen = arguments.backend.choose()?;
    let (data, used) = load(&settings, arguments)?;
    let batches = Batches::new(&settings, &data)?;
    let plan = plan(&settings, &batches)?;
    let cache = arguments.score.cache_dir.as_deref();
    let elsewhere = noted(cache, &[used], settings.promises())?;
    let planned = plan.iter().map(|plan| {
        let planned = plan.releases_in_all();
        ("the plan of a finished run".to_string(), planned)
    });
    let mut ledger = ledger(&folder, plan.is_some(), planned)?;
    let mut run = Run::new(settings, chosen, data, batches, plan, elsewhere)?;
    run.model = run.model.try_load_file(&weights).map_err(|e| {
        Failure::input(
            format!("{}: {e}", weights.display()),
            "put the weights of this run back and try again",
        )
    })?;
    // The file holds the weights that are evaluated, the average where there is one.
    run.ema = None;
    run.step = run.settings.steps;
    run.seconds = report::seconds_before(&folder);
    // Nobody listens: there is nothing to keep, and a signal ends it at once.
    let interrupt = Interrupt::default();
    let classes = run.class_latents(&folder, &mut ledger, &interrupt)?;
    report::write(
        &folder,
        &run,
        &ledger,
        classes.as_ref(),
        &judging(arguments, &interrupt),
    )?;
    Checkpoints::of(folder.path()).remove()
}

fn place(arguments: &Arguments, settings: &Settings) -> PathBuf {
    arguments
        .run
        .clone()
        .or(arguments.out.clone())
        .unwrap_or_else(|| {
            let privacy = settings
                .epsilon
                .map_or("no-privacy".to_string(), |e| format!("eps{e}"));
            let name = format!("{}-{privacy}", settings.dataset);
            RunFolder::unused(&Path::new("runs/swae").join(name))
        })
}

fn load(settings: &Settings, arguments: &Arguments) -> Result<(Dataset, Used), Failure> {
    let kind = settings.kind()?;
    let glyphs = kind == DatasetKind::Glyphs;
    let options = LoadOptions {
        data_dir: arguments.data_dir.clone(),
        seed: settings.seed,
        train: settings.records.filter(|_| glyphs),
        // Glyphs are drawn, not read: as many as the evaluation looks at.
        test: glyphs.then_some(2000),
        mirrors: None,
        progress: Some(Arc::new(|progress: &data::Progress| {
            if let data::Progress::MirrorFailed { url, reason } = progress {
                eprintln!("{url}: {reason}");
            }
        })),
    };
    let refuse = |e: data::DataError| {
        Failure::input(
            e.to_string(),
            "check --data-dir, or use --dataset glyphs, which needs no file",
        )
    };
    let mut data = Dataset::load(kind, &options).map_err(refuse)?;
    // Of all records: runs on some of them are runs on the same data set.
    let used = Used {
        what: data.name.clone(),
        name: match kind {
            DatasetKind::Glyphs => format!("glyphs-{}-{}", settings.seed, data.train.len()),
            kind => kind.name().to_string(),
        },
        sha256: data.train.sha256().map_err(refuse)?,
        used: Use::AllPrivate,
    };
    if let Some(records) = settings.records {
        data.train.truncate(records).map_err(refuse)?;
    }
    Ok((data, used))
}

impl Run {
    fn train(
        &mut self,
        folder: &RunFolder,
        ledger: &mut Ledger,
        identity: &Identity,
        interrupt: &Interrupt,
        arguments: &Arguments,
    ) -> Result<(), Failure> {
        let evaluator =
            Evaluator::new(self.data.clone(), self.settings.latent, &self.chosen.device)?;
        let steps = self.settings.steps;
        let progress = Progress::from(self.step, steps);
        while self.step < steps {
            let start = Instant::now();
            let losses = self.one_step(ledger)?;
            self.step += 1;
            progress.step();
            let step = self.step;
            if step.is_multiple_of((steps / ACCOUNTED_POINTS).max(1)) || step == steps {
                progress.message(match self.plan() {
                    Some(plan) => format!("epsilon {}", upper(spent_so_far(plan, ledger)?)),
                    None => "not private".to_string(),
                });
            }
            if step.is_multiple_of((steps / EVALUATIONS).max(1)) || step == steps {
                self.look(&evaluator, folder, ledger, &progress, losses)?;
            }
            self.seconds += start.elapsed().as_secs_f64();
            let stop = interrupt.asked();
            if stop || step.is_multiple_of(arguments.checkpoint_every) || step == steps {
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

    /// Sample, gradient, release, update. The losses are those of a run without privacy.
    fn one_step(&mut self, ledger: &mut Ledger) -> Result<Option<StepLosses>, Failure> {
        let (device, model) = (&self.chosen.device, &self.model);
        let (released, losses) = match &mut self.releaser {
            Some(releaser) => {
                let draw = releaser.draw().map_err(Failure::run)?;
                let batch = self
                    .batches
                    .of(&self.data, &draw.indices(), model, device)?;
                let sizes = GroupSizes::of(&self.batches.sampler);
                let (clipped, _) = self
                    .gradients
                    .clipped(model, &batch, sizes)
                    .map_err(Failure::run)?;
                let bounded = clipped.of(draw).map_err(Failure::run)?;
                let released = releaser.release(bounded, ledger).map_err(Failure::run)?;
                (released.into_params(), None)
            }
            None => {
                let indices = self.batches.sampler.sample(&mut self.plain).concat();
                let batch = self.batches.of(&self.data, &indices, model, device)?;
                let (gradient, losses) = self
                    .gradients
                    .without_privacy(model, &batch)
                    .map_err(Failure::run)?;
                (gradient.into_params_without_privacy(), Some(losses))
            }
        };
        self.said = say_notes(&self.gradients, self.said);
        self.model = self
            .optimizer
            .step(self.settings.learning_rate, self.model.clone(), released);
        if let Some(ema) = &mut self.ema {
            ema.update(&self.model);
        }
        Ok(losses)
    }

    /// Scores on public test records, to the screen and to `metrics.jsonl`.
    fn look(
        &self,
        evaluator: &Evaluator,
        folder: &RunFolder,
        ledger: &Ledger,
        progress: &Progress,
        losses: Option<StepLosses>,
    ) -> Result<(), Failure> {
        let step = self.step;
        let scores = evaluator.scores(&self.evaluated()?, step == self.settings.steps)?;
        progress.line(&format!(
            "step {step:>6}: test reconstruction {:.2} nats, sliced distance to prior {:.4}",
            scores.reconstruction, scores.sliced
        ));
        let epsilon = self
            .plan()
            .map(|plan| spent_so_far(plan, ledger))
            .transpose()?;
        folder.append_json(
            "metrics.jsonl",
            &json!({
                "step": step,
                "epsilon_upper": epsilon,
                "test_reconstruction_bce": scores.reconstruction,
                "test_sliced_w2_squared": scores.sliced,
                "training_loss_not_private": losses.map(|l| {
                    json!({"reconstruction": l.losses[0], "sliced": l.penalties[0]})
                }),
            }),
        )
    }
}
