//! Every figure: sizes, what is left out, what is refused.

use proptest::prelude::*;
use reporting::figures::{
    Chart, Drawn, Mark, Point, Scale, Series, grid, histogram, panels, scatter,
};

/// A picture's size, after checks that hold for every chart.
fn size(drawn: &Drawn) -> (u32, u32) {
    let text = std::str::from_utf8(&drawn.bytes).expect("UTF-8");
    assert!(text.starts_with("<svg width=\"") && text.trim_end().ends_with("</svg>"));
    assert!(!text.contains("NaN") && !text.contains("inf"));
    let number = |name: &str| -> u32 {
        let rest = text.split_once(&format!(" {name}=\"")).expect(name).1;
        rest[..rest.find('"').expect("a quote")]
            .parse()
            .expect("a number")
    };
    (number("width"), number("height"))
}

fn chart(points: Vec<(f64, f64)>, logarithmic: bool) -> Chart {
    Chart {
        title: "loss <of> a & b".into(),
        x: Scale::linear("step"),
        y: Scale {
            logarithmic,
            ..Scale::linear("loss")
        },
        series: vec![Series::new("test", points)],
        ..Chart::default()
    }
}

#[test]
fn line_charts_count_what_they_leave_out() {
    let points = vec![
        (1.0, 5.0),
        (2.0, f64::NAN),
        (3.0, -1.0),
        (4.0, 2.0),
        (f64::INFINITY, 2.0),
    ];
    let logarithmic = chart(points.clone(), true).draw().expect("drawn");
    assert_eq!(logarithmic.skipped, 3);
    let linear = chart(points, false).draw().expect("drawn");
    assert_eq!(linear.skipped, 2);
    assert_eq!(size(&linear), (480, 320));
    let text = String::from_utf8(linear.bytes).expect("UTF-8");
    assert!(text.contains("loss &lt;of&gt; a &amp; b"));
}

#[test]
fn nothing_to_draw_is_an_error_that_says_so() {
    let cases = [
        chart(vec![], false).draw(),
        chart(vec![(1.0, f64::NAN)], false).draw(),
        chart(vec![(1.0, -1.0)], true).draw(),
        panels(&[], 1),
        histogram("a", &[], None),
        histogram("a", &[("a".into(), vec![1.0])], Some([2.0, 3.0])),
    ];
    for case in cases {
        let message = case.expect_err("refused").to_string();
        assert!(
            message.contains("point to draw") || message.contains("cannot be drawn"),
            "{message}"
        );
    }
    assert!(grid(&[], [28, 28, 1], 10, 3).is_err());
    assert!(grid(&[0.0; 785], [28, 28, 1], 10, 3).is_err());
    assert!(grid(&[0.0; 784], [28, 28, 1], 0, 3).is_err());
    assert!(scatter(&[], 2, &[], 1.5).is_err());
    assert!(scatter(&[0.0; 4], 2, &[0], 1.5).is_err());
    assert!(scatter(&[0.0; 4], 2, &[0, 1], 0.0).is_err());
}

#[test]
fn a_spread_is_a_deviation_over_seeds() {
    let runs = [
        vec![(1.0, 1.0), (2.0, 4.0)],
        vec![(1.0, 3.0), (2.0, f64::NAN)],
    ];
    let series = Series::mean_and_deviation("seeds", &runs);
    let point = |x, y, y_error| Point {
        y_error,
        ..(x, y).into()
    };
    assert_eq!(
        series.points,
        [point(1.0, 2.0, 2f64.sqrt()), point(2.0, 4.0, 0.0)]
    );
}

#[test]
fn histograms_and_trade_offs() {
    let groups = [
        ("a".into(), vec![0.1, 0.2, f64::NAN]),
        ("b".into(), vec![0.9, 5.0]),
    ];
    let drawn = histogram("score", &groups, Some([0.0, 1.0])).expect("drawn");
    assert_eq!(drawn.skipped, 2);
    assert_eq!(size(&drawn), (480, 320));

    let points = [(0.1, 0.5), (1.0, 0.7), (0.0, 0.6), (10.0, 0.8)];
    let points = points.map(|(x, y)| Point {
        x,
        y,
        y_error: 0.1,
        x_error: 2.0 * x,
    });
    let chart = Chart {
        title: "accuracy".into(),
        x: Scale::logarithmic("epsilon"),
        y: Scale::linear("accuracy"),
        series: vec![Series::of(Mark::Joined, "ours", points)],
        ..Chart::default()
    };
    let drawn = chart.draw().expect("drawn");
    assert_eq!(drawn.skipped, 1);
    size(&drawn);
}

#[test]
fn planes_of_points() {
    let points: Vec<f32> = (0..60).map(|k| (k as f32 * 0.7).sin()).collect();
    let classes: Vec<usize> = (0..10).collect();
    for (dimension, columns) in [(6, 3), (5, 3)] {
        let bytes = scatter(&points[..10 * dimension], dimension, &classes, 1.6).expect("drawn");
        let (width, _) = size(&Drawn { bytes, skipped: 0 });
        assert_eq!(width, columns * 304);
    }
    let levels = Series::level_sets(2.0, &[0.1, 0.5], |x, y| (-x * x - y * y).exp());
    let charts: Vec<Chart> = (0..4)
        .map(|k| {
            let points = [(0.1 * f64::from(k), 0.0), (9.0, 0.0), (f64::NAN, 0.0)];
            let points = Series::of(Mark::Dots, "", points);
            Chart::plane(format!("step {k}"), 2.0, vec![points, levels.clone()])
        })
        .collect();
    let drawn = panels(&charts, 2).expect("drawn");
    assert_eq!(drawn.skipped, 8);
    assert_eq!(size(&drawn).0, 2 * 304);
}

#[test]
fn grids_keep_pixels() {
    let mut images = vec![0.0f32; 3 * 4];
    images[5] = 1.0;
    images[6] = f32::NAN;
    let bytes = grid(&images, [2, 2, 1], 2, 3).expect("drawn");
    let picture = image::load_from_memory(&bytes).expect("a PNG").to_luma8();
    // Two columns and two rows of 6 pixels with gaps of 2; the last place stays empty.
    assert_eq!(picture.dimensions(), (18, 18));
    let at = |x, y| picture.get_pixel(x, y).0[0];
    assert_eq!(
        (at(0, 0), at(2, 2), at(13, 2), at(10, 5), at(13, 13)),
        (128, 0, 255, 128, 128)
    );

    let bytes = grid(&[0.5; 2 * 12], [2, 2, 3], 2, 1).expect("drawn");
    let picture = image::load_from_memory(&bytes).expect("a PNG").to_rgb8();
    assert_eq!(picture.get_pixel(2, 2).0, [128, 128, 128]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the numbers, a chart is drawn or refused, and everything is drawn or counted.
    #[test]
    fn any_numbers(
        points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..20),
        logarithmic: bool,
    ) {
        let shown = points.iter().filter(|(x, y)| {
            x.is_finite() && y.is_finite() && (!logarithmic || *y > 0.0)
        }).count();
        let count = points.len();
        match chart(points, logarithmic).draw() {
            Ok(drawn) => {
                prop_assert_eq!(drawn.skipped, count - shown);
                let text = String::from_utf8(drawn.bytes).unwrap();
                prop_assert!(!text.contains("NaN"));
            }
            Err(_) => prop_assert_eq!(shown, 0),
        }
    }
}
