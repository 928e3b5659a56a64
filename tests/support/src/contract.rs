//! One contract of privacy for whatever is released: replacing a record moves it by no more than is declared, an attack moves it
//! by most of that, and a sabotage moves it further.

use std::fmt::Display;

use crate::distance;

/// Exact values that a mechanism adds noise to, and how far apart those of two neighbours may be.
#[derive(Debug, Clone)]
pub struct Measured {
    values: Vec<f64>,
    bound: f64,
}

impl Measured {
    /// Such values.
    pub fn new<T: Into<f64>>(values: impl IntoIterator<Item = T>, bound: f64) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        Self { values, bound }
    }
}

/// How far apart any two of these are at most, as a share of the bound; without end where a value is not finite.
///
/// # Panics
///
/// If they have different bounds or lengths: that alone tells neighbours apart.
#[track_caller]
pub fn furthest(measured: &[Measured]) -> f64 {
    let mut largest = 0.0_f64;
    for (i, a) in measured.iter().enumerate() {
        for b in &measured[..i] {
            assert_eq!(a.bound, b.bound);
            let share = distance(&a.values, &b.values) / a.bound;
            largest = largest.max(if share.is_finite() {
                share
            } else {
                f64::INFINITY
            });
        }
    }
    largest
}

/// What is promised of neighbours.
#[derive(Debug, Clone)]
pub struct Contract {
    what: String,
    least: f64,
    most: f64,
}

impl Contract {
    /// Neighbours are within the bound. `what`: for messages.
    pub fn of(what: impl Display) -> Self {
        let what = what.to_string();
        Self {
            what,
            least: 0.0,
            most: 1.0,
        }
    }

    /// Some trial attains this share of the bound: one that nothing comes near would not notice that it is broken.
    pub fn attained(self, least: f64) -> Self {
        Self { least, ..self }
    }

    /// Values are rounded by this share of the bound, which is not in it.
    pub fn rounded(self, room: f64) -> Self {
        let most = 1.0 + room;
        Self { most, ..self }
    }

    /// Asserts it of trials, each of which is how far neighbours were apart, as a share of the bound.
    ///
    /// # Panics
    ///
    /// If one is too far, or none far enough.
    #[track_caller]
    pub fn holds(&self, trials: impl IntoIterator<Item = f64>) {
        let mut largest = f64::NEG_INFINITY;
        for (trial, share) in trials.into_iter().enumerate() {
            let what = &self.what;
            assert!(share <= self.most, "{what}, trial {trial}: {share}");
            largest = largest.max(share);
        }
        assert!(largest >= self.least, "{}: only {largest}", self.what);
    }

    /// Asserts that `sabotage` is caught in so many trials at least.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[track_caller]
    pub fn is_broken_by(
        &self,
        sabotage: &str,
        least: usize,
        trials: impl IntoIterator<Item = f64>,
    ) {
        let trials = trials.into_iter();
        let caught = trials.filter(|share| share.is_nan() || *share > self.most);
        let caught = caught.count();
        let what = &self.what;
        assert!(
            caught >= least,
            "{what}: {sabotage} is caught {caught} times"
        );
    }
}
