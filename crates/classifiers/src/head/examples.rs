//! Rows with labels.

use crate::ClassifierError;

/// More classes have no head.
const MOST_CLASSES: usize = 1 << 16;

/// What a head of values is charged for the residual `r` of an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueLoss {
    /// `r^2 / 2`, whose minimum is the mean. Clipping makes it Huber's loss.
    Squared,
    /// `|r|`, whose minimum is the median.
    Absolute,
}

/// Private rows with what a head is to say of each: its class, or a value.
pub struct Examples {
    pub(super) rows: Vec<f32>,
    pub(super) targets: Targets,
}

pub(super) enum Targets {
    Classes { labels: Vec<u16>, classes: usize },
    Values { values: Vec<f32>, loss: ValueLoss },
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
        check_rows("the number of labels", &rows, labels.len())?;
        if labels.iter().any(|&label| usize::from(label) >= classes) {
            let bound = "that of all classes: a label lies beyond them";
            return Err(ClassifierError::range(
                "the number of classes",
                classes as f64,
                bound,
            ));
        }
        let targets = Targets::Classes { labels, classes };
        Ok(Self { rows, targets })
    }

    /// Couples rows `[n, width]` with `n` values, which are cut to be between -1 and 1.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for another number of values than of rows; [`ClassifierError::NotFinite`].
    pub fn of_values(
        rows: Vec<f32>,
        mut values: Vec<f32>,
        loss: ValueLoss,
    ) -> Result<Self, ClassifierError> {
        check_rows("the number of values", &rows, values.len())?;
        if values.iter().any(|value| !value.is_finite()) {
            return Err(ClassifierError::NotFinite { name: "values" });
        }
        values
            .iter_mut()
            .for_each(|value| *value = value.clamp(-1.0, 1.0));
        let targets = Targets::Values { values, loss };
        Ok(Self { rows, targets })
    }

    /// Returns the rows, `[n, width]`.
    pub fn rows(&self) -> &[f32] {
        &self.rows
    }

    /// Returns the labels; none of values.
    pub fn labels(&self) -> &[u16] {
        match &self.targets {
            Targets::Classes { labels, .. } => labels,
            Targets::Values { .. } => &[],
        }
    }

    /// Returns the values; none of classes.
    pub fn values(&self) -> &[f32] {
        match &self.targets {
            Targets::Classes { .. } => &[],
            Targets::Values { values, .. } => values,
        }
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        self.labels().len().max(self.values().len())
    }

    /// Returns the length of a row.
    pub fn width(&self) -> usize {
        self.rows.len() / self.count()
    }

    /// Returns the number of classes; 1 of values.
    pub fn outputs(&self) -> usize {
        match &self.targets {
            Targets::Classes { classes, .. } => *classes,
            Targets::Values { .. } => 1,
        }
    }
}

/// Refuses rows that are not `n` rows of finite numbers.
fn check_rows(name: &'static str, rows: &[f32], n: usize) -> Result<(), ClassifierError> {
    if n == 0 || rows.is_empty() || !rows.len().is_multiple_of(n) {
        let bound = format!("that of rows, which have {} values in all", rows.len());
        return Err(ClassifierError::range(name, n as f64, bound));
    }
    match rows.iter().all(|value| value.is_finite()) {
        true => Ok(()),
        false => Err(ClassifierError::NotFinite { name: "rows" }),
    }
}

/// Refuses a number of outputs that no head has: 1 is that of values.
pub(super) fn check_outputs(outputs: usize) -> Result<(), ClassifierError> {
    match outputs {
        1 => Ok(()),
        classes => check_classes(classes),
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
