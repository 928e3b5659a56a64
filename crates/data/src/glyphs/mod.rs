//! Synthetic digits of 28 x 28 pixels in ten classes: any number of them, from a seed.
//!
//! Image i has its own generator, keyed by (seed, split, i), so that it does not depend on the number of
//! images or threads (between processor families a pixel may differ by the rounding of a sine). The
//! steps are:
//!
//! 1. `skeleton`: the pen's path, one of several ways in which people write that digit;
//! 2. `distort`: unsteady control points, a smooth elastic field, slant, rotation and aspect, then
//!    the size and centre of mass of MNIST's images;
//! 3. `ink`: a pen of changing width along that path, soft edges, uneven ink.
//!
//! A *looseness* sampled for each image scales steps 1 and 2; its heavy upper tail gives the few digits
//! that are hard to tell apart.

mod distort;
pub(crate) mod hand;
pub(crate) mod ink;
pub(crate) mod path;
mod skeleton;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::error::check_count;
use crate::{DataError, Records};
use hand::Hand;

/// An endless sequence of digits that look handwritten, given by a seed.
///
/// The images look like MNIST's: the background is 0, the ink is up to 255, and the digit lies in a box of
/// about 20 pixels with its centre of mass in the middle. Each run of ten images that starts at a multiple
/// of ten shows each class once, in random order, so the class sizes of the first n images differ by at
/// most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    seed: u64,
    split: u64,
}

/// The purpose of a generator, a part of its key, so that orders and images share no randomness.
const ORDER: u64 = 0;
const IMAGE: u64 = 1;

/// The number of images between two reports of progress.
const BLOCK: usize = 4096;

impl Glyphs {
    /// The number of pixels along a side.
    pub const SIDE: usize = 28;
    /// The number of classes, one for each digit.
    pub const CLASSES: usize = 10;
    /// The most images in one set: 1 GiB of pixels.
    pub const MAX_COUNT: usize = (1 << 30) / (Self::SIDE * Self::SIDE);
    /// The default number of training images, that of MNIST.
    pub const DEFAULT_TRAIN: usize = 60_000;
    /// The default number of test images, that of MNIST.
    pub const DEFAULT_TEST: usize = 10_000;

    /// Returns the training images of a seed.
    pub fn train(seed: u64) -> Self {
        Self { seed, split: 0 }
    }

    /// Returns the test images of a seed, which share no randomness with its training images.
    pub fn test(seed: u64) -> Self {
        Self { seed, split: 1 }
    }

    /// Draws the first `count` training images of `seed`.
    ///
    /// # Errors
    /// [`DataError::Request`] unless `count` is in 1..=[`MAX_COUNT`](Self::MAX_COUNT).
    pub fn generate(count: usize, seed: u64) -> Result<Records, DataError> {
        Self::train(seed).draw(count, &|_| ())
    }

    /// Draws the first `count` images, on all threads; `progress` receives the number of finished images.
    ///
    /// # Errors
    /// [`DataError::Request`] unless `count` is in 1..=[`MAX_COUNT`](Self::MAX_COUNT).
    pub fn draw(&self, count: usize, progress: &dyn Fn(usize)) -> Result<Records, DataError> {
        self.images(count, |number| number as u64, progress)
    }

    /// Draws the images with the indices `places`, on all threads.
    ///
    /// # Errors
    /// [`DataError::Request`] unless the number of places is in 1..=[`MAX_COUNT`](Self::MAX_COUNT).
    pub fn at(&self, places: &[usize]) -> Result<Records, DataError> {
        self.images(places.len(), |number| places[number] as u64, &|_| ())
    }

    fn images(
        &self,
        count: usize,
        place: impl Fn(usize) -> u64 + Sync,
        progress: &dyn Fn(usize),
    ) -> Result<Records, DataError> {
        const SIZE: usize = Glyphs::SIDE * Glyphs::SIDE;
        Self::check_count("glyphs", count)?;
        let mut pixels = vec![0; count * SIZE];
        for (number, block) in pixels.chunks_mut(BLOCK * SIZE).enumerate() {
            let start = number * BLOCK;
            let made = block.len() / SIZE;
            block
                .par_chunks_mut(SIZE)
                .enumerate()
                .for_each(|(i, image)| image.copy_from_slice(&self.image(place(start + i))));
            progress(start + made);
        }
        let labels = (0..count).map(|number| self.label(place(number))).collect();
        Records::new(pixels, labels, Self::SIDE, Self::SIDE, Self::CLASSES)
    }

    /// Returns the digit that image `index` shows.
    pub fn label(&self, index: u64) -> u8 {
        let mut order: [u8; Self::CLASSES] = std::array::from_fn(|digit| digit as u8);
        let (block, place) = (index / 10, index % 10);
        order.shuffle(&mut self.generator(ORDER, block));
        order[place as usize]
    }

    /// Returns image `index`, row by row.
    pub fn image(&self, index: u64) -> [u8; Self::SIDE * Self::SIDE] {
        let mut generator = self.generator(IMAGE, index);
        let mut hand = Hand::new(&mut generator);
        let mut strokes = skeleton::digit(self.label(index), &mut hand);
        distort::unsteady(&mut strokes, &mut hand);
        let mut lines = path::trace(&strokes);
        distort::place(&mut lines, &mut hand);
        ink::draw(&lines, &mut hand)
    }

    pub(crate) fn check_count(what: &str, count: usize) -> Result<(), DataError> {
        check_count(what, count, Self::MAX_COUNT)
    }

    fn generator(&self, purpose: u64, stream: u64) -> ChaCha8Rng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..16].copy_from_slice(&self.split.to_le_bytes());
        key[16..24].copy_from_slice(&purpose.to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(stream);
        generator
    }
}
