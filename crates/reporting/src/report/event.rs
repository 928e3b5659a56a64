//! Properties of events that pages show.

use dp_accountant::accounting::Event;

/// Returns the events that an event is composed of.
fn parts(event: &Event) -> &[Event] {
    match event {
        Event::Sampled { event, .. }
        | Event::SelfComposed { event, .. }
        | Event::Group { event, .. } => std::slice::from_ref(event),
        Event::Composed { events }
        | Event::Parallel { events, .. }
        | Event::Selected { events, .. } => events,
        Event::Gaussian { .. }
        | Event::DiscreteGaussian { .. }
        | Event::CorrelatedGaussian { .. }
        | Event::Laplace { .. }
        | Event::Failure { .. }
        | Event::ExponentialMechanism { .. }
        | Event::Pure { .. }
        | Event::Zcdp { .. }
        | Event::NonPrivate => &[],
    }
}

/// Returns the first sampler in an event.
pub(super) fn first_sampler(event: &Event) -> Option<String> {
    match event {
        Event::Sampled { sampler, .. } => Some(sampler.words()),
        _ => parts(event).iter().find_map(first_sampler),
    }
}

/// Returns the noise multiplier of an event, if it has only one.
pub fn noise_multiplier(event: &Event) -> Option<f64> {
    match event {
        Event::Gaussian { noise_multiplier }
        | Event::DiscreteGaussian { noise_multiplier }
        | Event::CorrelatedGaussian {
            noise_multiplier, ..
        }
        | Event::Laplace { noise_multiplier } => Some(*noise_multiplier),
        // The released run is one of several, and the event does not say which.
        Event::Selected { .. } => None,
        _ => {
            let mut all = parts(event).iter().filter_map(noise_multiplier);
            let first = all.next()?;
            all.all(|other| other == first).then_some(first)
        }
    }
}

/// Whether an event releases anything without noise.
pub(super) fn is_bare(event: &Event) -> bool {
    matches!(event, Event::NonPrivate) || parts(event).iter().any(is_bare)
}

#[cfg(test)]
mod tests {
    use dp_accountant::accounting::RepetitionDistribution;

    use super::*;

    #[test]
    fn an_event_is_asked_in_all_its_parts() {
        let step = Event::dp_sgd(60_000, 600, 1, 0.5);
        assert_eq!(noise_multiplier(&step), Some(0.5));
        assert!(!is_bare(&step));
        let sampler = first_sampler(&step).expect("a sampler");
        assert!(sampler.starts_with("batches of 600"), "{sampler}");
        let with = |event| Event::Composed {
            events: vec![step.clone(), event],
        };
        assert!(is_bare(&with(Event::NonPrivate)));
        assert_eq!(noise_multiplier(&with(Event::NonPrivate)), Some(0.5));
        let other = Event::Gaussian {
            noise_multiplier: 2.0,
        };
        assert_eq!(noise_multiplier(&with(other)), None);
        let best = Event::Selected {
            runs: RepetitionDistribution::Poisson { mean: 5.0 },
            events: vec![step],
        };
        assert_eq!(noise_multiplier(&best), None);
    }
}
