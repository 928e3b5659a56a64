//! Rows with labels.

use crate::ClassifierError;

/// More classes have no head.
const MOST_CLASSES: usize = 1 << 16;

/// Private rows with the class of each.
pub struct Examples {
    pub(super) rows: Vec<f32>,
    pub(super) labels: Vec<u16>,
    classes: usize,
}

impl Examples {
    /// Couples rows `[n, width]` with `n` labels, each below `classes`.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for fewer than two classes, a label beyond them, or another number of labels than of
    /// rows; [`ClassifierError::NotFinite`] for a value that is not finite. No error says which record it is.
    pub fn new(rows: Vec<f32>, labels: Vec<u16>, classes: usize) -> Result<Self, ClassifierError> {
        check_classes(classes)?;
        let n = labels.len();
        if n == 0 || rows.is_empty() || !rows.len().is_multiple_of(n) {
            let bound = format!("that of rows, which have {} values in all", rows.len());
            return Err(ClassifierError::range(
                "the number of labels",
                n as f64,
                bound,
            ));
        }
        if labels.iter().any(|&label| usize::from(label) >= classes) {
            let bound = "that of all classes: a label lies beyond them";
            return Err(ClassifierError::range(
                "the number of classes",
                classes as f64,
                bound,
            ));
        }
        if rows.iter().any(|value| !value.is_finite()) {
            return Err(ClassifierError::NotFinite { name: "rows" });
        }
        Ok(Self {
            rows,
            labels,
            classes,
        })
    }

    /// Returns the rows, `[n, width]`.
    pub fn rows(&self) -> &[f32] {
        &self.rows
    }

    /// Returns the labels.
    pub fn labels(&self) -> &[u16] {
        &self.labels
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        self.labels.len()
    }

    /// Returns the length of a row.
    pub fn width(&self) -> usize {
        self.rows.len() / self.labels.len()
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }
}

/// Refuses fewer than two classes, and more than a label can name.
pub(super) fn check_classes(classes: usize) -> Result<(), ClassifierError> {
    if (2..=MOST_CLASSES).contains(&classes) {
        return Ok(());
    }
    let bound = format!("between 2 and {MOST_CLASSES}");
    Err(ClassifierError::range(
        "the number of classes",
        classes as f64,
        bound,
    ))
}
