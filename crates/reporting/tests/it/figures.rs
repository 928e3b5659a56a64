//! Every figure: sizes, what is left out, what is refused.

use proptest::prelude::*;
use reporting::figures::{
    Bars, Chart, Mark, Point, Row, Rows, Scale, Series, bars, grid, heat, histogram, panels,
    scatter,
};

use crate::snapshots::same;

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

/// What is left out is counted, and the rest is drawn as it was.
#[test]
fn charts_are_as_they_were() {
    let points = vec![
        (1.0, 5.0),
        (2.0, f64::NAN),
        (3.0, -1.0),
        (4.0, 2.0),
        (f64::INFINITY, 2.0),
    ];
    let groups = [
        ("a".into(), vec![0.1, 0.2, f64::NAN]),
        ("b".into(), vec![0.9, 5.0]),
    ];
    let errors = [(0.1, 0.5), (1.0, 0.7), (0.0, 0.6), (10.0, 0.8)];
    let errors = errors.map(|(x, y)| Point {
        x,
        y,
        y_error: 0.1,
        x_error: 2.0 * x,
    });
    let errors = Chart {
        title: "accuracy".into(),
        x: Scale::logarithmic("epsilon"),
        y: Scale::linear("accuracy"),
        series: vec![Series::of(Mark::Joined, "ours", errors)],
        ..Chart::default()
    };
    let plane = |k: i32| {
        let points = [(0.1 * f64::from(k), 0.0), (9.0, 0.0), (f64::NAN, 0.0)];
        let points = Series::of(Mark::Dots, "", points);
        Chart::plane(format!("step {k}"), 2.0, vec![points])
    };
    let planes: Vec<Chart> = (0..2).map(plane).collect();
    let bar = |title: &str| Bars {
        title: title.into(),
        ends: ["low".into(), "high".into()],
        measured: vec![[5.0, 1.0], [-1.0, 1.0]],
        copied: vec![4.0, 0.0],
    };
    let below = |i: usize, j: usize| (10 * i + j) as f64 / 100.0;
    let rows = vec![row("fast", 5.0), row("slow", 20.0)];
    let rows = Rows {
        title: "times".into(),
        groups: vec![("small".into(), rows)],
    };
    for (name, drawn, skipped) in [
        ("logarithmic", chart(points.clone(), true).draw(), 3),
        ("linear", chart(points, false).draw(), 2),
        (
            "histogram",
            histogram("score", &groups, Some([0.0, 1.0])),
            2,
        ),
        ("errors", errors.draw(), 1),
        ("planes", panels(&planes, 2), 4),
        (
            "bars",
            bars(&[bar("age"), bar("height")], ["noisy counts", "the copy"]),
            0,
        ),
        (
            "heat",
            heat(
                &["a", "b", "c"].map(String::from),
                [&below, &|_, _| 0.5],
                [1.0, 2.0],
            ),
            0,
        ),
        ("rows", rows.draw(), 0),
    ] {
        let drawn = drawn.expect(name);
        assert_eq!(drawn.skipped, skipped, "{name}");
        same(&format!("{name}.svg"), &drawn.bytes);
    }
    let points: Vec<f32> = (0..60).map(|k| (k as f32 * 0.7).sin()).collect();
    let classes: Vec<usize> = (0..10).collect();
    for dimension in [5, 6] {
        let drawn = scatter(&points[..10 * dimension], dimension, &classes, 1.6);
        same(&format!("scatter-{dimension}.svg"), &drawn.expect("drawn"));
    }
}

fn row(name: &str, value: f64) -> Row {
    Row {
        name: name.into(),
        value,
        error: 0.0,
        written: format!("{value} ms"),
        ours: name == "fast",
    }
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
    let rows = |groups| {
        Rows {
            title: String::new(),
            groups,
        }
        .draw()
        .is_err()
    };
    assert!(rows(vec![]) && rows(vec![(String::new(), vec![])]));
    for bad in [f64::NAN, -1.0] {
        assert!(rows(vec![(String::new(), vec![row("slow", bad)])]));
    }
    let none = |_: usize, _: usize| 0.0;
    assert!(bars(&[], ["", ""]).is_err() && heat(&["a".into()], [&none, &none], [1.0; 2]).is_err());
    for case in cases {
        let said = case.expect_err("refused").to_string();
        assert!(
            ["point to draw", "cannot be drawn"]
                .iter()
                .any(|words| said.contains(words))
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
    let expected = [point(1.0, 2.0, 2f64.sqrt()), point(2.0, 4.0, 0.0)];
    assert_eq!(series.points, expected);
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
    let found = [at(0, 0), at(2, 2), at(13, 2), at(10, 5), at(13, 13)];
    assert_eq!(found, [128, 0, 255, 128, 128]);

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
                prop_assert!(!text.contains("NaN") && !text.contains("inf"));
            }
            Err(_) => prop_assert_eq!(shown, 0),
        }
    }
}
