//! Public bins of a projected slice.

use crate::SwdError;

/// Bins on the line, the same for every slice: half-open intervals between increasing edges.
///
/// What lies beyond the outer edges counts in the outer bins, so that every record has its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Bins {
    edges: Vec<f64>,
}

impl Bins {
    /// `count` bins of equal width on `[-radius, radius]`.
    ///
    /// # Errors
    /// Fewer than two bins, or a radius that is not positive and finite.
    pub fn uniform(radius: f64, count: usize) -> Result<Self, SwdError> {
        if !(radius > 0.0 && radius.is_finite()) {
            let (what, value) = ("half-width of the bins", radius);
            return Err(SwdError::NotPositive { what, value });
        }
        let place = |edge| radius * (2.0 * edge as f64 / count.max(1) as f64 - 1.0);
        Self::from_edges((0..=count).map(place).collect())
    }

    /// Bins between given edges, which must be public: chosen without a look at private rows.
    ///
    /// # Errors
    /// Fewer than three edges, or edges that are not finite or do not increase.
    pub fn from_edges(edges: Vec<f64>) -> Result<Self, SwdError> {
        let what = "edges of the bins";
        if edges.len() < 3 {
            let (found, expected) = (edges.len(), 3);
            return Err(SwdError::Length {
                what,
                found,
                expected,
            });
        }
        if let Some(index) = edges.iter().position(|edge| !edge.is_finite()) {
            return Err(SwdError::NotFinite {
                what,
                row: 0,
                index,
                value: edges[index],
            });
        }
        if let Some(index) = edges.windows(2).position(|pair| pair[0] >= pair[1]) {
            let (row, index) = (0, index + 1);
            return Err(SwdError::NotSorted { what, row, index });
        }
        Ok(Self { edges })
    }

    /// The number of bins, `B`.
    pub fn count(&self) -> usize {
        self.edges.len() - 1
    }

    /// The `B + 1` edges.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// The bin of a value, counted from 0: `edge_b <= value < edge_{b+1}`.
    pub fn place(&self, value: f64) -> usize {
        let inner = &self.edges[1..self.count()];
        inner.partition_point(|&edge| edge <= value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_bin() {
        let bins = Bins::uniform(2.0, 4).unwrap();
        assert_eq!(bins.edges(), [-2.0, -1.0, 0.0, 1.0, 2.0]);
        for (value, place) in [
            (f64::NEG_INFINITY, 0),
            (-3.0, 0),
            (-2.0, 0),
            (-1.0, 1),
            (-0.5, 1),
            (0.0, 2),
            (0.999, 2),
            (1.0, 3),
            (2.0, 3),
            (9.0, 3),
        ] {
            assert_eq!(bins.place(value), place, "{value}");
        }
    }

    #[test]
    fn bad_edges_are_refused() {
        assert!(Bins::uniform(0.0, 4).is_err());
        assert!(Bins::uniform(f64::NAN, 4).is_err());
        assert!(Bins::uniform(1.0, 0).is_err());
        assert!(Bins::uniform(1.0, 1).is_err());
        assert!(Bins::from_edges(vec![0.0, 1.0, 1.0]).is_err());
        assert!(Bins::from_edges(vec![0.0, f64::NAN, 1.0]).is_err());
        assert!(Bins::from_edges(vec![]).is_err());
    }
}
