//! What is promised, in words, and whether a header promises what its noise keeps.

use data::privatised::{Calibration, Header, LabelEncoding, NoiseKind, NoiseSeed, Norm, Transform};
use dp_core::DpError;
use dp_core::accounting::{Accountant, GaussianAccountant};
use dp_core::decimal::{nearest, upper};
use dp_core::local::LocalMechanism;
use lab::diagnostic::{Failure, OrFailed};

/// By how much, in shares of itself, the noise of a header may differ from that of its promise: rounding.
const BELOW: f64 = 1e-9;
const ABOVE: f64 = 1e-4;

/// The mechanism that keeps a promise; Laplace noise has no delta and one calibration.
pub fn calibrated(
    (mechanism, calibration): (NoiseKind, Calibration),
    [epsilon, delta, radius]: [f64; 3],
) -> Result<LocalMechanism, DpError> {
    match (mechanism, calibration) {
        (NoiseKind::Laplace, _) => LocalMechanism::laplace(epsilon, radius),
        (NoiseKind::Gaussian, Calibration::Exact) => {
            LocalMechanism::gaussian(epsilon, delta, radius)
        }
        (NoiseKind::Gaussian, Calibration::Paper) => {
            LocalMechanism::gaussian_published(epsilon, delta, radius)
        }
    }
}

/// The mechanism of a header, calibrated anew from its promise.
///
/// # Errors
///
/// [`Failure::BadInput`] for a header whose noise is not that of its promise: less would break it, and more would not be
/// the noise that a loss has to take away.
pub fn mechanism_of(file: &str, header: &Header) -> Result<LocalMechanism, Failure> {
    let kind = (header.mechanism, header.calibration);
    let mechanism = calibrated(kind, [header.epsilon, header.delta, header.radius]);
    let advice = "get the file again: its header is not what `privatise` writes";
    let mechanism = mechanism.map_err(|e| Failure::input(format!("{file}: {e}"), advice))?;
    let scale = mechanism.scale(header.width);
    let scale = scale.map_err(|e| Failure::input(format!("{file}: {e}"), advice))?;
    // Noise that is not discrete needs no room for its grid.
    let least = mechanism.diameter_upper() * mechanism.noise_multiplier() * (1.0 - BELOW);
    if !(least..=scale * (1.0 + ABOVE)).contains(&header.noise_scale) {
        return Err(Failure::input(
            format!(
                "{file}, header, noise_scale: expected {scale:?}, which its promise needs, found {:?}",
                header.noise_scale
            ),
            advice,
        ));
    }
    Ok(mechanism)
}

/// What a file of this header promises, a line a statement. Upper bounds are rounded up.
pub fn promise(header: &Header) -> Result<Vec<String>, Failure> {
    let values = match &header.transform {
        Transform::None => format!("{} values", header.features()),
        Transform::Dct {
            side,
            channels,
            kept,
        } => format!(
            "{} of {} cosine coefficients (the same of all records, public)",
            channels * kept.len(),
            channels * side * side
        ),
    };
    let label = match header.labels {
        LabelEncoding::Dropped => ", without its label".into(),
        LabelEncoding::OneHot { weight, classes } => format!(
            " and its class, one of {classes}, one-hot times {}",
            nearest(weight, 5)
        ),
    };
    let norm = match header.norm() {
        Norm::L1 => "sum of absolute values",
        Norm::L2 => "Euclidean norm",
    };
    let (radius, scale) = (nearest(header.radius, 5), nearest(header.noise_scale, 5));
    let noise = match header.mechanism {
        NoiseKind::Laplace => "Laplace of scale",
        NoiseKind::Gaussian => "Gaussian of standard deviation",
    };
    let mut lines = vec![
        format!("record    {values}{label}; scaled to a {norm} of at most {radius}"),
        format!("noise     {noise} {scale} in each value"),
    ];
    if header.noise_seed == NoiseSeed::Insecure {
        lines.push(
            "privacy   NONE: the noise comes from a known seed, and whoever knows it has the records"
                .into(),
        );
        return Ok(lines);
    }
    let (epsilon, delta) = (upper(header.epsilon), upper(header.delta));
    lines.push(format!(
        "privacy   epsilon {epsilon} at delta {delta}, local: for each record, by itself, whatever all others are"
    ));
    lines.push(
        "          neighbours: any two records, values and label; not hidden is that somebody gave one".into(),
    );
    lines.push(format!("          {}", calibration(header)?));
    // What a delta that is not small against one over the number of records leaves open, if that number is known.
    let (records, share) = (header.records, header.delta * header.records as f64);
    if share > 0.1 {
        lines.push(format!(
            "          delta: such a delta alone would let a mechanism publish each record outright with that \
             probability, of {records} records about {}",
            nearest(share, 2)
        ));
    }
    lines.push(
        "          who gives m records, or one record m times, spends m times this; what is computed from the \
         file costs nothing more"
            .into(),
    );
    Ok(lines)
}

fn calibration(header: &Header) -> Result<String, Failure> {
    if header.mechanism == NoiseKind::Laplace {
        return Ok(
            "calibration: exact, 2 radius / epsilon and what the grid of the noise takes".into(),
        );
    }
    let promised = [header.epsilon, header.delta, header.radius];
    let mechanism = calibrated((header.mechanism, header.calibration), promised);
    let event = mechanism.or_failed()?.event();
    let epsilon = GaussianAccountant.epsilon(&event, header.delta);
    let epsilon = upper(epsilon.or_failed()?);
    Ok(match header.calibration {
        Calibration::Exact => {
            format!("calibration: exact; by the exact accountant this noise has epsilon {epsilon}")
        }
        Calibration::Paper => format!(
            "calibration: equation 4 of Reshetova et al. (2023); by the exact accountant this noise has epsilon {epsilon}"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privatise::{Form, Preprocessing};

    fn header(mechanism: LocalMechanism, calibration: Calibration) -> Header {
        let form = Form {
            width: 3,
            shape: None,
            classes: None,
        };
        let preprocessing = Preprocessing::new(mechanism, calibration, None, None);
        preprocessing.header(&form, true).unwrap()
    }

    #[test]
    fn a_header_whose_noise_is_not_that_of_its_promise_is_refused() {
        let cases = [
            header(
                LocalMechanism::laplace(2.0, 0.7).unwrap(),
                Calibration::Exact,
            ),
            header(
                LocalMechanism::gaussian(2.0, 1e-5, 0.7).unwrap(),
                Calibration::Exact,
            ),
            header(
                LocalMechanism::gaussian_published(2.0, 1e-5, 0.7).unwrap(),
                Calibration::Paper,
            ),
        ];
        for header in cases {
            let mechanism = mechanism_of("f", &header).unwrap();
            assert_eq!(mechanism.scale(3).unwrap(), header.noise_scale);
            // Noise that is not discrete takes no more than the promise.
            let continuous = Header {
                noise_scale: mechanism.diameter_upper() * mechanism.noise_multiplier(),
                ..header.clone()
            };
            assert!(mechanism_of("f", &continuous).is_ok());
            for share in [1.0 - 2e-5, 1.001] {
                let noise_scale = header.noise_scale * share;
                let changed = Header {
                    noise_scale,
                    ..header.clone()
                };
                let message = mechanism_of("f", &changed).unwrap_err().to_string();
                assert!(message.contains("noise_scale"), "{message}");
            }
        }
    }

    #[test]
    fn what_is_promised_is_rounded_up_and_a_known_seed_promises_nothing() {
        let exact = header(
            LocalMechanism::gaussian(2.0, 1e-5, 0.7).unwrap(),
            Calibration::Exact,
        );
        let lines = promise(&exact).unwrap().join("\n");
        assert!(lines.contains("epsilon 2 at delta 1e-5, local"), "{lines}");
        let published = LocalMechanism::gaussian_published(2.0, 1e-5, 0.7).unwrap();
        let lines = promise(&header(published, Calibration::Paper)).unwrap();
        let lines = lines.join("\n");
        assert!(lines.contains("epsilon 2 at delta 1e-5, local"), "{lines}");
        assert!(lines.contains("this noise has epsilon 1."), "{lines}");
        assert!(!lines.contains("outright"), "{lines}");
        let many = Header {
            records: 60_000,
            ..exact.clone()
        };
        let lines = promise(&many).unwrap().join("\n");
        assert!(
            lines.contains("outright with that probability, of 60000 records about 0.6"),
            "{lines}"
        );
        let known = Header {
            noise_seed: NoiseSeed::Insecure,
            ..exact
        };
        let lines = promise(&known).unwrap().join("\n");
        assert!(
            lines.contains("NONE") && !lines.contains("epsilon 2"),
            "{lines}"
        );
    }
}
