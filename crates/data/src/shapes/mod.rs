//! Images of random processes: any number of them, from a seed, of no real object. Networks learn from them the elements
//! of images (lines, edges, outlines, textures), and nothing about any class.
//!
//! | process | share | content |
//! |---|---|---|
//! | [`Process::Strokes`] | 3/8 | a pen on a random walk that turns smoothly |
//! | [`Process::Silhouettes`] | 3/8 | a few rounded and tapered parts, often symmetric, with texture, folds and shade |
//! | [`Process::Leaves`] | 1/8 | dead leaves: discs and boxes that hide each other, their sizes by a power law |
//! | [`Process::Spectra`] | 1/8 | noise whose spectrum falls by a random power, in a random direction |
//!
//! The first two have a dark ground in most grey images. Image i has its own generator, keyed by (seed, i), so it does not
//! depend on the number of images or threads.
//!
//! Source: the random processes are those of Baradad, Wulff, Wang, Isola and Torralba (2021, arXiv 2106.05963); Tang,
//! Panda, Sehwag and Mittal (2023, arXiv 2306.06076) use such images as priors of private learning.

mod canvas;
mod field;
mod leaves;
mod part;
mod silhouette;
mod strokes;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::glyphs::hand::Hand;
use canvas::Canvas;
use field::Field;

/// The random process that generates an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// Lines of a pen.
    Strokes,
    /// A filled outline.
    Silhouettes,
    /// Parts that hide each other.
    Leaves,
    /// Noise with a random spectrum.
    Spectra,
}

/// An endless sequence of images of random processes, given by a seed.
///
/// ```
/// use data::Shapes;
///
/// let grey = Shapes::grey(28, 0);
/// assert_eq!(grey.draw(5..7).len(), 2 * 28 * 28);
/// assert_eq!(grey.draw(6..7), grey.image(6));
/// assert_eq!(Shapes::colour(32, 0).image(0).len(), 3 * 32 * 32);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shapes {
    seed: u64,
    side: usize,
    channels: usize,
}

impl Shapes {
    /// The version of the generator; it grows whenever the same seed gives other images.
    pub const VERSION: u32 = 1;

    /// Returns grey images of `side` x `side` pixels.
    pub fn grey(side: usize, seed: u64) -> Self {
        Self {
            seed,
            side,
            channels: 1,
        }
    }

    /// Returns colour images of `side` x `side` pixels.
    pub fn colour(side: usize, seed: u64) -> Self {
        Self {
            channels: 3,
            ..Self::grey(side, seed)
        }
    }

    /// The number of pixels along a side.
    pub fn side(&self) -> usize {
        self.side
    }

    /// The number of channels: 1 for grey images, 3 for colour.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// The process of image `index`.
    pub fn process(index: u64) -> Process {
        match index % 8 {
            0 | 2 | 5 => Process::Strokes,
            1 | 3 | 6 => Process::Silhouettes,
            4 => Process::Leaves,
            _ => Process::Spectra,
        }
    }

    /// Returns image `index`, `[channels, side, side]` in row-major order.
    pub fn image(&self, index: u64) -> Vec<u8> {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..16].copy_from_slice(b"shapes\0\0");
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(index);
        let mut hand = Hand::new(&mut generator);
        let mut canvas = Canvas::new(self.side, self.channels);
        match Self::process(index) {
            Process::Strokes => strokes::draw(&mut canvas, &mut hand),
            Process::Silhouettes => silhouette::draw(&mut canvas, &mut hand),
            Process::Leaves => leaves::draw(&mut canvas, &mut hand),
            Process::Spectra => {
                let one = canvas.colour(&mut hand);
                // Far enough from the first to be seen.
                let other = one.map(|value| (value + hand.between(0.25, 0.75)).fract());
                let field = Field::of_any_spectrum(24, &mut hand);
                let contrast = hand.between(0.5, 3.0);
                canvas.fill(|x, y, channel| {
                    let share = 0.5 + 0.5 * (contrast * field.at(x, y)).clamp(-1.0, 1.0);
                    one[channel] + share * (other[channel] - one[channel])
                });
            }
        }
        canvas.bytes()
    }

    /// Generates the images of a range of indices, `[n, channels, side, side]` in row-major order, on all threads.
    pub fn draw(&self, indices: std::ops::Range<u64>) -> Vec<u8> {
        let images: Vec<Vec<u8>> = indices.into_par_iter().map(|i| self.image(i)).collect();
        images.concat()
    }
}
