//! Files of `torch.save`, written by `tests/data/inception/reference.py`, whole and damaged.

use proptest::prelude::*;

use super::*;

const ARCHIVE: &[u8] = include_bytes!("../../../tests/data/inception/archive.pt");
const STREAM: &[u8] = include_bytes!("../../../tests/data/inception/stream.pt");

fn tensors(bytes: &[u8], anchor: &str) -> Result<Tensors, EvaluateError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.pt");
    std::fs::write(&path, bytes).unwrap();
    Tensors::read(&path, anchor)
}

#[test]
fn both_layouts_give_the_same_tensors() {
    for file in [ARCHIVE, STREAM] {
        let read = tensors(file, "plain").unwrap();
        assert_eq!(read.prefix, "model.");
        assert_eq!(read.named.len(), 6);
        let get = |name: &str, shape: &[usize]| read.get(name, shape).unwrap().to_vec();
        assert_eq!(get("plain", &[2, 3]), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]);
        // Strides 1 and 3 over the same storage.
        assert_eq!(get("transposed", &[3, 2]), [0.0, 1.5, 0.5, 2.0, 1.0, 2.5]);
        assert_eq!(get("part", &[2]), [3.5, 4.5]);
        assert_eq!(get("double", &[2]), [2.5, 3.75]);
        assert_eq!(get("scalar", &[]), [-1.25]);
        assert_eq!(read.shape("plain"), Some([2, 3].as_slice()));
        assert_eq!(read.shape("model.plain"), None);
        let text = read.get("counter", &[]).unwrap_err().to_string();
        assert!(
            text.contains("model.counter") && text.contains("LongStorage"),
            "{text}"
        );
        let text = read.get("plain", &[3, 2]).unwrap_err().to_string();
        assert!(text.contains("[2, 3], expected [3, 2]"), "{text}");
        let text = read.get("other", &[]).unwrap_err().to_string();
        assert!(
            text.contains("model.other") && text.contains("missing"),
            "{text}"
        );
    }
}

#[test]
fn an_anchor_needs_its_whole_name() {
    // "lain" ends a name, but does not follow a dot.
    assert!(matches!(
        tensors(ARCHIVE, "lain"),
        Err(EvaluateError::Weights { .. })
    ));
}

#[test]
fn other_files_are_refused_by_name() {
    for bytes in [
        b"".as_slice(),
        b"x",
        b"PK\x03\x04",
        b"\x80\x02}.",
        &[0; 100],
    ] {
        let text = tensors(bytes, "plain").unwrap_err().to_string();
        assert!(text.contains("weights.pt"), "{text}");
    }
    assert!(matches!(
        Tensors::read(Path::new("/nowhere/weights.pt"), "plain"),
        Err(EvaluateError::File { .. })
    ));
}

#[test]
fn deep_nesting_is_harmless() {
    // A million tuples in each other, then the end.
    let mut pickle = b"\x80\x02)".to_vec();
    pickle.resize(1_000_000, 0x85);
    pickle.push(b'.');
    let (built, rest) = pickle::unpickle(&pickle).unwrap();
    assert!(rest.is_empty());
    assert_eq!(built.items(&built.root).len(), 1);
}

proptest! {
    #[test]
    fn damaged_files_never_panic(
        place in 0.0_f64..1.0, byte in any::<u8>(), keep in 0.0_f64..1.0, stream in any::<bool>(),
    ) {
        let file = if stream { STREAM } else { ARCHIVE };
        let _ = torch::read(&file[..(keep * file.len() as f64) as usize]);
        let mut changed = file.to_vec();
        changed[(place * file.len() as f64) as usize] = byte;
        let _ = torch::read(&changed);
    }

    #[test]
    fn random_pickles_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = pickle::unpickle(&bytes);
        let _ = zip::members(&bytes);
        let _ = safetensors(&bytes);
    }
}
