//! Bad input through the door: an error in words, nothing released, nothing in the ledger.

use burn::module::Module;
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use dp_core::ledger::Ledger;
use dp_core::per_sample::nn::Chain;
use dp_core::sampling::Sampler;
use private_training::{
    Batch, Forward, Layers, Loss, Network, Objective, Penalty, Prior, Targets, TrainingConfig,
    TrainingError,
};

use test_support::networks::{
    Small, classified, generator, labels, ledger, plan, training, uniform,
};

fn fixed() -> Sampler {
    Sampler::fixed_size(100, 10).unwrap()
}

fn cross_entropy() -> TrainingConfig {
    TrainingConfig::new(Loss::cross_entropy())
}

/// What one step says of these inputs and targets, having left nothing.
fn refusal<const D: usize>(
    with: TrainingConfig,
    network: &impl Network<D>,
    inputs: Tensor<D>,
    targets: impl Into<Targets>,
) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (mut training, mut ledger) = training(with, network, plan(fixed()), &folder);
    let step = training.next_step().unwrap().unwrap();
    let batch = Batch::new(inputs, targets, &[10]);
    let released = batch.and_then(|batch| step.release(network, &batch, &mut ledger));
    let error = released.map(drop).unwrap_err();
    assert_eq!(ledger.releases(), 0, "{error}");
    assert_eq!(training.step(), 0, "{error}");
    assert_eq!(training.epsilon_spent(&ledger).unwrap(), 0.0);
    error.to_string()
}

#[test]
fn batches_that_were_not_drawn_are_refused_with_neither_number() {
    let device = Device::flex();
    let network = Small::new(3, 4, &device);
    for (records, classes, what) in [(50, 50, "records"), (10, 9, "targets")] {
        let images = uniform([records, 1, 6, 6], 0, &device);
        let said = refusal(
            cross_entropy(),
            &network,
            images,
            labels(classes, 4, &device),
        );
        let rest = "of a batch: not as many as the records of the sampler or of its draw";
        assert_eq!(said, format!("{what} {rest}"));
    }
}

#[test]
fn labels_outside_of_the_classes_are_refused() {
    let device = Device::flex();
    let network = Small::new(3, 4, &device);
    let images = || uniform([10, 1, 6, 6], 0, &device);
    let one = Small::new(3, 1, &device);
    let binary = || TrainingConfig::new(Loss::binary_cross_entropy_with_logits());
    let below = labels(10, 4, &device) - 1;
    let no_class = "a label is no class: with 4 outputs it must be from 0 to 3";
    let too_many = "outputs for one of two classes: expected 1, found 4";
    for (with, network, labels, words) in [
        (cross_entropy(), &network, labels(10, 5, &device), no_class),
        (cross_entropy(), &network, below, "a label is no class"),
        (binary(), &one, labels(10, 3, &device), "with 2 outputs"),
        (binary(), &network, labels(10, 2, &device), too_many),
    ] {
        let said = refusal(with, network, images(), labels);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn targets_of_another_kind_than_the_loss_takes_are_refused() {
    let device = Device::flex();
    let network = Small::new(3, 4, &device);
    let [classes, values] = [
        Targets::from(labels(10, 4, &device)),
        Tensor::<2>::zeros([10, 4], &device).into(),
    ];
    let own = Loss::new(|outputs, _| outputs.sum_dim(1).squeeze_dim(1));
    let own_of_classes = Loss::of_classes(|outputs, _| outputs.sum_dim(1).squeeze_dim(1));
    let of_classes = "the loss is cross-entropy: its targets must be class numbers";
    let of_values = "the loss is squared error: its targets must be values";
    for (loss, targets, words) in [
        (Loss::cross_entropy(), &values, of_classes),
        (own_of_classes, &values, "must be class numbers"),
        (Loss::squared_error(), &classes, of_values),
        (own, &classes, "must be values"),
    ] {
        let with = TrainingConfig::new(loss);
        let images = uniform([10, 1, 6, 6], 0, &device);
        let message = refusal(with, &network, images, targets.clone());
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn what_mixes_records_is_refused() {
    #[derive(Module, Debug)]
    struct Normalised {
        linear: Linear,
        norm: BatchNorm,
    }
    impl Network<2> for Normalised {
        fn layers(&self) -> Layers<'_, 2> {
            Layers::any(|inputs| {
                Forward::from_output(self.norm.forward(self.linear.forward(inputs)))
            })
        }
    }
    let device = Device::flex();
    let network = Normalised {
        linear: LinearConfig::new(3, 4).init(&device),
        norm: BatchNormConfig::new(4).init(&device),
    };
    let inputs = uniform([10, 3], 0, &device);
    let message = refusal(cross_entropy(), &network, inputs, labels(10, 4, &device));
    let words = ["norm", "batch"];
    assert!(
        words.iter().all(|words| message.contains(words)),
        "{message}"
    );
}

#[test]
fn layers_that_share_or_forget_a_parameter_are_refused() {
    #[derive(Module, Debug)]
    struct Tied {
        square: Linear,
        forgets: bool,
    }
    impl Network<2> for Tied {
        fn layers(&self) -> Layers<'_, 2> {
            let one = || Chain::features(4).linear(&self.square);
            if self.forgets {
                return Layers::chain(Chain::features(4).tanh());
            }
            Layers::with_activation(one(), one(), 0)
        }
    }
    let device = Device::flex();
    for (forgets, why) in [
        (false, "stands in two layers"),
        (true, "in its layers: expected 2, found 0"),
    ] {
        let square = LinearConfig::new(4, 4).init(&device);
        let network = Tied { square, forgets };
        let rows = uniform([10, 4], 0, &device);
        let message = refusal(cross_entropy(), &network, rows, labels(10, 4, &device));
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn objectives_that_cannot_be_bounded_are_refused_before_the_first_step() {
    let refused = |objective: Objective, sampler: Sampler, words: &str| {
        let network = Small::new(3, 4, &Device::flex());
        let started = TrainingConfig::new(objective).start(network, plan(sampler).check().unwrap());
        let said = started.err().unwrap().to_string();
        assert!(said.contains(words), "{said}");
    };
    let clipped = |norm| Objective::new([Loss::cross_entropy().max_grad_norm(norm)]);
    for norm in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(clipped(norm), fixed(), "clipping norm C");
        refused(clipped(norm), fixed(), "from 1e-9");
    }
    refused(Objective::default(), fixed(), "at least 1");
    let poisson = Sampler::poisson_zero_out(100, 0.1).unwrap();
    let prior = clipped(1.0).penalty(Penalty::to(Prior::UniformBall));
    refused(prior, poisson, "Poisson");
    let group = Objective::new([Loss::squared_error().only_strata(&[2])]);
    let groups = vec![(0..50).collect(), (50..100).collect()];
    let groups = Sampler::stratified(groups, &[5, 5]).unwrap();
    refused(group, groups, "below the number of strata, 2");
}

#[test]
fn records_that_are_not_finite_count_for_nothing() {
    let device = Device::flex();
    let network = Small::new(3, 4, &device);
    let folder = tempfile::tempdir().unwrap();
    let (mut training, mut ledger) = training(cross_entropy(), &network, plan(fixed()), &folder);
    let bad = uniform([10, 1, 6, 6], 0, &device) / 0.0;
    let step = training.next_step().unwrap().unwrap();
    let batch = Batch::new(bad, labels(10, 4, &device), &[10]).unwrap();
    let (released, _) = step.release(&network, &batch, &mut ledger).unwrap();
    assert!(released.gradient().to_host().iter().all(|x| x.is_finite()));
}

#[test]
fn a_training_without_a_plan_releases_nothing() {
    let device = Device::flex();
    let network = Small::new(3, 4, &device);
    let (_folder, mut ledger) = ledger();
    let training = cross_entropy().start_without_privacy(network.clone(), fixed(), generator(1));
    let mut training = training.unwrap();
    let (images, targets) = classified(100);
    let step = training.next_step().unwrap().unwrap();
    let batch = step.select(&images, &targets).unwrap();
    let refused = step.release(&network, &batch, &mut ledger);
    assert!(matches!(refused, Err(TrainingError::WithoutPlan)));
    let step = training.next_step().unwrap().unwrap();
    let losses = step.update_from(&images, &targets, &mut ledger).unwrap();
    assert!(losses.unwrap().losses[0] > 0.0);
    assert_eq!((training.step(), ledger.releases()), (1, 0));
    assert!(training.epsilon_spent(&ledger).is_err());
}

#[test]
fn a_second_ledger_is_refused() {
    let device = Device::flex();
    let network = Small::new(3, 4, &device);
    let folder = tempfile::tempdir().unwrap();
    let (mut training, mut first) = training(cross_entropy(), &network, plan(fixed()), &folder);
    let mut second = Ledger::create(&folder.path().join("second.jsonl")).unwrap();
    let (images, targets) = classified(100);
    let step = training.next_step().unwrap().unwrap();
    step.update_from(&images, &targets, &mut first).unwrap();
    // It tells of nothing that was spent, and would take the rest.
    let spent = training.epsilon_spent(&second);
    assert!(matches!(spent, Err(TrainingError::OtherLedger { .. })));
    let step = training.next_step().unwrap().unwrap();
    let refused = step.update_from(&images, &targets, &mut second);
    assert!(matches!(refused, Err(TrainingError::OtherLedger { .. })));
    let made = [training.step(), first.releases(), second.releases()];
    assert_eq!(made, [1, 1, 0]);
    let step = training.next_step().unwrap().unwrap();
    step.update_from(&images, &targets, &mut first).unwrap();
    assert!(training.epsilon_spent(&first).unwrap() > 0.0);
}
