//! Random changes of samples that leave what they show as it is: public knowledge about pictures, which costs no privacy.
//!
//! A decoder that saw little of the private records makes samples that are too much alike. A digit that is turned by
//! ten degrees is the same digit, and a shirt of another fabric is a shirt: samples that vary like this teach a
//! classifier what it should not mind (Simard, Steinkraus and Platt 2003 do so with records).

use model::latent::ImageShape;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// The largest turn at amount 1, in radians: 12 degrees.
const TURN: f32 = 0.21;
/// The largest shear.
const SHEAR: f32 = 0.1;
/// The largest change of each side's length, as a share.
const STRETCH: f32 = 0.12;
/// The largest move in each direction, as a share of the side: a pixel of 28.
const MOVE: f32 = 0.035;
/// The deviation of the bends at the knots of a coarse grid, as a share of the side.
const BEND: f32 = 0.015;
/// Knots along a side.
const KNOTS: usize = 4;
/// Deviations of the factors on brightness: of the image, of its fabric (a field on half the grid), of each pixel.
const GAIN: f32 = 0.25;
const FABRIC: f32 = 0.3;
const GRAIN: f32 = 0.2;
/// The deviation of the logarithm of the exponent of brightness.
const CURVE: f32 = 0.5;
/// The largest brightness that becomes black.
const SHADE: f32 = 0.15;

/// How much samples vary.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Variation {
    /// Of turn, shear, size, place and shape: 0 for none, 1 for up to 12 degrees, a tenth, an eighth and a pixel of 28,
    /// and bends of half a pixel.
    pub pose: f64,
    /// Of brightness: 0 for none, 1 for deviations of a quarter between images and of a third within them.
    pub texture: f64,
    /// Of tone, the curve that brightness `v` follows all over an image, `max(0, (v^g - s) / (1 - s))`: 0 for none, 1 for
    /// `log g` normal of deviation 0.5 and a shade `s` uniform up to 0.15.
    pub tone: f64,
}

impl Variation {
    /// What suits the records if nothing is asked for.
    ///
    /// - `digits`: the private ones are digits, and so are the public ones: it is known that they may turn.
    /// - `synthetic`: so are the public records, with fewer textures than there are;
    /// - `smooth`: samples are sums of smooth waves, whose edges have halos.
    pub fn suited(digits: bool, synthetic: bool, smooth: bool) -> Self {
        let one_where = |holds| f64::from(u8::from(holds));
        Self {
            pose: one_where(digits),
            texture: if smooth { 0.6 } else { one_where(synthetic) },
            tone: one_where(smooth),
        }
    }

    /// With the amounts that are asked for in their places.
    #[must_use]
    pub fn or(self, pose: Option<f64>, texture: Option<f64>, tone: Option<f64>) -> Self {
        Self {
            pose: pose.unwrap_or(self.pose),
            texture: texture.unwrap_or(self.texture),
            tone: tone.unwrap_or(self.tone),
        }
    }

    /// Whether samples vary at all: then one latent makes any number of them.
    pub fn any(self) -> bool {
        self.pose > 0.0 || self.texture > 0.0 || self.tone > 0.0
    }

    /// What a card says of it; empty for none.
    pub fn words(self) -> String {
        match self.any() {
            true => format!(
                " Samples vary at random by public rules: pose {}, texture {}, tone {}.",
                self.pose, self.texture, self.tone
            ),
            false => String::new(),
        }
    }

    /// Varies each of `pixels`, `[n, channels, side, side]` in rows with values in `[0, 1]`, by itself.
    pub fn apply(self, pixels: &mut [f32], shape: ImageShape, rng: &mut impl Rng) {
        if !self.any() {
            return;
        }
        let seeds: Vec<u64> = pixels
            .chunks_exact(shape.values())
            .map(|_| rng.random())
            .collect();
        pixels
            .par_chunks_exact_mut(shape.values())
            .zip(seeds)
            .for_each(|(image, seed)| {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                if self.pose > 0.0 {
                    moved(image, shape, &Pose::draw(self.pose as f32, &mut rng));
                }
                if self.tone > 0.0 {
                    toned(image, self.tone as f32, &mut rng);
                }
                if self.texture > 0.0 {
                    textured(image, shape, self.texture as f32, &mut rng);
                }
            });
    }
}

/// A map from a place in the new image to one in the old, both from the middle: a matrix `[xx, xy, yx, yy]`, a move,
/// and bends at knots, in shares of the side.
struct Pose {
    matrix: [f32; 4],
    by: [f32; 2],
    /// To the right, and down.
    bends: [[f32; KNOTS * KNOTS]; 2],
}

impl Pose {
    fn draw(amount: f32, rng: &mut impl Rng) -> Self {
        let mut within = |most: f32| amount * most * rng.random_range(-1.0..=1.0_f32);
        let (sin, cos) = within(TURN).sin_cos();
        let (wide, high) = (1.0 + within(STRETCH), 1.0 + within(STRETCH));
        let shear = within(SHEAR);
        let by = [within(MOVE), within(MOVE)];
        let mut bend = || -> f32 { StandardNormal.sample(rng) };
        let mut bends = || std::array::from_fn(|_| amount * BEND * bend());
        Self {
            matrix: [cos * wide, shear - sin, sin, cos * high],
            by,
            bends: [bends(), bends()],
        }
    }
}

/// Moves an image; beyond its border are the pixels of the border.
fn moved(image: &mut [f32], shape: ImageShape, pose: &Pose) {
    let side = shape.side;
    let middle = (side as f32 - 1.0) / 2.0;
    let [xx, xy, yx, yy] = pose.matrix;
    // The outermost knots lie at the border.
    let scale = (KNOTS - 1) as f32 / (side.max(2) - 1) as f32;
    for channel in image.chunks_exact_mut(side * side) {
        let old = channel.to_vec();
        for (place, pixel) in channel.iter_mut().enumerate() {
            let (column, row) = ((place % side) as f32, (place / side) as f32);
            let [right, down] = [0, 1].map(|i| {
                let bend = between(&pose.bends[i], KNOTS, column * scale, row * scale);
                (pose.by[i] + bend) * side as f32
            });
            let (x, y) = (column - middle, row - middle);
            let from_x = xx * x + xy * y + right + middle;
            let from_y = yx * x + yy * y + down + middle;
            *pixel = between(&old, side, from_x, from_y);
        }
    }
}

/// Gives an image another tone: what is black stays black, what is white stays white, and faint halos go.
fn toned(image: &mut [f32], amount: f32, rng: &mut impl Rng) {
    let curve: f32 = StandardNormal.sample(rng);
    let exponent = (amount * CURVE * curve).exp();
    let shade = amount * SHADE * rng.random_range(0.0..=1.0_f32);
    for pixel in image {
        *pixel = ((pixel.powf(exponent) - shade) / (1.0 - shade)).max(0.0);
    }
}

/// Gives an image another brightness, and a fabric: what is black stays black.
fn textured(image: &mut [f32], shape: ImageShape, amount: f32, rng: &mut impl Rng) {
    let side = shape.side;
    let mut normal = || -> f32 { StandardNormal.sample(rng) };
    let gain = 1.0 + amount * GAIN * normal();
    let coarse = side.div_ceil(2);
    let field: Vec<f32> = (0..coarse * coarse).map(|_| normal()).collect();
    // Its cells are two pixels wide.
    let cell = |at: usize| (at as f32 - 0.5) / 2.0;
    for channel in image.chunks_exact_mut(side * side) {
        for (place, pixel) in channel.iter_mut().enumerate() {
            let fabric = between(&field, coarse, cell(place % side), cell(place / side));
            let factor = 1.0 + amount * (FABRIC * fabric + GRAIN * normal());
            *pixel = (*pixel * factor * gain).clamp(0.0, 1.0);
        }
    }
}

/// The value at column `x` and row `y` of `values`, `[side, side]`: bilinear, and that of the border beyond it.
fn between(values: &[f32], side: usize, x: f32, y: f32) -> f32 {
    let most = side as f32 - 1.0;
    let (x, y) = (x.clamp(0.0, most), y.clamp(0.0, most));
    let (left, top) = (x as usize, y as usize);
    let (right, bottom) = ((left + 1).min(side - 1), (top + 1).min(side - 1));
    let (u, v) = (x - left as f32, y - top as f32);
    let row = |y: usize| (1.0 - u) * values[y * side + left] + u * values[y * side + right];
    (1.0 - v) * row(top) + v * row(bottom)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: ImageShape = ImageShape {
        channels: 1,
        side: 12,
    };

    fn vary(variation: Variation, images: usize, seed: u64) -> Vec<f32> {
        let mut image = vec![0.0; SHAPE.values()];
        for y in 4..8 {
            image[y * 12 + 4..y * 12 + 8].fill(0.5);
        }
        let mut pixels = image.repeat(images);
        variation.apply(&mut pixels, SHAPE, &mut ChaCha8Rng::seed_from_u64(seed));
        pixels
    }

    #[test]
    fn none_changes_nothing_and_draws_nothing() {
        let pixels = vary(Variation::default(), 2, 1);
        assert_eq!(pixels.iter().sum::<f32>(), 2.0 * 16.0 * 0.5);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        Variation::default().apply(&mut [0.5; 144], SHAPE, &mut rng);
        assert_eq!(rng, ChaCha8Rng::seed_from_u64(1));
    }

    #[test]
    fn the_identity_and_a_move_of_a_pixel_are_exact() {
        let old: Vec<f32> = (0..144).map(|i| (i as f32).sin().abs()).collect();
        let pose = |by| Pose {
            matrix: [1.0, 0.0, 0.0, 1.0],
            by,
            bends: [[0.0; KNOTS * KNOTS]; 2],
        };
        let mut image = old.clone();
        moved(&mut image, SHAPE, &pose([0.0, 0.0]));
        assert_eq!(image, old);
        moved(&mut image, SHAPE, &pose([1.0 / 12.0, 0.0]));
        for (place, &pixel) in image.iter().enumerate() {
            let from = place / 12 * 12 + (place % 12 + 1).min(11);
            assert!((pixel - old[from]).abs() < 1e-5);
        }
    }

    /// Images of one law do not depend on those beside them, and stay in their range; black stays black.
    #[test]
    fn each_image_varies_by_itself_within_its_range() {
        for [pose, texture, tone] in [
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [3.0, 3.0, 0.0],
            [0.0, 0.0, 1.0],
        ] {
            let variation = Variation {
                pose,
                texture,
                tone,
            };
            let many = vary(variation, 40, 7);
            assert_eq!(many[..144 * 3], vary(variation, 3, 7));
            assert!(many.iter().all(|p| (0.0..=1.0).contains(p)));
            assert_ne!(many[..144], many[144..288]);
            let black = many.chunks_exact(144).map(|image| image[0] + image[143]);
            assert_eq!(black.sum::<f32>(), 0.0);
            let mean = many.iter().sum::<f32>() / 40.0 / 8.0;
            assert!(
                (mean - 1.0).abs() < 0.35,
                "the mean brightness is {mean} of before"
            );
        }
    }

    /// Black and white stay, and what is between them follows one curve all over an image. Fixed seed.
    #[test]
    fn tone_bends_what_is_between_black_and_white() {
        let tone = |amount, seed| {
            let mut image = [0.0, 0.05, 0.3, 0.3, 0.6, 1.0];
            toned(&mut image, amount, &mut ChaCha8Rng::seed_from_u64(seed));
            image
        };
        assert_eq!(tone(0.0, 1), [0.0, 0.05, 0.3, 0.3, 0.6, 1.0]);
        let mut faint = 0;
        for seed in 0..200 {
            let image = tone(1.0, seed);
            assert_eq!((image[0], image[2], image[5]), (0.0, image[3], 1.0));
            assert!(image.is_sorted() && image[4] > 0.0, "{image:?}");
            faint += u32::from(image[1] == 0.0);
        }
        assert!(
            (60..160).contains(&faint),
            "{faint} of 200 lose a faint pixel"
        );
    }

    /// Where the middle of a bright square lies, and how bright it is, varies by about what is promised.
    #[test]
    fn amounts_are_what_they_say() {
        let spread = |variation, of: &dyn Fn(&[f32]) -> f32| {
            let values: Vec<f32> = vary(variation, 400, 3).chunks_exact(144).map(of).collect();
            let mean = values.iter().sum::<f32>() / 400.0;
            (values.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / 400.0).sqrt()
        };
        let sum = |image: &[f32]| image.iter().sum::<f32>();
        let across = |image: &[f32]| {
            let moments = image.iter().enumerate().map(|(i, p)| (i % 12) as f32 * p);
            moments.sum::<f32>() / sum(image)
        };
        for amount in [0.5, 1.0] {
            let (pose, texture) = (
                Variation {
                    pose: amount,
                    ..Variation::default()
                },
                Variation {
                    texture: amount,
                    ..Variation::default()
                },
            );
            // Uniform within 0.42 pixels has the deviation 0.24; bends of 0.18 at knots four pixels apart come on top.
            let moved = f64::from(spread(pose, &across)) / amount;
            assert!((0.2..0.35).contains(&moved), "{moved} pixels");
            // Gain alone has 0.25 of the mean, 8; fabric and grain add a little.
            let bright = f64::from(spread(texture, &sum)) / amount / 8.0;
            assert!((0.2..0.35).contains(&bright), "{bright} of the mean");
        }
    }

    #[test]
    fn what_is_not_asked_for_suits_the_records() {
        let of = |digits, synthetic, smooth| {
            let suited = Variation::suited(digits, synthetic, smooth);
            (suited.pose, suited.texture, suited.tone)
        };
        assert_eq!(of(false, false, false), (0.0, 0.0, 0.0));
        assert_eq!(of(false, true, false), (0.0, 1.0, 0.0));
        assert_eq!(of(true, true, false), (1.0, 1.0, 0.0));
        assert_eq!(of(false, false, true), (0.0, 0.6, 1.0));
    }
}
