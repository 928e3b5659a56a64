//! Colours that can be told apart with any colour vision, on white.

/// A colour as SVG writes it.
pub(super) type Colour = &'static str;

/// The background of figures.
pub(super) const WHITE: Colour = "#FFFFFF";

/// Six colours of Okabe and Ito (2008), black, and three colours that lie far from them and from each other under normal,
/// protanopic, deuteranopic and tritanopic vision.
const COLOURS: [Colour; 10] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#141414", "#8716F4",
    "#6B2305", "#0A128F",
];

/// Text and frames.
pub(super) const INK: Colour = "#2D2D2D";
/// Grid lines.
pub(super) const FAINT: Colour = "#E0E0E0";
/// Boundaries that are context, not data.
pub(super) const CONTEXT: Colour = "#969696";

/// On a dark page, the replacements of white and of each colour that is hard to see on black.
pub(super) const DARK: [(Colour, Colour); 8] = [
    (WHITE, "#0D1117"),
    (INK, "#DCDCDC"),
    (FAINT, "#343A42"),
    (COLOURS[0], "#46A0E1"),
    (COLOURS[6], "#F5F5F5"),
    (COLOURS[7], "#B06EFF"),
    (COLOURS[8], "#BE7855"),
    (COLOURS[9], "#707CFF"),
];

/// Returns the colour of the series, class or method with this number; colours repeat after ten.
pub(super) fn colour(number: usize) -> Colour {
    COLOURS[number % COLOURS.len()]
}

/// Returns the dashes of a series, which tell series apart when colours repeat after ten: lengths drawn and left out in turn,
/// empty for a solid line.
pub(super) fn dashes(number: usize, dashed: bool) -> &'static str {
    match (number / COLOURS.len(), dashed) {
        (0, false) => "",
        (0, true) => "7 4",
        (1, _) => "2 3",
        _ => "8 3 2 3",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linear RGB of a colour.
    fn linear(colour: Colour) -> [f64; 3] {
        [1, 3, 5].map(|place| {
            let v = u8::from_str_radix(&colour[place..place + 2], 16).unwrap();
            let v = f64::from(v) / 255.0;
            if v <= 0.04045 {
                v / 12.92
            } else {
                ((v + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    fn times(matrix: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(v).map(|(m, x)| m * x).sum::<f64>())
    }

    /// CIE L*a*b* under D65.
    fn lab(rgb: [f64; 3]) -> [f64; 3] {
        let xyz = times(
            &[
                [0.4124 / 0.9505, 0.3576 / 0.9505, 0.1805 / 0.9505],
                [0.2126, 0.7152, 0.0722],
                [0.0193 / 1.089, 0.1192 / 1.089, 0.9505 / 1.089],
            ],
            rgb.map(|v| v.clamp(0.0, 1.0)),
        );
        let [x, y, z] = xyz.map(|t| {
            if t > 0.008856 {
                t.cbrt()
            } else {
                7.787 * t + 16.0 / 116.0
            }
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// Full protanopia, deuteranopia and tritanopia of Machado, Oliveira and Fernandes (2009).
    const VISIONS: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ];

    /// A just noticeable difference is about 2.3 in L*a*b*; ours are at least six times that.
    #[test]
    fn colours_differ_for_every_vision() {
        for vision in &VISIONS {
            let seen: Vec<[f64; 3]> = (0..10)
                .map(|k| lab(times(vision, linear(colour(k)))))
                .collect();
            for i in 0..10 {
                for j in 0..i {
                    let distance: f64 = (0..3).map(|k| (seen[i][k] - seen[j][k]).powi(2)).sum();
                    assert!(distance.sqrt() > 14.0, "{i} and {j}: {}", distance.sqrt());
                }
            }
        }
    }

    fn luminance(colour: Colour) -> f64 {
        let [r, g, b] = linear(colour);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    #[test]
    fn colours_stand_out_from_white() {
        for k in 0..10 {
            let luminance = luminance(colour(k));
            assert!(1.05 / (luminance + 0.05) > 2.2, "colour {k}");
        }
    }

    #[test]
    fn colours_stand_out_from_a_dark_page() {
        let dark = |light: Colour| {
            let pair = DARK.iter().find(|(from, _)| *from == light);
            luminance(pair.map_or(light, |(_, to)| *to))
        };
        for colour in COLOURS.into_iter().chain([INK]) {
            let contrast = (dark(colour) + 0.05) / (dark(WHITE) + 0.05);
            assert!(contrast > 4.0, "{colour}: {contrast}");
        }
    }
}
