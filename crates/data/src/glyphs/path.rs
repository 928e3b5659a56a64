/// A place on the paper: x to the right, y down; a digit is about 1 high before it is placed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub x: f32,
    pub y: f32,
}

/// A control point of a stroke: the pen turns sharply at a corner, smoothly elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knot {
    pub at: Point,
    pub corner: bool,
}

/// A line that the pen writes without being lifted.
pub(crate) type Stroke = Vec<Knot>;

/// A stroke as short straight pieces.
pub(crate) type Line = Vec<Point>;

const PIECES: usize = 6;

/// Runs a Catmull-Rom spline through the knots of each stroke, from corner to corner.
pub(crate) fn trace(strokes: &[Stroke]) -> Vec<Line> {
    strokes.iter().map(|stroke| trace_one(stroke)).collect()
}

fn trace_one(stroke: &[Knot]) -> Line {
    let mut line: Line = stroke.first().map(|knot| knot.at).into_iter().collect();
    for i in 1..stroke.len() {
        let (from, to) = (stroke[i - 1], stroke[i]);
        // Beyond an end or a corner the spline sees a mirrored point, and so leaves it straight.
        let before = match i.checked_sub(2) {
            Some(j) if !from.corner => stroke[j].at,
            _ => mirror(to.at, from.at),
        };
        let after = match stroke.get(i + 1) {
            Some(next) if !to.corner => next.at,
            _ => mirror(from.at, to.at),
        };
        for piece in 1..=PIECES {
            let t = piece as f32 / PIECES as f32;
            line.push(Point {
                x: spline(before.x, from.at.x, to.at.x, after.x, t),
                y: spline(before.y, from.at.y, to.at.y, after.y, t),
            });
        }
    }
    line
}

fn mirror(point: Point, at: Point) -> Point {
    Point {
        x: 2.0 * at.x - point.x,
        y: 2.0 * at.y - point.y,
    }
}

fn spline(a: f32, b: f32, c: f32, d: f32, t: f32) -> f32 {
    let (linear, square, cube) = (
        c - a,
        2.0 * a - 5.0 * b + 4.0 * c - d,
        3.0 * (b - c) + d - a,
    );
    b + 0.5 * t * (linear + t * (square + t * cube))
}
