//! What inner clipping costs by the width of a network (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, appendix
//! E, table 5).
//!
//! The gradient of the sliced distance between `g(X)` and public points, `n = 4096`, `d = 2`, `k = 30`,
//! `g` a network with one hidden layer of `h` rectified units, with every record's Jacobian clipped and
//! without. The authors form Jacobians, and their ratio grows with the width up to 124. Here the Gram pass
//! carries `d` cotangents where the plain pass carries one, and forms no Jacobian, so the ratio tends to
//! a constant.
//!
//! Floor, per record: forward `4 h` multiplications, plain backward `8 h`, clipped backward `8 h` for each
//! of `d = 2` rows and `4 h` for the Gram matrix; the transport sorts `n k` keys in both.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::per_sample::nn::Chain;
use dp_core::sampling::Sampler;
use lab::diagnostic::{Failure, OrFailed};
use model::layers::linear;
use private_training::{Batch, Clipping, Engine, Layers, Network, Objective, Penalty};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::gradients;

const RECORDS: usize = 4096;
const SLICES: usize = 30;
/// Units of the hidden layer, and the published ratio of clipped to plain (on one A6000).
const WIDTHS: [(usize, f64); 7] = [
    (8, 0.97),
    (16, 0.79),
    (32, 0.62),
    (128, 2.66),
    (512, 8.20),
    (2048, 36.96),
    (8192, 123.81),
];

/// Two features to two outputs by one hidden layer.
#[derive(Module, Debug)]
struct Hidden {
    first: Linear,
    last: Linear,
}

impl Hidden {
    fn new(width: usize, rng: &mut ChaCha20Rng, device: &Device) -> Self {
        Self {
            first: linear(2, width, 2.0, rng, device),
            last: linear(width, 2, 1.0, rng, device),
        }
    }
}

impl Network<2> for Hidden {
    fn layers(&self) -> Layers<'_, 2> {
        let hidden = Chain::features(2).linear(&self.first).relu();
        Layers::chain(hidden.linear(&self.last))
    }
}

/// Measures and prints, a line a width.
pub(crate) fn print(device: &Device, repeat: u64) -> Result<(), Failure> {
    println!("Inner clipping, n = {RECORDS}, d = 2, k = {SLICES}\n");
    println!(
        "| width | plain, ms | rows, ms | spectral, ms | rows / plain | spectral / plain | ratio of Rodriguez-Vitores et al. |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (width, paper) in WIDTHS {
        let [plain, rows, spectral] = times(width, repeat, device)?;
        println!(
            "| {width} | {plain:.2} | {rows:.2} | {spectral:.2} | {:.2} | {:.2} | {paper} |",
            rows / plain,
            spectral / plain
        );
    }
    Ok(())
}

/// Medians in milliseconds: plain, rows, spectral.
fn times(width: usize, repeat: u64, device: &Device) -> Result<[f64; 3], Failure> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let network = Hidden::new(width, &mut rng, device);
    let halves = [RECORDS / 2; 2];
    let groups = vec![(0..RECORDS / 2).collect(), (RECORDS / 2..RECORDS).collect()];
    let sampler = Sampler::stratified(groups, &halves).or_failed()?;
    let rows: Vec<f32> = (0..2 * RECORDS)
        .map(|_| rng.random_range(-1.0..1.0))
        .collect();
    let rows = Tensor::<2>::from_data(TensorData::new(rows, [RECORDS, 2]), device);
    let targets = Tensor::<2>::zeros([RECORDS, 2], device);
    let batch = Batch::new(rows, targets, &halves).or_failed()?;
    let engine = match Engine::for_device(device) {
        Engine::Host { .. } => Engine::Host { chunk: 32 },
        _ => Engine::Tensor { chunk: RECORDS },
    };
    gradients(repeat, &network, &batch, engine, device, |mode| {
        let clipping = Clipping::published(mode);
        let penalty = Penalty::between_strata().slices(SLICES).clipping(clipping);
        let mut public = ChaCha20Rng::seed_from_u64(2);
        // The transport alone, as in the published table.
        Objective::default()
            .penalty(penalty)
            .draw(&[2], &sampler, &mut public)
    })
}
