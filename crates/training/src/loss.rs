//! The loss of each record.

use std::borrow::Cow;
use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor, TensorData};
use dp_core::per_sample::check_norm;

use crate::TrainingError;
use crate::adaptive::Adaptive;
use crate::batch::{HostTargets, Targets};
use crate::error::{positive, same, weight};

/// The distance that the cross-entropy keeps probabilities away from 0 and 1.
const EDGE: f32 = 1e-6;

type Closure = dyn Fn(Tensor<2>, Targets) -> Tensor<1> + Send + Sync;

/// A loss of each record, `l(output_i, target_i)`; its mean over records is minimised.
///
/// Each record's gradient of the loss, with respect to all parameters, is clipped to norm `C` ([`Loss::max_grad_norm`]). The mean
/// gradient then moves by at most `2C/n` when one record is replaced.
///
/// ```
/// use private_training::Loss;
/// let own = Loss::new(|outputs, targets| (outputs - targets).abs().sum_dim(1).squeeze_dim(1));
/// let terms = [Loss::cross_entropy().max_grad_norm(1.0), own.weight(0.1).max_grad_norm(0.5)];
/// ```
#[derive(Clone)]
pub struct Loss {
    kind: Kind,
    pub(crate) weight: f64,
    pub(crate) max_grad_norm: f64,
    pub(crate) strata: Option<Vec<usize>>,
    pub(crate) adaptive: Option<Adaptive>,
}

#[derive(Clone)]
enum Kind {
    CrossEntropy,
    Bernoulli,
    BernoulliLogits,
    Squared,
    /// The closure, and whether its targets are class numbers.
    Own(Arc<Closure>, bool),
}

impl std::fmt::Debug for Loss {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Loss")
            .field("kind", &self.name())
            .field("weight", &self.weight)
            .field("max_grad_norm", &self.max_grad_norm)
            .field("strata", &self.strata)
            .field("adaptive", &self.adaptive)
            .finish()
    }
}

impl Loss {
    fn of(kind: Kind) -> Self {
        Self {
            kind,
            weight: 1.0,
            max_grad_norm: 1.0,
            strata: None,
            adaptive: None,
        }
    }

    /// Creates the cross-entropy `-ln softmax(outputs)_y` of logits `[n, classes]` and class numbers `y`.
    pub fn cross_entropy() -> Self {
        Self::of(Kind::CrossEntropy)
    }

    /// Creates the binary cross-entropy `sum_j -y_j ln p_j - (1 - y_j) ln(1 - p_j)` of probabilities `p` and values `y`,
    /// `[n, t]`, or of one probability and one of two class numbers; `p` is kept 1e-6 away from 0 and 1.
    pub fn binary_cross_entropy() -> Self {
        Self::of(Kind::Bernoulli)
    }

    /// Creates [`Loss::binary_cross_entropy`] for outputs that are the logits of the probabilities.
    pub fn binary_cross_entropy_with_logits() -> Self {
        Self::of(Kind::BernoulliLogits)
    }

    /// Creates the squared error `|output - target|^2`, summed over the outputs of a record.
    pub fn squared_error() -> Self {
        Self::of(Kind::Squared)
    }

    /// Creates your own loss from burn operations with autodiff: outputs `[n, outputs]` and values `[n, t]` give one loss a
    /// record, `[n]`.
    ///
    /// It is called with one record at a time, `n = 1`, on every engine, so it cannot mix records.
    pub fn new(values: impl Fn(Tensor<2>, Tensor<2>) -> Tensor<1> + Send + Sync + 'static) -> Self {
        let of = move |outputs, targets: Targets| values(outputs, targets.values());
        Self::of(Kind::Own(Arc::new(of), false))
    }

    /// Creates your own loss as [`Loss::new`] does, but for class numbers, `[n]`.
    pub fn of_classes(
        values: impl Fn(Tensor<2>, Tensor<1, Int>) -> Tensor<1> + Send + Sync + 'static,
    ) -> Self {
        let of = move |outputs, targets: Targets| values(outputs, targets.classes().squeeze_dim(1));
        Self::of(Kind::Own(Arc::new(of), true))
    }

    /// Sets the weight of this loss in the objective, 1 by default.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Sets the norm `C` to which each record's gradient of this loss is clipped, before the loss's weight; 1 by default. It lies
    /// in [`dp_core::per_sample::NORMS`].
    #[must_use]
    pub fn max_grad_norm(mut self, norm: f64) -> Self {
        self.max_grad_norm = norm;
        self
    }

    /// Makes the clipping norm `C` follow a quantile of the norms of the records' gradients, in a private [`crate::Training`].
    ///
    /// Each step multiplies `C` by `exp(-rate (b - quantile))` for a `quantile` in (0, 1), where a noisy count estimates the
    /// share `b` of records of norm at most `C`, cut to [0, 1]. `C` starts at [`Loss::max_grad_norm`] and stays between 1e-9 and
    /// 1e9. The published rate is 0.2 (Andrew, Thakkar, McMahan and Ramaswamy 2021, arXiv 1905.03871).
    ///
    /// Each step is still one Gaussian release with the plan's noise multiplier `z`: of the gradient, which moves by at most `S`,
    /// together with `0.1 S c / D`. The count `c` adds +1/2 for a record within `C`, -1/2 for one beyond it and 0 for one that
    /// adds nothing. It moves by `D`: 1 if a record is replaced, 1/2 if one is blanked, added or removed. Both together move by
    /// at most `sqrt(1 + 0.1^2) S`, the sensitivity in the ledger: the gradient has 0.5 % more noise, and the count has noise
    /// `10.05 z D`. With the multipliers `z_g = sqrt(1.01) z` and `z_c = z_g / 0.1` of the parts, `z = (z_g^-2 + z_c^-2)^(-1/2)`:
    /// theorem 1 of the source, in which `D = 1/2` makes `z_c` twice the deviation of the count. The norms are public: each is
    /// computed from released values and the norm before it.
    ///
    /// ```
    /// use private_training::Loss;
    /// let median = Loss::cross_entropy().max_grad_norm(1.0).adaptive_clipping(0.5, 0.2);
    /// ```
    #[must_use]
    pub fn adaptive_clipping(mut self, quantile: f64, rate: f64) -> Self {
        self.adaptive = Some(Adaptive { quantile, rate });
        self
    }

    /// Takes the mean over the records of these strata alone, given by their index in the sampler; over all strata by default.
    #[must_use]
    pub fn only_strata(mut self, strata: &[usize]) -> Self {
        self.strata = Some(strata.to_vec());
        self
    }

    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            Kind::CrossEntropy => "cross-entropy",
            Kind::Bernoulli => "binary cross-entropy",
            Kind::BernoulliLogits => "binary cross-entropy with logits",
            Kind::Squared => "squared error",
            Kind::Own(..) => "a loss of one's own",
        }
    }

    pub(crate) fn check(&self) -> Result<(), TrainingError> {
        weight("the weight of a loss", self.weight)?;
        check_norm("the clipping norm C of a loss", self.max_grad_norm)?;
        let Some(adaptive) = self.adaptive else {
            return Ok(());
        };
        positive("the rate of a clipping norm", adaptive.rate)?;
        if adaptive.quantile > 0.0 && adaptive.quantile < 1.0 {
            return Ok(());
        }
        Err(TrainingError::OutOfRange {
            name: "the quantile that a clipping norm follows",
            value: adaptive.quantile,
            bound: "above 0 and below 1".into(),
        })
    }

    pub(crate) fn check_strata(&self, strata: usize) -> Result<(), TrainingError> {
        let named = self.strata.as_deref();
        match named.and_then(|named| named.iter().find(|&&stratum| stratum >= strata)) {
            None => Ok(()),
            Some(&stratum) => Err(TrainingError::OutOfRange {
                name: "the stratum of a loss",
                value: stratum as f64,
                bound: format!("below the number of strata, {strata}"),
            }),
        }
    }

    /// Whether the loss covers the records of a stratum.
    pub(crate) fn covers(&self, stratum: usize) -> bool {
        self.strata
            .as_ref()
            .is_none_or(|own| own.contains(&stratum))
    }

    /// Refuses targets that do not fit the outputs.
    pub(crate) fn check_targets(
        &self,
        outputs: usize,
        targets: &Targets,
    ) -> Result<(), TrainingError> {
        let refuse = |expected| {
            let loss = self.name();
            Err(TrainingError::Targets { loss, expected })
        };
        let below = |count: usize, classes: &Tensor<1, Int>| {
            let labels = classes.clone().into_data();
            let known = 0..count as i64;
            match labels.iter::<i64>().all(|label| known.contains(&label)) {
                true => Ok(()),
                false => Err(TrainingError::Label { classes: count }),
            }
        };
        match (&self.kind, targets) {
            (Kind::CrossEntropy, Targets::Classes(classes)) => below(outputs, classes),
            (Kind::Bernoulli | Kind::BernoulliLogits, Targets::Classes(classes)) => {
                same("outputs for one of two classes", 1, outputs)?;
                below(2, classes)
            }
            (Kind::Own(_, true), Targets::Classes(_)) => Ok(()),
            (Kind::CrossEntropy | Kind::Own(_, true), Targets::Values(_)) => {
                refuse("class numbers, integers `[n]`")
            }
            (Kind::Squared | Kind::Own(_, false), Targets::Classes(_)) => {
                refuse("values, floats `[n, t]`")
            }
            (Kind::Own(_, false), Targets::Values(_)) => Ok(()),
            (_, Targets::Values(values)) => same("targets of a record", outputs, values.dims()[1]),
        }
    }

    /// The loss of each record, `[n]`, for autodiff.
    pub(crate) fn values(&self, outputs: Tensor<2>, targets: &Targets) -> Tensor<1> {
        let n = outputs.dims()[0];
        match &self.kind {
            Kind::CrossEntropy => {
                let labels = targets.classes();
                let ln = burn::tensor::activation::log_softmax(outputs, 1);
                ln.gather(1, labels).neg().reshape([n])
            }
            Kind::Bernoulli => {
                let targets = targets.values();
                let kept = outputs.clamp(EDGE, 1.0 - EDGE);
                let rest = kept.clone().neg() + 1.0;
                let other = targets.clone().neg() + 1.0;
                (targets * kept.log() + other * rest.log())
                    .sum_dim(1)
                    .neg()
                    .reshape([n])
            }
            Kind::BernoulliLogits => logit_cross_entropy(outputs, targets.values())
                .sum_dim(1)
                .reshape([n]),
            Kind::Squared => (outputs - targets.values())
                .square()
                .sum_dim(1)
                .reshape([n]),
            Kind::Own(values, _) => {
                let row = |i| values(outputs.clone().narrow(0, i, 1), targets.narrow(i, 1));
                let each = (0..n).map(|i| row(i).reshape([1]));
                Tensor::cat(each.collect(), 0)
            }
        }
    }

    /// The cotangents at `outputs`, `[n, outputs]`, without any weight, and the losses, `[n]`.
    pub(crate) fn cotangents(
        &self,
        outputs: Tensor<2>,
        targets: &Targets,
    ) -> (Tensor<2>, Tensor<1>) {
        let [n, width] = outputs.dims();
        match &self.kind {
            Kind::CrossEntropy => {
                let labels = targets.classes();
                let ln = burn::tensor::activation::log_softmax(outputs, 1);
                let values = ln.clone().gather(1, labels.clone()).neg().reshape([n]);
                let classes = Tensor::<1, Int>::arange(0..width as i64, &ln.device());
                let classes = classes.unsqueeze::<2>().expand([n, width]);
                let hot = classes.equal(labels.expand([n, width])).float();
                (ln.exp() - hot, values)
            }
            Kind::Bernoulli => {
                let targets = targets.values();
                let kept = outputs.clamp(EDGE, 1.0 - EDGE);
                let rest = kept.clone().neg() + 1.0;
                let other = targets.clone().neg() + 1.0;
                let ln = targets.clone() * kept.clone().log() + other * rest.clone().log();
                let delta = (kept.clone() - targets) / (kept * rest);
                (delta, ln.sum_dim(1).neg().reshape([n]))
            }
            Kind::BernoulliLogits => {
                let targets = targets.values();
                let delta = burn::tensor::activation::sigmoid(outputs.clone()) - targets.clone();
                let values = logit_cross_entropy(outputs, targets);
                (delta, values.sum_dim(1).reshape([n]))
            }
            Kind::Squared => {
                let difference = outputs - targets.values();
                let values = difference.clone().square().sum_dim(1).reshape([n]);
                (difference * 2.0, values)
            }
            Kind::Own(..) => {
                let device = outputs.device();
                let tracked = outputs.autodiff().require_grad();
                let values = self.values(tracked.clone(), &targets.autodiff());
                let mut gradients = values.clone().sum().backward();
                let delta = tracked.grad_remove(&mut gradients);
                let delta = delta.unwrap_or_else(|| Tensor::zeros([n, width], &device));
                (delta, values.inner())
            }
        }
    }

    /// Returns the cotangents at `outputs`, `[n, outputs]` in rows without any weight, and the loss of each record, on the host.
    ///
    /// # Panics
    /// Panics if the loss takes targets of the other kind.
    pub fn host_cotangents(
        &self,
        outputs: &[f32],
        targets: HostTargets<'_>,
        n: usize,
    ) -> (Vec<f32>, Vec<f64>) {
        let width = outputs.len() / n.max(1);
        let numbers: Cow<'_, [f32]> = match (&self.kind, targets) {
            // These are computed by tensors.
            (Kind::CrossEntropy | Kind::Own(..), _) => Cow::default(),
            (_, HostTargets::Classes(classes)) => classes.iter().map(|&y| y as f32).collect(),
            (_, HostTargets::Values(values)) => values.into(),
        };
        let t = numbers.len() / n.max(1);
        let rows = || outputs.chunks_exact(width).zip(numbers.chunks_exact(t));
        let mut delta = Vec::with_capacity(outputs.len());
        let mut values = Vec::with_capacity(n);
        match &self.kind {
            Kind::BernoulliLogits => {
                for (outputs, targets) in rows() {
                    values.push(host_logit_cross_entropy(outputs, targets, &mut delta));
                }
            }
            Kind::Bernoulli => {
                for (outputs, targets) in rows() {
                    let mut value = 0.0;
                    for (&o, &y) in outputs.iter().zip(targets) {
                        let p = o.clamp(EDGE, 1.0 - EDGE);
                        value -= f64::from(y * p.ln() + (1.0 - y) * (1.0 - p).ln());
                        delta.push((p - y) / (p * (1.0 - p)));
                    }
                    values.push(value);
                }
            }
            Kind::Squared => {
                for (outputs, targets) in rows() {
                    let mut value = 0.0;
                    for (&o, &y) in outputs.iter().zip(targets) {
                        value += f64::from(o - y).powi(2);
                        delta.push(2.0 * (o - y));
                    }
                    values.push(value);
                }
            }
            Kind::CrossEntropy | Kind::Own(..) => {
                let device = Device::flex();
                let outputs = TensorData::new(outputs.to_vec(), [n, width]);
                let outputs = Tensor::from_data(outputs, &device);
                let (cotangents, each) = self.cotangents(outputs, &targets.on(n, &device));
                delta = cotangents.into_data().iter::<f32>().collect();
                values = each.into_data().iter::<f64>().collect();
            }
        }
        (delta, values)
    }
}

/// `max(z, 0) - z y + ln(1 + exp(-|z|))` of each logit.
fn logit_cross_entropy(logits: Tensor<2>, targets: Tensor<2>) -> Tensor<2> {
    let soft = logits.clone().abs().neg().exp().log1p();
    logits.clone().clamp_min(0.0) - logits * targets + soft
}

/// [`logit_cross_entropy`] of one record; adds the cotangents `sigmoid(z) - y` to `delta`.
fn host_logit_cross_entropy(logits: &[f32], targets: &[f32], delta: &mut Vec<f32>) -> f64 {
    let mut loss = 0.0f64;
    // One logarithm of a product, at most 2^512, takes the place of 512 logarithms.
    for (logits, targets) in logits.chunks(512).zip(targets.chunks(512)) {
        let mut product = 1.0f64;
        for (&z, &y) in logits.iter().zip(targets) {
            let e = (-z.abs()).exp();
            loss += f64::from(z.max(0.0) - z * y);
            product *= 1.0 + f64::from(e);
            let sigmoid = if z >= 0.0 {
                1.0 / (1.0 + e)
            } else {
                e / (1.0 + e)
            };
            delta.push(sigmoid - y);
        }
        loss += product.ln();
    }
    loss
}
