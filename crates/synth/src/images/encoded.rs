//! Private latents in groups, for releases to measure.

use std::borrow::Cow;

use burn::tensor::Device;
use data::{Records, Stored};
use dp_core::mechanism::SensitiveVector;
use model::latent::{ImageShape, LatentSpace};
use private_queries::{Query, QueryError};

use crate::{SynthError, Watch, Work};

/// The number of images that are encoded at once.
const PART: usize = 250;

/// The private latents of each group, `[n, d]` in rows. They form blocks: the last one is in memory, those before it in a file
/// ([`Stored`]). Few latents form one block.
pub struct Encoded {
    /// The maximum number of values of a block; a block has at least one row.
    most: usize,
    /// The rows of each group in the last block.
    block: Vec<Vec<f32>>,
    before: Stored<f32>,
    /// The number of values of each group, for each block of the file.
    lengths: Vec<Vec<usize>>,
    /// The number of values of each group.
    sizes: Vec<usize>,
}

impl Encoded {
    /// The maximum number of values of a block: 128 MiB of them.
    pub const BLOCK: usize = Stored::<f32>::IN_MEMORY;

    /// Creates groups without records, in blocks of at most `most` values.
    pub fn new(groups: usize, most: usize) -> Self {
        Self {
            most,
            block: vec![Vec::new(); groups],
            before: Stored::beyond(0),
            lengths: Vec::new(),
            sizes: vec![0; groups],
        }
    }

    /// Encodes all images and groups their latents by class.
    ///
    /// - `space`: of images of their size, or of larger ones;
    /// - `whole`: whether all latents stay in memory, for any number.
    ///
    /// # Errors
    ///
    /// Returns [`SynthError::Data`] for a temporary file that cannot be read or written, and the errors of `watch`.
    pub fn of<W: Watch>(
        images: &Records,
        space: &dyn LatentSpace,
        device: &Device,
        whole: bool,
        watch: &mut W,
    ) -> Result<Self, W::Error> {
        let [channels, side, _] = images.shape();
        let shape = ImageShape { channels, side };
        let most = if whole { usize::MAX } else { Self::BLOCK };
        let mut groups = Self::new(images.classes(), most);
        for part in images.blocks(PART) {
            watch.go_on(Work::Encoding)?;
            let part = part.map_err(|e| W::failed(e.into()))?;
            let places: Vec<usize> = (0..part.len()).collect();
            let pixels = part.gather(&places).map_err(|e| W::failed(e.into()))?;
            let rows = space.encode_in(&pixels, shape, device);
            for (row, &label) in rows.chunks_exact(space.latent()).zip(part.labels()) {
                groups.add(label.into(), row).map_err(W::failed)?;
            }
        }
        Ok(groups)
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> usize {
        self.block.len()
    }

    /// Returns the number of values of each group.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Adds the latent of a record to a group.
    ///
    /// # Errors
    ///
    /// Returns [`SynthError::Data`] for a temporary file that cannot be written.
    pub fn add(&mut self, group: usize, row: &[f32]) -> Result<(), SynthError> {
        let held: usize = self.block.iter().map(Vec::len).sum();
        if held > 0 && held + row.len() > self.most {
            self.lengths.push(self.block.iter().map(Vec::len).collect());
            for rows in &mut self.block {
                self.before.add(rows)?;
                rows.clear();
            }
        }
        self.sizes[group] += row.len();
        self.block[group].extend_from_slice(row);
        Ok(())
    }

    /// Returns all latents at once, or `None` if they form several blocks.
    pub fn whole(&self) -> Option<&[Vec<f32>]> {
        self.lengths.is_empty().then_some(&self.block)
    }

    /// Iterates over blocks of the latents of each group.
    fn blocks(&self) -> impl Iterator<Item = Result<Cow<'_, [Vec<f32>]>, SynthError>> {
        let mut start = 0;
        let before = self.lengths.iter().map(move |lengths| {
            let rows = lengths.iter().map(|length| {
                start += length;
                let rows = self.before.read(start - length..start)?;
                Ok(rows.into_owned())
            });
            rows.collect::<Result<Vec<_>, SynthError>>().map(Cow::Owned)
        });
        before.chain([Ok(Cow::Borrowed(&self.block[..]))])
    }

    /// Measures a query of all latents.
    ///
    /// # Errors
    ///
    /// Returns [`SynthError::Query`] if the query returns an error, and [`SynthError::Data`] for a temporary file that cannot be
    /// read.
    pub fn measured<Q: Query<Records = [Vec<f32>]>>(
        &self,
        query: &Q,
    ) -> Result<SensitiveVector, SynthError> {
        if let Some(all) = self.whole() {
            return Ok(query.measure(all)?);
        }
        let mut sum: Option<SensitiveVector> = None;
        for block in self.blocks() {
            let part = query.measure_part(&block?)?;
            sum = Some(match sum {
                Some(sum) => sum.plus(&part)?,
                None => part,
            });
        }
        let none = QueryError::Empty {
            what: "blocks of latents",
        };
        Ok(sum.ok_or(none)?)
    }
}

#[cfg(test)]
mod tests {
    use private_queries::Moments;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    const DIM: usize = 4;

    /// Sums to rounding, of the sensitivity of one block.
    #[test]
    fn blocks_measure_what_one_block_does() {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let rows: Vec<f32> = (0..40 * DIM).map(|_| rng.random_range(-1.0..1.0)).collect();
        let of = |most| {
            let mut latents = Encoded::new(3, most);
            for (place, row) in rows.chunks(DIM).enumerate() {
                latents.add(place % 7 / 3, row).unwrap();
            }
            latents
        };
        let one = of(rows.len());
        let groups = one.whole().unwrap();
        assert_eq!(one.sizes(), groups.iter().map(Vec::len).collect::<Vec<_>>());
        let sizes = one.sizes().iter().map(|size| size / DIM).collect();
        let queries = [
            Moments::labelled(3, DIM, 1.0),
            Moments::of_groups(sizes, DIM, 1.0),
        ];
        for most in [1, DIM, 2 * DIM + 1, 64, rows.len() - 1] {
            let several = of(most);
            assert!(several.whole().is_none());
            assert_eq!(several.sizes(), one.sizes());
            for query in &queries {
                let [one, several] = [&one, &several].map(|l| l.measured(query).unwrap());
                assert_eq!(one.sensitivity_upper(), several.sensitivity_upper());
                let pairs = one.before_noise().iter().zip(several.before_noise());
                assert!(pairs.clone().count() > 3 * DIM);
                assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-12));
            }
        }
    }
}
