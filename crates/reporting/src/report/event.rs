//! Events of the ledger in words.

use dp_accountant::accounting::Runs;
use serde_json::Value;

use super::number::shown;

/// What a noise multiplier, a sampler and so on say to a reader; an event of a kind that is not
/// known is shown as it is written.
pub(super) fn describe(event: &Value) -> String {
    words(event).unwrap_or_else(|| event.to_string())
}

fn words(event: &Value) -> Option<String> {
    let inner = |name: &str| event.get(name).map(describe);
    Some(match event.get("type")?.as_str()? {
        "gaussian" => "Gaussian noise".into(),
        "discrete_gaussian" => "discrete Gaussian noise".into(),
        "laplace" => "Laplace noise".into(),
        "failure" => format!(
            "a failure of probability {}",
            shown(event.get("delta")?.as_f64()?)
        ),
        "non_private" => "no noise".into(),
        "sampled" => format!("{} on {}", inner("event")?, sampler(event.get("sampler")?)),
        "self_composed" => format!("{} times {}", event.get("count")?, inner("event")?),
        "composed" => list(event, ", then ")?,
        "selected" => format!(
            "the best of a random number of runs ({}), each {}",
            law(event.get("runs")?)?,
            list(event, ", or ")?
        ),
        "parallel" => format!(
            "in parallel over {}: {}",
            event.get("partition")?.as_str()?,
            list(event, "; ")?
        ),
        _ => return None,
    })
}

/// The law of a number of runs in words.
fn law(runs: &Value) -> Option<String> {
    let runs: Runs = serde_json::from_value(runs.clone()).ok()?;
    let mean = shown(runs.mean());
    Some(match runs {
        Runs::NegativeBinomial { shape, .. } => format!(
            "truncated negative binomial law of shape {}, mean {mean}",
            shown(shape)
        ),
        Runs::Poisson { .. } => format!("Poisson law, mean {mean}"),
    })
}

fn list(event: &Value, between: &str) -> Option<String> {
    let events: Vec<String> = event
        .get("events")?
        .as_array()?
        .iter()
        .map(describe)
        .collect();
    Some(match events.len() {
        0 => "nothing".into(),
        1 => events[0].clone(),
        // Long lists, one event a class, are mostly the same event.
        count if events.windows(2).all(|pair| pair[0] == pair[1]) => {
            format!("{count} times {}", events[0])
        }
        _ => events.join(between),
    })
}

/// A sampler in words.
pub(super) fn sampler(sampler: &Value) -> String {
    let number = |name: &str| sampler.get(name).and_then(Value::as_f64);
    let text = match sampler.get("kind").and_then(Value::as_str) {
        Some("without_replacement") => number("batch")
            .zip(number("records"))
            .map(|(b, n)| format!("batches of {b} of {n} records, without replacement")),
        Some("without_replacement_rate") => number("rate")
            .map(|q| format!("batches of a share of {}, without replacement", shown(q))),
        Some("poisson" | "poisson_zero_out") => {
            number("rate").map(|q| format!("Poisson samples at rate {}", shown(q)))
        }
        Some("k_end_groups") => sampler
            .get("groups")
            .and_then(Value::as_array)
            .map(|groups| {
                let sum = |name: &str| -> u64 {
                    groups.iter().filter_map(|g| g.get(name)?.as_u64()).sum()
                };
                format!(
                    "batches of {} of {} records, a fixed number from each of {} groups",
                    sum("batch"),
                    sum("records"),
                    groups.len()
                )
            }),
        _ => None,
    };
    text.unwrap_or_else(|| sampler.to_string())
}

/// The first sampler in an event.
pub(super) fn first_sampler(event: &Value) -> Option<String> {
    if let Some(found) = event.get("sampler") {
        return Some(sampler(found));
    }
    event.get("event").and_then(first_sampler).or_else(|| {
        event
            .get("events")?
            .as_array()?
            .iter()
            .find_map(first_sampler)
    })
}

/// The first noise multiplier in an event.
pub(super) fn noise_multiplier(event: &Value) -> Option<f64> {
    event
        .get("noise_multiplier")
        .and_then(Value::as_f64)
        .or_else(|| noise_multiplier(event.get("event")?))
        .or_else(|| {
            event
                .get("events")?
                .as_array()?
                .iter()
                .find_map(noise_multiplier)
        })
}

/// Whether an event releases anything without noise.
pub(super) fn is_bare(event: &Value) -> bool {
    event.get("type").and_then(Value::as_str) == Some("non_private")
        || event.get("event").is_some_and(is_bare)
        || event
            .get("events")
            .and_then(Value::as_array)
            .is_some_and(|events| events.iter().any(is_bare))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_read() {
        let step = json!({"type": "sampled",
            "sampler": {"kind": "without_replacement", "records": 60000, "batch": 600},
            "event": {"type": "gaussian", "noise_multiplier": 0.5}});
        assert_eq!(
            describe(&step),
            "Gaussian noise on batches of 600 of 60000 records, without replacement"
        );
        assert_eq!(noise_multiplier(&step), Some(0.5));
        assert!(!is_bare(&step));
        let bare = json!({"type": "composed", "events": [step.clone(), {"type": "non_private"}]});
        assert!(is_bare(&bare));
        let best =
            json!({"type": "selected", "runs": {"law": "poisson", "mean": 5.0}, "events": [step]});
        assert!(describe(&best).starts_with(
            "the best of a random number of runs (Poisson law, mean 5), each Gaussian"
        ));
        let unknown = json!({"type": "telepathy"});
        assert_eq!(describe(&unknown), r#"{"type":"telepathy"}"#);
        let groups = json!({"kind": "k_end_groups",
            "groups": [{"records": 10, "batch": 2}, {"records": 20, "batch": 3}]});
        assert!(sampler(&groups).contains("5 of 30 records, a fixed number from each of 2 groups"));
    }
}
