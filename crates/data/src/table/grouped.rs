use std::ops::RangeInclusive;

use crate::DataError;
use crate::error::{empty, index, unfit};

/// The labels of the records, which a model is to predict.
#[derive(Clone, PartialEq)]
pub enum Labels {
    /// Each label is one of `count` classes.
    Classes {
        /// The number of classes, R; a class may have no record.
        count: usize,
        /// The class of each record, shape `[n]`, below `count`.
        values: Vec<usize>,
    },
    /// Each label is a vector of real numbers.
    Values {
        /// The length of each label.
        width: usize,
        /// The numbers, shape `[n, width]` in row-major order.
        values: Vec<f32>,
    },
}

impl std::fmt::Debug for Labels {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, size, count) = match self {
            Self::Classes { count, .. } => ("Classes", "count", count),
            Self::Values { width, .. } => ("Values", "width", width),
        };
        let mut shown = formatter.debug_struct(kind);
        shown.field(size, count).finish_non_exhaustive()
    }
}

/// Holds records with features, a label, and a sensitive attribute A that is 0 or 1.
///
/// The sizes n_0 and n_1 of the two groups are public, and neighbouring data sets replace a record by one of its group. If
/// groups are formed by class too, the sizes n_{j,k} are public and neighbours keep the class: "Learning with differentially
/// private sliced Wasserstein gradients", appendix C.1.
#[derive(Clone, PartialEq)]
pub struct GroupedTable {
    names: Vec<String>,
    features: Vec<f32>,
    labels: Labels,
    groups: Vec<u8>,
}

debug_shows!(GroupedTable { names });

impl GroupedTable {
    /// The largest number of classes, R.
    pub const MAX_CLASSES: usize = 1 << 16;

    /// Builds a table of n records: `features` of shape `[n, names.len()]` in row-major order, their `labels`, and `groups` of
    /// shape `[n]`, each 0 or 1.
    ///
    /// # Errors
    /// [`DataError::Request`] if lengths disagree, a number is not finite, a class is not below the number of classes, a group is
    /// neither 0 nor 1, or a group has no record.
    pub fn new(
        names: Vec<String>,
        features: Vec<f32>,
        labels: Labels,
        groups: Vec<u8>,
    ) -> Result<Self, DataError> {
        let count = groups.len();
        check("number of features", names.len(), 1..=usize::MAX)?;
        let size = count.saturating_mul(names.len());
        check("number of feature values", features.len(), size..=size)?;
        check_finite("feature value", &features)?;
        match &labels {
            Labels::Classes {
                count: classes,
                values,
            } => {
                check("number of classes", *classes, 1..=Self::MAX_CLASSES)?;
                check("number of labels", values.len(), count..=count)?;
                let most = classes - 1;
                if values.iter().any(|&class| class > most) {
                    return Err(value("class", &format!("0 to {most}")));
                }
            }
            Labels::Values { width, values } => {
                check("numbers of a label", *width, 1..=usize::MAX)?;
                let size = count.saturating_mul(*width);
                check("number of label values", values.len(), size..=size)?;
                check_finite("label value", values)?;
            }
        }
        if groups.iter().any(|&group| group > 1) {
            return Err(value("group", "0 to 1"));
        }
        for group in 0..2 {
            if !groups.contains(&group) {
                return Err(empty(format!("group {group} of the table"), "record"));
            }
        }
        Ok(Self {
            names,
            features,
            labels,
            groups,
        })
    }

    /// Returns the number of records, n, which is at least 2.
    #[allow(clippy::len_without_is_empty)] // there are always two
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns the number of features of a record, d.
    pub fn width(&self) -> usize {
        self.names.len()
    }

    /// Returns the names of the features, shape `[d]`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns all features, shape `[n, d]` in row-major order.
    pub fn features(&self) -> &[f32] {
        &self.features
    }

    /// Returns the features of one record, shape `[d]`, or `None` past the end.
    pub fn row(&self, index: usize) -> Option<&[f32]> {
        row(&self.features, self.width(), index)
    }

    /// Returns the labels of all records.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns the sensitive attribute of each record, 0 or 1, shape `[n]`.
    pub fn groups(&self) -> &[u8] {
        &self.groups
    }

    /// Returns the public sizes n_0 and n_1 of the two groups, at least 1 each.
    pub fn group_sizes(&self) -> [usize; 2] {
        let ones = self.groups.iter().filter(|&&group| group == 1).count();
        [self.len() - ones, ones]
    }

    /// Returns the indices of the records of group 0 and those of group 1, each ascending.
    pub fn indices_by_group(&self) -> Vec<Vec<usize>> {
        self.indices_by(2, |index| self.groups[index].into())
    }

    /// Returns the indices of the records of group j with class k, ascending, at place j R + k of 2 R lists; `None` if the labels
    /// are not classes.
    pub fn indices_by_group_and_class(&self) -> Option<Vec<Vec<usize>>> {
        let Labels::Classes { count, values } = &self.labels else {
            return None;
        };
        let cell = |index: usize| usize::from(self.groups[index]) * count + values[index];
        Some(self.indices_by(2 * count, cell))
    }

    fn indices_by(&self, lists: usize, list: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
        let mut indices = vec![Vec::new(); lists];
        for index in 0..self.len() {
            indices[list(index)].push(index);
        }
        indices
    }

    /// Returns the features of the records at `indices`, in that order, shape `[indices.len(), d]` in row-major order, or `None`
    /// if an index is past the end.
    pub fn gather(&self, indices: &[usize]) -> Option<Vec<f32>> {
        gather(&self.features, self.width(), indices)
    }

    /// Returns the labels of the records at `indices`, in that order, or `None` if an index is past the end.
    pub fn gather_labels(&self, indices: &[usize]) -> Option<Labels> {
        Some(match &self.labels {
            Labels::Classes { count, values } => {
                let values = indices.iter().map(|&index| values.get(index).copied());
                Labels::Classes {
                    count: *count,
                    values: values.collect::<Option<_>>()?,
                }
            }
            Labels::Values { width, values } => Labels::Values {
                width: *width,
                values: gather(values, *width, indices)?,
            },
        })
    }

    /// Returns a table of the records at `indices`, in that order.
    ///
    /// # Errors
    /// [`DataError::Request`] for an index past the end, or if a group keeps no records.
    pub fn select(&self, indices: &[usize]) -> Result<Self, DataError> {
        let Some(labels) = self.gather_labels(indices) else {
            let past = indices.iter().copied().find(|&index| index >= self.len());
            return Err(index("table", past.unwrap_or_default(), self.len()));
        };
        Self::new(
            self.names.clone(),
            self.gather(indices).unwrap_or_default(),
            labels,
            indices.iter().map(|&index| self.groups[index]).collect(),
        )
    }
}

fn row(values: &[f32], width: usize, index: usize) -> Option<&[f32]> {
    let start = index.checked_mul(width)?;
    values.get(start..start.checked_add(width)?)
}

fn gather(values: &[f32], width: usize, indices: &[usize]) -> Option<Vec<f32>> {
    let mut gathered = Vec::with_capacity(indices.len() * width);
    for &index in indices {
        gathered.extend_from_slice(row(values, width, index)?);
    }
    Some(gathered)
}

fn check(what: &str, found: usize, bounds: RangeInclusive<usize>) -> Result<(), DataError> {
    if bounds.contains(&found) {
        return Ok(());
    }
    let expected = match bounds.into_inner() {
        (least, usize::MAX) => format!("at least {least}"),
        (least, most) if most == least => most.to_string(),
        (least, most) => format!("{least} to {most}"),
    };
    Err(unfit(&format!("table: {what}"), expected, found))
}

fn check_finite(what: &str, values: &[f32]) -> Result<(), DataError> {
    match values.iter().all(|value| value.is_finite()) {
        true => Ok(()),
        false => Err(value(what, "a finite number")),
    }
}

/// Refuses a value of a record that is out of its bounds; the message leaves the value out.
fn value(what: &str, expected: &str) -> DataError {
    unfit(&format!("table: {what}"), expected, "another value")
}
