//! What is asked of every step, of trials by their seed.

use burn::tensor::Device;
use portability::{CHUNK, TestDevice, available_devices};
use private_training::{Engine, Network};
use test_support::contract::Contract;
use test_support::networks::Neighbours;

/// What runs on every device. A GPU compiles kernels anew for another size of chunk.
pub(super) const ENGINE: Engine = Engine::Tensor { chunk: CHUNK };

/// The devices of this build that this machine has, but for those that refuse private steps.
pub(super) fn devices() -> impl Iterator<Item = TestDevice> {
    available_devices().into_iter().filter(TestDevice::private)
}

/// The contract holds on every device for so many trials whose records fill their chunks; the first of them to be tried
/// has the seed `first`. They are few: a GPU may be in software here.
pub(super) fn hold_on_every_device<N: Network<2>>(
    least: f64,
    (first, count): (u64, usize),
    trial: impl Fn(u64, &Device) -> Neighbours<N, 2>,
) {
    for on in devices() {
        let trials = (first..).map(|seed| trial(seed, &on.device));
        let whole = trials.filter(|trial| trial.batches[0].records().is_multiple_of(CHUNK));
        let contract = Contract::of(&on.name).attained(least);
        contract.holds(whole.take(count).map(|trial| trial.apart(ENGINE)));
    }
}

/// Without clipping a third of the trials break it, or the contract proves nothing.
pub(super) fn need_clipping<N: Network<2>>(trial: impl Fn(u64, &Device) -> Neighbours<N, 2>) {
    let device = Device::flex();
    let apart = |seed| trial(seed, &device).apart_without_clipping(Engine::Host { chunk: 4 });
    Contract::of("the step").is_broken_by("no clipping", 20, (0..60).map(apart));
}
