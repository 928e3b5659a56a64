//! Pictures of results: charts as SVG, grids of images as PNG.
//!
//! Figures are drawn on white with colours that any colour vision tells apart, so that they read on
//! light and dark pages and in print. Values that cannot be drawn are left out and counted in
//! [`Drawn::skipped`]; a figure without any value is an error.
//!
//! ```
//! use reporting::figures::{Chart, Scale, Series};
//!
//! let chart = Chart {
//!     x: Scale::linear("step"),
//!     y: Scale::logarithmic("loss"),
//!     series: vec![Series::new("test", vec![(1.0, 2.0), (10.0, 0.5), (20.0, f64::NAN)])],
//!     ..Chart::default()
//! };
//! let drawn = chart.draw()?;
//! assert_eq!(drawn.skipped, 1);
//! assert!(drawn.bytes.starts_with(b"<svg"));
//! # Ok::<(), reporting::diagnostic::Failure>(())
//! ```

mod axis;
mod bars;
mod chart;
mod grid;
mod heat;
mod legend;
mod palette;
mod planes;
mod rows;
mod svg;
mod text;

pub use axis::Scale;
pub use bars::{Bars, bars, histogram};
pub use chart::{Chart, Mark, Point, Series, mean_and_deviation, panels};
pub use grid::grid;
pub use heat::heat;
pub use planes::scatter;
pub use rows::{Row, Rows};
pub use svg::Drawn;
