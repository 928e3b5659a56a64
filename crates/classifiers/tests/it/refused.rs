//! Bad input is refused with its value and its bound.

use private_classifiers::{
    ClassWeights, ClassifierError, Descent, Embedding, Examples, Features, Head, HeadConfig,
    Scattering, ValueLoss, Whitening,
};

fn refused<T>(result: Result<T, ClassifierError>, message: &str) {
    match result {
        Ok(_) => panic!("accepted, where {message:?} is expected"),
        Err(e) => assert_eq!(e.to_string(), message),
    }
}

#[test]
fn bad_input_is_refused_with_value_and_bound() {
    refused(
        Scattering::new(2, 28, 1),
        "the number of channels is 2, expected 1 or 3",
    );
    refused(
        Scattering::new(1, 30, 1),
        "the side of an image is 30, expected a multiple of 4 from 8 to 256",
    );
    refused(
        Scattering::new(1, 28, 3),
        "the order of scattering is 3, expected 1 or 2",
    );
    refused(
        Embedding::new(0),
        "the length of a row is 0, expected between 1 and 65536",
    );
    let features = Features::from(Embedding::new(2).expect("features"));
    refused(
        features.rows(&[1.0; 5]),
        "the number of values of rows is 5, expected a multiple of 2, at least once",
    );
    refused(
        features.rows(&[]),
        "the number of values of rows is 0, expected a multiple of 2, at least once",
    );
    refused(
        features.rows(&[1.0, f32::NAN]),
        "records: a value is not finite; expected numbers",
    );
    let whitening = Whitening::new(vec![0.0], vec![1.0]).expect("a whitening");
    refused(
        features.with_whitening(whitening),
        "the width of the whitening is 1, expected 3",
    );
    refused(
        Whitening::new(vec![0.0], vec![1.0; 2]),
        "the size of the map is 2, expected 1 times 1",
    );
    refused(
        Whitening::of_public(&[f32::INFINITY; 4], 2),
        "the covariance of 2 public rows cannot be inverted; give more of them",
    );
    refused(
        Examples::new(vec![1.0; 4], vec![0, 0], 1),
        "the number of classes is 1, expected between 2 and 65536",
    );
    refused(
        Examples::new(vec![1.0; 4], vec![0, 0, 0], 2),
        "the number of labels is 3, expected that of rows, which have 4 values in all",
    );
    refused(
        Examples::new(vec![1.0; 4], vec![], 2),
        "the number of labels is 0, expected that of rows, which have 4 values in all",
    );
    refused(
        Examples::new(vec![1.0; 4], vec![0, 2], 2),
        "the number of classes is 2, expected that of all classes: a label lies beyond them",
    );
    refused(
        Examples::new(vec![1.0, f32::NAN], vec![0, 1], 2),
        "rows: a value is not finite; expected numbers",
    );
    refused(
        Examples::of_values(vec![1.0; 4], vec![0.0; 3], ValueLoss::Squared),
        "the number of values is 3, expected that of rows, which have 4 values in all",
    );
    refused(
        Examples::of_values(vec![1.0; 4], vec![0.0, f32::NAN], ValueLoss::Squared),
        "values: a value is not finite; expected numbers",
    );
    refused(
        ClassWeights::of_counts(&[1.0], 0.0),
        "the number of classes is 1, expected between 2 and 65536",
    );
    refused(
        ClassWeights::of_counts(&[1.0, f64::NAN], 0.0),
        "counts: a value is not finite; expected numbers",
    );
    refused(
        Head::new(2, 2, vec![0.0; 3]),
        "the number of weights is 3, expected 2 times 2",
    );
    refused(
        Head::new(1, 2, vec![0.0, f64::NAN]),
        "weights: a value is not finite; expected numbers",
    );
    let config = HeadConfig::suited(1000, Some(1.0));
    let rate = HeadConfig {
        rate: f64::NAN,
        ..config
    };
    refused(
        Descent::new(rate, 2, 2),
        "the learning rate is NaN, expected positive and finite",
    );
    let steps = HeadConfig { steps: 0, ..config };
    let weights = ClassWeights::of_counts(&[1.0; 3], 0.0).expect("weights");
    let descent = Descent::new(config, 2, 2).expect("a descent");
    refused(
        descent.balanced(weights),
        "the number of class weights is 3, expected 2",
    );
    refused(
        Descent::new(steps, 2, 2),
        "the number of steps is 0, expected positive and finite",
    );
}
