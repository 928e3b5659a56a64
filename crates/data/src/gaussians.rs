//! Mixtures of Gaussians in the plane, a toy problem for a flow of particles.
//!
//! Figure 1 of "Differentially private gradient flow based on the sliced Wasserstein distance" shows
//! five Gaussians, but the text gives neither their places nor their widths. [`Gaussians::five`] puts
//! them on a circle of radius 3, every fifth of a turn from the top, each with standard deviation 1/2.
//! So neighbours are 3.5 apart, further than the smoothing of the figure's last row (1) spreads them.

use std::f64::consts::{PI, TAU};

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use crate::DataError;
use crate::error::{check_count, empty, number};

/// A mixture of equally likely, round Gaussians in the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussians {
    centres: Vec<[f64; 2]>,
    deviation: f64,
}

/// Points in the plane, each from one of several Gaussians.
#[derive(Clone, PartialEq)]
pub struct PlanePoints {
    /// The coordinates, shape `[n, 2]` in row-major order.
    pub values: Vec<f32>,
    /// The Gaussian that each point comes from, shape `[n]`.
    pub components: Vec<usize>,
}

debug_shows!(PlanePoints {});

impl Gaussians {
    /// The most points in one sample.
    pub const MAX_COUNT: usize = 1 << 28;

    /// Returns the five Gaussians of the toy problem.
    pub fn five() -> Self {
        let place = |k: u8| {
            let angle = PI / 2.0 + TAU * f64::from(k) / 5.0;
            [3.0 * angle.cos(), 3.0 * angle.sin()]
        };
        Self {
            centres: (0..5).map(place).collect(),
            deviation: 0.5,
        }
    }

    /// Returns equally likely Gaussians around `centres`, with the standard deviation `deviation` along each axis.
    ///
    /// # Errors
    /// [`DataError::Request`] without centres, and unless the centres are finite and the deviation is finite and
    /// positive.
    pub fn new(centres: Vec<[f64; 2]>, deviation: f64) -> Result<Self, DataError> {
        if centres.is_empty() {
            return Err(empty("the list of Gaussians", "centre"));
        }
        if let Some(&found) = centres.as_flattened().iter().find(|x| !x.is_finite()) {
            return Err(number("centre of a Gaussian", found, "finite coordinates"));
        }
        if !(deviation > 0.0 && deviation.is_finite()) {
            return Err(number(
                "deviation of the Gaussians",
                deviation,
                "more than 0",
            ));
        }
        Ok(Self { centres, deviation })
    }

    /// The centres of the Gaussians.
    pub fn centres(&self) -> &[[f64; 2]] {
        &self.centres
    }

    /// The standard deviation of each Gaussian along each axis.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// Samples `count` independent points. A larger sample from the same generator begins with the same
    /// points.
    ///
    /// # Errors
    /// [`DataError::Request`] unless `count` is in 1..=[`MAX_COUNT`](Self::MAX_COUNT).
    pub fn sample<R: Rng + ?Sized>(
        &self,
        count: usize,
        generator: &mut R,
    ) -> Result<PlanePoints, DataError> {
        check_count("points in the plane", count, Self::MAX_COUNT)?;
        let mut points = PlanePoints {
            values: Vec::with_capacity(2 * count),
            components: Vec::with_capacity(count),
        };
        for _ in 0..count {
            let component = generator.random_range(0..self.centres.len());
            for centre in self.centres[component] {
                let normal: f64 = generator.sample(StandardNormal);
                points
                    .values
                    .push((centre + self.deviation * normal) as f32);
            }
            points.components.push(component);
        }
        Ok(points)
    }

    /// Returns the density at a point x: 1/k sum over j of exp(-|x - c_j|^2 / (2 s^2)) / (2 pi s^2).
    pub fn density(&self, point: [f64; 2]) -> f64 {
        let variance = self.deviation * self.deviation;
        let sum: f64 = self
            .centres
            .iter()
            .map(|centre| {
                let (x, y) = (point[0] - centre[0], point[1] - centre[1]);
                (-(x * x + y * y) / (2.0 * variance)).exp()
            })
            .sum();
        sum / (self.centres.len() as f64 * TAU * variance)
    }
}
