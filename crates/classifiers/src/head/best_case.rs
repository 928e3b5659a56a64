//! What noise leaves of a head.

use nalgebra::DVector;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::ClassifierError;

use super::{HeadConfig, examples, largest, softmax};

/// Logits of steps that are simulated, about: of more classes and steps fewer records.
const LOGITS: usize = 1 << 22;
/// The minimum and maximum number of records that are simulated.
const ROWS: [usize; 2] = [64, 8192];
/// The share of the way from chance to certainty that noise must leave, at least.
const TOLD: f64 = 0.1;

impl HeadConfig {
    /// Simulates the accuracy of a head whose classes are as easy to tell as classes get, and refuses a number of classes of which noise leaves
    /// nothing. It looks at no record.
    ///
    /// The rows of a class are all the same, have norm 1, and are orthogonal to those of others, and all classes have equally many: what is
    /// left to err is the noise. If some classes are rare or absent, the noise leaves more of the others.
    ///
    /// - `count`: the number of records, or of units.
    /// - `noise_multiplier`: that of each step, as [`CheckedPlan::noise_multiplier`](dp_core::plan::CheckedPlan::noise_multiplier)
    ///   has it; 0 without privacy.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if that accuracy is less than a tenth of the way from chance to 1, and for fewer than two classes.
    pub fn check_classes(
        self,
        classes: usize,
        count: usize,
        noise_multiplier: f64,
        rng: &mut impl Rng,
    ) -> Result<f64, ClassifierError> {
        examples::check_classes(classes)?;
        let chance = 1.0 / classes as f64;
        let most = self.best_case_accuracy(classes, count, noise_multiplier, rng);
        let most = most.max(chance);
        if most - chance >= TOLD * (1.0 - chance) {
            return Ok(most);
        }
        let what = if self.most_per_unit > 1 {
            "units"
        } else {
            "records"
        };
        let bound = format!(
            "fewer, or more records or a larger epsilon: of {count} {what}, equally many of each, noise leaves an accuracy of {most:.3} at \
             most, where chance has {chance:.3}"
        );
        Err(ClassifierError::range(
            "the number of classes",
            classes as f64,
            bound,
        ))
    }

    fn best_case_accuracy(
        self,
        classes: usize,
        count: usize,
        noise_multiplier: f64,
        rng: &mut impl Rng,
    ) -> f64 {
        let each = count as f64 * self.most_per_unit as f64 / classes as f64;
        let deviation = 2.0 * self.max_grad_norm * self.most_per_unit as f64 * noise_multiplier;
        let rows = LOGITS / classes.saturating_mul(self.steps as usize).max(1);
        let rows = rows.clamp(ROWS[0], ROWS[1]);
        // The weights along the row of a class see no other class: each row has a descent of its own.
        let right = (0..rows).filter(|_| {
            let [mut weights, mut velocity, mut sum] = [(); 3].map(|()| DVector::zeros(classes));
            for step in 1..=self.steps {
                let mut pull: DVector<f64> = weights.clone();
                softmax(&mut pull.column_mut(0));
                pull[0] -= 1.0;
                let norm = pull.norm();
                pull *= each * (self.max_grad_norm / norm.max(self.max_grad_norm));
                pull.apply(|x| {
                    let noise: f64 = StandardNormal.sample(rng);
                    *x += deviation * noise;
                });
                let (moved, velocity) = (weights.as_mut_slice(), velocity.as_mut_slice());
                self.descend(moved, velocity, pull.as_slice(), count as f64);
                if step > self.steps / 2 {
                    sum += &weights;
                }
            }
            // The first of several equal ones is not the right one by that alone.
            sum[0] > 0.0 && largest(sum.as_slice()) == 0
        });
        right.count() as f64 / rows as f64
    }
}
