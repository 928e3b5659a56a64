//! Private latents in groups that flow by themselves: all records, or one group a class.

use lab::diagnostic::Failure;
use private_synth::images::Encoded;

use crate::in_run;
use crate::records::Records;

/// The groups that flow by themselves. What group a record is in is a public function of its label.
pub(crate) struct Groups {
    /// Latents of each group. Where sizes are released, a group may have none.
    pub latents: Encoded,
    /// The class of each group; none where records have no classes.
    pub classes: Option<Vec<usize>>,
    /// Dimension.
    pub dim: usize,
}

impl Groups {
    /// Before records are encoded.
    pub(crate) fn none(dim: usize) -> Self {
        Self {
            latents: Encoded::new(0, 0),
            classes: None,
            dim,
        }
    }

    /// Groups of records whose latents `encode` gives to its argument, `[some, dim]` in rows.
    ///
    /// - `classes`: the public number of classes; none where all records flow together.
    /// - `most`: values of a block of latents, at most.
    ///
    /// # Errors
    ///
    /// Those of `encode`; [`Failure::Failed`] for a temporary file that cannot be written.
    pub(crate) fn new(
        dim: usize,
        records: &Records,
        classes: Option<usize>,
        sizes_released: bool,
        most: usize,
        encode: impl FnOnce(&mut dyn FnMut(&[f32]) -> Result<(), Failure>) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let labels = match classes {
            Some(_) => records.labels(),
            None => vec![0; records.len()],
        };
        let mut of_groups: Vec<usize> = (0..classes.unwrap_or(1)).collect();
        let mut groups = of_groups.clone();
        if !sizes_released {
            // A class without records is public, too.
            of_groups.retain(|class| labels.contains(class));
        }
        for (group, &class) in of_groups.iter().enumerate() {
            groups[class] = group;
        }
        let (mut latents, mut labels) = (Encoded::new(of_groups.len(), most), labels.iter());
        encode(&mut |rows| {
            let mut rows = rows.chunks_exact(dim).zip(&mut labels);
            rows.try_for_each(|(row, &label)| latents.add(groups[label], row))
                .map_err(in_run::refused)
        })?;
        Ok(Self {
            latents,
            classes: classes.map(|_| of_groups),
            dim,
        })
    }

    /// All latents at once.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] if they are more than memory holds.
    pub(crate) fn whole(&self) -> Result<&[Vec<f32>], Failure> {
        let whole = self.latents.whole();
        whole.ok_or_else(|| Failure::failed("not all latents are in memory"))
    }

    /// The class of a group, 0 where there are none.
    pub(crate) fn class(&self, group: usize) -> usize {
        self.classes.as_ref().map_or(0, |classes| classes[group])
    }

    /// Records in each group: public where sizes are not released.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let sizes = self.latents.sizes().iter();
        sizes.map(|values| values / self.dim).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use data::LabelledImages;
    use private_queries::{LabelledMarginals, MarginalQuery, Query};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;
    use swd::{Region, Slices};

    use super::super::mechanisms::moments::moments;
    use super::*;
    use crate::particles::share;
    use crate::records::Source;

    const CLASSES: usize = 3;
    const RECORDS: usize = 8;

    /// How far a query of two data sets is apart, as a share of what it declares.
    fn moved(query: &impl Query<Records = [Vec<f32>]>, pair: [&Groups; 2]) -> f64 {
        let [a, b] = pair.map(|groups| groups.latents.measured(query).unwrap());
        assert_eq!(a.before_noise().len(), b.before_noise().len());
        let pairs = a.before_noise().iter().zip(b.before_noise());
        let squared = pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        squared.sqrt() / a.sensitivity_upper()
    }

    /// Groups of records with these labels, in blocks of at most so many records.
    fn groups_in(most: usize, latents: &[f32], labels: &[u8], sizes_released: bool) -> Groups {
        let images = LabelledImages::new(vec![0; RECORDS], labels.to_vec(), 1, 1, CLASSES).unwrap();
        let records = Records::new(
            Source::Labelled(Arc::new(images)),
            (0..RECORDS).collect(),
            None,
        );
        let (classes, most) = (Some(CLASSES), most.saturating_mul(2));
        let groups = Groups::new(2, &records, classes, sizes_released, most, |add| {
            latents.chunks(6).try_for_each(add)
        });
        groups.unwrap()
    }

    /// In one block.
    fn groups(latents: &[f32], labels: &[u8], sizes_released: bool) -> Groups {
        groups_in(usize::MAX, latents, labels, sizes_released)
    }

    /// Two data sets that differ in one record, its label included: all that is public of their groups is the same, and
    /// both releases of them are within what is declared. A record that moves to another group attains it, so that half of
    /// it would be exceeded. Where sizes are public, a change of label is no neighbour: there it shows, so the test would
    /// see it.
    #[test]
    fn groups_of_neighbours_with_other_labels_differ_in_what_is_released_alone() {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let sphere = Region::sphere(1.0).unwrap();
        let mut shown = false;
        // The largest share of what is declared, of moments and of marginals.
        let mut attained = [0.0_f64; 2];
        for number in 0..60 {
            let mut draw = |n: usize| {
                (0..n)
                    .map(|_| rng.random_range(-1.0..1.0))
                    .collect::<Vec<f32>>()
            };
            let mut one = draw(2 * RECORDS);
            let mut other = one.clone();
            let mut far = draw(2);
            // Outside of the sphere that latents are put on: the moments of the record are as large as they get.
            for row in [&mut one[..2], &mut far] {
                row.iter_mut().for_each(|x| *x *= 30.0);
            }
            other[..2].copy_from_slice(match number % 4 {
                0 => &[f32::NAN, 0.1],
                1 => &one[..2],
                _ => &far,
            });
            let mut labels: Vec<u8> = (0..RECORDS).map(|i| (i % CLASSES) as u8).collect();
            let first = groups(&one, &labels, true);
            let known = groups(&one, &labels, false);
            labels[0] = rng.random_range(0..CLASSES as u8);
            // In blocks of 1 to 8 records: most of the others lie in other blocks than the record.
            let second = groups_in(1 + number % RECORDS, &other, &labels, true);
            shown |= known.sizes() != groups(&other, &labels, false).sizes();

            assert_eq!(first.classes, second.classes);
            assert_eq!(first.latents.groups(), second.latents.groups());
            let pair = [&first, &second];
            for radius in [1.0, 2.0] {
                let share = moved(&moments(&first, true, radius), pair);
                assert!(share <= 1.0 + 1e-6, "{share}");
                attained[0] = attained[0].max(share);
            }
            let queries = (0..first.latents.groups()).map(|_| {
                let slices = Slices::tight(2, 6, rng).unwrap();
                MarginalQuery::around_gaussian(
                    slices,
                    sphere,
                    &[0.1, 0.0],
                    &[0.3, 0.0, 0.1, 0.2],
                    8,
                )
                .unwrap()
            });
            let share = moved(&LabelledMarginals::of(queries.collect()).unwrap(), pair);
            assert!(share <= 1.0, "{share}");
            attained[1] = attained[1].max(share);
        }
        assert!(shown);
        assert!(attained.iter().all(|&share| share > 0.99), "{attained:?}");
    }

    #[test]
    fn particles_are_shared_out_by_size() {
        assert_eq!(share(&[3, 1], 6), [5, 2]);
    }
}
