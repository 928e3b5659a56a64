//! Public bins of a projected slice.

use dp_core::accounting::normal::{upper_quantile, upper_tail};
use swd::SwdError;

/// Half-open intervals on a line between increasing edges.
///
/// Values beyond the outer edges count in the outer bins, so every record has a bin.
#[derive(Debug, Clone, PartialEq)]
pub struct Bins {
    edges: Vec<f64>,
}

impl Bins {
    /// Creates `count` bins of equal width on `[-radius, radius]`.
    ///
    /// # Errors
    /// Returns an error for fewer than two bins, or a radius that is not positive and finite.
    pub fn uniform(radius: f64, count: usize) -> Result<Self, SwdError> {
        if !(radius > 0.0 && radius.is_finite()) {
            let (what, value) = ("half-width of the bins", radius);
            return Err(SwdError::NotPositive { what, value });
        }
        let place = |edge| radius * (2.0 * edge as f64 / count.max(1) as f64 - 1.0);
        Self::from_edges((0..=count).map(place).collect())
    }

    /// Creates `count` bins of equal width between two public ends.
    ///
    /// # Errors
    /// Returns an error for fewer than two bins, or ends that are not finite or do not increase.
    pub fn between(from: f64, to: f64, count: usize) -> Result<Self, SwdError> {
        let place = |edge| from + (to - from) * edge as f64 / count.max(1) as f64;
        Self::from_edges((0..=count).map(place).collect())
    }

    fn from_edges(edges: Vec<f64>) -> Result<Self, SwdError> {
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

    /// Creates `count` bins around a normal distribution, inside `[-radius, radius]`, narrow where the distribution is dense.
    ///
    /// The outer edges are 3.2 deviations from the mean, or at the radius if that is nearer. Each edge in between is the average
    /// of the edge for bins of equal width and the edge for bins of equal mass.
    ///
    /// # Errors
    /// Returns the errors of [`Bins::uniform`], and an error for a mean or deviation that is not finite.
    pub fn normal(mean: f64, deviation: f64, radius: f64, count: usize) -> Result<Self, SwdError> {
        let whole = Self::uniform(radius, count)?;
        for (what, value) in [
            ("mean of the bins", mean),
            ("deviation of the bins", deviation),
        ] {
            if !value.is_finite() {
                let (row, index) = (0, 0);
                return Err(SwdError::NotFinite {
                    what,
                    row,
                    index,
                    value,
                });
            }
        }
        const REACH: f64 = 3.2;
        let low = (mean - REACH * deviation).max(-radius);
        let high = (mean + REACH * deviation).min(radius);
        if high - low <= 1e-6 * radius {
            return Ok(whole);
        }
        let edge = |j: usize| {
            if j == 0 || j == count {
                return if j == 0 { low } else { high };
            }
            let share = j as f64 / count as f64;
            let equal_width = low + (high - low) * share;
            let equal_mass = mean - deviation * upper_quantile(share);
            0.5 * (equal_width + equal_mass.clamp(low, high))
        };
        Self::from_edges((0..=count).map(edge).collect())
    }

    /// Returns the mass of a normal distribution in each bin, with its tails in the outer bins.
    pub(super) fn normal_shares(&self, mean: f64, deviation: f64) -> Vec<f64> {
        let above = |edge: f64| {
            let at = (edge - mean) / deviation.max(f64::MIN_POSITIVE);
            upper_tail(at.clamp(-40.0, 40.0))
        };
        let inner = self.edges[1..self.count()].iter().map(|&edge| above(edge));
        let mut shares = Vec::with_capacity(self.count());
        let mut before = 1.0;
        for after in inner.chain([0.0]) {
            shares.push(before - after);
            before = after;
        }
        shares
    }

    /// Returns the number of bins, `B`.
    pub fn count(&self) -> usize {
        self.edges.len() - 1
    }

    /// Returns the `B + 1` edges.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// Returns the bin of a value, counted from 0: `edge_b <= value < edge_{b+1}`.
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
        let values = [
            f64::NEG_INFINITY,
            -3.0,
            -2.0,
            -1.0,
            -0.5,
            0.0,
            0.999,
            1.0,
            2.0,
            9.0,
        ];
        let places = values.map(|value| bins.place(value));
        assert_eq!(places, [0, 0, 0, 1, 1, 2, 2, 3, 3, 3]);
    }

    #[test]
    fn bins_around_a_normal_law() {
        let bins = Bins::normal(0.1, 0.1, 1.0, 16).unwrap();
        let edges = bins.edges();
        assert!((edges[0] + 0.22).abs() < 1e-12 && (edges[16] - 0.42).abs() < 1e-12);
        assert!((edges[8] - 0.1).abs() < 1e-12);
        let widths: Vec<f64> = edges.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(widths[8] < 0.04 && widths[0] > 0.06 && widths[0] < 0.11);
        let shares = bins.normal_shares(0.1, 0.1);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        for i in 0..16 {
            assert!((shares[i] - shares[15 - i]).abs() < 1e-12);
        }
        // Cut at the radius; a distribution outside, or without width, gets the whole interval.
        let bins = Bins::normal(0.9, 0.2, 1.0, 8).unwrap();
        assert_eq!((bins.edges()[0] * 100.0).round(), 26.0);
        assert_eq!(bins.edges()[8], 1.0);
        for (mean, deviation) in [(0.3, 0.0), (5.0, 0.1), (0.0, -1.0)] {
            let bins = Bins::normal(mean, deviation, 1.0, 8).unwrap();
            assert_eq!(bins, Bins::uniform(1.0, 8).unwrap());
        }
        assert!(Bins::normal(f64::NAN, 1.0, 1.0, 8).is_err());
        assert!(Bins::normal(0.0, f64::INFINITY, 1.0, 8).is_err());
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
