//! A step of `private-training` through burn's own layers on tensors, clipped and without privacy, against one
//! record at a time through burn's autodiff on the host.

use burn::tensor::{Device, Tensor, TensorData};
use dp_core::per_sample::JacobianClip;
use private_training::{Batch, Clipping, Engine, Loss, Network, Objective, Penalty, Prior};
use test_support::networks::{Signal, Text, Vision, fixed_batches, generator, labels};

use super::{Case, TestDevice, Tolerance, wave, wide};

const GROUPS: [usize; 2] = [3, 5];
const CLASSES: usize = 3;

/// What a step minimises, with bounds that bind.
#[derive(Debug, Clone, Copy)]
enum Kind {
    DpSgd,
    Penalised(JacobianClip),
}

impl Kind {
    fn objective(self) -> Objective {
        let losses = Objective::new([
            Loss::cross_entropy().max_grad_norm(0.5),
            Loss::of_classes(|outputs, _| outputs.tanh().sum_dim(1).squeeze_dim(1))
                .weight(0.3)
                .max_grad_norm(0.2)
                .only_strata(&[1]),
        ]);
        match self {
            Self::DpSgd => losses,
            Self::Penalised(mode) => {
                let clipping = Clipping {
                    activation: 0.3,
                    jacobian: 0.8,
                    mode,
                };
                losses
                    .penalty(
                        Penalty::to(Prior::StandardGaussian)
                            .slices(5)
                            .clipping(clipping),
                    )
                    .penalty(Penalty::between_strata().slices(4).clipping(clipping))
            }
        }
    }

    /// The gradient of a step; `network` and `records` are where it is made.
    fn gradient<const D: usize>(
        self,
        network: &impl Network<D>,
        records: Tensor<D>,
        engine: Engine,
        private: bool,
    ) -> Vec<f64> {
        let device = records.device();
        let labels = labels(GROUPS.iter().sum(), CLASSES, &device);
        let batch = Batch::new(records, labels, &GROUPS).expect("a batch");
        let step = self
            .objective()
            .draw(&[CLASSES], &fixed_batches(&GROUPS), &mut generator(1));
        let step = step.expect("an objective");
        wide(if private {
            let bounded = step.clipped_gradient(network, &batch, engine, &device);
            bounded.expect("a gradient").0.before_noise()
        } else {
            let plain = step.gradient_without_privacy(network, &batch, engine, &device);
            plain.expect("a gradient").0.to_host()
        })
    }
}

/// The steps of one network.
fn cases_of<const D: usize, N: Network<D> + 'static>(
    name: &'static str,
    network: fn(&Device) -> N,
    shape: [usize; D],
    values: fn(f32) -> f32,
) -> Vec<Case> {
    let gradient = move |kind: Kind, device: &Device, engine, private| {
        let records = wave(shape.iter().product()).into_iter().map(values);
        let records = TensorData::new(records.collect::<Vec<f32>>(), shape);
        kind.gradient(
            &network(device),
            Tensor::from_data(records, device),
            engine,
            private,
        )
    };
    let kinds = [
        Kind::DpSgd,
        Kind::Penalised(JacobianClip::Rows),
        Kind::Penalised(JacobianClip::Spectral),
    ];
    let case = |(kind, private): (Kind, bool)| {
        let form = if private { "clipped" } else { "plain" };
        let case = Case::new(
            "private-training",
            format!("{name}, {kind:?}, {form}").to_lowercase(),
            Tolerance::Clip,
            // burn's layers have no host kernels: tensors there too.
            move |test_device: &TestDevice| {
                let engine = Engine::Tensor { chunk: 3 };
                gradient(kind, &test_device.device, engine, private)
            },
            move || gradient(kind, &Device::flex(), Engine::Autodiff, private),
        );
        if private { case.private() } else { case }
    };
    let forms = kinds.map(|kind| (kind, true)).into_iter();
    forms.chain([(kinds[2], false)]).map(case).collect()
}

/// A part a network.
pub(super) fn parts() -> [Vec<Case>; 3] {
    [
        cases_of("text", Text::new, [8, 5], |x| (2.9 * x + 3.0).floor()),
        cases_of("signal", Signal::new, [8, 2, 12], |x| x),
        cases_of("vision", Vision::new, [8, 2, 8, 8], |x| x),
    ]
}
