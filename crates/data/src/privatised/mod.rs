//! Files of records that their owners privatised one by one, with the privacy guarantee.
//!
//! A file is a safetensors file: the length of a JSON header (eight bytes, the lowest first), the header, padded with
//! spaces, and the values of one tensor `records` of `[n, width]` numbers of 32 bits. `__metadata__` holds these strings:
//!
//! | entry | value |
//! |---|---|
//! | `format`, `version` | `sliver-privatised`, `1` |
//! | `mechanism`, `calibration` | `laplace` or `gaussian`; `exact` or `paper` |
//! | `epsilon`, `delta` | the guarantee for each single record; `delta` is `0` for Laplace noise |
//! | `norm`, `radius` | `l1` or `l2`, and the ball that records were put into |
//! | `noise_scale` | for each value, the scale of Laplace noise or the standard deviation of Gaussian noise |
//! | `transform` | `none`, or `dct` with `dct_side`, `dct_channels` and `dct_kept` (`0,0 0,1 1,0`) |
//! | `labels` | `dropped`, or `one-hot` with `label_weight` and `label_classes`: the last values of a record |
//! | `source_shape` | `channels,height,width` if the records were images, else absent |
//! | `noise_seed` | `secret`, or `insecure` if there is no guarantee |
//! | `width`, `records` | the sizes of the tensor |
//!
//! An NPY file may hold the same values. Then `NAME.npy.json` beside it holds the entries, as one JSON object of strings.
//!
//! ```
//! use data::privatised::{Calibration, Header, LabelEncoding, NoiseKind, NoiseSeed, Privatised, Transform, Writer};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("noisy.safetensors");
//! let header = Header {
//!     mechanism: NoiseKind::Laplace,
//!     calibration: Calibration::Exact,
//!     epsilon: 4.0,
//!     delta: 0.0,
//!     radius: 0.5,
//!     noise_scale: 0.25,
//!     transform: Transform::None,
//!     labels: LabelEncoding::Dropped,
//!     source_shape: None,
//!     noise_seed: NoiseSeed::Secret,
//!     width: 2,
//!     records: 0,
//! };
//! let mut writer = Writer::create(&path, &header, false)?;
//! writer.push(&[0.1, -0.7])?;
//! writer.push(&[0.4, 0.2])?;
//! writer.finish()?;
//! let read = Privatised::load(&path)?;
//! assert_eq!((read.header.records, read.values), (2, vec![0.1, -0.7, 0.4, 0.2]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod header;
mod read;
mod text;
mod write;

pub use header::{
    Calibration, Header, LabelEncoding, NoiseKind, NoiseSeed, Norm, Transform, Wanted,
};
pub use read::Privatised;
pub use write::Writer;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::DataError;

/// The name of the only tensor.
const TENSOR: &str = "records";
/// The most bytes of a header: 16 MiB.
const MAX_HEADER: u64 = 16 << 20;

/// Returns the path of the header of an NPY file.
pub fn header_path(npy: &Path) -> PathBuf {
    let mut name = npy.as_os_str().to_owned();
    name.push(".json");
    name.into()
}

/// The error for an entry that no header may have.
fn refuse(file: &str, key: &str, expected: &str, found: impl Display) -> DataError {
    DataError::file(format!(
        "{file}, header, {key}: expected {expected}, found {found}; get the file again"
    ))
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "npy")
}
