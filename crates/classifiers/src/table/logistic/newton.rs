//! The minimum of the logistic loss, by Newton's method with conjugate gradients (Nocedal and Wright 2006,
//! algorithm 7.1).

use super::super::features::smoothed_log_odds;
use super::design::Design;

/// The penalty on the squared weights other than the intercept.
const L2: f64 = 1.0;
/// The largest slope per record at which the minimum counts as reached.
const TOLERANCE: f64 = 1e-6;
/// The residual of a Newton equation at which its solution is good enough, as a share of its right side.
const RESIDUAL: f64 = 0.1;
/// Bounds on the iterations that no table should reach.
const STEPS: usize = 50;
const CONJUGATE_STEPS: usize = 200;

/// Returns the weights of the least loss, `[P]`, intercept first.
pub(super) fn fit(design: &Design<'_>, positive: &[bool]) -> Vec<f64> {
    let mut weights = vec![0.0; design.inputs()];
    if !positive.contains(&true) || !positive.contains(&false) {
        // All records are of one class, and the best intercept is infinite.
        weights[0] = smoothed_log_odds(positive);
        return weights;
    }
    let mut scores = vec![0.0; design.records()];
    let mut loss = objective(&weights, &scores, positive);
    for _ in 0..STEPS {
        let gradient = gradient(design, &weights, &scores, positive);
        let slope = gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
        if slope <= TOLERANCE * design.records() as f64 {
            break;
        }
        let direction = newton_direction(design, &scores, &gradient);
        let along = design.scores(&direction);
        let expected = dot(&gradient, &direction);
        let mut length = 1.0;
        let next = loop {
            let next = add(&weights, length, &direction);
            let there = add(&scores, length, &along);
            let reached = objective(&next, &there, positive);
            if reached <= loss + 1e-4 * length * expected {
                break Some((next, there, reached));
            }
            length /= 2.0;
            if length < 1e-10 {
                break None;
            }
        };
        // If no step decreases the loss, it is flat to the last digit.
        let Some(next) = next else { break };
        (weights, scores, loss) = next;
    }
    weights
}

fn objective(weights: &[f64], scores: &[f64], positive: &[bool]) -> f64 {
    let losses = scores.iter().zip(positive).map(|(&score, &positive)| {
        let against = if positive { -score } else { score };
        against.max(0.0) + (-against.abs()).exp().ln_1p()
    });
    losses.sum::<f64>() + L2 / 2.0 * dot(&weights[1..], &weights[1..])
}

fn chance(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

fn gradient(design: &Design<'_>, weights: &[f64], scores: &[f64], positive: &[bool]) -> Vec<f64> {
    let errors: Vec<f64> = scores
        .iter()
        .zip(positive)
        .map(|(&score, &positive)| chance(score) - f64::from(u8::from(positive)))
        .collect();
    penalised(design.transposed(&errors), weights)
}

/// Returns `out + L2 w`; the intercept is not penalised.
fn penalised(mut out: Vec<f64>, weights: &[f64]) -> Vec<f64> {
    let both = out.iter_mut().zip(weights).skip(1);
    both.for_each(|(out, weight)| *out += L2 * weight);
    out
}

/// Solves `H d = -g` by conjugate gradients, with the diagonal of `H` as preconditioner.
fn newton_direction(design: &Design<'_>, scores: &[f64], gradient: &[f64]) -> Vec<f64> {
    let curvatures: Vec<f64> = scores
        .iter()
        .map(|&score| {
            let p = chance(score);
            (p * (1.0 - p)).max(f64::MIN_POSITIVE)
        })
        .collect();
    let ones = vec![1.0; gradient.len()];
    let diagonal = penalised(design.squares_transposed(&curvatures), &ones);
    let times_hessian = |direction: &[f64]| {
        let mut inner = design.scores(direction);
        inner.iter_mut().zip(&curvatures).for_each(|(s, c)| *s *= c);
        penalised(design.transposed(&inner), direction)
    };
    let conditioned = |residual: &[f64]| -> Vec<f64> {
        residual.iter().zip(&diagonal).map(|(r, d)| r / d).collect()
    };
    let mut solution = vec![0.0; gradient.len()];
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut scaled = conditioned(&residual);
    let mut direction = scaled.clone();
    let mut size = dot(&residual, &scaled);
    let enough = RESIDUAL * RESIDUAL * size;
    for _ in 0..CONJUGATE_STEPS {
        let image = times_hessian(&direction);
        let length = size / dot(&direction, &image);
        solution = add(&solution, length, &direction);
        residual = add(&residual, -length, &image);
        scaled = conditioned(&residual);
        let next = dot(&residual, &scaled);
        if next <= enough {
            break;
        }
        direction = add(&scaled, next / size, &direction);
        size = next;
    }
    solution
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns `a + t b`.
fn add(a: &[f64], t: f64, b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + t * b).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::features::Features;
    use super::*;
    use crate::CodedRecords;

    /// 300 records of two columns and a label, from a recurrence.
    fn codes() -> Vec<u16> {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as u16
        };
        (0..300)
            .flat_map(|_| {
                let (a, b) = (next() % 4, next() % 3);
                [a, b, u16::from(next() % 8 < a + b)]
            })
            .collect()
    }

    #[test]
    fn no_weight_can_be_changed_for_the_better() {
        let codes = codes();
        let table = CodedRecords::new(&codes, &[4, 3, 2], &[4, 0, 0]).unwrap();
        let features = Features::of(&table, 2);
        let design = Design::of(&features);
        let positive: Vec<bool> = table.column(2).iter().map(|&l| l == 1).collect();
        let weights = fit(&design, &positive);
        let loss = |weights: &[f64]| objective(weights, &design.scores(weights), &positive);
        assert!(loss(&weights) < loss(&vec![0.0; weights.len()]) - 1.0);
        for at in 0..weights.len() {
            for step in [-0.02, 0.02] {
                let mut changed = weights.clone();
                changed[at] += step;
                assert!(loss(&changed) > loss(&weights), "weight {at}, step {step}");
            }
        }
    }

    #[test]
    fn a_label_of_one_class_teaches_nothing() {
        let codes = codes();
        let table = CodedRecords::new(&codes, &[4, 3, 2], &[4, 0, 0]).unwrap();
        let features = Features::of(&table, 2);
        let weights = fit(&Design::of(&features), &[true; 300]);
        // 300 records of the class, and none of the other.
        assert!((weights[0] - 601.0_f64.ln()).abs() < 1e-12);
        assert!(weights[1..].iter().all(|&w| w == 0.0));
    }
}
