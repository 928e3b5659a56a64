//! Moments of the components into which the Gaussian of each class is split.

use dp_core::mechanism::{NoisyVector, SensitiveVector};
use rand::RngExt;

use super::centres::Centres;
use super::component::Component;
use super::gaussians::central;
use super::{Gaussians, Moments};
use crate::Query;
use crate::query::QueryError;

/// The number of samples of a class's Gaussian from which its components are made.
const SAMPLES: usize = 20_000;

/// Measures the moments of components and estimates a Gaussian for each, shrunk towards the component's earlier Gaussian by as
/// much as the noise and the number of records require.
///
/// The components come from an earlier release of one Gaussian per class. So a record's component follows from the record and
/// that release, and this query measures moments of groups as that one did. Each component moves and scales its rows into a
/// ball of radius 2, for any size of the component.
///
/// ```
/// use dp_core::mechanism::NoisyVector;
/// use private_queries::{Mixture, Moments, Query};
/// use rand::SeedableRng;
///
/// let latents = [vec![0.6, 0.8, 0.8, 0.6, 0.0, 1.0], vec![-1.0, 0.0, 0.0, -1.0]];
/// let classes = Moments::labelled(2, 2, 1.0).on_the_sphere();
/// // A releaser adds the noise, here and below.
/// let (classes, _) = classes.read(&NoisyVector::without_privacy(classes.measure(&latents)?))?;
/// let rng = &mut rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// let mixture = Mixture::on_the_sphere(&classes, 2, 3, rng);
/// let (components, sizes) = mixture.read(&NoisyVector::without_privacy(mixture.measure(&latents)?))?;
/// assert_eq!(sizes.iter().sum::<f64>(), 5.0);
/// assert!(!components.present().is_empty());
/// # Ok::<(), private_queries::QueryError>(())
/// ```
pub struct Mixture {
    centres: Centres,
    /// The components, class after class, equally many in each.
    known: Vec<Component>,
    dim: usize,
    moments: Moments,
}

impl Mixture {
    /// The radius of the ball for the moments of components, and the best one for the moments of classes before them.
    pub const RADIUS: f64 = Component::BALL;

    /// Creates `each` components for each of `count` classes, around the centres of samples of its Gaussian on the unit sphere.
    pub fn on_the_sphere(
        classes: &Gaussians,
        count: usize,
        each: usize,
        rng: &mut impl RngExt,
    ) -> Self {
        let dim = classes.dim();
        let samples = |class| {
            let mut rows = classes.sample(class, SAMPLES, rng);
            normalise(&mut rows, dim);
            rows
        };
        let samples: Vec<Vec<f32>> = (0..count).map(samples).collect();
        let centres = Centres::around(&samples, each, dim, rng);
        let mut known = Vec::with_capacity(count * each);
        for (class, rows) in samples.iter().enumerate() {
            let mut parts = vec![Vec::new(); each];
            for row in rows.chunks_exact(dim) {
                parts[centres.place(class, row)].extend_from_slice(row);
            }
            known.extend(parts.iter().map(|rows| Component::of(rows, dim)));
        }
        Self {
            centres,
            moments: Moments::labelled(known.len(), dim, Component::BALL),
            known,
            dim,
        }
    }

    /// Multiplies the sensitivity by `most`, for neighbours that replace a unit as in [`Moments::of_units`].
    #[must_use]
    pub fn of_units(self, most: usize) -> Self {
        Self {
            moments: self.moments.of_units(most),
            ..self
        }
    }

    /// Returns private rows by class and component, in each component's coordinates.
    fn local(&self, classes: &[Vec<f32>]) -> Vec<Vec<f32>> {
        let each = self.centres.count();
        let mut local = vec![Vec::new(); self.known.len()];
        for (class, rows) in classes.iter().enumerate() {
            for row in rows.chunks_exact(self.dim) {
                let group = class * each + self.centres.place(class, row);
                local[group].extend(self.known[group].local(row));
            }
        }
        local
    }
}

impl Query for Mixture {
    /// The latents of each class, `[n, d]` in rows on the unit sphere.
    type Records = [Vec<f32>];
    /// The Gaussian of each component, class after class, and the number of its records.
    type Answer = (Gaussians, Vec<f64>);

    fn len(&self) -> usize {
        self.moments.len()
    }

    fn measure(&self, classes: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        let count = self.known.len() / self.centres.count();
        crate::query::length("classes of latents", classes.len(), count)?;
        self.moments.measure(&self.local(classes))
    }

    fn measure_part(&self, classes: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        self.measure(classes)
    }

    fn read(&self, noisy: &NoisyVector) -> Result<Self::Answer, QueryError> {
        let sizes = self.moments.sizes(noisy)?;
        let values = noisy.values.chunks_exact(self.moments.each());
        let of_component = |((values, &size), component): ((&[f64], &f64), &Component)| {
            (size >= 1.0).then(|| {
                let (mean, covariance) = central(&values[1..], size, self.dim);
                component.signal(&mean, &covariance, size, noisy.deviation)
            })
        };
        let gaussians = values
            .zip(&sizes)
            .zip(&self.known)
            .map(of_component)
            .collect();
        Ok((Gaussians::new(self.dim, 1.0, gaussians), sizes))
    }

    /// Returns the centres of all components, one after the other.
    fn made_of(&self) -> Vec<f64> {
        self.known
            .iter()
            .flat_map(Component::centre)
            .copied()
            .collect()
    }
}

/// Scales rows to norm 1.
fn normalise(rows: &mut [f32], d: usize) {
    for row in rows.chunks_exact_mut(d) {
        let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
        row.iter_mut().for_each(|x| *x /= norm);
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;
    use rand_chacha::ChaCha20Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::tests::{grouped, moved, seeded};

    const DIM: usize = 2;
    const CLASSES: usize = 2;

    /// Components of two classes, as a release of their moments tells.
    fn mixture(rng: &mut ChaCha20Rng) -> Mixture {
        let mut rows = |at: [f32; 2]| -> Vec<f32> {
            let mut row = || at.map(|at| at + rng.random_range(-0.3..0.3));
            (0..400).flat_map(|_| row()).collect()
        };
        let classes = Moments::labelled(CLASSES, DIM, Mixture::RADIUS);
        let measured = classes.measure(&[rows([0.6, 0.2]), rows([-0.2, 0.5])]);
        let mut noisy = NoisyVector::without_privacy(measured.unwrap());
        noisy.deviation = 3.0;
        let (classes, _) = classes.read(&noisy).unwrap();
        Mixture::on_the_sphere(&classes, CLASSES, 3, rng)
    }

    /// Neighbours replace a record with its label: near, far, not finite, of another class or component. What is released of
    /// them is within what is declared, and comes near to it; without the ball that local rows are put into it is not.
    #[test]
    fn moments_of_components_of_neighbours_are_within_what_is_declared() {
        let rng = &mut seeded(1);
        let (mut largest, mut loose, mut declared) = (0.0_f64, 0.0_f64, 0.0_f64);
        for _ in 0..40 {
            let mixture = mixture(rng);
            let wide = Moments::labelled(mixture.known.len(), DIM, 10.0 * Mixture::RADIUS);
            for _ in 0..100 {
                let mut record = || {
                    let length = [0.1, 1.0, 1e3, f32::NAN][rng.random_range(0..4)];
                    let row = [0; DIM].map(|_| length * rng.random_range(-1.0..1.0_f32));
                    (row, rng.random_range(0..CLASSES))
                };
                let others = [record(), record(), record()];
                let (one, two) = (record(), record());
                let [one, two] = [one, two].map(|last| {
                    let all = others.iter().chain([&last]);
                    grouped(all.map(|(row, class)| (&row[..], *class)), CLASSES)
                });
                let of = |classes: &[Vec<f32>]| mixture.measure(classes).unwrap();
                declared = of(&one).sensitivity_upper();
                largest = largest.max(moved(&of(&one), &of(&two)));
                let of = |classes| wide.measure(&mixture.local(classes)).unwrap();
                loose = loose.max(moved(&of(&one), &of(&two)));
            }
        }
        let share = largest / declared;
        assert!(share <= 1.0 + 1e-6 && share > 0.95, "{share}");
        assert!(loose > declared, "{loose} {declared}");
    }

    /// Components count as many records of a unit as classes do.
    #[test]
    fn components_of_units_move_as_far_as_so_many_records() {
        let rng = &mut seeded(6);
        let rows = [vec![0.6, 0.2, 0.1, 0.1], vec![-0.2, 0.5]];
        let upper = |mixture: &Mixture| mixture.measure(&rows).unwrap().sensitivity_upper();
        let one = mixture(rng);
        let single = upper(&one);
        assert_eq!(upper(&one.of_units(4)), 4.0 * single);
    }

    /// A release that was stored is known again by what it is of: the same centres of the same classes and generator.
    #[test]
    fn components_say_what_they_were_made_of() {
        let of = |seed| mixture(&mut seeded(seed)).made_of();
        assert_eq!(of(1).len(), CLASSES * 3 * DIM);
        assert_eq!(of(1), of(1));
        let (one, other) = (of(1), of(2));
        let apart = one.iter().zip(&other).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f64::max) > 0.01);
    }

    const D: usize = 3;

    fn draw(n: usize, at: [f32; D], scale: [f32; D], rng: &mut ChaCha20Rng) -> Vec<f32> {
        let mut normal = || -> f32 { StandardNormal.sample(rng) };
        let mut row = || [0, 1, 2].map(|i| at[i] + scale[i] * normal());
        (0..n).flat_map(|_| row()).collect()
    }

    /// One component a class, which is known as given.
    fn known(components: &[Component]) -> Mixture {
        let rng = &mut seeded(0);
        Mixture {
            centres: Centres::around(&[], 1, D, rng),
            known: components.to_vec(),
            dim: D,
            moments: Moments::labelled(components.len(), D, Component::BALL),
        }
    }

    /// A component that was taken for another place and shape is found where it is, from local sums; far rows count as far as
    /// the radius. Fixed seed.
    #[test]
    fn a_component_is_found_where_its_rows_are() {
        let rng = &mut seeded(1);
        let component = Component::of(&draw(4000, [0.1, 0.0, 0.0], [0.2; 3], rng), D);
        let rows = draw(20_000, [0.15, 0.0, -0.05], [0.1, 0.15, 0.05], rng);
        let mixture = known(&[component.clone(), component]);
        let measured = mixture.measure(&[rows, Vec::new()]).unwrap();
        let (found, sizes) = mixture
            .read(&NoisyVector::without_privacy(measured))
            .unwrap();
        assert_eq!(sizes, [20_000.0, 0.0]);
        assert_eq!(found.present(), [0]);
        let (mean, factor) = found.gaussian(0).unwrap();
        for (found, truth) in mean.iter().zip([0.15, 0.0, -0.05]) {
            assert!((found - truth).abs() < 0.005, "{found} {truth}");
        }
        let factor = DMatrix::from_column_slice(D, D, factor);
        let covariance = &factor * factor.transpose();
        for (i, truth) in [0.1, 0.15, 0.05_f64].into_iter().enumerate() {
            let deviation = covariance[(i, i)].sqrt();
            assert!((deviation / truth - 1.0).abs() < 0.05, "{deviation}");
        }
        assert!(mixture.measure(&[Vec::new()]).is_err());
    }

    /// Components with one row or none have a place and a size.
    #[test]
    fn what_is_known_of_few_rows_is_finite() {
        for rows in [&[][..], &[0.5, 0.5, 0.0]] {
            let mixture = known(&[Component::of(rows, D)]);
            let measured = mixture.measure(&[vec![0.5, 0.6, 0.0]]).unwrap();
            let mut noisy = NoisyVector::without_privacy(measured);
            noisy.deviation = 0.5;
            let (found, _) = mixture.read(&noisy).unwrap();
            let rows = found.sample(0, 5, &mut seeded(2));
            assert!(rows.iter().all(|x| x.is_finite()));
        }
    }
}
