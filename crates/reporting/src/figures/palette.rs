//! Colours that can be told apart with any colour vision, on white.

use plotters::style::{RGBColor, WHITE};

/// Six of Okabe and Ito (2008), black, and three that lie far from them and from each other under
/// normal, protanopic, deuteranopic and tritanopic vision.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(20, 20, 20),
    RGBColor(135, 22, 244),
    RGBColor(107, 35, 5),
    RGBColor(10, 18, 143),
];

/// Text and frames.
pub(super) const INK: RGBColor = RGBColor(45, 45, 45);
/// Grid lines.
pub(super) const FAINT: RGBColor = RGBColor(224, 224, 224);
/// Boundaries that are context, not data.
pub(super) const CONTEXT: RGBColor = RGBColor(150, 150, 150);

/// What stands for white and for each colour that is hard to see on black, on a dark page.
pub(super) const DARK: [(RGBColor, RGBColor); 8] = [
    (WHITE, RGBColor(13, 17, 23)),
    (INK, RGBColor(220, 220, 220)),
    (FAINT, RGBColor(52, 58, 66)),
    (COLOURS[0], RGBColor(70, 160, 225)),
    (COLOURS[6], RGBColor(245, 245, 245)),
    (COLOURS[7], RGBColor(176, 110, 255)),
    (COLOURS[8], RGBColor(190, 120, 85)),
    (COLOURS[9], RGBColor(112, 124, 255)),
];

/// The colour of the series, class or method with this number; after ten they repeat.
pub(super) fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// The dashes of a series: after ten colours the dashes tell series apart. Lengths in nominal
/// pixels, drawn and left out in turn; empty for a whole line.
pub(super) fn dashes(number: usize, dashed: bool) -> &'static [f64] {
    match (number / COLOURS.len(), dashed) {
        (0, false) => &[],
        (0, true) => &[7.0, 4.0],
        (1, _) => &[2.0, 3.0],
        _ => &[8.0, 3.0, 2.0, 3.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linear RGB of a colour.
    fn linear(RGBColor(r, g, b): RGBColor) -> [f64; 3] {
        [r, g, b].map(|v| {
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

    fn luminance(colour: RGBColor) -> f64 {
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
        let dark = |light: RGBColor| {
            let pair = DARK.iter().find(|(from, _)| *from == light);
            luminance(pair.map_or(light, |(_, to)| *to))
        };
        for colour in COLOURS.into_iter().chain([INK]) {
            let contrast = (dark(colour) + 0.05) / (dark(WHITE) + 0.05);
            assert!(contrast > 4.0, "{colour:?}: {contrast}");
        }
    }
}
