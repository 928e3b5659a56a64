//! Dates and times in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns `when` as in RFC 3339, to the second: `2026-03-01T12:00:00Z`. Times before 1970 become the start of 1970.
pub fn timestamp(when: SystemTime) -> String {
    humantime::format_rfc3339_seconds(when.max(UNIX_EPOCH)).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_before_1970_gives_its_start() {
        let day = Duration::from_secs(86_400);
        assert_eq!(timestamp(UNIX_EPOCH - day), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(UNIX_EPOCH + day), "1970-01-02T00:00:00Z");
    }
}
