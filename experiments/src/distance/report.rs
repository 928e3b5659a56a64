//! What is said of a distance.

use lab::figures::histogram;
use lab::prelude::*;
use private_queries::distance::{estimate, permutation_test};
use serde_json::json;

use super::run::Distance;

/// The estimate, the test if one is asked for, and a picture of what was released.
pub(crate) fn report(run: &mut Distance) -> Result<Report, Failure> {
    let [a, b] = &run.sides[..] else {
        return Err(Failure::failed("a report before the release"));
    };
    let (settings, directions) = (&run.settings, &run.directions);
    let found = estimate([a, b], directions, &mut run.public).or_failed()?;
    let mut metrics = vec![
        Metric::new("Squared sliced distance", found.squared),
        Metric::new("Its standard error", found.error()),
        Metric::new("Sliced distance", found.distance()),
        Metric::new(
            "As published, biased upwards: of the noisy samples",
            found.plug_in,
        ),
        Metric::new("Smoothing: the noise on each projection", run.deviation),
    ];
    let mut test = json!({
        "squared_distance": found.squared,
        "standard_error": found.error(),
        "standard_error_rows_and_noise": found.error_rows,
        "standard_error_slices": found.error_slices,
        "distance": found.distance(),
        "plug_in_squared_distance": found.plug_in,
        "smoothing_deviation": run.deviation,
        "slices": directions.count(),
    });
    if settings.test {
        let permutations = settings.permutations;
        let tested =
            permutation_test([a, b], directions, permutations, &mut run.public).or_failed()?;
        let differ = tested.p_value <= settings.false_alarm;
        metrics.push(Metric::new("p-value of one distribution", tested.p_value));
        test["p_value"] = json!(tested.p_value);
        test["false_alarm"] = json!(settings.false_alarm);
        test["differ"] = json!(differ);
        test["null_mean"] = json!(tested.null_mean);
        test["null_deviation"] = json!(tested.null_deviation);
    }
    // The first direction, which is as good as any.
    let groups = [("source", a), ("target", b)]
        .map(|(name, side)| (name.into(), directions.values(side, 0)));
    let chart = histogram("released projection", &groups, None)?;
    let caption = "What was released, in the first direction".to_string();
    let mut warnings = Vec::new();
    if found.error() > found.squared.abs() {
        warnings.push(
            "The error is larger than the distance: at this budget and with so many rows nothing can be said but how \
             large it is at most."
                .into(),
        );
    }
    Ok(Report {
        pictures: vec![("release.svg", caption, chart.bytes)],
        metrics,
        test: test.as_object().cloned().unwrap_or_default(),
        warnings,
        ..Report::default()
    })
}
