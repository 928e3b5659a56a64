use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use serde::Deserialize;

use super::text::{Texts, is_ours};
use super::{Header, MAX_HEADER, TENSOR, header_path, is_npy, refuse};
use crate::DataError;
use crate::error::{self, decoded, io};
use crate::npy::NpyStream;

/// Privatised records with their privacy guarantee.
#[derive(Clone, PartialEq)]
pub struct Privatised {
    /// The privacy guarantee, and how it was reached.
    pub header: Header,
    /// The values, shape `[header.records, header.width]`, all finite.
    pub values: Vec<f32>,
}

debug_shows!(Privatised { header });

/// The number of values that are read at once.
const BLOCK: usize = 1 << 16;

impl Privatised {
    /// Reads a safetensors file, or an NPY file with its header beside it.
    ///
    /// It checks every length against the size of the file before it allocates memory.
    ///
    /// # Errors
    /// [`DataError::File`] for a file of another kind, for an entry of the header that is missing, unknown, out of range
    /// or of another version, and for a file that ends too soon or goes on; [`DataError::Record`] for a value that is not
    /// finite; [`DataError::Io`], and for NPY the errors of [`npy::read`](crate::npy::read).
    pub fn load(path: &Path) -> Result<Self, DataError> {
        let name = path.display().to_string();
        if is_npy(path) {
            return Self::load_npy(&name, path);
        }
        let Some((header, mut file)) = open(&name, path)? else {
            return Err(other_kind(&name, "it does not start as such a file"));
        };
        // `open` has checked that the file holds these records.
        let all = header.records as usize * header.width;
        let mut values = Vec::with_capacity(all);
        let mut block = vec![0; 4 * BLOCK];
        while values.len() < all {
            let bytes = &mut block[..4 * (all - values.len()).min(BLOCK)];
            file.read_exact(bytes).map_err(io(path, "read the file"))?;
            let four = bytes.as_chunks::<4>().0.iter();
            values.extend(four.map(|four| f32::from_le_bytes(*four)));
        }
        finite(&name, &header, &values)?;
        Ok(Self { header, values })
    }

    fn load_npy(name: &str, path: &Path) -> Result<Self, DataError> {
        let Some(header) = Header::read(path)? else {
            let problem = format!("there is no header in {}", header_path(path).display());
            return Err(other_kind(name, &problem));
        };
        let array = crate::npy::read(path)?;
        let values = array.values;
        finite(name, &header, &values)?;
        Ok(Self { header, values })
    }
}

impl Header {
    /// Reads the header of a file of privatised records, or returns `None` for a file of another kind. It checks the size
    /// of the file too, but does not read the values.
    pub fn read(path: &Path) -> Result<Option<Self>, DataError> {
        let name = path.display().to_string();
        if !is_npy(path) {
            return Ok(open(&name, path)?.map(|(header, _)| header));
        }
        let header_file = header_path(path);
        let name = header_file.display().to_string();
        let text = match fs::read_to_string(&header_file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(io(&header_file, "read the file"))?,
        };
        let texts: Texts = match decoded(&name, || Ok(serde_json::from_str(&text)))? {
            Ok(texts) if is_ours(&texts) => texts,
            // Another JSON file.
            _ => return Ok(None),
        };
        let header = Self::of_texts(&name, texts)?;
        let array = NpyStream::open(path)?;
        let size = fs::metadata(path).map_err(io(path, "read the file"))?.len();
        if array.bytes() != size {
            return Err(wrong_size(&path.display().to_string(), array.bytes(), size));
        }
        same(&name, "width", header.width as u64, array.columns() as u64)?;
        same(&name, "records", header.records, array.rows() as u64)?;
        Ok(Some(header))
    }
}

/// Returns the header of a safetensors file, checked against the file's size, and a reader of the values; `None` for
/// files of another kind.
fn open(name: &str, path: &Path) -> Result<Option<(Header, BufReader<File>)>, DataError> {
    let unread = io(path, "read the file");
    let file = error::open(path)?;
    let size = file.metadata().map_err(&unread)?.len();
    let mut file = BufReader::new(file);
    let mut length = [0; 8];
    if size < 8 {
        return Ok(None);
    }
    file.read_exact(&mut length).map_err(&unread)?;
    let length = u64::from_le_bytes(length);
    // Files of other kinds begin with a larger number or, as gzip files, go on without JSON.
    let brace = file.fill_buf().map_err(&unread)?.first() == Some(&b'{');
    if length > MAX_HEADER || (length > 0 && size > 8 && !brace) {
        return Ok(None);
    }
    if length == 0 {
        let problem = "its header is empty: it was cut off before it was done";
        return Err(other_kind(name, problem));
    }
    if 8 + length > size {
        return Err(wrong_size(name, 8 + length, size));
    }
    // At most the size of the file.
    let mut text = vec![0; length as usize];
    file.read_exact(&mut text).map_err(&unread)?;
    let mut entries: BTreeMap<String, serde_json::Value> = decoded(name, || {
        serde_json::from_slice(&text)
            .map_err(|error| other_kind(name, &format!("its header is no JSON ({error})")))
    })?;
    let texts = entries.remove("__metadata__").unwrap_or_default();
    let texts: Texts = match serde_json::from_value(texts) {
        Ok(texts) if is_ours(&texts) => texts,
        // Another safetensors file.
        _ => return Ok(None),
    };
    let header = Header::of_texts(name, texts)?;
    let tensor = entries.remove(TENSOR).unwrap_or_default();
    check_tensor(name, &header, tensor)?;
    if let Some(other) = entries.keys().next() {
        let expected = "the tensor `records` alone";
        return Err(refuse(name, other, expected, "one more"));
    }
    let body = (header.records.checked_mul(header.width as u64)).and_then(|n| n.checked_mul(4));
    let whole = body.and_then(|body| body.checked_add(8 + length));
    if whole != Some(size) {
        return Err(wrong_size(name, whole.unwrap_or(u64::MAX), size));
    }
    Ok(Some((header, file)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tensor {
    dtype: String,
    shape: [u64; 2],
    data_offsets: [u64; 2],
}

fn check_tensor(name: &str, header: &Header, value: serde_json::Value) -> Result<(), DataError> {
    let expected = "a tensor of two dimensions of F32";
    let Ok(tensor) = serde_json::from_value::<Tensor>(value) else {
        return Err(refuse(name, TENSOR, expected, "something else, or nothing"));
    };
    if tensor.dtype != "F32" {
        return Err(refuse(name, TENSOR, expected, &tensor.dtype));
    }
    let [records, width] = tensor.shape;
    same(name, "records", header.records, records)?;
    same(name, "width", header.width as u64, width)?;
    let bytes = records.checked_mul(width).and_then(|n| n.checked_mul(4));
    match (tensor.data_offsets, bytes) {
        ([0, end], Some(bytes)) if end == bytes && records > 0 => Ok(()),
        ([start, end], _) => {
            let expected = "the bytes of at least one record, from 0 on";
            let found = format!("{start} to {end}, shape {records} x {width}");
            Err(refuse(name, "data_offsets", expected, &found))
        }
    }
}

fn finite(name: &str, header: &Header, values: &[f32]) -> Result<(), DataError> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(place) => Err(DataError::record(format!(
            "{name}, record {}, value {}: expected a finite number; get the file again",
            place / header.width,
            place % header.width
        ))),
    }
}

/// Checks an entry of the header against the array.
fn same(name: &str, key: &str, said: u64, found: u64) -> Result<(), DataError> {
    match said == found {
        true => Ok(()),
        false => Err(refuse(
            name,
            key,
            &format!("{found}, as the array has"),
            said,
        )),
    }
}

fn other_kind(name: &str, problem: &str) -> DataError {
    DataError::file(format!(
        "{name}: no privatised records: {problem}; give a file that `privatise` wrote"
    ))
}

fn wrong_size(name: &str, expected: u64, found: u64) -> DataError {
    DataError::file(format!(
        "{name}: expected {expected} bytes, as its header promises, found {found}; it is cut off or damaged: get it again"
    ))
}
