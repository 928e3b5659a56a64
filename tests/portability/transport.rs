//! Every operation of `swd` on tensors.

use burn::tensor::{Device, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::device::{stable_order, stable_ranks};
use swd::sort::{ranks, stable_orders};
use swd::transport::host::{sliced_cotangents, sliced_cotangents_and_distance, transport_residual};
use swd::transport::tensor;
use swd::{SlicedWassersteinConfig, Slices, SwdError, TargetQuantiles, UniformBall};

use super::{Case, TestDevice, Tolerance, wide};

const GROUP: &str = "swd";

/// Rows of one key, of a tile, of what no tile holds, and lengths that no power of two divides.
const ROWS: [(usize, usize); 13] = [
    (1, 1),
    (3, 2),
    (3, 3),
    (4, 600),
    (2, 1024),
    (2, 2047),
    (2, 2048),
    (2, 2049),
    (1, 4096),
    (2, 4097),
    (2, 5000),
    (1, 20_000),
    (1, 1_000_001),
];

/// Keys with ties, both zeros, subnormals and infinities.
fn keys(k: usize, n: usize) -> Vec<f32> {
    let special = [0.0, -0.0, 1e-42, -1e-42, f32::INFINITY, f32::NEG_INFINITY];
    let mut rng = ChaCha20Rng::seed_from_u64((k * n) as u64);
    (0..k * n)
        .map(|_| match rng.random_range(0..4) {
            0 => rng.random_range(0..5) as f32,
            1 => special[rng.random_range(0..special.len())],
            _ => rng.random_range(-3.0..3.0),
        })
        .collect()
}

/// [`keys`] with a NaN of each sign in every row.
fn not_numbers(k: usize, n: usize) -> Vec<f32> {
    let mut keys = keys(k, n);
    for row in keys.chunks_exact_mut(n) {
        (row[1], row[n / 2]) = (f32::NAN, -f32::NAN);
    }
    keys
}

/// Ranks by [`f32::total_cmp`], equal keys by index.
fn total_ranks(keys: &[f32], n: usize) -> Vec<f64> {
    let mut ranks = vec![0.0; keys.len()];
    for (l, row) in keys.chunks_exact(n).enumerate() {
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| row[i].total_cmp(&row[j]));
        for (rank, &i) in order.iter().enumerate() {
            ranks[l * n + i] = rank as f64;
        }
    }
    ranks
}

fn on_host(test_device: &TestDevice) -> bool {
    ["flex", "ndarray"]
        .iter()
        .any(|name| test_device.name.starts_with(name))
}

fn matrix(values: &[f32], width: usize, device: &Device) -> Tensor<2> {
    let shape = [values.len() / width, width];
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// A value, then its gradients.
fn with_gradients<const D: usize>(value: Tensor<1>, at: [Tensor<D>; 2]) -> Vec<f64> {
    let gradients = value.backward();
    let mut all = numbers(value);
    for side in at {
        all.extend(side.grad(&gradients).map(numbers).unwrap_or_default());
    }
    all
}

/// Two samples and the directions between them.
struct Samples {
    x: Vec<f32>,
    y: Vec<f32>,
    slices: Slices,
}

impl Samples {
    const D: usize = 3;

    fn new(n: usize, m: usize, k: usize) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let mut sample = |count: usize| -> Vec<f32> {
            (0..count * Self::D)
                .map(|_| rng.random_range(-1.5..1.5))
                .collect()
        };
        let (x, y) = (sample(n), sample(m));
        let slices = Slices::tight(Self::D, k, &mut rng).expect("slices");
        Self { x, y, slices }
    }

    /// A value of both samples, then its gradients in them, by autodiff on `device`.
    fn found(
        &self,
        device: &Device,
        value: impl Fn(Tensor<2>, Tensor<2>) -> Result<Tensor<1>, SwdError>,
    ) -> Vec<f64> {
        let device = device.clone().autodiff();
        let x = matrix(&self.x, Self::D, &device).require_grad();
        let y = matrix(&self.y, Self::D, &device).require_grad();
        let value = value(x.clone(), y.clone()).expect("distance");
        with_gradients(value, [x, y])
    }

    /// The sliced distance and its gradients by the host path in `f64`.
    fn expected(&self) -> Vec<f64> {
        let cells = |points: &[f32], n: usize| TargetQuantiles::of_sample(points, &self.slices, n);
        let [n, m] = [&self.x, &self.y].map(|side| side.len() / Self::D);
        let of_y = cells(&self.y, n).expect("cells");
        let of_x = cells(&self.x, m).expect("cells");
        let (in_x, distance) =
            sliced_cotangents_and_distance(&self.x, &self.slices, &of_y).expect("cotangents");
        let in_y = sliced_cotangents(&self.y, &self.slices, &of_x).expect("cotangents");
        let mut all = vec![distance];
        all.extend(wide(in_x).into_iter().chain(wide(in_y)));
        all
    }
}

fn weighted() -> Case {
    Case::new(
        GROUP,
        "wp_power_1d and gradients",
        Tolerance::Operation,
        |test_device: &TestDevice| {
            let device = test_device.device.clone().autodiff();
            let mut all = Vec::new();
            for p in [1.0, 2.0, 3.0] {
                let x = Tensor::<1>::from_data([1.0, 0.0], &device).require_grad();
                let y = Tensor::<1>::from_data([2.0], &device).require_grad();
                let value = tensor::wp_power_1d(x.clone(), &[3.0, 1.0], y.clone(), &[0.5], p);
                all.extend(with_gradients(value.expect("distance"), [x, y]));
            }
            all
        },
        || {
            // Three quarters of the mass go 1 far, a quarter 2.
            let powers = [1, 2, 3].map(|p| {
                let (near, far) = (0.75, 0.25 * f64::powi(2.0, p));
                let slopes = [near * f64::from(p), far / 2.0 * f64::from(p)];
                let [of_near, of_far] = slopes;
                [near + far, -of_near, -of_far, of_near + of_far]
            });
            powers.concat()
        },
    )
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (k, n) in ROWS {
        let order = move || stable_orders(&keys(k, n), n).expect("no NaN");
        let integers = |found: Vec<u32>| found.into_iter().map(f64::from).collect();
        cases.push(Case::new(
            GROUP,
            format!("stable_ranks {k} x {n}"),
            Tolerance::Exact,
            move |test_device: &TestDevice| {
                let found =
                    stable_ranks(matrix(&keys(k, n), n, &test_device.device)).expect("ranks");
                found.into_data().iter::<f64>().collect()
            },
            move || integers(ranks(&order(), n).expect("an order")),
        ));
        // Once is enough of what takes a software GPU a minute.
        if n > 100_000 {
            continue;
        }
        cases.push(Case::new(
            GROUP,
            format!("stable_order {k} x {n}"),
            Tolerance::Exact,
            move |test_device: &TestDevice| {
                let found =
                    stable_order(matrix(&keys(k, n), n, &test_device.device)).expect("order");
                found.into_data().iter::<f64>().collect()
            },
            move || integers(order()),
        ));
        for shared in [true, false] {
            let finite = move || -> Vec<f32> {
                // A GPU may count a subnormal as zero.
                let clamp = |key: f32| match key.clamp(-9.0, 9.0) {
                    key if key.abs() < f32::MIN_POSITIVE => 0.0,
                    key => key,
                };
                keys(k, n).into_iter().map(clamp).collect()
            };
            let cells = move || {
                let row = |shift: f64| (0..n).map(move |r| r as f64 / n as f64 + shift);
                if shared {
                    return TargetQuantiles::shared(row(0.0).collect(), 0.0).expect("cells");
                }
                let rows = (0..k).flat_map(|l| row(l as f64)).collect();
                TargetQuantiles::from_rows(n, rows, vec![0.0; k]).expect("cells")
            };
            let words = if shared { "one row" } else { "rows" };
            cases.push(Case::new(
                GROUP,
                format!("transport_residual {k} x {n}, {words} of cells"),
                Tolerance::Operation,
                move |test_device: &TestDevice| {
                    let projected = matrix(&finite(), n, &test_device.device).transpose();
                    let cells = cells().tensor(&test_device.device);
                    let found = tensor::transport_residual(projected, cells).expect("residual");
                    numbers(found.transpose())
                },
                move || wide(transport_residual(&finite(), &cells()).expect("residual")),
            ));
        }
    }
    for (k, n) in [(2, 70), (1, 5000)] {
        cases.push(Case::new(
            GROUP,
            format!("stable_ranks {k} x {n} with NaN of both signs"),
            Tolerance::Exact,
            move |test_device: &TestDevice| {
                let keys = matrix(&not_numbers(k, n), n, &test_device.device);
                match stable_ranks(keys) {
                    Ok(found) => found.into_data().iter::<f64>().collect(),
                    // Host memory, where looking for one is cheap.
                    Err(SwdError::NotANumber { row: 0, index: 1 }) if on_host(test_device) => {
                        total_ranks(&not_numbers(k, n), n)
                    }
                    Err(error) => panic!("{error}"),
                }
            },
            move || total_ranks(&not_numbers(k, n), n),
        ));
    }
    for (n, m) in [(40, 40), (40, 24), (7, 50), (50, 7)] {
        cases.push(Case::new(
            GROUP,
            format!("two_sample_gradients, {n} and {m} points"),
            Tolerance::Operation,
            move |test_device: &TestDevice| {
                let (samples, device) = (Samples::new(n, m, 9), &test_device.device);
                let [x, y] = [&samples.x, &samples.y].map(|s| matrix(s, Samples::D, device));
                let (in_x, in_y, distance) =
                    tensor::two_sample_gradients(x, y, samples.slices.tensor(device))
                        .expect("cotangents");
                let mut all = numbers(distance);
                all.extend(numbers(in_x).into_iter().chain(numbers(in_y)));
                all
            },
            move || Samples::new(n, m, 9).expected(),
        ));
        cases.push(Case::new(
            GROUP,
            format!("sliced_w2_squared and gradients, {n} and {m} points"),
            Tolerance::Operation,
            move |test_device: &TestDevice| {
                let samples = Samples::new(n, m, 9);
                samples.found(&test_device.device, |x, y| {
                    let theta = samples.slices.tensor(&x.device());
                    tensor::sliced_w2_squared(x, y, theta)
                })
            },
            move || Samples::new(n, m, 9).expected(),
        ));
    }
    let drawing = || ChaCha20Rng::seed_from_u64(8);
    cases.push(Case::new(
        GROUP,
        "the loss module and its gradients, 40 and 24 points",
        Tolerance::Operation,
        move |test_device: &TestDevice| {
            let config = SlicedWassersteinConfig::new().with_slices(11);
            let loss = config.with_tight_frame(true).init();
            let value = |x, y| loss.forward(x, y, &mut drawing());
            Samples::new(40, 24, 1 + Samples::D).found(&test_device.device, value)
        },
        move || {
            let slices = Slices::tight(Samples::D, 11, &mut drawing()).expect("slices");
            let samples = Samples::new(40, 24, 1 + Samples::D);
            Samples { slices, ..samples }.expected()
        },
    ));
    cases.push(weighted());
    let line = || Slices::from_directions(1, &[1.0]).expect("a direction");
    // One zero: a projection forgets the sign of the other.
    let on_line = || (keys(1, 30).into_iter()).map(|x| x.clamp(-4.0, 4.0) + 0.0);
    cases.push(Case::new(
        GROUP,
        "w2_squared and gradient, 30 and 18 points",
        Tolerance::Operation,
        move |test_device: &TestDevice| {
            let device = test_device.device.clone().autodiff();
            let values: Vec<f32> = on_line().collect();
            let u = Tensor::<1>::from_floats(values.as_slice(), &device).require_grad();
            let v = Tensor::<1>::from_floats(&values[..18], &device);
            let value = tensor::w2_squared(u.clone(), v).expect("distance");
            let gradients = value.backward();
            let mut all = numbers(value);
            all.extend(u.grad(&gradients).map(numbers).unwrap_or_default());
            all
        },
        move || {
            let u: Vec<f32> = on_line().collect();
            let cells = TargetQuantiles::of_sample(&u[..18], &line(), 30).expect("cells");
            let (in_u, distance) =
                sliced_cotangents_and_distance(&u, &line(), &cells).expect("cotangents");
            std::iter::once(distance).chain(wide(in_u)).collect()
        },
    ));
    let samples = || Samples::new(300, 1, 12);
    let ball = || {
        UniformBall::new(3)
            .and_then(|ball| ball.cells(300))
            .expect("cells")
    };
    cases.push(Case::new(
        GROUP,
        "sliced_cotangents_and_distance, 300 points and the unit ball",
        Tolerance::Operation,
        move |test_device: &TestDevice| {
            let (samples, cells, device) = (samples(), ball(), &test_device.device);
            let (cotangents, distance) = tensor::sliced_cotangents_and_distance(
                matrix(&samples.x, Samples::D, device),
                samples.slices.tensor(device),
                cells.tensor(device),
                cells.mean_within_cell_variance(),
            )
            .expect("cotangents");
            let mut all = numbers(distance);
            all.extend(numbers(cotangents));
            all
        },
        move || {
            let samples = samples();
            let (cotangents, distance) =
                sliced_cotangents_and_distance(&samples.x, &samples.slices, &ball())
                    .expect("cotangents");
            std::iter::once(distance).chain(wide(cotangents)).collect()
        },
    ));
    cases
}
