//! The pen's path for each digit: the ways in which people write it, with proportions sampled for each
//! image. In the coordinates x is centred on 0, and y goes from 0 at the top to 1 at the bottom.

use std::f32::consts::{FRAC_PI_2, TAU};

use super::hand::Hand;
use super::path::{Knot, Point, Stroke};

/// Returns the strokes of a digit 0 to 9.
pub(super) fn digit(digit: u8, hand: &mut Hand<'_>) -> Vec<Stroke> {
    match digit {
        0 => zero(hand),
        1 => one(hand),
        2 => two(hand),
        3 => three(hand),
        4 => four(hand),
        5 => five(hand),
        6 => six(hand),
        7 => seven(hand),
        8 => eight(hand),
        _ => nine(hand),
    }
}

fn zero(hand: &mut Hand<'_>) -> Vec<Stroke> {
    let start = -FRAC_PI_2 + hand.normal(0.3, 0.35);
    let turn = TAU + hand.normal(0.05, 0.14 * hand.loose());
    let (wide, inward) = (hand.between(0.25, 0.43), hand.normal(0.05, 0.07));
    vec![spiral(0.0, 0.5, wide, 0.5, start, -turn, inward)]
}

fn one(hand: &mut Hand<'_>) -> Vec<Stroke> {
    let bow = hand.stray(0.035);
    let stem = [soft(0.0, 0.0), soft(bow, 0.5), soft(0.0, 1.0)];
    if hand.chance(0.6) {
        return vec![stem.to_vec()];
    }
    let flag = soft(-hand.between(0.1, 0.27), hand.between(0.12, 0.32));
    let mut strokes = vec![vec![flag, corner(0.0, 0.0), stem[1], stem[2]]];
    if hand.chance(0.4) {
        let (left, right) = (hand.between(0.14, 0.3), hand.between(0.14, 0.3));
        strokes.push(vec![soft(-left, 1.0), soft(right, 1.0 + hand.stray(0.02))]);
    }
    strokes
}

fn two(hand: &mut Hand<'_>) -> Vec<Stroke> {
    let (start, wide) = (hand.between(0.12, 0.32), hand.between(0.24, 0.34));
    let mut stroke = vec![
        soft(-wide, start),
        soft(-0.5 * wide, 0.05),
        soft(0.25 * wide, 0.0),
        soft(wide, 0.17),
        soft(0.85 * wide, 0.38),
        soft(0.15, 0.6),
    ];
    let tail = hand.between(-0.06, 0.08);
    let end = hand.between(0.26, 0.42);
    if hand.chance(0.45) {
        let (low, size) = (hand.between(0.93, 1.0), hand.between(0.07, 0.16));
        stroke.extend([
            soft(-0.16, low - 0.06),
            soft(-0.3, low),
            soft(-0.37, low - 0.5 * size),
            soft(-0.27, low - size),
            soft(-0.02, low - 0.25 * size),
            soft(end, low - tail),
        ]);
    } else {
        let wave = hand.between(-0.04, 0.04);
        stroke.extend([
            corner(-0.3, 0.96),
            soft(0.0, 0.95 - wave),
            soft(end, 0.96 - tail),
        ]);
    }
    vec![stroke]
}

fn three(hand: &mut Hand<'_>) -> Vec<Stroke> {
    let (start, end) = (hand.between(0.04, 0.2), hand.between(0.82, 0.96));
    let (waist, inward) = (hand.between(0.42, 0.5), hand.between(-0.14, 0.06));
    let (upper, lower) = (hand.between(0.18, 0.28), hand.between(0.22, 0.34));
    let mut stroke = if hand.chance(0.12) {
        vec![
            soft(-0.26, 0.04),
            corner(upper, 0.02 + hand.stray(0.02)),
            corner(inward, waist - 0.04),
        ]
    } else {
        let mut stroke = vec![
            soft(-0.27, start),
            soft(-0.03, 0.0),
            soft(upper, 0.13),
            soft(0.75 * upper, 0.33),
        ];
        if hand.chance(0.25) {
            stroke.extend([
                soft(inward + 0.02, waist),
                soft(inward - 0.07, waist + 0.03),
                soft(inward, waist + 0.06),
            ]);
        } else {
            stroke.push(corner(inward, waist));
        }
        stroke
    };
    stroke.extend([
        soft(0.7 * lower, waist + 0.09),
        soft(lower, 0.75),
        soft(0.45 * lower, 0.96),
        soft(-0.12, 1.0),
        soft(-0.32, end),
    ]);
    vec![stroke]
}

fn four(hand: &mut Hand<'_>) -> Vec<Stroke> {
    let bar = hand.between(0.46, 0.66);
    let reach = hand.between(0.22, 0.4);
    let rise = hand.stray(0.03);
    let foot = hand.stray(0.05);
    match hand.between(0.0, 1.0) {
        // Closed: the pen goes down from the top to the left and across; the stem starts at the same top.
        kind if kind < 0.25 => vec![
            vec![
                soft(0.12, 0.0),
                corner(-0.33, bar + 0.06),
                soft(reach, bar + 0.06 - rise),
            ],
            vec![soft(0.12, hand.between(-0.02, 0.06)), soft(0.1 + foot, 1.0)],
        ],
        // In one stroke, with a round elbow.
        kind if kind < 0.45 => {
            let (top, right) = (hand.between(0.0, 0.14), hand.between(0.14, 0.22));
            vec![vec![
                soft(-0.2, 0.03),
                soft(-0.26, 0.25),
                soft(-0.2, bar - 0.1),
                soft(0.0, bar - 0.06),
                soft(right, 0.3),
                corner(right + 0.03, top),
                soft(right - 0.02, 0.55),
                soft(right - 0.05 + foot, 1.0),
            ]]
        }
        // Open: an elbow, and a stem beside it.
        _ => {
            let (top, left) = (hand.between(0.0, 0.3), hand.between(0.16, 0.3));
            vec![
                vec![
                    soft(-left + hand.between(0.0, 0.1), 0.0),
                    soft(-left - 0.02, 0.3),
                    corner(-left - 0.03, bar),
                    soft(reach, bar - rise),
                ],
                vec![soft(0.17, top), soft(0.14, 0.55), soft(0.1 + foot, 1.0)],
            ]
        }
    }
}

fn five(hand: &mut Hand<'_>) -> Vec<Stroke> {
    let (left, shoulder) = (hand.between(0.16, 0.24), hand.between(0.36, 0.48));
    let (belly, end) = (hand.between(0.2, 0.33), hand.between(0.8, 0.98));
    let bar = hand.between(0.14, 0.36);
    let rise = hand.stray(0.035);
    let bowl = [
        soft(0.0, shoulder - hand.between(0.0, 0.08)),
        soft(belly, 0.55),
        soft(0.9 * belly, 0.84),
        soft(0.0, 1.0),
        soft(-0.29, end),
    ];
    let neck = corner(-left - 0.03, shoulder + 0.02);
    let mut strokes = match hand.between(0.0, 1.0) {
        // The bar is written last and does not always start at the neck.
        kind if kind < 0.4 => vec![
            vec![soft(-left, 0.03), neck],
            vec![
                soft(-left + hand.stray(0.03), 0.02 + hand.stray(0.02)),
                soft(bar, 0.02 - rise),
            ],
        ],
        // Round everywhere.
        kind if kind < 0.6 => vec![vec![
            soft(bar, 0.02 - rise),
            soft(-0.5 * left, 0.03),
            soft(-left - 0.02, 0.2),
            soft(-0.8 * left, shoulder - 0.02),
        ]],
        _ => vec![vec![soft(bar, 0.02 - rise), corner(-left, 0.04), neck]],
    };
    strokes[0].extend(bowl);
    strokes
}

fn six(hand: &mut Hand<'_>) -> Vec<Stroke> {
    let top = hand.between(0.0, 0.28);
    let (wide, bowl) = (hand.between(0.2, 0.31), hand.between(0.42, 0.62));
    let close = hand.normal(0.0, 0.035 * hand.loose());
    vec![vec![
        soft(top, 0.0),
        soft(-0.45 * wide, 0.2),
        soft(-0.95 * wide, 0.5),
        soft(-0.85 * wide, 0.83),
        soft(0.0, 1.0),
        soft(wide, 0.84),
        soft(0.9 * wide, bowl + 0.1),
        soft(0.1 * wide, bowl),
        soft(-0.75 * wide + close, bowl + 0.16 + close),
    ]]
}

fn seven(hand: &mut Hand<'_>) -> Vec<Stroke> {
    let (left, right) = (hand.between(0.2, 0.36), hand.between(0.2, 0.33));
    let (foot, rise) = (hand.between(-0.14, 0.1), hand.stray(0.035));
    let bend = hand.between(-0.02, 0.07);
    let mut stroke = Vec::new();
    if hand.chance(0.3) {
        stroke.push(soft(-left - 0.01, hand.between(0.12, 0.22)));
        stroke.push(corner(-left, 0.04 + rise));
    } else {
        stroke.push(soft(-left, 0.04 + rise));
    }
    let middle = soft((right + foot) / 2.0 - bend, 0.48);
    if hand.chance(0.25) {
        stroke.extend([soft(0.55 * right, 0.0), soft(right, 0.08)]);
    } else {
        stroke.push(corner(right, 0.02));
    }
    stroke.extend([middle, soft(foot, 1.0)]);
    let mut strokes = vec![stroke];
    if hand.chance(0.25) {
        let (low, half) = (hand.between(0.44, 0.56), hand.between(0.12, 0.22));
        let x = (right + foot) / 2.0 - bend;
        strokes.push(vec![
            soft(x - half, low + hand.stray(0.02)),
            soft(x + half, low - 0.02),
        ]);
    }
    strokes
}

fn eight(hand: &mut Hand<'_>) -> Vec<Stroke> {
    let (upper, lower) = (hand.between(0.15, 0.27), hand.between(0.2, 0.32));
    let waist = hand.between(0.4, 0.52);
    if hand.chance(0.2) {
        let start = -FRAC_PI_2 + hand.stray(0.4);
        let (top, low) = (waist / 2.0, (1.0 + waist) / 2.0);
        let (above, below) = (hand.normal(TAU, 0.15), hand.normal(TAU, 0.15));
        return vec![
            spiral(0.0, top, upper, waist / 2.0, start, above, 0.0),
            spiral(0.0, low, lower, (1.0 - waist) / 2.0, start, -below, 0.0),
        ];
    }
    let gap = hand.normal(0.02, 0.035 * hand.loose());
    vec![vec![
        soft(0.85 * upper, 0.12),
        soft(0.0, 0.0),
        soft(-upper, 0.16),
        soft(-0.55 * upper, waist - 0.1),
        soft(0.5 * lower, waist + 0.1),
        soft(lower, 0.8),
        soft(0.0, 1.0),
        soft(-lower, 0.8),
        soft(-0.45 * lower, waist + 0.1),
        soft(0.55 * upper, waist - 0.12),
        soft(upper + gap, 0.16 + gap),
    ]]
}

fn nine(hand: &mut Hand<'_>) -> Vec<Stroke> {
    let (wide, bowl) = (hand.between(0.2, 0.3), hand.between(0.38, 0.54));
    let gap = hand.normal(0.0, 0.035 * hand.loose());
    let mut stroke = vec![
        soft(0.85 * wide, 0.1 - gap),
        soft(0.0, 0.0),
        soft(-wide, 0.14),
        soft(-0.95 * wide, 0.72 * bowl),
        soft(-0.1, bowl),
        soft(0.65 * wide, 0.75 * bowl),
        corner(wide + gap, hand.between(0.04, 0.14)),
    ];
    if hand.chance(0.6) {
        let foot = hand.between(-0.1, 0.22);
        stroke.extend([soft(0.5 * (wide + foot) + 0.02, 0.55), soft(foot, 1.0)]);
    } else {
        let end = hand.between(0.82, 0.98);
        stroke.extend([
            soft(wide, 0.5),
            soft(0.7 * wide, 0.84),
            soft(-0.05, 1.0),
            soft(-0.26, end),
        ]);
    }
    vec![stroke]
}

/// Returns a stroke around (x, y) by `turn` radians from angle `start`, anticlockwise if negative. The last
/// third is drawn towards the middle by the fraction `inward`.
fn spiral(x: f32, y: f32, wide: f32, high: f32, start: f32, turn: f32, inward: f32) -> Stroke {
    const KNOTS: usize = 12;
    (0..=KNOTS)
        .map(|i| {
            let t = i as f32 / KNOTS as f32;
            let (sin, cos) = (start + turn * t).sin_cos();
            let radius = 1.0 - inward * (3.0 * t - 2.0).max(0.0);
            soft(x + wide * radius * cos, y + high * radius * sin)
        })
        .collect()
}

fn soft(x: f32, y: f32) -> Knot {
    Knot {
        at: Point { x, y },
        corner: false,
    }
}

fn corner(x: f32, y: f32) -> Knot {
    Knot {
        at: Point { x, y },
        corner: true,
    }
}
