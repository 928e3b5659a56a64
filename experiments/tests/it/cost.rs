//! `cost` as a person runs it.

use crate::program::{Ran, sliver};
#[test]
fn a_table_is_printed_for_the_device_that_is_named() {
    let output = sliver("cost")
        .args(["--backend", "flex", "--only", "device"])
        .args(["--most-keys", "60000", "--repeat", "1"])
        .ran();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.starts_with("flex"), "{text}");
    // Of four sizes of the sort and three of the distance, those of at most 60000 keys.
    assert!(text.contains("| 100 | 600 |"), "{text}");
    assert!(text.contains("| 600 | 100 |"), "{text}");
    assert!(!text.contains("| 10000 |"), "{text}");
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let output = sliver("cost").args(["--backend", "flex:7"]).ran();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("flex:7"), "{text}");
}
