//! Assigns records to units, such as persons: all records of one unit are private together.

use std::collections::HashMap;

use crate::DataError;
use crate::error::unfit;
use crate::sums::sum;

/// The unit of each record.
#[derive(Clone, PartialEq, Eq)]
pub struct Units {
    of: Vec<usize>,
    count: usize,
}

debug_shows!(Units { count });

impl Units {
    /// Makes units from their names, one name for each record.
    pub fn of_texts<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut of = Vec::new();
        for name in names {
            let next = known.len();
            of.push(*known.entry(name).or_insert(next));
        }
        Self {
            of,
            count: known.len(),
        }
    }

    /// The number of units.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of records.
    pub fn records(&self) -> usize {
        self.of.len()
    }

    /// Returns the checksum of the contents of a record.
    pub fn sum(contents: &[u8]) -> [u8; 32] {
        sum([contents])
    }

    /// Returns the indices, ascending, of at most `most` records of each unit, those with the lowest checksums of their
    /// contents ([`Units::sum`], one for each record). Which records of a unit are kept depends on this unit alone.
    ///
    /// # Errors
    /// [`DataError::Request`] if the number of checksums is not that of the records.
    pub fn kept(&self, most: usize, sums: &[[u8; 32]]) -> Result<Vec<usize>, DataError> {
        if sums.len() != self.of.len() {
            return Err(unfit("records with units", self.of.len(), sums.len()));
        }
        let mut of_units: Vec<Vec<([u8; 32], usize)>> = vec![Vec::new(); self.count];
        for ((place, &unit), sum) in self.of.iter().enumerate().zip(sums) {
            of_units[unit].push((*sum, place));
        }
        let mut kept: Vec<usize> = Vec::with_capacity(self.of.len());
        for unit in &mut of_units {
            unit.sort_unstable();
            kept.extend(unit.iter().take(most).map(|&(_, place)| place));
        }
        kept.sort_unstable();
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_unit_depends_on_it_alone() {
        let contents: Vec<_> = (0..6).map(|place| Units::sum(&[place])).collect();
        let units = Units::of_texts(["a", "b", "a", "c", "a", "b"]);
        assert_eq!((units.count(), units.records()), (3, 6));
        let kept = units.kept(2, &contents).unwrap();
        assert_eq!(kept.len(), 5);
        assert!([1, 3, 5].iter().all(|place| kept.contains(place)));
        // Another unit in the place of one changes nothing of the others.
        let other = Units::of_texts(["a", "d", "a", "d", "a", "d"]).kept(2, &contents);
        let other = other.unwrap();
        let of_a = |kept: &[usize]| {
            kept.iter()
                .copied()
                .filter(|place| place % 2 == 0)
                .collect::<Vec<_>>()
        };
        assert_eq!(of_a(&kept), of_a(&other));
        assert_eq!(units.kept(9, &contents).unwrap(), [0, 1, 2, 3, 4, 5]);
        // A part of the records has no units of its own: another one would be kept in their place.
        assert!(units.kept(2, &contents[..4]).is_err());
    }
}
