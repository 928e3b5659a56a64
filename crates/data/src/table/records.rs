use super::{GroupedTable, Labels};
use crate::DataError;
use crate::split::Splittable;
use crate::sums::Sum;

/// The sum covers `sliver table 1`, the numbers of records and features and, for labels, R and 0 for classes or 0 and the
/// width for values (8 bytes each, the lowest first); then features, labels (4 bytes a number as `f32`, 8 bytes a class) and
/// groups. It leaves names out. The strata are the groups, and the classes within them.
impl Splittable for GroupedTable {
    fn count(&self) -> usize {
        self.len()
    }

    fn sha256(&self) -> Result<String, DataError> {
        let bytes = |values: &[f32]| -> Vec<u8> {
            values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect()
        };
        let (classes, width, labels): (_, _, Vec<u8>) = match self.labels() {
            Labels::Classes { count, values } => (
                *count,
                0,
                values
                    .iter()
                    .flat_map(|&class| (class as u64).to_le_bytes())
                    .collect(),
            ),
            Labels::Values { width, values } => (0, *width, bytes(values)),
        };
        let header = [self.len(), self.width(), classes, width];
        let mut sum = Sum::of("sliver table 1", &header);
        sum.add(bytes(self.features()));
        sum.add(labels);
        sum.add(self.groups());
        Ok(sum.hex())
    }

    fn strata(&self) -> Option<Vec<usize>> {
        let group = |index: usize| usize::from(self.groups()[index]);
        Some(match self.labels() {
            Labels::Classes { count, values } => (0..self.len())
                .map(|i| group(i) * count + values[i])
                .collect(),
            Labels::Values { .. } => (0..self.len()).map(group).collect(),
        })
    }
}
