//! Pictures as SVG: lines, areas, marks and text, in pixels from the upper left corner.

use std::fmt::Write as _;

use super::palette::{Colour, DARK, INK, WHITE};

/// A picture, and the number of values that could not be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// The number of values left out: not finite, not positive on a logarithmic axis, or outside the picture.
    pub skipped: usize,
}

impl Drawn {
    /// Adds a style sheet that replaces, on a dark page, the colours that are hard to see there. It is for charts in files of
    /// their own: in a chart that is part of a page, the sheet would change the page too.
    #[must_use]
    pub fn following_the_reader(mut self) -> Self {
        let mut sheet = String::from("<style>@media (prefers-color-scheme: dark) {");
        for (light, dark) in DARK {
            for property in ["fill", "stroke"] {
                // Writing to a string does not fail.
                let _ = write!(sheet, "[{property}=\"{light}\"]{{{property}:{dark}}}");
            }
        }
        sheet.push_str("}</style>\n");
        // The sheet goes after the line of the picture's own tag.
        let head = self.bytes.iter().position(|&byte| byte == b'\n');
        let head = head.map_or(self.bytes.len(), |place| place + 1);
        self.bytes.splice(head..head, sheet.into_bytes());
        self
    }
}

/// A place in the picture.
pub(super) type At = (f64, f64);

/// The part of a text that lies at its place; vertically it is the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Corners of the marks, on a circle of radius one around the point; the first mark is a disc. Each group has a shape of
/// its own, so that colour alone need not tell groups apart.
const SHAPES: [&[At]; 5] = [
    &[],
    &[(-0.89, -0.89), (0.89, -0.89), (0.89, 0.89), (-0.89, 0.89)],
    &[(0.0, -1.25), (1.1, 0.8), (-1.1, 0.8)],
    &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
    &[(0.0, 1.25), (1.1, -0.8), (-1.1, -0.8)],
];

/// A picture that is being written.
pub(super) struct Svg(String);

impl Svg {
    /// Starts a white picture. Text is in a font as wide as Arial, if the reader has one.
    pub(super) fn new((width, height): At) -> Self {
        let (width, height) = (width.ceil(), height.ceil());
        Self(format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             xmlns=\"http://www.w3.org/2000/svg\" font-family=\"Helvetica, Arial, Liberation Sans, sans-serif\" fill=\"{INK}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{WHITE}\"/>\n"
        ))
    }

    /// Returns the finished file.
    pub(super) fn finish(mut self, skipped: usize) -> Drawn {
        self.0.push_str("</svg>\n");
        let bytes = self.0.into_bytes();
        Drawn { bytes, skipped }
    }

    /// Draws lines of one pen; `dashes`: lengths that are drawn and left out in turn, empty for a solid line.
    pub(super) fn lines<L: IntoIterator<Item = At>>(
        &mut self,
        lines: impl IntoIterator<Item = L>,
        colour: Colour,
        width: f64,
        dashes: &str,
    ) {
        let path: String = lines.into_iter().map(joined).collect();
        let dashes = match dashes {
            "" => String::new(),
            lengths => format!(" stroke-dasharray=\"{lengths}\""),
        };
        let pen = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}");
        self.path(&path, &pen);
    }

    /// Fills the polygon through `corners`.
    pub(super) fn area(
        &mut self,
        corners: impl IntoIterator<Item = At>,
        colour: Colour,
        opacity: f64,
    ) {
        let opacity = number(opacity);
        let fill = format!("fill=\"{colour}\" fill-opacity=\"{opacity}\"");
        self.path(&joined(corners), &fill);
    }

    /// Fills a rectangle between two opposite corners.
    pub(super) fn block(&mut self, [a, b]: [At; 2], colour: Colour, opacity: f64) {
        self.area([a, (b.0, a.1), b, (a.0, b.1)], colour, opacity);
    }

    /// Draws the marks of group `shape`.
    pub(super) fn marks(
        &mut self,
        places: impl IntoIterator<Item = At>,
        shape: usize,
        radius: f64,
        colour: Colour,
    ) {
        let corners = SHAPES[shape % SHAPES.len()];
        let (r, wide) = (number(radius), number(2.0 * radius));
        let mark = |(x, y): At| match corners {
            [] => {
                let (left, y) = (number(x - radius), number(y));
                format!("M{left} {y}a{r} {r} 0 1 0 {wide} 0a{r} {r} 0 1 0 -{wide} 0")
            }
            corners => {
                let corner = |(dx, dy): &At| (x + radius * dx, y + radius * dy);
                joined(corners.iter().map(corner))
            }
        };
        let path: String = places.into_iter().map(mark).collect();
        self.path(&path, &format!("fill=\"{colour}\""));
    }

    fn path(&mut self, path: &str, style: &str) {
        if !path.is_empty() {
            let _ = writeln!(self.0, "<path d=\"{path}\" {style}/>");
        }
    }

    /// Writes one line of text.
    pub(super) fn text(&mut self, words: &str, at: At, size: f64, anchor: Anchor) {
        self.styled(words, at, size, anchor, "");
    }

    /// Writes one line of text that runs upwards through its place.
    pub(super) fn upright(&mut self, words: &str, at: At, size: f64, anchor: Anchor) {
        let turn = format!(
            " transform=\"rotate(-90 {} {})\"",
            number(at.0),
            number(at.1)
        );
        self.styled(words, at, size, anchor, &turn);
    }

    /// Writes one line of text with more attributes, such as another colour.
    pub(super) fn styled(&mut self, words: &str, at: At, size: f64, anchor: Anchor, more: &str) {
        if words.is_empty() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        // Capitals and digits are about 0.7 em high; the place is at their middle.
        let (x, y) = (number(at.0), number(at.1 + 0.35 * size));
        let _ = writeln!(
            self.0,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor}{more}>{}</text>",
            escaped(words)
        );
    }
}

/// Returns the path of a line through places.
fn joined(places: impl IntoIterator<Item = At>) -> String {
    let mut path = String::new();
    for (x, y) in places {
        let step = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{step}{} {}", number(x), number(y));
    }
    path
}

/// Rounds to hundredths of a pixel, which nobody sees; the last digits of a float differ between machines.
fn number(value: f64) -> f64 {
    // Adding zero turns a negative zero into a positive one.
    (value * 100.0).round() / 100.0 + 0.0
}

/// Escapes text between tags and replaces characters that XML does not allow.
fn escaped(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => text.push('\u{fffd}'),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        let mut svg = Svg::new((10.0, 10.0));
        svg.text("<a & \"b\">\u{1b}", (1.0, 2.0), 10.0, Anchor::End);
        let text = String::from_utf8(svg.finish(0).bytes).unwrap();
        let line = "<text x=\"1\" y=\"5.5\" font-size=\"10\" text-anchor=\"end\">\
                    &lt;a &amp; &quot;b&quot;&gt;\u{fffd}</text>\n</svg>\n";
        assert!(text.ends_with(line), "{text}");
    }

    #[test]
    fn a_picture_has_its_dark_colours() {
        let mut svg = Svg::new((10.0, 10.0));
        svg.lines([[(0.0, 1.0 / 3.0), (5.0, -0.001)]], INK, 2.0, "7 4");
        let plain = svg.finish(0);
        let text = String::from_utf8(plain.bytes.clone()).unwrap();
        assert!(text.contains("d=\"M0 0.33L5 0\"") && text.contains("dasharray=\"7 4\""));
        let dark = String::from_utf8(plain.following_the_reader().bytes).unwrap();
        let (before, rest) = dark.split_once("<style>").unwrap();
        let (sheet, after) = rest.split_once("</style>\n").unwrap();
        assert_eq!([before, after].concat(), text);
        for attribute in ["fill=\"#FFFFFF\"", "fill=\"#2D2D2D\"", "stroke=\"#2D2D2D\""] {
            assert!(text.contains(attribute) && sheet.contains(attribute));
        }
    }
}
