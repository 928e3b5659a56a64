//! Files of `torch.save`: a pickle that names the tensors, and storages that hold their numbers.
//!
//! Both layouts that are in use: the zip archive of PyTorch 1.6 and later, and the stream of
//! pickles before it, in which many published weights still come.

use std::collections::HashMap;

use super::pickle::{Unpickled, Value, unpickle};
use super::zip;
use super::{Entry, Named};

const BIG_ENDIAN: &str = "the numbers in the file are big-endian, which is not supported";
/// How deep dictionaries of tensors may lie in each other.
const DEPTH: usize = 8;
/// The magic number of the old layout as its first pickle writes it.
const STREAM_MAGIC: &[u8] = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.";

/// Reads every tensor of a file; nested dictionaries give names with dots.
///
/// # Errors
///
/// A sentence that says what is wrong with the file.
pub(super) fn read(file: &[u8]) -> Result<Named, String> {
    if file.starts_with(zip::MAGIC) {
        return read_archive(file);
    }
    read_stream(file)
}

/// Whether the file begins as one of `torch.save`.
pub(super) fn recognises(file: &[u8]) -> bool {
    file.starts_with(zip::MAGIC) || stream_magic(file)
}

fn stream_magic(file: &[u8]) -> bool {
    // After the two bytes that say the protocol.
    file.first() == Some(&0x80) && file.get(2..).is_some_and(|f| f.starts_with(STREAM_MAGIC))
}

fn read_archive(file: &[u8]) -> Result<Named, String> {
    let members = zip::members(file)?;
    let pickle = members
        .iter()
        .find(|m| m.name == "data.pkl" || m.name.ends_with("/data.pkl"))
        .ok_or("the zip archive has no data.pkl: it is not a file of torch.save")?;
    let root = pickle.name.strip_suffix("data.pkl").unwrap_or_default();
    let mut storages = HashMap::new();
    for member in &members {
        let Some(name) = member.name.strip_prefix(root) else {
            continue;
        };
        if name == "byteorder" && member.bytes != b"little" {
            return Err(BIG_ENDIAN.into());
        }
        if let Some(key) = name.strip_prefix("data/") {
            storages.insert(key, member.bytes);
        }
    }
    let (built, _) = unpickle(pickle.bytes)?;
    collect(&built, &storages)
}

fn read_stream(file: &[u8]) -> Result<Named, String> {
    if !stream_magic(file) {
        return Err("this is not a file of torch.save".into());
    }
    let (_, rest) = unpickle(file)?;
    let (_protocol, rest) = unpickle(rest)?;
    let (machine, rest) = unpickle(rest)?;
    let facts = machine.items(&machine.root).as_chunks::<2>().0;
    let big = [Value::Text("little_endian".into()), Value::Bool(false)];
    if facts.contains(&big) {
        return Err(BIG_ENDIAN.into());
    }
    let (object, rest) = unpickle(rest)?;
    let (keys, mut rest) = unpickle(rest)?;
    let sizes = element_sizes(&object);
    let mut storages = HashMap::new();
    for key in keys.items(&keys.root) {
        let Value::Text(key) = key else {
            return Err("the key of a storage is no text".into());
        };
        let (count, after) = rest
            .split_first_chunk::<8>()
            .ok_or("the file is cut off before its last storage")?;
        // A storage that no tensor names ends what can be read: its numbers have no known size.
        let Some(size) = sizes.get(&**key) else {
            return Err(format!("storage {key} belongs to no tensor"));
        };
        let bytes = usize::try_from(i64::from_le_bytes(*count))
            .ok()
            .and_then(|count| count.checked_mul(*size));
        let (storage, after) = bytes
            .and_then(|bytes| after.split_at_checked(bytes))
            .ok_or_else(|| format!("storage {key} is cut off"))?;
        storages.insert(&**key, storage);
        rest = after;
    }
    collect(&object, &storages)
}

/// A storage as a tensor names it.
struct Storage<'a> {
    kind: &'a str,
    key: &'a str,
}

fn storage<'a>(built: &'a Unpickled, value: &'a Value) -> Option<Storage<'a>> {
    let Value::Persistent(_) = value else {
        return None;
    };
    let items = built.items(value);
    // Very old files have storages that are parts of others.
    if let Some(Value::Tuple(_)) = items.get(5) {
        return None;
    }
    match items {
        [Value::Text(tag), Value::Global(kind), Value::Text(key), ..] if &**tag == "storage" => {
            Some(Storage {
                kind: kind.strip_prefix("torch ").unwrap_or(kind),
                key,
            })
        }
        _ => None,
    }
}

/// Bytes of a number in a storage of that kind.
fn element_size(kind: &str) -> Option<usize> {
    Some(match kind {
        "DoubleStorage" | "LongStorage" => 8,
        "FloatStorage" | "IntStorage" => 4,
        "HalfStorage" | "BFloat16Storage" | "ShortStorage" => 2,
        "CharStorage" | "ByteStorage" | "BoolStorage" => 1,
        _ => return None,
    })
}

/// Bytes of a number in every storage that some tensor names.
fn element_sizes(built: &Unpickled) -> HashMap<&str, usize> {
    let mut sizes = HashMap::new();
    for (_, tensor) in tensors(built) {
        if let Some(storage) = built.items(tensor).first().and_then(|s| storage(built, s))
            && let Some(size) = element_size(storage.kind)
        {
            sizes.insert(storage.key, size);
        }
    }
    sizes
}

/// All tensors by name, in the order of the file.
fn tensors(built: &Unpickled) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), &built.root, 0)];
    while let Some((name, value, depth)) = open.pop() {
        match value {
            Value::Tensor(_) => found.push((name, value)),
            Value::Dict(_) if depth < DEPTH => {
                for pair in built.items(value).as_chunks::<2>().0.iter().rev() {
                    if let Value::Text(key) = &pair[0] {
                        let dot = if name.is_empty() { "" } else { "." };
                        open.push((format!("{name}{dot}{key}"), &pair[1], depth + 1));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

fn collect(built: &Unpickled, storages: &HashMap<&str, &[u8]>) -> Result<Named, String> {
    let mut named = Named::new();
    for (name, tensor) in tensors(built) {
        let entry = entry(built, tensor, storages).map_err(|e| format!("tensor {name}: {e}"))?;
        named.insert(name, entry);
    }
    if named.is_empty() {
        return Err("the file holds no dictionary of tensors: save model.state_dict()".into());
    }
    Ok(named)
}

fn entry(
    built: &Unpickled,
    tensor: &Value,
    storages: &HashMap<&str, &[u8]>,
) -> Result<Entry, String> {
    let [from, Value::Int(offset), shape, strides, ..] = built.items(tensor) else {
        return Err("it is not described by storage, offset, shape and strides".into());
    };
    let from = storage(built, from).ok_or("its storage is not described in a known way")?;
    let decode: fn(&[u8]) -> f32 = match from.kind {
        "FloatStorage" => |b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        "DoubleStorage" => {
            |b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]) as f32
        }
        other => return Ok(Entry::OtherType(other.into())),
    };
    let bytes = storages
        .get(from.key)
        .ok_or_else(|| format!("its storage {} is not in the file", from.key))?;
    let size = element_size(from.kind).unwrap_or(4);
    let (shape, strides) = (sizes(built, shape)?, sizes(built, strides)?);
    if shape.len() != strides.len() {
        return Err("it has not as many strides as dimensions".into());
    }
    let count = shape.iter().try_fold(1_usize, |n, &s| n.checked_mul(s));
    let count = count.filter(|&n| n <= bytes.len() / size);
    let count = count.ok_or_else(|| format!("its shape {shape:?} is larger than its storage"))?;
    let offset = usize::try_from(*offset).map_err(|_| "its offset is negative")?;
    let mut values = Vec::with_capacity(count);
    let mut place = vec![0_usize; shape.len()];
    for _ in 0..count {
        let index = place
            .iter()
            .zip(&strides)
            .try_fold(offset, |at, (&p, &s)| at.checked_add(p.checked_mul(s)?));
        let number = index
            .and_then(|i| i.checked_mul(size))
            .and_then(|at| bytes.get(at..at.checked_add(size)?));
        values.push(decode(number.ok_or("it reaches beyond its storage")?));
        // The next place in row-major order.
        for (p, &s) in place.iter_mut().zip(&shape).rev() {
            *p += 1;
            if *p < s {
                break;
            }
            *p = 0;
        }
    }
    Ok(Entry::Values { shape, values })
}

fn sizes(built: &Unpickled, value: &Value) -> Result<Vec<usize>, String> {
    built
        .items(value)
        .iter()
        .map(|item| match item {
            Value::Int(n) => usize::try_from(*n).map_err(|_| format!("size {n} is negative")),
            _ => Err("a size is no number".into()),
        })
        .collect()
}
