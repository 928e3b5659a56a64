//! Private gradient descent of a head.

use dp_core::ledger::Ledger;
use dp_core::mechanism::{NoisyVector, Releaser, SensitiveVector};
use dp_core::sampling::Sampler;

use super::examples::{ValueLoss, check_outputs};
use super::gradient::clipped_sum;
use super::{ClassWeights, Examples, Head};
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
        Self {
            max_grad_norm: 0.25,
            rate: 100.0,
            steps: steps(records, epsilon, 15.0),
            most_per_unit: 1,
        }
    }

    /// Returns settings for a head of values between -1 and 1: four times the steps of [`HeadConfig::suited`], up to 200; with clipping
    /// norm 1/2 and rate 1 for the squared loss, and with 1 and 0.4 for the absolute one.
    ///
    /// The rule was set by test records of scikit-learn's `diabetes`, of `randhie` and of random embeddings, 350 to 16 000 records.
    pub fn suited_to_values(records: usize, epsilon: Option<f64>, loss: ValueLoss) -> Self {
        let (max_grad_norm, rate) = match loss {
            ValueLoss::Squared => (0.5, 1.0),
            ValueLoss::Absolute => (1.0, 0.4),
        };
        Self {
            max_grad_norm,
            rate,
            steps: steps(records, epsilon, 60.0),
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
        let mut descent = Descent::new(self, examples.width(), examples.outputs())?;
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

    /// Goes a step along a sum of `count` gradients.
    pub(super) fn descend(
        self,
        weights: &mut [f64],
        velocity: &mut [f64],
        gradient: &[f64],
        count: f64,
    ) {
        let rate = self.rate / count;
        for ((weight, velocity), gradient) in weights.iter_mut().zip(velocity).zip(gradient) {
            *velocity = MOMENTUM * *velocity + gradient;
            *weight -= rate * *velocity;
        }
    }

    /// Learns as [`HeadConfig::fit`] does, **without privacy**: what a private head reaches at most.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for a setting out of its range.
    pub fn fit_without_privacy(self, examples: &Examples) -> Result<Head, ClassifierError> {
        let mut descent = Descent::new(self, examples.width(), examples.outputs())?;
        for _ in 0..self.steps {
            let sum = NoisyVector::without_privacy(descent.measure(examples, examples.count())?);
            descent.update(&sum, examples.count());
        }
        Ok(descent.head())
    }
}

/// `times (n epsilon / 6000)^0.7`, between 4 and 200.
fn steps(records: usize, epsilon: Option<f64>, times: f64) -> u64 {
    let steps = epsilon.map_or(f64::INFINITY, |epsilon| {
        times * (records as f64 * epsilon / 6000.0).powf(0.7)
    });
    steps.clamp(4.0, 200.0) as u64
}

/// A head that learns, a step at a time: a function of what was released alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Descent {
    config: HeadConfig,
    outputs: usize,
    balance: Option<ClassWeights>,
    step: u64,
    weights: Vec<f64>,
    velocity: Vec<f64>,
    /// The sum of the weights after the steps of the second half.
    sum: Vec<f64>,
}

impl Descent {
    /// Starts at a head of zeros.
    ///
    /// - `outputs`: the number of classes; 1 of a head of values.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for a setting out of its range.
    pub fn new(config: HeadConfig, width: usize, outputs: usize) -> Result<Self, ClassifierError> {
        check_outputs(outputs)?;
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
        let zeros = vec![0.0; width * outputs];
        Ok(Self {
            config,
            outputs,
            balance: None,
            step: 0,
            weights: zeros.clone(),
            velocity: zeros.clone(),
            sum: zeros,
        })
    }

    /// Lets each class count as these weights have it.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if they are of another number of classes.
    pub fn balanced(mut self, balance: ClassWeights) -> Result<Self, ClassifierError> {
        let (found, outputs) = (balance.weights().len(), self.outputs);
        if found != outputs {
            let name = "the number of class weights";
            return Err(ClassifierError::range(
                name,
                found as f64,
                format!("{outputs}"),
            ));
        }
        self.balance = Some(balance);
        Ok(self)
    }

    /// Goes on from [`Descent::values`] after `step` steps.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if they are not of this width and these outputs.
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
        let (weights, found) = (self.weights.len(), examples.width() * examples.outputs());
        if weights != found || examples.outputs() != self.outputs {
            let (name, bound) = ("the number of weights of the rows", format!("{weights}"));
            return Err(ClassifierError::range(name, found as f64, bound));
        }
        if examples.count() > count.saturating_mul(self.config.most_per_unit) {
            // How many rows there are may be private.
            let bound =
                "that of all records, or of all units, each with no more rows than was said";
            let name = "the number of records or units";
            return Err(ClassifierError::range(name, count as f64, bound));
        }
        Ok(clipped_sum(
            examples,
            &self.weights,
            self.config,
            self.balance.as_ref(),
            count,
        ))
    }

    /// Goes a step along a released sum of gradients.
    ///
    /// - `count`: the number of records, or of units, which is public.
    pub fn update(&mut self, released: &NoisyVector, count: usize) {
        let count = count as f64 * self.balance.as_ref().map_or(1.0, ClassWeights::mean);
        self.step += 1;
        let (weights, velocity) = (&mut self.weights, &mut self.velocity);
        self.config
            .descend(weights, velocity, &released.values, count);
        if self.step > self.config.steps / 2 {
            let each = self.sum.iter_mut().zip(&self.weights);
            each.for_each(|(sum, weight)| *sum += weight);
        }
    }

    /// Returns the average of the weights after the steps of the second half.
    pub fn head(&self) -> Head {
        let taken = self.step.saturating_sub(self.config.steps / 2).max(1);
        Head {
            width: self.weights.len() / self.outputs,
            weights: self.sum.iter().map(|sum| sum / taken as f64).collect(),
        }
    }
}
