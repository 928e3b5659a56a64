//! The same numbers on every backend of this build that this machine has: `just portability`.

use system_tests::portability::{cases, places, sabotaged_runs};

#[test]
fn every_backend_gives_the_same_numbers() {
    let (places, missing) = places();
    for words in missing {
        println!("skipped: {words}");
    }
    let mut wrong = Vec::new();
    for case in cases() {
        let errors = case.errors(&places);
        for (place, error) in places.iter().zip(errors) {
            if let Some(error) = error.filter(|&error| error > case.tolerance.most(place)) {
                wrong.push(format!(
                    "{}: {}: {}: {error:e}",
                    place.name, case.group, case.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_gradient_that_is_a_little_wrong_is_seen() {
    let (places, _) = places();
    for case in sabotaged_runs() {
        let errors = case.errors(&places);
        for (place, error) in places.iter().zip(errors) {
            let least = case.tolerance.most(place);
            assert!(
                error.is_none_or(|error| error > least),
                "{}: {}: only {error:?}",
                place.name,
                case.name
            );
        }
    }
}
