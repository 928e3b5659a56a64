//! SHA-256 checksums.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
///
/// ```
/// assert!(reporting::checksum::hex(b"").starts_with("e3b0c44298fc"));
/// ```
pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
