//! Grey images of one size: upright, and varied.
//!
//! [`upright`] is a fixed function of each image by itself, so it costs no privacy. USPS was published "deslanted and
//! size normalized" (its own description), MNIST in a box of 20 pixels around the centre of mass with its slant left
//! in: this takes the difference away. [`varied`] is for public images.

use rand::Rng;
use rand_distr::{Distribution, StandardUniform};

/// Grey value from which a pixel is ink.
const INK: f64 = 0.3;
/// Below this a pixel does not count for the slant.
const FAINT: f64 = 0.2;
/// The longer side of the ink, as a share of the image's.
const FILLED: f64 = 20.0 / 28.0;

/// From a pixel's place in the new image, from its centre, to the old one: `matrix * (y, x) + offset`.
struct Affine {
    matrix: [[f64; 2]; 2],
    /// In the old image, from its corner.
    offset: [f64; 2],
}

/// The image under a map, bilinearly, 0 outside.
fn warped(image: &[f32], side: usize, map: &Affine) -> Vec<f32> {
    let middle = (side as f64 - 1.0) / 2.0;
    let pixel = |y: isize, x: isize| {
        let inside = |v: isize| usize::try_from(v).ok().filter(|&v| v < side);
        match (inside(y), inside(x)) {
            (Some(y), Some(x)) => f64::from(image[y * side + x]),
            _ => 0.0,
        }
    };
    let mut new = Vec::with_capacity(side * side);
    for row in 0..side {
        for column in 0..side {
            let (v, u) = (row as f64 - middle, column as f64 - middle);
            let [[a, b], [c, d]] = map.matrix;
            let (y, x) = (a * v + b * u + map.offset[0], c * v + d * u + map.offset[1]);
            // Far outside is outside, whatever the size of the number.
            let (y, x) = (
                y.clamp(-2.0, side as f64 + 1.0),
                x.clamp(-2.0, side as f64 + 1.0),
            );
            let (top, left) = (y.floor(), x.floor());
            let (down, right) = (y - top, x - left);
            let (top, left) = (top as isize, left as isize);
            let line = |y| (1.0 - right) * pixel(y, left) + right * pixel(y, left + 1);
            new.push(((1.0 - down) * line(top) + down * line(top + 1)) as f32);
        }
    }
    new
}

/// A square image without its slant, its ink in the middle with the longer side 5/7 of the image's; an image
/// without ink stays as it is.
///
/// The slant is the slope of the ink's regression line, `cov(x, y) / var(y)`, at most 1 either way.
pub(crate) fn upright(image: &[f32], side: usize) -> Vec<f32> {
    let places = || (0..side * side).map(|place| ((place / side) as f64, (place % side) as f64));
    let weighted = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        let ink = places()
            .zip(image)
            .map(|(at, &value)| (at, f64::from(value)));
        let ink = ink.filter(|&(_, value)| value > FAINT);
        ink.map(|((y, x), value)| value * of(y, x)).sum()
    };
    let mass = weighted(&|_, _| 1.0);
    if mass <= 0.0 {
        return image.to_vec();
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
        return image.to_vec();
    }
    let scale = longer / (FILLED * side as f64);
    let (y, x) = (f64::midpoint(top, bottom), f64::midpoint(left, right));
    let map = Affine {
        matrix: [[scale, 0.0], [slant * scale, scale]],
        offset: [y, x + slant * (y - my)],
    };
    warped(image, side, &map)
}

/// An image turned, sheared, stretched, shifted, with thicker or thinner strokes, blurred and in another contrast,
/// by a `strength` of 1 each by about as much as two writers differ; 0 leaves it as it is.
pub(crate) fn varied(image: &[f32], side: usize, strength: f64, rng: &mut impl Rng) -> Vec<f32> {
    if strength == 0.0 {
        return image.to_vec();
    }
    let mut within = |most: f64| {
        let uniform: f64 = StandardUniform.sample(rng);
        (2.0 * uniform - 1.0) * most * strength
    };
    let (sin, cos) = within(0.15).sin_cos();
    let (tall, wide) = (within(0.15).exp(), within(0.15).exp());
    let shear = within(0.2);
    let middle = (side as f64 - 1.0) / 2.0;
    let mut shift = || middle + within(0.05) * side as f64;
    let map = Affine {
        matrix: [[tall * cos, -sin], [sin + shear, wide * cos]],
        offset: [shift(), shift()],
    };
    let stroke = within(1.0).clamp(-1.0, 1.0);
    let blur = within(1.0).abs().min(1.0);
    let contrast = within(0.7).exp();
    let mut new = warped(image, side, &map);
    let thicker = |[least, most, _]: [f32; 3]| if stroke > 0.0 { most } else { least };
    mix(&mut new, side, stroke.abs(), thicker);
    mix(&mut new, side, blur, |[.., mean]| mean);
    for value in &mut new {
        *value = f64::from(value.clamp(0.0, 1.0)).powf(contrast) as f32;
    }
    new
}

/// Moves each pixel by a `share` towards what the least, the largest and the mean of the 3x3 pixels around it say.
fn mix(image: &mut [f32], side: usize, share: f64, towards: impl Fn([f32; 3]) -> f32) {
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
        let plain = upright(&bar(0.0, 0.0), 28);
        for (slant, shift) in [(0.5, 0.0), (-0.4, 3.0), (0.0, -5.0)] {
            let other = upright(&bar(slant, shift), 28);
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
        assert_eq!(upright(&[0.0; 784], 28), [0.0; 784]);
        let faint = vec![0.25; 784];
        assert_eq!(upright(&faint, 28), faint);
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let image = bar(0.3, 0.0);
        assert_eq!(varied(&image, 28, 0.0, &mut rng), image);
        let other = varied(&image, 28, 1.0, &mut rng);
        assert!(other != image && other.iter().all(|v| (0.0..=1.0).contains(v)));
    }
}
