//! A step on neighbours, as a trial of a contract.

use burn::tensor::Device;
use private_training::{Batch, Engine, Network, StepObjective};

use crate::contract::{Measured, furthest};

/// Two batches that differ in one record, and the public side of their step.
pub struct Neighbours<N, const D: usize> {
    /// The network.
    pub network: N,
    /// What is minimised.
    pub step: StepObjective,
    /// The batches.
    pub batches: [Batch<D>; 2],
    /// The share of the bound that such a record has.
    share: f64,
}

impl<N: Network<D>, const D: usize> Neighbours<N, D> {
    /// Neighbours that have the whole bound.
    pub fn new(network: N, step: StepObjective, batches: [Batch<D>; 2]) -> Self {
        Self {
            network,
            step,
            batches,
            share: 1.0,
        }
    }

    /// The same with a record that is promised a share of the bound.
    pub fn of_share(self, share: f64) -> Self {
        Self { share, ..self }
    }

    fn device(&self) -> Device {
        self.batches[0].inputs().device()
    }

    /// How far apart the gradients are that reach the mechanism, as a share of their sensitivity.
    ///
    /// # Panics
    ///
    /// If the step refuses a batch.
    #[track_caller]
    pub fn apart(&self, engine: Engine) -> f64 {
        let measured = self.batches.each_ref().map(|batch| {
            let step = &self.step;
            let clipped = step.clipped_gradient(&self.network, batch, engine, &self.device());
            let (clipped, _) = clipped.expect("a gradient");
            Measured::new(clipped.before_noise(), clipped.sensitivity().l2_upper())
        });
        furthest(&measured) / self.share
    }

    /// The same without clipping, which must break the bound; an error tells neighbours apart too.
    ///
    /// # Panics
    ///
    /// If nothing is declared.
    pub fn apart_without_clipping(&self, engine: Engine) -> f64 {
        let declared = self.step.sensitivity(engine).expect("a sensitivity");
        let measured = self.batches.each_ref().map(|batch| {
            let step = &self.step;
            let plain = step.gradient_without_privacy(&self.network, batch, engine, &self.device());
            Some(Measured::new(plain.ok()?.0.to_host(), declared.l2_upper()))
        });
        match measured {
            [Some(first), Some(second)] => furthest(&[first, second]) / self.share,
            _ => f64::INFINITY,
        }
    }
}
