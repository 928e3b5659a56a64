//! The latent spaces of flows learn what they are shown.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use model::latent::{DcganAutoencoder, ImageShape, LatentSpace, SmallAutoencoder, rebuild_images};
use private_training::weights::{from_host, to_host};
use private_training::{PublicTraining, TrainingError, TrainingState};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// Small grey images.
const SMALL: ImageShape = ImageShape {
    channels: 1,
    side: 32,
};

const TRAINING: PublicTraining = PublicTraining {
    epochs: 1,
    batch: 2,
    learning_rate: 1e-2,
    last: 0.1,
    adam_epsilon: 1e-5,
};

/// A white square in one of four corners.
fn corner(index: usize) -> Vec<f32> {
    let (left, top) = (index % 2 * 16, index / 2 % 2 * 16);
    let mut image = vec![0.0; 1024];
    for y in top + 3..top + 13 {
        image[y * 32 + left + 3..y * 32 + left + 13].fill(1.0);
    }
    image
}

#[test]
fn four_images_come_back() {
    let device = Device::flex();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let space = SmallAutoencoder::new(SMALL, 8, &mut rng, &device.clone().autodiff());
    let training = PublicTraining {
        epochs: 60,
        batch: 4,
        learning_rate: 2e-3,
        ..TRAINING
    };
    let mut losses = Vec::new();
    let trained = rebuild_images::<_, _, TrainingError>(
        &training,
        space,
        4,
        |places| Ok(places.iter().flat_map(|&p| corner(p)).collect()),
        &mut rng,
        None,
        |step, _| {
            losses.push(step.loss);
            Ok(())
        },
    )
    .unwrap()
    .valid();
    let images: Vec<f32> = (0..4).flat_map(corner).collect();
    let latents = trained.encode_host(&images, &device);
    for row in latents.chunks_exact(8) {
        let norm: f32 = row.iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-4, "{norm}");
    }
    let rebuilt = trained.decode_host(&latents, &device);
    let worst = rebuilt
        .iter()
        .zip(&images)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    let mean = rebuilt
        .iter()
        .zip(&images)
        .map(|(a, b)| (a - b).abs())
        .sum::<f32>()
        / images.len() as f32;
    let brightest = rebuilt.iter().copied().fold(0.0, f32::max);
    println!("{:?} .. {:?}", &losses[..3], &losses[losses.len() - 3..]);
    assert!(
        mean < 0.05,
        "mean {mean}, worst {worst}, brightest {brightest}"
    );
}

/// A training that is asked to stop ends with that step, and one that resumes there comes to the
/// same weights, with batch norms and without.
#[test]
fn a_stopped_training_goes_on_to_the_same_weights() {
    fn check<M: LatentSpace + Module>(fresh: impl Fn(&mut ChaCha20Rng) -> M) {
        let training = PublicTraining {
            epochs: 3,
            batch: 2,
            learning_rate: 2e-3,
            ..TRAINING
        };
        // Six steps.
        let run = |from: Option<&TrainingState>, stop_at: usize| {
            let mut rng = ChaCha20Rng::seed_from_u64(7);
            let space = fresh(&mut rng);
            let size = space.shape().values();
            let image = |i: usize| (0..size).map(move |p| ((p * (i + 3)) % 97) as f32 / 97.0);
            let mut steps = Vec::new();
            let mut kept = None;
            let trained = rebuild_images::<_, _, TrainingError>(
                &training,
                space,
                4,
                |places| Ok(places.iter().copied().flat_map(image).collect()),
                &mut rng,
                from,
                |step, state| {
                    steps.push(step.done);
                    if step.done < stop_at {
                        return Ok(());
                    }
                    kept = Some(state());
                    Err(TrainingError::OutOfRange {
                        name: "a step after the stop",
                        value: step.done as f64,
                        bound: "none".into(),
                    })
                },
            );
            (trained.map(|space| to_host(&space.valid())), steps, kept)
        };
        let (whole, steps, _) = run(None, 7);
        assert_eq!(steps, [1, 2, 3, 4, 5, 6]);
        let (stopped, steps, kept) = run(None, 3);
        assert!(stopped.is_err());
        assert_eq!(steps, [1, 2, 3]);
        let (went_on, steps, _) = run(kept.as_ref(), 7);
        assert_eq!(steps, [4, 5, 6]);
        assert_eq!(went_on.unwrap(), whole.unwrap());
    }
    let autodiff = Device::flex().autodiff();
    check(|rng| SmallAutoencoder::new(SMALL, 8, rng, &autodiff));
    check(|rng| DcganAutoencoder::new(3, 8, 2, rng, &autodiff));
}

#[test]
fn colour_images_go_through_the_larger_one() {
    let device = Device::flex();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let space = DcganAutoencoder::new(3, 48, 4, &mut rng, &device);
    let images = Tensor::<4>::from_data(
        TensorData::new(vec![0.5f32; 2 * 3 * 4096], [2, 3, 64, 64]),
        &device,
    );
    let latents = space.encode(images);
    assert_eq!(latents.dims(), [2, 48]);
    assert_eq!(space.decode(latents).dims(), [2, 3, 64, 64]);
}

/// Its norms keep running statistics, which are no parameters and still decide what it decodes.
#[test]
fn the_larger_one_comes_back_from_its_weights() {
    let device = Device::flex();
    let autodiff = device.clone().autodiff();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let training = PublicTraining {
        epochs: 1,
        batch: 2,
        learning_rate: 1e-2,
        ..TRAINING
    };
    let picture = |i: usize| (0..3 * 4096).map(move |p| ((p * (i + 3)) % 97) as f32 / 97.0);
    let trained = rebuild_images::<_, _, TrainingError>(
        &training,
        DcganAutoencoder::new(3, 8, 2, &mut rng, &autodiff),
        4,
        |places| Ok(places.iter().copied().flat_map(picture).collect()),
        &mut rng,
        None,
        |_, _| Ok(()),
    )
    .unwrap()
    .valid();
    let latents = vec![0.25; 2 * 8];
    let fresh = DcganAutoencoder::new(3, 8, 2, &mut rng, &device);
    let before = fresh.decode_host(&latents, &device);
    let back = from_host(fresh, &to_host(&trained)).unwrap();
    let decoded = trained.decode_host(&latents, &device);
    assert_ne!(before, decoded);
    assert_eq!(back.decode_host(&latents, &device), decoded);
}

/// Host kernels and autodiff agree on latents, images, and the gradient of a batch.
#[test]
fn host_kernels_agree_with_tensors() {
    let device = Device::flex();
    let autodiff = device.clone().autodiff();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let space = SmallAutoencoder::new(SMALL, 8, &mut rng, &autodiff);
    let n = 11;
    let images: Vec<f32> = (0..n * 1024)
        .map(|p| ((p * p + 7 * p) % 83) as f32 / 83.0)
        .collect();
    let tensor = |device: &Device| {
        Tensor::<4>::from_data(TensorData::new(images.clone(), [n, 1, 32, 32]), device)
    };
    let close = |what: &str, a: &[f32], b: &[f32], bound: f32| {
        assert_eq!(a.len(), b.len(), "{what}");
        let largest = b.iter().fold(0.0f32, |m, x| m.max(x.abs()));
        let off = a.iter().zip(b).map(|(a, b)| (a - b).abs());
        let off = off.fold(0.0f32, f32::max);
        assert!(off <= bound * largest, "{what}: {off} of {largest}");
    };
    let plain = space.valid();
    let host = plain.host().unwrap();
    let latents: Vec<f32> = plain.encode(tensor(&device)).into_data().iter().collect();
    close("latents", &host.encode(&images), &latents, 1e-4);
    let points = Tensor::<2>::from_data(TensorData::new(latents.clone(), [n, 8]), &device);
    let decoded: Vec<f32> = plain.decode(points).into_data().iter().collect();
    close("images", &host.decode(&latents), &decoded, 1e-4);

    let logits = space.logits(space.encode(tensor(&autodiff)));
    let cotangent = (burn::tensor::activation::sigmoid(logits.clone().inner()) - tensor(&device))
        .div_scalar(n as f64);
    let surrogate = (logits * Tensor::from_inner(cotangent)).sum();
    let mut gradients = burn::optim::GradientsParams::from_grads(surrogate.backward(), &space);
    let (flat, _) = host.gradient(&images);
    let mut rest = &flat[..];
    for (index, slot) in host.slots.iter().enumerate() {
        let (here, after) = rest.split_at(slot.len());
        rest = after;
        let expected: Option<Vec<f32>> = match slot.shape.len() {
            1 => gradients
                .remove::<1>(slot.id)
                .map(|g| g.into_data().iter().collect()),
            2 => gradients
                .remove::<2>(slot.id)
                .map(|g| g.into_data().iter().collect()),
            _ => gradients
                .remove::<4>(slot.id)
                .map(|g| g.into_data().iter().collect()),
        };
        let expected = expected.unwrap_or_else(|| panic!("parameter {index}: no gradient"));
        close(&format!("parameter {index}"), here, &expected, 1e-3);
    }
    assert!(rest.is_empty());
}
