//! The steps of a run, from where it was to its end.

use std::time::Instant;

use dp_core::mechanism::{NoiseState, Releaser};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Experiment, Fingerprint, Session};
use crate::checkpoint::{Checkpoints, Identity};
use crate::diagnostic::{Failure, OrFailed};
use crate::ranks::Crew;
use crate::report::RunFile;
use reporting::progress::Progress;

pub(super) const METRICS: &str = "metrics.jsonl";
/// What the session keeps in a checkpoint.
const STATE: &str = "session.json";

#[derive(Serialize, Deserialize)]
struct State {
    seconds: f64,
}

/// What adds the noise of the steps; none if they release nothing.
fn releaser_of_steps<E: Experiment>(experiment: &mut E) -> Option<&mut Releaser> {
    let releaser = experiment.releaser();
    releaser.filter(|releaser| releaser.plan().steps() > 0)
}

/// Whether there is an evaluation after `step` of `steps`.
fn evaluates<E: Experiment>(step: u64, steps: u64) -> bool {
    let due = step.is_multiple_of((steps / E::EVALUATIONS).max(1)) || step == steps;
    due && (step > 0 || E::EVALUATED_FRESH)
}

impl Session {
    /// All steps that are left, and the end.
    pub(super) fn complete<E: Experiment>(
        &mut self,
        experiment: &mut E,
        settings: &E::Settings,
    ) -> Result<RunFile, Failure> {
        let released_before = self.ledger.releases() > 0;
        experiment.prepare(self)?;
        let identity = self.identity(experiment, settings)?;
        self.restore(experiment, &identity, released_before)?;
        let reached = self.step;
        self.folder.keep_json_lines(METRICS, |line| {
            line["step"].as_u64().is_some_and(|step| step <= reached)
        })?;
        let before = self.crew.as_ref().map_or(0, Crew::carried);
        self.train(experiment, &identity)?;
        if let Some(crew) = &self.crew
            && self.step > reached
        {
            let bytes = (crew.carried() - before) / (self.step - reached);
            println!("ranks     {bytes} bytes a step to and from other ranks");
        }
        if let Some(training) = experiment.training() {
            training.end()?;
        }
        self.finish(experiment, settings)
    }

    fn identity<E: Experiment>(
        &self,
        experiment: &mut E,
        settings: &E::Settings,
    ) -> Result<Identity, Failure> {
        let fingerprint = match &self.fingerprint {
            Some(of_all_ranks) => of_all_ranks.clone(),
            // No checkpoint is compared with it.
            None if experiment.state().is_none() => Fingerprint::of(&[]),
            None => experiment.fingerprint()?,
        };
        let settings = toml::to_string_pretty(settings).or_failed()?;
        let identity = Identity::of(E::NAME, &settings, fingerprint.records, self.chosen.backend)?;
        Ok(match fingerprint.encoded {
            Some((weights, latents)) => identity.encoded(&weights, &latents),
            None => identity,
        })
    }

    /// Takes the place of the last checkpoint; at the start if there is none.
    fn restore<E: Experiment>(
        &mut self,
        experiment: &mut E,
        identity: &Identity,
        released_before: bool,
    ) -> Result<(), Failure> {
        if experiment.state().is_none() {
            return Ok(());
        }
        let checkpoints = Checkpoints::of(self.folder.path());
        let noise = releaser_of_steps(experiment).map(Releaser::noise);
        let noise = noise.filter(|noise| self.may_repeat(&noise.state()));
        let Some(checkpoint) = checkpoints.resume(identity, self.chosen.backend, noise)? else {
            if released_before {
                println!("resume    no checkpoint was reached: from the first step");
            }
            return Ok(());
        };
        if let Some(state) = experiment.state() {
            state.restore(&checkpoint, &self.ledger)?;
        }
        if let Some(releaser) = releaser_of_steps(experiment) {
            let before = releaser.at_step(checkpoint.step);
            before.map_err(|e| checkpoint.damaged(&e))?;
        }
        let own: State = checkpoint.json(STATE)?;
        (self.step, self.seconds) = (checkpoint.step, own.seconds);
        self.warnings.extend(checkpoint.warning);
        Ok(())
    }

    /// Whether steps may be made again with the same noise: over ranks sums are not known to be the same to the last bit.
    fn may_repeat(&self, noise: &NoiseState) -> bool {
        self.crew.is_none() || !noise.is_secret()
    }

    fn save<E: Experiment>(&self, experiment: &mut E, identity: &Identity) -> Result<(), Failure> {
        let Some(state) = experiment.state() else {
            return Ok(());
        };
        let own = State {
            seconds: self.seconds,
        };
        let mut files = state.files(&self.ledger)?;
        let own = serde_json::to_vec_pretty(&own).or_failed()?;
        files.insert(STATE.to_string(), own);
        let noise = releaser_of_steps(experiment).map(|releaser| releaser.noise().state());
        let noise = noise.filter(|noise| self.may_repeat(noise));
        let releases = self.ledger.releases();
        Checkpoints::of(self.folder.path()).write(
            self.step,
            releases,
            identity,
            noise.as_ref(),
            &files,
        )
    }

    fn train<E: Experiment>(
        &mut self,
        experiment: &mut E,
        identity: &Identity,
    ) -> Result<(), Failure> {
        let steps = experiment.steps();
        let progress = Progress::from("steps", self.step, steps);
        if self.step == 0 && evaluates::<E>(0, steps) {
            self.evaluate(experiment, &progress)?;
        }
        while self.step < steps {
            let (start, released) = (Instant::now(), self.ledger.releases());
            experiment.step(self)?;
            // A resumed run would release it again, beyond what the plan promises.
            if self.ledger.releases() > released && experiment.state().is_none() {
                return Err(Failure::failed(
                    "a step of this run releases, and the run keeps no state to resume from",
                ));
            }
            self.step += 1;
            progress.step();
            let step = self.step;
            if evaluates::<E>(step, steps) {
                self.evaluate(experiment, &progress)?;
            }
            self.seconds += start.elapsed().as_secs_f64();
            let stop = self.interrupt.asked() || self.running.stop_after_step == Some(step);
            if stop || step.is_multiple_of(self.running.checkpoint_every) || step == steps {
                self.save(experiment, identity)?;
            }
            if stop && step < steps {
                progress.finish();
                return Err(Failure::Interrupted {
                    message: format!("stopped after step {step} of {steps}"),
                    help: None,
                });
            }
        }
        progress.finish();
        Ok(())
    }

    /// Scores on public records, to the progress bar and to `metrics.jsonl`.
    fn evaluate<E: Experiment>(
        &self,
        experiment: &mut E,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let found = experiment.evaluate(self)?;
        let mut line = found.scores;
        line["step"] = json!(self.step);
        let mut message = found.message;
        if found.accounted {
            let epsilon = match experiment.plan() {
                Some(plan) if self.step > 0 => {
                    let entries = self.ledger.entries().or_failed()?;
                    Some(plan.epsilon_so_far(&entries).or_failed()?)
                }
                _ => None,
            };
            line["epsilon_upper"] = json!(epsilon);
            // A line of the ledger may stand for several steps.
            let releases = self.ledger.releases();
            if epsilon.is_some() && releases < self.step {
                line["releases"] = json!(releases);
            }
            let spent = epsilon.map(dp_core::decimal::upper);
            message += &spent.map_or(String::new(), |spent| format!(", epsilon {spent}"));
            progress.line(&format!("step {:>6}: {message}", self.step));
        }
        progress.message(message);
        self.folder.append_json(METRICS, &line)
    }
}
