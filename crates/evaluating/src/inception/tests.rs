//! The network at a sixteenth of its width against numpy: `tests/data/inception/reference.py`.

use std::path::PathBuf;

use safetensors::tensor::{Dtype, TensorView, serialize_to_file};

use super::*;

#[derive(serde::Deserialize)]
struct Reference {
    units: Vec<(String, Vec<usize>)>,
    torchvision: Vec<f64>,
    fid: Vec<f64>,
}

fn reference() -> Reference {
    let text = include_str!("../../tests/data/inception/inception.json");
    serde_json::from_str(text).unwrap()
}

/// Numbers in [0, 1) from a name and a place, as in `reference.py`.
fn value(name: &str, count: usize) -> Vec<f64> {
    let seed = name.bytes().fold(2_166_136_261_u32, |seed, byte| {
        (seed ^ u32::from(byte)).wrapping_mul(16_777_619)
    });
    (0..count as u32)
        .map(|i| {
            let mut x = seed.wrapping_add(i.wrapping_mul(2_654_435_761));
            x ^= x >> 16;
            x = x.wrapping_mul(0x85eb_ca6b);
            x ^= x >> 13;
            f64::from(x >> 8) / f64::from(1_u32 << 24)
        })
        .collect()
}

struct Named {
    name: String,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// All tensors of the small network under `prefix`.
fn small_network(prefix: &str) -> Vec<Named> {
    let mut tensors = Vec::new();
    for (unit, shape) in reference().units {
        let fan_in: usize = shape[1..].iter().product();
        let bound = (6.0 / fan_in as f64).sqrt();
        let mut put = |part: &str, shape: &[usize], map: &dyn Fn(f64) -> f64| {
            let name = format!("{unit}.{part}");
            let bytes = value(&name, shape.iter().product())
                .into_iter()
                .flat_map(|x| (map(x) as f32).to_le_bytes())
                .collect();
            tensors.push(Named {
                name: format!("{prefix}{name}"),
                shape: shape.to_vec(),
                bytes,
            });
        };
        put("conv.weight", &shape, &|x| (2.0 * x - 1.0) * bound);
        put("bn.weight", &shape[..1], &|x| 0.75 + 0.5 * x);
        put("bn.bias", &shape[..1], &|x| 0.2 * x - 0.1);
        put("bn.running_mean", &shape[..1], &|x| 0.2 * x - 0.1);
        put("bn.running_var", &shape[..1], &|x| 0.75 + 0.5 * x);
    }
    tensors
}

fn write(tensors: &[Named], folder: &Path) -> PathBuf {
    let views = tensors.iter().map(|t| {
        let view = TensorView::new(Dtype::F32, t.shape.clone(), &t.bytes).unwrap();
        (t.name.clone(), view)
    });
    let path = folder.join("weights.safetensors");
    serialize_to_file(views, None, &path).unwrap();
    path
}

fn load(tensors: &[Named], flavour: Option<Flavour>) -> Result<Inception, EvaluateError> {
    let folder = tempfile::tempdir().unwrap();
    let path = write(tensors, folder.path());
    Inception::load_at_width(&path, flavour, 16, &Device::flex())
}

#[test]
fn features_agree_with_numpy() {
    let reference = reference();
    let images: Vec<f32> = value("images", 2 * 784)
        .into_iter()
        .map(|x| x as f32)
        .collect();
    for (flavour, expected) in [
        (Flavour::Torchvision, &reference.torchvision),
        (Flavour::Fid, &reference.fid),
    ] {
        let network = load(&small_network("module."), Some(flavour)).unwrap();
        let features = network.features(&images, 1, 28).unwrap();
        assert_eq!(features.len(), expected.len());
        let scale = expected.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        for (found, expected) in features.iter().zip(expected) {
            // Rounding in f32 through 48 layers.
            let error = (f64::from(*found) - expected).abs();
            assert!(error < 2e-5 * scale, "{flavour:?}: {found} and {expected}");
        }
        // One image does not see the other.
        let second = network.features(&images[784..], 1, 28).unwrap();
        for (alone, together) in second.iter().zip(&features[128..]) {
            assert!((alone - together).abs() < 1e-5);
        }
        assert!(network.features(&images[1..], 1, 28).is_err());
        assert!(network.features(&[f32::NAN; 4], 1, 2).is_err());
    }
}

#[test]
fn the_last_layer_tells_the_flavour() {
    let mut tensors = small_network("");
    assert_eq!(
        load(&tensors, None).unwrap().flavour(),
        Flavour::Torchvision
    );
    tensors.push(Named {
        name: "fc.weight".into(),
        shape: vec![1008, 2],
        bytes: vec![0; 1008 * 2 * 4],
    });
    assert_eq!(load(&tensors, None).unwrap().flavour(), Flavour::Fid);
    let chosen = load(&tensors, Some(Flavour::Torchvision)).unwrap();
    assert_eq!(chosen.flavour(), Flavour::Torchvision);
}

#[test]
fn what_is_wrong_with_weights_is_named() {
    let message = |change: &dyn Fn(&mut Vec<Named>)| {
        let mut tensors = small_network("");
        change(&mut tensors);
        load(&tensors, None).unwrap_err().to_string()
    };
    let at = |tensors: &[Named], name: &str| tensors.iter().position(|t| t.name == name).unwrap();
    let missing = "Mixed_7c.branch3x3dbl_3b.bn.running_var";
    let text = message(&|t| drop(t.remove(at(t, missing))));
    assert!(text.contains(missing) && text.contains("missing"), "{text}");
    let text = message(&|t| t.remove(0).name.clear());
    assert!(text.contains(ANCHOR) && text.contains("missing"), "{text}");
    let text = message(&|t| {
        let i = at(t, "Mixed_6b.branch7x7_2.conv.weight");
        t[i].shape.swap(2, 3);
    });
    assert!(text.contains("Mixed_6b.branch7x7_2.conv.weight"), "{text}");
    assert!(
        text.contains("[8, 8, 7, 1], expected [8, 8, 1, 7]"),
        "{text}"
    );
    let text = message(&|t| {
        let i = at(t, "Mixed_5c.branch_pool.bn.bias");
        t[i].bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    });
    assert!(text.contains("Mixed_5c.branch_pool.bn.bias"), "{text}");
    assert!(text.contains("NaN"), "{text}");
}
