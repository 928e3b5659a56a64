//! Both versions of every kernel, on sizes that leave every kind of remainder.

use crate::per_sample::{LANES, Lanes8, Wide8};

use super::*;

fn wave(n: usize, frequency: f32) -> Vec<f32> {
    (0..n).map(|i| (i as f32 * frequency).sin()).collect()
}

fn groups(n: usize, frequency: f32) -> Vec<Lanes8> {
    let values = wave(n * LANES, frequency);
    let (eights, _) = values.as_chunks::<LANES>();
    eights.iter().map(|&eight| Lanes8(eight)).collect()
}

fn close(a: &[Lanes8], b: &[Lanes8]) {
    for (x, y) in a.iter().flat_map(|o| o.0).zip(b.iter().flat_map(|o| o.0)) {
        assert!((x - y).abs() <= 1e-4 * (1.0 + y.abs()), "{x} {y}");
    }
}

/// Runs what `make` builds around a buffer in both versions.
macro_rules! agree {
    ($simd:expr, $length:expr, |$buffer:ident| $make:expr) => {
        let mut results = [(); 2].map(|()| groups($length, 0.11));
        let [fast, plain] = &mut results;
        let $buffer = &mut fast[..];
        x86::run($simd, $make);
        let $buffer = &mut plain[..];
        portable::run($make);
        close(fast, plain);
    };
}

#[test]
fn the_versions_agree() {
    let Some(simd) = x86::avx2() else {
        return;
    };
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
        let mut padded = vec![Lanes8::default(); c_in * plane.padded()];
        plane.pad(&groups(c_in * plane.pixels(), 0.37), &mut padded);
        let taps = Taps::new(&wave(c_out * c_in * kernel * kernel, 0.13), c_out);
        let bias = wave(c_out, 0.3);
        agree!(simd, c_out * plane.pixels(), |output| Narrow(Correlate {
            plane,
            padded: &padded,
            taps: &taps,
            bias: &bias,
            output,
        }));
        // AVX-512 gives the same to the last bit: no sum is taken in another order.
        let mut outputs = [0.11, 0.13].map(|f| groups(c_out * plane.pixels(), f));
        for (index, output) in outputs.iter_mut().enumerate() {
            let kernel = Correlate {
                plane,
                padded: &padded,
                taps: &taps,
                bias: &bias,
                output,
            };
            match x86::avx512() {
                Some(wide) if index == 0 => x86::run_spans(wide, kernel),
                _ => x86::run(simd, Narrow(kernel)),
            }
        }
        assert_eq!(outputs[0], outputs[1]);
        let delta = groups(c_out * plane.pixels(), 0.71);
        agree!(simd, c_out * c_in * kernel * kernel, |rows| WeightRows {
            plane,
            padded: &padded,
            delta: &delta,
            rows,
        });
    }
    pooled_versions_agree(simd);
    for g in 1..9 {
        let rows = groups(g * 53, 0.19);
        let scale = groups(1, 0.4)[0];
        agree!(simd, g * g, |gram| Gram {
            g,
            rows: &rows,
            scale,
            gram,
        });
        let weights = Weights::new(5, 11, |i, o| (i * 11 + o) as f32 * 0.1);
        let (input, bias) = (groups(g * 5, 0.23), wave(11, 0.7));
        agree!(simd, g * 11, |output| Product {
            weights: &weights,
            bias: &bias,
            input: &input,
            output,
        });
    }
}

fn pooled_versions_agree(simd: pulp::x86::V3) {
    for (height, width, kernel, g) in [(28, 28, 3, 6), (4, 2, 3, 4), (6, 8, 5, 7), (2, 2, 1, 1)] {
        let plane = Plane {
            height,
            width,
            kernel,
        };
        let (c_in, c_out, slope) = (2, 3, 0.2);
        let pixels = c_out * plane.pixels();
        let input = groups(pixels, 0.37);
        let mut kept = [vec![0; pixels], vec![1; pixels]];
        let mut pooled = [(); 2].map(|()| vec![Lanes8::default(); pixels / 4]);
        let [a, b] = &mut kept;
        let [c, d] = &mut pooled;
        let pool = |signs, output| Pool {
            plane,
            slope,
            input: &input,
            signs,
            output,
        };
        x86::run(simd, pool(a, c));
        portable::run(pool(b, d));
        assert_eq!(a, b);
        close(c, d);
        let signs = &kept[0];
        agree!(simd, pixels, |slopes| Slopes {
            slope,
            signs,
            slopes,
        });
        let slopes = groups(pixels, 0.53);
        let delta = groups(g * pixels / 4, 0.29);
        agree!(simd, c_out * plane.padded(), |target| Spread {
            plane,
            slopes: &slopes,
            delta: &delta[..pixels / 4],
            target,
        });
        let mut padded = vec![Lanes8::default(); c_in * plane.padded()];
        plane.pad(&groups(c_in * plane.pixels(), 0.43), &mut padded);
        let stride = c_out * c_in * kernel * kernel + c_out;
        agree!(simd, g * stride, |rows| PooledRows {
            plane,
            padded: &padded,
            slopes: &slopes,
            delta: &delta,
            rows,
            stride,
        });
    }
}

/// A weight of zero passes over a row that is not finite.
#[test]
fn combinations_are_sums_over_records() {
    let (g, blocks, length) = (3, 2, 5);
    let mut weights = groups(blocks * g, 0.31);
    let mut rows = groups(blocks * g * length, 0.17);
    weights[1].0[2] = 0.0;
    rows[length].0[2] = f32::NAN;
    let mut expected = vec![1.0f32; length];
    for (w, row) in weights.iter().zip(rows.chunks_exact(length)) {
        for (total, value) in expected.iter_mut().zip(row) {
            for lane in (0..LANES).filter(|&lane| w.0[lane] != 0.0) {
                *total += w.0[lane] * value.0[lane];
            }
        }
    }
    let weights: Vec<Wide8> = weights.iter().map(|w| Wide8(w.0.map(f64::from))).collect();
    let versions: [fn(Combine); 2] = [|kernel| dispatch(kernel), |kernel| portable::run(kernel)];
    for run in versions {
        let mut gradient = vec![1.0f32; length];
        run(Combine {
            g,
            weights: &weights,
            rows: &rows,
            gradient: &mut gradient,
        });
        for (x, y) in gradient.iter().zip(&expected) {
            assert!((x - y).abs() < 1e-5, "{x} {y}");
        }
    }
}

/// The sum over records by definition, in both versions.
#[test]
fn outer_products_are_sums_over_records() {
    let (inputs, outputs, blocks) = (6, 19, 2);
    let (x, d) = (
        groups(blocks * inputs, 0.31),
        groups(blocks * outputs, 0.17),
    );
    let mut expected = vec![1.0f32; inputs * outputs];
    for b in 0..blocks {
        for i in 0..inputs {
            for o in 0..outputs {
                let (x, d) = (x[b * inputs + i].0, d[b * outputs + o].0);
                expected[i * outputs + o] += x.iter().zip(d).map(|(x, d)| x * d).sum::<f32>();
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
