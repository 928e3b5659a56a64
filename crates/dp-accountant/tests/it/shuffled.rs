//! Shuffled batches: what they cost.

use dp_accountant::accounting::{Accountant, BatchDistribution, Event, GaussianAccountant};

use crate::common::{epsilon, gaussian, laplace};

/// Of other events than Gaussian noise, of groups, and as a ledger has it.
#[test]
fn an_epoch_is_its_event_on_all_records() {
    let shuffled =
        |event: Event| event.sampled(BatchDistribution::ShuffledUpper { zero_out: false });
    for event in [laplace(2.0), Event::Pure { epsilon: 0.3 }, gaussian(2.0)] {
        let (epoch, alone) = (shuffled(event.clone()).repeated(3), event.repeated(3));
        assert_eq!(epsilon(&epoch, 1e-5), epsilon(&alone, 1e-5));
        let text = serde_json::to_string(&epoch).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), epoch);
    }
    let of_four = GaussianAccountant.epsilon(&shuffled(gaussian(8.0)).of_groups(4), 1e-5);
    assert_eq!(of_four, GaussianAccountant.epsilon(&gaussian(2.0), 1e-5));
}
