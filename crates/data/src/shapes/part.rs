use std::f32::consts::TAU;

use super::canvas::smooth;
use crate::glyphs::hand::Hand;

/// A rounded shape between a diamond, a disc and a box, wider at one end than at the other.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub centre: [f32; 2],
    /// Half of the width and half of the height.
    pub half: [f32; 2],
    turn: [f32; 2],
    power: f32,
    taper: f32,
}

impl Part {
    pub(super) fn new(centre: [f32; 2], half: [f32; 2], turned: f32, hand: &mut Hand<'_>) -> Self {
        let (sin, cos) = hand.normal(0.0, turned).sin_cos();
        Self {
            centre,
            half,
            turn: [sin, cos],
            power: hand.between(0.3, 2.6).exp2(),
            taper: hand.normal(0.0, 0.3),
        }
    }

    /// Makes a part that is turned by a random angle.
    pub(super) fn loose(centre: [f32; 2], half: [f32; 2], hand: &mut Hand<'_>) -> Self {
        let (sin, cos) = hand.between(0.0, TAU).sin_cos();
        Self {
            turn: [sin, cos],
            ..Self::new(centre, half, 0.0, hand)
        }
    }

    /// Returns the mirror image of the part on the other side of the middle.
    pub(super) fn mirrored(self) -> Self {
        Self {
            centre: [1.0 - self.centre[0], self.centre[1]],
            turn: [-self.turn[0], self.turn[1]],
            ..self
        }
    }

    /// Returns the part, moved to the middle of the width.
    pub(super) fn centred(self) -> Self {
        Self {
            centre: [0.5, self.centre[1]],
            ..self
        }
    }

    /// Returns how much of a place the part covers, with an edge of about `edge`.
    pub(super) fn cover(&self, x: f32, y: f32, edge: f32) -> f32 {
        let ([sin, cos], [dx, dy]) = (self.turn, [x - self.centre[0], y - self.centre[1]]);
        let along = (cos * dy - sin * dx) / self.half[1];
        let width = self.half[0] * (1.0 + self.taper * along.clamp(-1.0, 1.0)).max(0.15);
        let across = (cos * dx + sin * dy) / width;
        let (across, along) = (across.abs(), along.abs());
        if across.max(along) > 2.0 {
            return 0.0;
        }
        let norm = (across.powf(self.power) + along.powf(self.power)).powf(1.0 / self.power);
        smooth((1.0 - norm) * self.half[0].min(self.half[1]) / edge)
    }
}
