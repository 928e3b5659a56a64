//! Both versions of every kernel, on sizes that leave every kind of remainder.

use dp_core::per_sample::{LANES, Octet};

use super::*;

fn wave(n: usize, frequency: f32) -> Vec<f32> {
    (0..n).map(|i| (i as f32 * frequency).sin()).collect()
}

fn octets(n: usize, frequency: f32) -> Vec<Octet> {
    let values = wave(n * LANES, frequency);
    let (eights, _) = values.as_chunks::<LANES>();
    eights.iter().map(|&eight| Octet(eight)).collect()
}

fn close(a: &[Octet], b: &[Octet]) {
    for (x, y) in a.iter().flat_map(|o| o.0).zip(b.iter().flat_map(|o| o.0)) {
        assert!((x - y).abs() <= 1e-4 * (1.0 + y.abs()), "{x} {y}");
    }
}

/// Runs what `make` builds around a buffer in both versions.
macro_rules! agree {
    ($length:expr, |$buffer:ident| $make:expr) => {
        let mut results = [(); 2].map(|()| octets($length, 0.11));
        let [fast, plain] = &mut results;
        let $buffer = &mut fast[..];
        avx2::run($make);
        let $buffer = &mut plain[..];
        portable::run($make);
        close(fast, plain);
    };
}

#[test]
fn the_versions_agree() {
    if !avx2::available() {
        return;
    }
    for (height, width, kernel) in [
        (28, 28, 3),
        (7, 7, 3),
        (5, 3, 5),
        (4, 6, 3),
        (1, 1, 3),
        (3, 2, 1),
    ] {
        let plane = Plane {
            height,
            width,
            kernel,
        };
        let (c_in, c_out) = (3, 6);
        let mut padded = vec![Octet::default(); c_in * plane.padded()];
        plane.pad(&octets(c_in * plane.pixels(), 0.37), &mut padded);
        let taps = Taps::new(&wave(c_out * c_in * kernel * kernel, 0.13), c_out);
        let bias = wave(c_out, 0.3);
        agree!(c_out * plane.pixels(), |output| Correlate {
            plane,
            padded: &padded,
            taps: &taps,
            bias: &bias,
            output,
        });
        let delta = octets(c_out * plane.pixels(), 0.71);
        agree!(c_out * c_in * kernel * kernel, |rows| WeightRows {
            plane,
            padded: &padded,
            delta: &delta,
            rows,
        });
    }
    for g in 1..9 {
        let rows = octets(g * 53, 0.19);
        let scale = octets(1, 0.4)[0];
        agree!(g * g, |gram| Gram {
            g,
            rows: &rows,
            scale,
            gram,
        });
        let weights = Weights::new(5, 11, |i, o| (i * 11 + o) as f32 * 0.1);
        let (input, bias) = (octets(g * 5, 0.23), wave(11, 0.7));
        agree!(g * 11, |output| Product {
            weights: &weights,
            bias: &bias,
            input: &input,
            output,
        });
    }
}

/// The sum over records by definition, in both versions.
#[test]
fn outer_products_are_sums_over_records() {
    let (inputs, outputs, blocks) = (6, 19, 2);
    let (x, d) = (
        octets(blocks * inputs, 0.31),
        octets(blocks * outputs, 0.17),
    );
    let mut expected = vec![1.0f32; inputs * outputs];
    for b in 0..blocks {
        for i in 0..inputs {
            for o in 0..outputs {
                for lane in 0..LANES {
                    expected[i * outputs + o] +=
                        x[b * inputs + i].0[lane] * d[b * outputs + o].0[lane];
                }
            }
        }
    }
    let versions: [fn(OuterProduct); 2] =
        [|kernel| dispatch(kernel), |kernel| portable::run(kernel)];
    for run in versions {
        let mut gradient = vec![1.0f32; inputs * outputs];
        run(OuterProduct {
            inputs,
            outputs,
            input: &x,
            delta: &d,
            gradient: &mut gradient,
        });
        for (x, y) in gradient.iter().zip(&expected) {
            assert!((x - y).abs() < 1e-5, "{x} {y}");
        }
    }
}
