use std::f32::consts::TAU;

use crate::glyphs::hand::Hand;

/// A sum of plane waves of variance 1/4 over the unit square: noise whose amplitude falls as a power of the frequency.
pub(super) struct Field {
    /// The amplitude, wave vector and phase of each wave.
    waves: Vec<(f32, [f32; 2], f32)>,
}

impl Field {
    /// Samples waves whose amplitudes fall by a random power, in any direction or most of them along one.
    pub(super) fn of_any_spectrum(waves: usize, hand: &mut Hand<'_>) -> Self {
        let power = hand.between(0.0, 2.5);
        let grain = hand.between(1.0, 3.0);
        let one_way = hand.chance(0.4);
        Self::new(waves, power, [grain.exp2(), 12.0], one_way, hand)
    }

    /// Samples a few long waves.
    pub(super) fn folds(hand: &mut Hand<'_>) -> Self {
        let one_way = hand.chance(0.6);
        Self::new(5, 1.0, [1.0, 5.0], one_way, hand)
    }

    fn new(
        waves: usize,
        power: f32,
        [low, high]: [f32; 2],
        one_way: bool,
        hand: &mut Hand<'_>,
    ) -> Self {
        let main = hand.between(0.0, TAU);
        let mut sampled = Vec::with_capacity(waves);
        let mut square = f32::MIN_POSITIVE;
        for _ in 0..waves {
            let frequency = low * (high / low).powf(hand.between(0.0, 1.0));
            let angle = match one_way {
                true => hand.normal(main, 0.15),
                false => hand.between(0.0, TAU),
            };
            let amplitude = frequency.powf(-power);
            square += amplitude * amplitude;
            let length = TAU * frequency;
            let wave = [length * angle.cos(), length * angle.sin()];
            sampled.push((amplitude, wave, hand.between(0.0, TAU)));
        }
        // A sine has variance 1/2.
        let scale = (0.5 / square).sqrt();
        sampled.iter_mut().for_each(|wave| wave.0 *= scale);
        Self { waves: sampled }
    }

    pub(super) fn at(&self, x: f32, y: f32) -> f32 {
        let wave = |(amplitude, k, phase): &(f32, [f32; 2], f32)| {
            amplitude * (k[0] * x + k[1] * y + phase).sin()
        };
        self.waves.iter().map(wave).sum()
    }
}
