//! The losses of the tasks.

use burn::tensor::Tensor;

/// How far a probability stays from 0 and 1 in the cross-entropy.
const EDGE: f32 = 1e-6;

/// What an output costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskLoss {
    /// The binary cross-entropy `-y ln p - (1 - y) ln(1 - p)` of probabilities `p`, summed over a
    /// record's targets; `p` is kept 1e-6 away from 0 and 1.
    Bernoulli,
    /// The squared distance `|o - y|^2`.
    Squared,
}

impl TaskLoss {
    /// The cotangents at `outputs`, record for record, and the summed loss.
    ///
    /// `outputs` and `targets`: `[n, width]`.
    pub fn cotangents(self, outputs: &[f32], targets: &[f32]) -> (Vec<f32>, f64) {
        let mut loss = 0.0;
        let delta = outputs
            .iter()
            .zip(targets)
            .map(|(&o, &y)| match self {
                Self::Bernoulli => {
                    let p = o.clamp(EDGE, 1.0 - EDGE);
                    loss -= f64::from(y * p.ln() + (1.0 - y) * (1.0 - p).ln());
                    (p - y) / (p * (1.0 - p))
                }
                Self::Squared => {
                    loss += f64::from(o - y).powi(2);
                    2.0 * (o - y)
                }
            })
            .collect();
        (delta, loss)
    }

    /// [`TaskLoss::cotangents`] on a device; the second answer has one element.
    pub(super) fn device_cotangents(
        self,
        outputs: Tensor<2>,
        targets: Tensor<2>,
    ) -> (Tensor<2>, Tensor<1>) {
        match self {
            Self::Bernoulli => {
                let kept = outputs.clamp(EDGE, 1.0 - EDGE);
                let rest = kept.clone().neg() + 1.0;
                let other = targets.clone().neg() + 1.0;
                let loss = targets.clone() * kept.clone().log() + other * rest.clone().log();
                let delta = (kept.clone() - targets) / (kept * rest);
                (delta, loss.sum().neg())
            }
            Self::Squared => {
                let difference = outputs - targets;
                (difference.clone() * 2.0, difference.square().sum())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cotangents_are_derivatives() {
        for loss in [TaskLoss::Bernoulli, TaskLoss::Squared] {
            for (o, y) in [(0.3, 1.0), (0.3, 0.0), (0.9, 1.0), (0.5, 0.25)] {
                let (delta, _) = loss.cotangents(&[o], &[y]);
                let at = |o: f32| loss.cotangents(&[o], &[y]).1;
                let slope = (at(o + 1e-3) - at(o - 1e-3)) / 2e-3;
                assert!((f64::from(delta[0]) - slope).abs() < 1e-2 * slope.abs().max(1.0));
            }
        }
    }

    #[test]
    fn certain_and_wrong_is_finite() {
        let (delta, loss) = TaskLoss::Bernoulli.cotangents(&[1.0, 0.0], &[0.0, 1.0]);
        assert!(loss.is_finite() && delta.iter().all(|d| d.is_finite()));
    }
}
