//! Private gradient descent of a head.

use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoisyVector, Releaser, SensitiveVector};
use dp_core::sampling::Sampler;

use super::gradient::clipped_sum;
use super::{Examples, Head};
use crate::ClassifierError;

/// How much of the last step goes into the next.
const MOMENTUM: f64 = 0.9;

/// The settings of a head's training: gradient descent over all records, with momentum 0.9. The head is the average of the weights
/// after the second half of the steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeadConfig {
    /// The norm to which each record's gradient is clipped. That of a row `x` is `|x| |p - y|`, at most `sqrt 2 |x|`.
    pub max_grad_norm: f64,
    /// The learning rate.
    pub rate: f64,
    /// The number of steps.
    pub steps: u64,
    /// The maximum number of records of a unit, if records come and go in units; 1 otherwise.
    pub most_per_unit: usize,
}

impl HeadConfig {
    /// Returns settings for a number of records, or of units, and an epsilon, which are all public: clipping norm 1/4, rate 100, and
    /// `15 (n epsilon / 6000)^0.7` steps, between 4 and 200; without privacy 200.
    ///
    /// All steps over all records cost what one Gaussian release costs, however many there are: few steps have little noise each,
    /// many come nearer to the optimum. The rule was set by the test images of MNIST, Fashion-MNIST and CIFAR-10, with 600 to 60 000
    /// records.
    pub fn suited(records: usize, epsilon: Option<f64>) -> Self {
        let steps = epsilon.map_or(f64::INFINITY, |epsilon| {
            15.0 * (records as f64 * epsilon / 6000.0).powf(0.7)
        });
        Self {
            max_grad_norm: 0.25,
            rate: 100.0,
            steps: steps.clamp(4.0, 200.0) as u64,
            most_per_unit: 1,
        }
    }

    /// Learns from private rows. The sampler of the releaser's plan must be that of all records, or of all units
    /// ([`Sampler::all`]): then its steps are one Gaussian release together.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for a setting out of its range, or for more rows than the records, or units, of the plan
    /// have; [`ClassifierError::Sampler`] for another sampler; [`ClassifierError::Privacy`] if the releaser refuses, or the
    /// ledger cannot be written.
    pub fn fit(
        self,
        examples: &Examples,
        releaser: &mut Releaser,
        ledger: &mut Ledger,
    ) -> Result<Head, ClassifierError> {
        let mut descent = Descent::new(self, examples.width(), examples.classes())?;
        // The ledger has the event of the plan's sampler, and each step is of all rows: they must be the same.
        let sampler = releaser.plan().sampler();
        let count = sampler.records().unwrap_or_default();
        if Sampler::all(count).ok().as_ref() != Some(sampler) {
            return Err(ClassifierError::Sampler);
        }
        for _ in 0..self.steps {
            let draw = releaser.draw()?;
            let sum = descent.measure(examples, count)?;
            let released = releaser.release_step(&sum, &draw.sizes(), &draw, ledger)?;
            descent.update(&released, count);
        }
        Ok(descent.head())
    }

    /// Learns as [`HeadConfig::fit`] does, **without privacy**: what a private head reaches at most.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for a setting out of its range.
    pub fn fit_without_privacy(self, examples: &Examples) -> Result<Head, ClassifierError> {
        let mut descent = Descent::new(self, examples.width(), examples.classes())?;
        for _ in 0..self.steps {
            let sum = NoisyVector::without_privacy(descent.measure(examples, examples.count())?);
            descent.update(&sum, examples.count());
        }
        Ok(descent.head())
    }
}

/// A head that learns, a step at a time: a function of what was released alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Descent {
    config: HeadConfig,
    classes: usize,
    step: u64,
    weights: Vec<f64>,
    velocity: Vec<f64>,
    /// The sum of the weights after the steps of the second half.
    sum: Vec<f64>,
}

impl Descent {
    /// Starts at a head of zeros.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for a setting out of its range.
    pub fn new(config: HeadConfig, width: usize, classes: usize) -> Result<Self, ClassifierError> {
        super::examples::check_classes(classes)?;
        for (name, value) in [
            ("the clipping norm", config.max_grad_norm),
            ("the learning rate", config.rate),
            ("the number of steps", config.steps as f64),
            ("the records of a unit", config.most_per_unit as f64),
            ("the width of a row", width as f64),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(ClassifierError::range(name, value, "positive and finite"));
            }
        }
        let zeros = vec![0.0; width * classes];
        Ok(Self {
            config,
            classes,
            step: 0,
            weights: zeros.clone(),
            velocity: zeros.clone(),
            sum: zeros,
        })
    }

    /// Goes on from [`Descent::values`] after `step` steps.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if they are not of this width and these classes.
    pub fn resumed(mut self, step: u64, values: [Vec<f64>; 3]) -> Result<Self, ClassifierError> {
        let length = self.weights.len();
        if let Some(other) = values.iter().find(|values| values.len() != length) {
            let (name, bound) = ("the number of weights", format!("{length}"));
            return Err(ClassifierError::range(name, other.len() as f64, bound));
        }
        self.step = step;
        [self.weights, self.velocity, self.sum] = values;
        Ok(self)
    }

    /// Returns the weights, the velocity, and the sum of weights after the steps of the second half: all that the next step
    /// depends on.
    pub fn values(&self) -> [&[f64]; 3] {
        [&self.weights, &self.velocity, &self.sum]
    }

    /// Returns the number of steps made.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Returns the sum of the examples' gradients, each clipped, with its sensitivity: to a record replaced with its label, or to all
    /// records of a unit.
    ///
    /// - `count`: the number of records, or of units, which is public.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for rows of another width or classes, and for more rows than so many units have.
    pub fn measure(
        &self,
        examples: &Examples,
        count: usize,
    ) -> Result<SensitiveVector, ClassifierError> {
        let HeadConfig {
            max_grad_norm,
            most_per_unit,
            ..
        } = self.config;
        let (weights, found) = (self.weights.len(), examples.width() * examples.classes());
        if weights != found || examples.classes() != self.classes {
            let (name, bound) = ("the number of weights of the rows", format!("{weights}"));
            return Err(ClassifierError::range(name, found as f64, bound));
        }
        if examples.count() > count.saturating_mul(most_per_unit) {
            // How many rows there are may be private.
            let bound =
                "that of all records, or of all units, each with no more rows than was said";
            let name = "the number of records or units";
            return Err(ClassifierError::range(name, count as f64, bound));
        }
        Ok(clipped_sum(
            examples,
            &self.weights,
            max_grad_norm,
            most_per_unit,
            count,
        ))
    }

    /// Goes a step along a released sum of gradients.
    ///
    /// - `count`: the number of records, or of units, which is public.
    pub fn update(&mut self, released: &NoisyVector, count: usize) {
        let rate = self.config.rate / count as f64;
        self.step += 1;
        let averaged = self.step > self.config.steps / 2;
        let each = self.weights.iter_mut().zip(&mut self.velocity);
        for (((weight, velocity), sum), gradient) in each.zip(&mut self.sum).zip(&released.values) {
            *velocity = MOMENTUM * *velocity + gradient;
            *weight -= rate * *velocity;
            if averaged {
                *sum += *weight;
            }
        }
    }

    /// Returns the average of the weights after the steps of the second half.
    pub fn head(&self) -> Head {
        let taken = self.step.saturating_sub(self.config.steps / 2).max(1);
        Head {
            width: self.weights.len() / self.classes,
            weights: self.sum.iter().map(|sum| sum / taken as f64).collect(),
        }
    }
}
