//! Adam on a flat vector of weights.

/// The decay of the mean of gradients.
const BETA1: f32 = 0.9;
/// The decay of the mean of squared gradients.
const BETA2: f32 = 0.999;
/// Keeps the division defined.
const EPSILON: f32 = 1e-8;

/// The state of Adam (Kingma and Ba, 2015, algorithm 1) with the usual constants.
#[derive(Debug, Clone)]
pub(crate) struct Adam {
    steps: i32,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Adam {
    /// The state before the first step, for `weights` scalars.
    pub(crate) fn new(weights: usize) -> Self {
        Self {
            steps: 0,
            first: vec![0.0; weights],
            second: vec![0.0; weights],
        }
    }

    /// `w <- w - rate m' / (sqrt(v') + 1e-8)`, with the bias of the start removed from `m`, `v`.
    pub(crate) fn step(&mut self, weights: &mut [f32], gradient: &[f32], rate: f32) {
        self.steps = self.steps.saturating_add(1);
        let first_scale = 1.0 / (1.0 - BETA1.powi(self.steps));
        let second_scale = 1.0 / (1.0 - BETA2.powi(self.steps));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((w, &g), (m, v)) in weights.iter_mut().zip(gradient).zip(moments) {
            *m = BETA1 * *m + (1.0 - BETA1) * g;
            *v = BETA2 * *v + (1.0 - BETA2) * g * g;
            *w -= rate * (*m * first_scale) / ((*v * second_scale).sqrt() + EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_is_the_rate_against_the_sign() {
        let mut weights = [1.0, 1.0, 1.0];
        Adam::new(3).step(&mut weights, &[0.5, -200.0, 0.0], 0.1);
        for (w, expected) in weights.iter().zip([0.9, 1.1, 1.0]) {
            assert!((w - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn two_steps_by_hand() {
        // m = 0.1, then 0.09 + 0.2; v = 0.001, then 0.000999 + 0.004.
        let mut weights = [0.0];
        let mut adam = Adam::new(1);
        adam.step(&mut weights, &[1.0], 0.1);
        adam.step(&mut weights, &[2.0], 0.1);
        let second = 0.1 * (0.29 / 0.19) / (0.004999_f32 / 0.001999).sqrt();
        assert!((weights[0] + 0.1 + second).abs() < 1e-5);
    }
}
