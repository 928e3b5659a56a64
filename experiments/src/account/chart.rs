//! Line charts as SVG.

use std::fmt::Write as _;

use super::output::shown;

/// One accountant's curve.
pub struct Series {
    pub accountant: String,
    pub is_upper_bound: bool,
    pub points: Vec<(f64, f64)>,
}

/// Curves over a common axis.
pub struct Chart {
    pub title: String,
    pub x: &'static str,
    pub y: &'static str,
    pub series: Vec<Series>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
/// Left, right, top and bottom margins.
const MARGINS: (f64, f64, f64, f64) = (70.0, 20.0, 44.0, 56.0);
/// Told apart with any colour vision (Okabe and Ito).
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"];

impl Chart {
    /// The chart as a picture; curves that are no upper bounds are dashed and say so.
    pub fn svg(&self) -> String {
        let finite = || {
            self.series
                .iter()
                .flat_map(|series| &series.points)
                .filter(|(_, y)| y.is_finite())
        };
        let last_x = finite()
            .map(|point| point.0)
            .fold(0.0, f64::max)
            .max(1e-300);
        let last_y = finite()
            .map(|point| point.1)
            .fold(0.0, f64::max)
            .max(1e-300);
        let (left, right, top, bottom) = MARGINS;
        let (wide, high) = (WIDTH - left - right, HEIGHT - top - bottom);
        let (step_x, step_y) = (tick(last_x), tick(last_y));
        let (end_x, end_y) = (last_x, (last_y / step_y).ceil() * step_y);
        let at_x = |x: f64| left + wide * x / end_x;
        let at_y = |y: f64| top + high * (1.0 - y / end_y);

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{left}\" y=\"24\" font-size=\"16\">{}</text>\n",
            self.title
        );
        let mut value = 0.0;
        while value <= end_y * (1.0 + 1e-9) {
            let y = at_y(value);
            let _ = writeln!(
                svg,
                "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - right,
                left - 8.0,
                y + 4.0,
                label(value)
            );
            value += step_y;
        }
        let mut value = 0.0;
        while value <= end_x * (1.0 + 1e-9) {
            let x = at_x(value);
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - bottom + 18.0,
                label(value)
            );
            value += step_x;
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            left + 0.5 * wide,
            HEIGHT - 14.0,
            self.x,
            top + 0.5 * high,
            self.y
        );
        for (k, series) in self.series.iter().enumerate() {
            self.curve(&mut svg, k, series, &at_x, &at_y);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn curve(
        &self,
        svg: &mut String,
        k: usize,
        series: &Series,
        at_x: &dyn Fn(f64) -> f64,
        at_y: &dyn Fn(f64) -> f64,
    ) {
        let colour = COLOURS[k % COLOURS.len()];
        let (dash, note) = if series.is_upper_bound {
            ("", "")
        } else {
            (" stroke-dasharray=\"6 4\"", " (not an upper bound)")
        };
        let path: Vec<String> = series
            .points
            .iter()
            .filter(|(_, y)| y.is_finite())
            .map(|(x, y)| format!("{:.2},{:.2}", at_x(*x), at_y(*y)))
            .collect();
        let y = MARGINS.2 + 14.0 + 18.0 * k as f64;
        // A legend where the curves are not: epsilon rises, trade-off functions fall.
        let x = if self.x == "steps" {
            MARGINS.0 + 16.0
        } else {
            WIDTH - 280.0
        };
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash} points=\"{}\"/>\n\
             <line x1=\"{x}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{colour}\" \
             stroke-width=\"2\"{dash}/><text x=\"{}\" y=\"{}\">{}{note}</text>",
            path.join(" "),
            x + 28.0,
            x + 36.0,
            y + 4.0,
            series.accountant
        );
    }
}

/// A round step that divides an axis into four to ten.
fn tick(largest: f64) -> f64 {
    let power = 10.0_f64.powf((largest / 5.0).log10().floor());
    let ratio = largest / 5.0 / power;
    power
        * if ratio < 1.5 {
            1.0
        } else if ratio < 3.5 {
            2.0
        } else if ratio < 7.5 {
            5.0
        } else {
            10.0
        }
}

fn label(value: f64) -> String {
    let text = shown(value);
    if text.contains('e') || !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
