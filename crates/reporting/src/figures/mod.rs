//! Pictures of results: charts as SVG, grids of images as PNG.
//!
//! Figures are drawn on white with colours that any colour vision tells apart, so that they read on
//! light and dark pages and in print. Values that cannot be drawn are left out and counted in
//! [`Drawn::skipped`]; a figure without any value is an error.
//!
//! ```
//! use reporting::figures::{LineChart, Scale, Series};
//!
//! let chart = LineChart {
//!     x: Scale::linear("step"),
//!     y: Scale::logarithmic("loss"),
//!     series: vec![Series::new("test", vec![(1.0, 2.0), (10.0, 0.5), (20.0, f64::NAN)])],
//!     ..LineChart::default()
//! };
//! let drawn = chart.draw()?;
//! assert_eq!(drawn.skipped, 1);
//! assert!(drawn.bytes.starts_with(b"<svg"));
//! # Ok::<(), reporting::diagnostic::Failure>(())
//! ```

mod axis;
mod bars;
mod canvas;
mod chart;
mod contour;
mod grid;
mod heat;
mod histogram;
mod latents;
mod lines;
mod marker;
mod mode;
mod palette;
mod panel;
mod particles;
mod png;
mod rows;
mod stroke;
mod text;
mod trade_off;

pub use axis::Scale;
pub use bars::{Bars, bars};
pub use canvas::Drawn;
pub use contour::Field;
pub use grid::{Grid, grid, interpolations};
pub use heat::heat;
pub use histogram::Histogram;
pub use latents::{Latents, scatter};
pub use lines::{LineChart, Series, mean_and_deviation};
pub use particles::{Particles, Snapshot};
pub use rows::{Row, Rows};
pub use trade_off::{Measured, Method, TradeOff};
