//! Files of `torch.save`, written by `tests/data/inception/reference.py`.

use super::*;

const ARCHIVE: &[u8] = include_bytes!("../../../tests/data/inception/archive.pt");
const STREAM: &[u8] = include_bytes!("../../../tests/data/inception/stream.pt");

/// What `f` finds in a file of these bytes, which is read while it is asked.
fn with<T>(bytes: &[u8], anchor: &str, f: impl FnOnce(Result<Tensors, EvaluateError>) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.pt");
    std::fs::write(&path, bytes).unwrap();
    f(Tensors::read(&path, anchor))
}

#[test]
fn both_layouts_give_the_same_tensors() {
    for file in [ARCHIVE, STREAM] {
        with(file, "plain", |read| {
            let read = read.unwrap();
            assert_eq!(read.prefix, "model.");
            assert_eq!(read.named.len(), 6);
            let get = |name: &str, shape: &[usize]| read.get(name, shape).unwrap();
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
                text.contains("model.counter") && text.contains("I64"),
                "{text}"
            );
            let text = read.get("plain", &[3, 2]).unwrap_err().to_string();
            assert!(text.contains("[2, 3], expected [3, 2]"), "{text}");
            let text = read.get("other", &[]).unwrap_err().to_string();
            assert!(
                text.contains("model.other") && text.contains("missing"),
                "{text}"
            );
        });
    }
}

#[test]
fn an_anchor_needs_its_whole_name() {
    // "lain" ends a name, but does not follow a dot.
    with(ARCHIVE, "lain", |read| {
        assert!(matches!(read, Err(EvaluateError::Weights { .. })));
    });
}

#[test]
fn other_files_are_refused_by_name() {
    for bytes in [
        b"".as_slice(),
        b"x",
        b"PK\x03\x04",
        b"\x80\x02}.",
        b"\x20\0\0\0\0\0\0\0{",
        &[0; 100],
        &ARCHIVE[..1000],
        &STREAM[..500],
    ] {
        with(bytes, "plain", |read| {
            let text = read.err().unwrap().to_string();
            assert!(text.contains("weights.pt"), "{text}");
        });
    }
    assert!(matches!(
        Tensors::read(Path::new("/nowhere/weights.pt"), "plain"),
        Err(EvaluateError::File { .. })
    ));
}
