//! Charts that follow the light or dark mode of whoever looks at them.

use std::fmt::Write as _;

use plotters::style::RGBColor;

use super::canvas::Drawn;
use super::palette::DARK;

impl Drawn {
    /// A chart of this module with a style sheet inside: on a dark page other colours stand for those that are hard to
    /// see there. For charts in files of their own; the sheet would reach into a page that holds the chart as it is.
    #[must_use]
    pub fn following_the_reader(mut self) -> Self {
        let name = |RGBColor(r, g, b)| format!("#{r:02X}{g:02X}{b:02X}");
        let mut sheet = String::from("<style>@media (prefers-color-scheme: dark) {");
        for (light, dark) in DARK {
            for property in ["fill", "stroke"] {
                let (light, dark) = (name(light), name(dark));
                // Writing to a string does not fail.
                let _ = write!(sheet, "[{property}=\"{light}\"]{{{property}:{dark}}}");
            }
        }
        sheet.push_str("}</style>\n");
        // Behind the line of the picture's own tag.
        let head = self.bytes.iter().position(|&byte| byte == b'\n');
        let head = head.map_or(self.bytes.len(), |place| place + 1);
        self.bytes.splice(head..head, sheet.into_bytes());
        self
    }
}

#[cfg(test)]
mod tests {
    use crate::figures::{LineChart, Series};

    /// Each colour of a chart that is replaced is one that the chart has, in the spelling of the sheet.
    #[test]
    fn a_chart_has_its_dark_colours() {
        let chart = LineChart {
            series: (0..10)
                .map(|k| Series::new(format!("{k}"), vec![(0.0, f64::from(k)), (1.0, 2.0)]))
                .collect(),
            ..LineChart::default()
        };
        let plain = chart.draw().unwrap();
        let text = String::from_utf8(plain.bytes.clone()).unwrap();
        let dark = String::from_utf8(plain.following_the_reader().bytes).unwrap();
        assert!(dark.starts_with("<svg") && dark.ends_with("</svg>\n"));
        let (before, rest) = dark.split_once("<style>").unwrap();
        let (sheet, after) = rest.split_once("</style>\n").unwrap();
        assert_eq!([before, after].concat(), text);
        let mut found = 0;
        for selector in sheet.split('[').skip(1) {
            let (attribute, _) = selector.split_once(']').unwrap();
            found += usize::from(text.contains(attribute));
        }
        // White, ink and grid, and the five colours of lines.
        assert!(found >= 8, "{found}");
    }
}
