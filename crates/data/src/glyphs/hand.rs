use std::f32::consts::TAU;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// The writer of one digit: a generator, and the looseness of the writing.
pub(crate) struct Hand<'a> {
    generator: &'a mut ChaCha8Rng,
    loose: f32,
}

impl<'a> Hand<'a> {
    /// Samples the looseness, which is log-normal around 1 and cut at 2.1.
    pub(crate) fn new(generator: &'a mut ChaCha8Rng) -> Self {
        let mut hand = Self {
            generator,
            loose: 1.0,
        };
        hand.loose = hand.normal(0.0, 0.35).exp().min(2.1);
        hand
    }

    /// The looseness: how far this digit strays from its model, 1 for the median.
    pub(crate) fn loose(&self) -> f32 {
        self.loose
    }

    /// Samples uniformly between two bounds.
    pub(crate) fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.generator.random::<f32>()
    }

    /// Samples a normal variable, cut at three standard deviations so that no digit leaves the picture.
    pub(crate) fn normal(&mut self, mean: f32, deviation: f32) -> f32 {
        let radius = (-2.0 * (1.0 - self.generator.random::<f32>()).ln()).sqrt();
        let angle = TAU * self.generator.random::<f32>();
        mean + deviation * (radius * angle.cos()).clamp(-3.0, 3.0)
    }

    /// Samples a normal variable around 0, scaled by the looseness.
    pub(crate) fn stray(&mut self, deviation: f32) -> f32 {
        let loose = self.loose;
        self.normal(0.0, deviation * loose)
    }

    /// Returns true with this probability.
    pub(crate) fn chance(&mut self, probability: f32) -> bool {
        self.generator.random::<f32>() < probability
    }
}
