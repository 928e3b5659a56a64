//! What a training promises beyond its epsilon: the trade-off function of a plan.

use dp_accountant::accounting::{Accountant as _, PldAccountant};
use dp_accountant::plan::TrainingPlan;
use dp_accountant::sampling::Sampler;
use reporting::diagnostic::Failure;
use reporting::figures::{Chart, Mark, Scale, Series};

use super::super::charts::Drawing;
use super::drawing;

const RECORDS: usize = 60_000;
const BATCH: f64 = 2048.0;
const STEPS: u64 = 586;
const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-5;
const POINTS: u32 = 100;

/// The least type II error of whoever tells two neighbours apart, for a DP-SGD training on MNIST: by the accountant,
/// by its one pair of epsilon and delta alone, and where nothing can be learned.
pub(super) fn trade_off() -> Result<Drawing, Failure> {
    let sampler =
        Sampler::poisson_zero_out(RECORDS, BATCH / RECORDS as f64).map_err(Failure::failed)?;
    let plan = TrainingPlan::for_epsilon(EPSILON, DELTA, STEPS, sampler);
    let event = plan.check().map_err(Failure::failed)?.event();
    let alphas: Vec<f64> = (0..=POINTS)
        .map(|k| f64::from(k) / f64::from(POINTS))
        .collect();
    let curve = PldAccountant::default().trade_off_curve(&event, &alphas);
    let curve = curve.map_err(Failure::failed)?;
    let one_pair = |alpha: f64| {
        let steep = 1.0 - DELTA - EPSILON.exp() * alpha;
        let flat = (-EPSILON).exp() * (1.0 - DELTA - alpha);
        steep.max(flat).max(0.0)
    };
    let along = || alphas.iter().copied();
    let guess = along().map(|alpha| (alpha, 1.0 - alpha));
    let pair = along().map(|alpha| (alpha, one_pair(alpha)));
    let title = format!(
        "{STEPS} steps of DP-SGD on {RECORDS} records, Poisson batches of {BATCH}: epsilon {EPSILON}, \
         delta {DELTA:e}, one record blank, accountant pld"
    );
    let chart = Chart {
        title,
        x: Scale::linear("type I error of an attack"),
        y: Scale::linear("type II error"),
        series: vec![
            Series::new("this training, at least", along().zip(curve)),
            Series::of(Mark::Dashed, "all that (epsilon, delta) says", pair),
            Series::new("guessing: perfect secrecy", guess),
        ],
        ..Chart::default()
    };
    Ok(drawing("trade-off.svg", chart.draw()?))
}
