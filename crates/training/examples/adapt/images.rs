//! Grey images of one size, warped by a few numbers.
//!
//! [`Warp::UPRIGHT`] is a fixed function of each image by itself, so it costs no privacy. USPS was published "deslanted and
//! size normalized" (its own description), MNIST in a box of 20 pixels around the centre of mass with its slant left
//! in: this takes the difference away. [`Warp::random`] is for public images.

use rand::Rng;
use rand_distr::{Distribution, StandardUniform};

/// Grey value from which a pixel is ink.
const INK: f64 = 0.3;
/// Below this a pixel does not count for the slant.
const FAINT: f64 = 0.2;
/// The longer side of the ink of an upright image, as a share of the image's.
const FILLED: f64 = 20.0 / 28.0;

/// What is done to an image: 13 numbers, all 0 for nothing.
///
/// In order: the logarithms of how much lower and narrower it becomes; a turn and a shear, in radians; shifts up and to the
/// left, as shares of the side; thicker (at most 1) or thinner (at least -1) strokes; blur (at most 2) or sharpening (at least
/// -1); the logarithms of an exponent and of a factor of grey values, and a threshold below which they are 0; and which share of
/// the image's own slant is taken away, and of the difference of its ink's size and place from a box of 5/7 of the side in
/// the middle.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Warp(pub [f64; Self::COUNT]);

/// How the ink of an image lies.
struct Ink {
    /// The slope of its regression line, `cov(x, y) / var(y)`, at most 1 either way.
    slant: f64,
    /// The middle of its box once the slant is gone, from the image's centre.
    place: [f64; 2],
    /// The logarithm of the box's longer side over [`FILLED`] of the image's.
    size: f64,
}

impl Ink {
    /// None for an image without ink.
    fn of(image: &[f32], side: usize) -> Option<Self> {
        let places =
            || (0..side * side).map(|place| ((place / side) as f64, (place % side) as f64));
        let weighted = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            let ink = places()
                .zip(image)
                .map(|(at, &value)| (at, f64::from(value)));
            let ink = ink.filter(|&(_, value)| value > FAINT);
            ink.map(|((y, x), value)| value * of(y, x)).sum()
        };
        let mass = weighted(&|_, _| 1.0);
        if mass <= 0.0 {
            return None;
        }
        let (my, mx) = (weighted(&|y, _| y) / mass, weighted(&|_, x| x) / mass);
        let both = weighted(&|y, x| (y - my) * (x - mx));
        let down = weighted(&|y, _| (y - my).powi(2));
        let slant = (both / mass / (down / mass).max(1e-3)).clamp(-1.0, 1.0);
        let mut sides = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
        for ((y, x), &value) in places().zip(image) {
            if f64::from(value) > INK {
                for (bounds, place) in sides.iter_mut().zip([y, x - slant * (y - my)]) {
                    *bounds = [bounds[0].min(place - 0.5), bounds[1].max(place + 0.5)];
                }
            }
        }
        let [[top, bottom], [left, right]] = sides;
        let longer = (bottom - top).max(right - left);
        if !longer.is_finite() {
            return None;
        }
        let middle = (side as f64 - 1.0) / 2.0;
        let (y, x) = (f64::midpoint(top, bottom), f64::midpoint(left, right));
        Some(Self {
            slant,
            place: [y - middle, x + slant * (y - my) - middle],
            size: (longer / (FILLED * side as f64)).ln(),
        })
    }
}

impl Warp {
    /// How many numbers there are.
    pub(super) const COUNT: usize = 13;
    /// Without slant, the ink in the middle with the longer side 5/7 of the image's.
    pub(super) const UPRIGHT: Self = Self([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 1., 1.]);

    /// By about as much as two writers differ, times `strength`.
    pub(super) fn random(strength: f64, rng: &mut impl Rng) -> Self {
        const MOST: [f64; Warp::COUNT] = [
            0.15, 0.15, 0.15, 0.2, 0.05, 0.05, 1.0, 1.0, 0.7, 0.0, 0.0, 0.0, 0.0,
        ];
        let mut warp = MOST.map(|most| {
            let uniform: f64 = StandardUniform.sample(rng);
            (2.0 * uniform - 1.0) * most * strength
        });
        warp[6] = warp[6].clamp(-1.0, 1.0);
        warp[7] = warp[7].abs().min(1.0);
        Self(warp)
    }

    /// The sums of both warps' numbers: near 0 about one after the other, with one interpolation.
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }

    /// The image under this warp; one without ink has no slant and no size of its own.
    pub(super) fn of(&self, image: &[f32], side: usize) -> Vec<f32> {
        if *self == Self::default() {
            return image.to_vec();
        }
        let [tall, wide, turn, shear, up, left, ..] = self.0;
        let [.., stroke, blur, exponent, factor, threshold, slant, size] = self.0;
        let own = match slant != 0.0 || size != 0.0 {
            true => Ink::of(image, side),
            false => None,
        };
        let (lean, place, scale) = own.map_or((0.0, [0.0; 2], 1.0), |ink| {
            let place = ink.place.map(|place| size * place);
            (slant * ink.slant, place, (size * ink.size).exp())
        });
        let (sin, cos) = turn.sin_cos();
        let top = [tall.exp() * cos, -sin, up * side as f64];
        let bottom = [sin + shear, wide.exp() * cos, left * side as f64];
        // The image's own slant and size come after what is common to all.
        let bottom: [f64; 3] = std::array::from_fn(|i| lean * top[i] + bottom[i]);
        let [top, bottom] = [top, bottom].map(|row| row.map(|number| scale * number));
        let middle = (side as f64 - 1.0) / 2.0;
        let mut new = mapped(image, side, |v, u| {
            [(top, place[0]), (bottom, place[1])]
                .map(|([a, b, shift], place)| a * v + b * u + (shift + place + middle))
        });
        let thicker = |[least, most, _]: [f32; 3]| if stroke > 0.0 { most } else { least };
        mix(&mut new, side, stroke.abs().min(1.0), thicker);
        mix(&mut new, side, blur.clamp(-1.0, 1.0), |[.., mean]| mean);
        let more = (blur - 1.0).clamp(0.0, 1.0);
        mix(&mut new, side, more, |[.., mean]| mean);
        let (exponent, factor) = (exponent.exp(), factor.exp());
        for value in &mut new {
            let grey = (f64::from(*value) - threshold) * factor;
            *value = grey.clamp(0.0, 1.0).powf(exponent) as f32;
        }
        new
    }
}

/// The image bilinearly, 0 outside, under a map of a pixel's place, from the new centre, to the old place, from the corner.
fn mapped(image: &[f32], side: usize, map: impl Fn(f64, f64) -> [f64; 2]) -> Vec<f32> {
    let middle = (side as f64 - 1.0) / 2.0;
    let pixel = |y: isize, x: isize| {
        let inside = |v: isize| usize::try_from(v).ok().filter(|&v| v < side);
        match (inside(y), inside(x)) {
            (Some(y), Some(x)) => f64::from(image[y * side + x]),
            _ => 0.0,
        }
    };
    let places = (0..side * side).map(|place| (place / side, place % side));
    let new = places.map(|(row, column)| {
        // Far outside is outside, whatever the size of the number.
        let [y, x] = map(row as f64 - middle, column as f64 - middle)
            .map(|place| place.clamp(-2.0, side as f64 + 1.0));
        let (top, left) = (y.floor(), x.floor());
        let (down, right) = (y - top, x - left);
        let (top, left) = (top as isize, left as isize);
        let line = |y| (1.0 - right) * pixel(y, left) + right * pixel(y, left + 1);
        ((1.0 - down) * line(top) + down * line(top + 1)) as f32
    });
    new.collect()
}

/// Moves each pixel by a `share` towards what the least, the largest and the mean of the 3x3 pixels around it say.
fn mix(image: &mut [f32], side: usize, share: f64, towards: impl Fn([f32; 3]) -> f32) {
    if share == 0.0 {
        return;
    }
    let old = image.to_vec();
    let reach = |place: usize| place.saturating_sub(1)..(place + 2).min(side);
    for (place, value) in image.iter_mut().enumerate() {
        let around = reach(place / side).flat_map(|y| reach(place % side).map(move |x| (y, x)));
        let none = (f32::INFINITY, f32::NEG_INFINITY, 0.0, 0.0);
        let (least, most, sum, count) = around.fold(none, |(least, most, sum, count), (y, x)| {
            let near = old[y * side + x];
            (least.min(near), most.max(near), sum + near, count + 1.0)
        });
        *value += share as f32 * (towards([least, most, sum / count]) - *value);
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    /// A bar of some slant, two pixels thick.
    fn bar(slant: f64, shift: f64) -> Vec<f32> {
        let mut image = vec![0.0; 28 * 28];
        for y in 8..20 {
            let x = 14.0 + shift + slant * (f64::from(y) - 14.0);
            for column in 0..28 {
                let near = (1.5 - (f64::from(column) - x).abs()).clamp(0.0, 1.0);
                image[y as usize * 28 + column as usize] = near as f32;
            }
        }
        image
    }

    #[test]
    fn slant_size_and_place_are_gone() {
        let plain = Warp::UPRIGHT.of(&bar(0.0, 0.0), 28);
        for (slant, shift) in [(0.5, 0.0), (-0.4, 3.0), (0.0, -5.0)] {
            let other = Warp::UPRIGHT.of(&bar(slant, shift), 28);
            let apart: f32 = plain.iter().zip(&other).map(|(a, b)| (a - b).abs()).sum();
            let ink: f32 = plain.iter().sum();
            assert!(apart < 0.25 * ink, "{slant}, {shift}: {apart} of {ink}");
        }
        let rows: Vec<f32> = plain.chunks(28).map(|row| row.iter().sum()).collect();
        let high = rows.iter().filter(|&&row| row > 0.5).count();
        assert!((19..=23).contains(&high), "{high}");
    }

    #[test]
    fn nothing_is_no_trouble() {
        for grey in [0.0, 0.25] {
            let faint = vec![grey; 784];
            let same = Warp::UPRIGHT.of(&faint, 28);
            assert_eq!(same, faint);
        }
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let image = bar(0.3, 0.0);
        assert_eq!(Warp::random(0.0, &mut rng).of(&image, 28), image);
        let other = Warp::random(1.0, &mut rng).of(&image, 28);
        assert!(other != image && other.iter().all(|v| (0.0..=1.0).contains(v)));
        let far = Warp([9.0; Warp::COUNT]).of(&image, 28);
        assert!(far.iter().all(|v| (0.0..=1.0).contains(v)));
    }

    /// Each number does what its name says: to the place, the extent or the grey values of a bar.
    #[test]
    fn each_number_does_what_it_is_called() {
        let image = bar(0.0, 0.0);
        let extent = |image: &[f32], across: bool| {
            let sum = |i: usize| -> f32 {
                let line = (0..28).map(|j| {
                    if across {
                        image[j * 28 + i]
                    } else {
                        image[i * 28 + j]
                    }
                });
                line.sum()
            };
            (0..28).filter(|&i| sum(i) > 0.5).count()
        };
        let one = |place: usize, value: f64| {
            let mut warp = Warp::default();
            warp.0[place] = value;
            warp.of(&image, 28)
        };
        let ink = |image: &[f32]| image.iter().sum::<f32>();
        assert!(extent(&one(0, 0.3), false) < extent(&image, false));
        assert!(extent(&one(1, -0.6), true) > extent(&image, true));
        assert!(extent(&one(2, 0.5), true) > extent(&image, true));
        assert!(extent(&one(3, 0.5), true) > extent(&image, true));
        let first = |image: &[f32]| image.iter().position(|&v| v > 0.5).unwrap();
        assert!(first(&one(4, 0.1)) < first(&image));
        assert_eq!(first(&one(5, 2.0 / 28.0)), first(&image) - 2);
        assert!(ink(&one(6, 1.0)) > 1.3 * ink(&image) && ink(&one(6, -1.0)) < 0.7 * ink(&image));
        let most = |image: &[f32]| image.iter().fold(0.0f32, |a, &b| a.max(b));
        assert!(most(&one(7, 1.0)) < 0.9 * most(&image));
        assert!(ink(&one(8, 1.0)) < ink(&image) && ink(&one(9, -1.0)) < 0.5 * ink(&image));
        assert!(ink(&one(10, 0.3)) < ink(&image));
    }
}
