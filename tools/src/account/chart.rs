//! Curves of accountants as a picture.

use reporting::diagnostic::Failure;
use reporting::figures::{self, Drawn, LineChart, Scale};

/// One accountant's curve.
pub(super) struct Series {
    pub accountant: String,
    pub is_upper_bound: bool,
    pub points: Vec<(f64, f64)>,
}

/// Curves over a common axis.
pub(super) struct Chart {
    pub title: String,
    pub x: &'static str,
    pub y: &'static str,
    pub series: Vec<Series>,
}

impl Chart {
    /// The chart as a picture; curves that are no upper bounds are dashed and say so.
    pub(super) fn picture(&self) -> Result<Drawn, Failure> {
        let series = self.series.iter().map(|series| figures::Series {
            name: if series.is_upper_bound {
                series.accountant.clone()
            } else {
                format!("{} (not an upper bound)", series.accountant)
            },
            points: series.points.clone(),
            band: vec![],
            dashed: !series.is_upper_bound,
        });
        LineChart {
            title: self.title.clone(),
            x: Scale::linear(self.x),
            y: Scale::linear(self.y),
            series: series.collect(),
            size: None,
        }
        .draw()
    }
}
