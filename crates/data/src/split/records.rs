use std::borrow::Cow;

use sha2::{Digest, Sha256};

use crate::sums::hex;
use crate::{DataError, LabelledImages};

/// Records that can be split into a public and a private half.
pub trait Records {
    /// The number of records.
    fn count(&self) -> usize;

    /// The SHA-256 of all that the records hold, as 64 lower-case hexadecimal digits.
    fn sha256(&self) -> Result<String, DataError>;

    /// The class of each record, shape `[count]`, for records that have public class sizes.
    fn strata(&self) -> Option<Vec<usize>>;
}

/// The SHA-256 of a kind of records, the numbers of its header, and the parts of its body; numbers
/// as 8 bytes, the lowest first.
pub(crate) fn digest(kind: &str, header: &[usize], parts: &[&[u8]]) -> String {
    let mut hash = started(kind, header);
    for part in parts {
        hash.update(part);
    }
    hex(hash.finalize())
}

fn started(kind: &str, header: &[usize]) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update(kind);
    for &number in header {
        hash.update((number as u64).to_le_bytes());
    }
    hash
}

/// Over `sliver images 1`, the number of images, height, width and classes, and of channels where there are several (8
/// bytes each, the lowest first), the pixels and the labels.
pub(crate) fn image_digest<'a>(
    [channels, height, width]: [usize; 3],
    classes: usize,
    pixels: impl IntoIterator<Item = Result<Cow<'a, [u8]>, DataError>>,
    labels: &[u8],
) -> Result<String, DataError> {
    let mut header = vec![labels.len(), height, width, classes];
    header.extend(Some(channels).filter(|&channels| channels > 1));
    let mut hash = started("sliver images 1", &header);
    for block in pixels {
        hash.update(block?);
    }
    hash.update(labels);
    Ok(hex(hash.finalize()))
}

/// The strata are the labels.
impl Records for LabelledImages {
    fn count(&self) -> usize {
        self.len()
    }

    fn sha256(&self) -> Result<String, DataError> {
        let pixels = [Ok(Cow::Borrowed(self.pixels()))];
        image_digest(self.shape(), self.classes(), pixels, self.labels())
    }

    fn strata(&self) -> Option<Vec<usize>> {
        Some(self.labels().iter().map(|&label| label.into()).collect())
    }
}
