use crate::glyphs::hand::Hand;

/// A colour; grey images use its first value.
pub(super) type Colour = [f32; 3];

/// A square image that is being drawn: values in `[0, 1]`, channel after channel.
pub(super) struct Canvas {
    pub side: usize,
    channels: usize,
    values: Vec<f32>,
}

impl Canvas {
    pub(super) fn new(side: usize, channels: usize) -> Self {
        Self {
            side,
            channels,
            values: vec![0.0; channels * side * side],
        }
    }

    /// Samples a uniform colour.
    pub(super) fn colour(&self, hand: &mut Hand<'_>) -> Colour {
        std::array::from_fn(|_| hand.between(0.0, 1.0))
    }

    /// Samples a colour that stands out from a dark ground.
    pub(super) fn bright(&self, hand: &mut Hand<'_>) -> Colour {
        let light = hand.between(0.35, 1.0);
        match self.channels {
            1 => [light; 3],
            _ => std::array::from_fn(|_| light * hand.between(0.3, 1.0)),
        }
    }

    /// Paints the ground of a drawing: dark in most grey images, any colour in the others.
    pub(super) fn ground(&mut self, hand: &mut Hand<'_>) {
        if self.channels == 1 && hand.chance(0.9) {
            return;
        }
        let colour = self.colour(hand);
        self.fill(|_, _, channel| 0.6 * colour[channel]);
    }

    /// Sets every value from its place, x to the right and y down, both in `[0, 1]`, and its channel.
    pub(super) fn fill(&mut self, value: impl Fn(f32, f32, usize) -> f32) {
        self.paint(|_, _| 1.0, value);
    }

    /// Blends in values as [`Canvas::fill`] sets them, with the weight `cover` in `[0, 1]` at each place.
    pub(super) fn paint(
        &mut self,
        cover: impl Fn(f32, f32) -> f32,
        value: impl Fn(f32, f32, usize) -> f32,
    ) {
        let (side, area) = (self.side, self.side * self.side);
        for place in 0..area {
            let at = |i: usize| (i as f32 + 0.5) / side as f32;
            let (x, y) = (at(place % side), at(place / side));
            let cover = cover(x, y);
            if cover <= 0.0 {
                continue;
            }
            for channel in 0..self.channels {
                let here = &mut self.values[channel * area + place];
                *here += cover * (value(x, y, channel).clamp(0.0, 1.0) - *here);
            }
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let byte = |value: &f32| (255.0 * value.clamp(0.0, 1.0)).round() as u8;
        self.values.iter().map(byte).collect()
    }
}

/// Returns a smooth step from 0 at -1 to 1 at 1.
pub(super) fn smooth(t: f32) -> f32 {
    let t = (0.5 + 0.5 * t).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
