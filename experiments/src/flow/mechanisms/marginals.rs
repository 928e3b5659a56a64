//! Private sliced marginals: noisy histograms of every slice, released once; then any number of steps.

use lab::diagnostic::{Failure, OrFailed};
use lab::session::{Ends, Session, bounded};
use private_queries::marginals::{Basis, Bins};
use private_queries::{GroupMarginals, LabelledMarginals, MarginalQuery, Query};
use serde::{Deserialize, Serialize};
use swd::Region;

use super::super::budget::{MOMENTS, RELEASE};
use super::super::groups::apportion;
use super::super::run::Flow;
use super::super::shared;
use super::{LabelPrivacy, Moved, ReleaseMethod};
use super::{check_slices, check_slices_per_step, step_size};
use crate::particles::{StepSchedule, boxed};

/// Where particles start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Uniform on the sphere.
    #[default]
    Sphere,
    /// At samples of each group's private Gaussian.
    Gaussian,
    /// At public latents, of the group's class where public records show the same classes, carried to each group's
    /// private Gaussian.
    Public,
}

lab::settings! {
    /// Settings of private marginals.
    common { steps: u64, slices: usize }
    preset {
        /// Slices of a class's release.
        class_slices: Option<usize>,
    }
    flags {
        /// Whether a neighbour may have another label (`private`), or class sizes are known (`public`).
        #[flag(value_enum)]
        labels: LabelPrivacy,
        /// Where particles start (default: public where synthetic digits stand beside private ones, else gaussian).
        #[flag(value_enum)]
        #[setting(default)]
        start: Start,
        /// Bins of a marginal, a power of two.
        #[bound(must_be("a power of two of at least 2", |n: usize| n >= 2 && n.is_power_of_two()))]
        bins: usize,
        /// Share of the budget (of `1/z^2`) for class moments, around which the bins then lie; 0 for histograms alone.
        #[bound(within(0.0, 1.0, Ends::FIRST))]
        moments_share: f64,
        /// h: the step size of the flow.
        #[bound(positive)]
        learning_rate: f64,
        /// The share of the learning rate that is left at the last step; it falls along a line.
        #[bound(within(0.0, 1.0, Ends::LAST))]
        final_rate: f64,
        /// Lambda: the diffusion of the flow.
        #[bound(must_be("at least 0 and finite", |d: f64| d >= 0.0 && d.is_finite()))]
        diffusion: f64,
    }
    optional {
        /// Slices of one flow step, out of those released.
        slices_per_step: usize,
    }
}

impl Settings {
    /// Slices of a release of one flow.
    fn flow_slices(&self, shared: &shared::Settings) -> usize {
        match self.class_slices {
            Some(slices) if shared.conditional => slices,
            _ => self.slices,
        }
    }
}

impl ReleaseMethod for Settings {
    const NAME: &'static str = "marginals";
    const ABOUT: &'static str =
        "Move particles towards noisy histograms of every slice, which are released once";
    const PRESET: &'static str = include_str!("../../../../assets/flow/marginals.toml");
    const FOLLOWS: bool = true;
    const ADDS_UP: bool = true;

    fn fill(&mut self, flags: &Flags, shared: &shared::Settings, _: f64) {
        if flags.start.is_none() && self.moments_share > 0.0 {
            self.start = match shared.synthetic_classes() {
                true => Start::Public,
                false => Start::Gaussian,
            };
        }
        if shared.photographs() {
            self.learning_rate = flags.learning_rate.unwrap_or(shared.latent as f64);
        }
        if flags.slices.is_some() {
            self.class_slices = None;
            // The preset's; a flag of one's own is checked.
            if flags.slices_per_step.is_none() {
                self.slices_per_step = self.slices_per_step.map(|some| some.min(self.slices));
            }
        }
    }

    fn check(&self, shared: &shared::Settings) -> Result<(), Failure> {
        let slices = self.flow_slices(shared);
        check_slices(slices, shared.latent)?;
        check_slices_per_step(self.slices_per_step, slices)?;
        let holds = self.start == Start::Sphere || self.moments_share > 0.0;
        let bound = "sphere where no moments are released first (--moments-share 0)";
        bounded("start", "other", holds, bound)?;
        match self.start {
            Start::Public => shared.check_public_latents("--start public"),
            _ => Ok(()),
        }
    }

    fn labels(&self) -> LabelPrivacy {
        self.labels
    }

    fn shares(&self) -> Vec<(&'static str, f64)> {
        match self.moments_share {
            0.0 => vec![(RELEASE, 1.0)],
            share => vec![(MOMENTS, share), (RELEASE, 1.0 - share)],
        }
    }

    fn steps(&self, _: usize) -> u64 {
        self.steps
    }

    /// The marginals are counted around the private Gaussian of each group where a share of the budget goes to its moments.
    fn start(&self, flow: &mut Flow, session: &mut Session) -> Result<Moved, Failure> {
        if self.start == Start::Public {
            flow.keep_public(session)?;
        }
        let sphere = Region::sphere(1.0).or_failed()?;
        let around = match self.moments_share > 0.0 {
            true => Some(flow.moments(session, MOMENTS, 1.0)?),
            false => None,
        };
        let count = self.flow_slices(&flow.shared);
        let mut queries = Vec::new();
        for group in 0..flow.groups.latents.len() {
            let slices = flow.slices(count)?;
            let gaussian = around.as_ref().and_then(|moments| moments.gaussian(group));
            let query = match gaussian {
                Some((mean, factor)) => {
                    MarginalQuery::around_gaussian(slices, sphere, mean, factor, self.bins)
                }
                None => Bins::uniform(1.0, self.bins)
                    .and_then(|bins| MarginalQuery::new(slices, sphere, bins, Basis::Haar)),
            };
            queries.push(query.or_failed()?);
        }
        let targets = match flow.sizes_released {
            true => {
                let query = LabelledMarginals::of(queries).or_failed()?;
                let (marginals, sizes) = once(flow, session, &query)?;
                flow.particles = apportion(&sizes, flow.total_particles());
                boxed(marginals)
            }
            false => {
                let query = GroupMarginals::new(queries, flow.groups.sizes());
                boxed(once(flow, session, &query.or_failed()?)?)
            }
        };
        let around = around.as_ref().map(|latents| (latents, self.start));
        let particles = flow.first_particles(around)?;
        let schedule = StepSchedule {
            steps: self.steps,
            slices: self.slices_per_step,
            size: step_size(self.learning_rate, self.diffusion),
            last: self.final_rate,
        };
        Ok(Moved::Stored(particles, targets, schedule))
    }
}

/// Makes the one release of all groups, or reads it where the run made it before it was killed.
pub(super) fn once<Q: Query<Records = [Vec<f32>]>>(
    flow: &mut Flow,
    session: &mut Session,
    query: &Q,
) -> Result<Q::Answer, Failure> {
    session.release(flow, RELEASE, query, |run, _| {
        run.groups.latents.measured(query)
    })
}
