//! A bounded run of every parser on damaged files: the same ones each time. `just fuzz` looks further.

use fuzz_targets::{Bounded, Parser, parsers};
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

/// Damaged files of each parser.
const FILES: usize = 1000;
/// What numbers in files are replaced with.
const NUMBERS: [&str; 10] = [
    "0",
    "-1",
    "1e308",
    "-1e-320",
    "NaN",
    "inf",
    "18446744073709551615",
    "-9223372036854775808",
    "4294967296",
    "0.1",
];

/// One damage to a file.
fn damage(bytes: &mut Vec<u8>, other: &[u8], rng: &mut impl Rng) {
    let place = rng.random_range(0..=bytes.len());
    match rng.random_range(0..9) {
        0 => bytes.truncate(place),
        1 => bytes.insert(place, rng.random()),
        2 if place < bytes.len() => bytes[place] ^= 1 << rng.random_range(0..8),
        3 if place < bytes.len() => {
            bytes[place] = *[0, 1, 0x7f, 0x80, 0xff].choose(rng).unwrap_or(&0)
        }
        // A length in a header, whichever its order of bytes.
        4 => {
            let end = (place + *[2, 4, 8].choose(rng).unwrap_or(&4)).min(bytes.len());
            bytes[place..end].fill(*[0, 0xff, 0x7f].choose(rng).unwrap_or(&0));
        }
        5 => {
            let end = rng.random_range(place..=bytes.len());
            bytes.drain(place..end);
        }
        6 => {
            let end = (place + rng.random_range(0..40)).min(bytes.len());
            let again = bytes[place..end].to_vec();
            bytes.splice(place..place, again);
        }
        7 => {
            let start = rng.random_range(0..=other.len());
            bytes.truncate(place);
            bytes.extend(&other[start..]);
        }
        _ => number(bytes, place, rng),
    }
}

/// Another number in place of the next one in a text.
fn number(bytes: &mut Vec<u8>, from: usize, rng: &mut impl Rng) {
    let digit = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    if let Some(start) = bytes[from..].iter().position(digit).map(|at| from + at) {
        let length = bytes[start..].iter().take_while(|byte| digit(byte)).count();
        let other = NUMBERS.choose(rng).unwrap_or(&"0");
        bytes.splice(start..start + length, other.bytes());
    }
}

/// How many of [`FILES`] damaged files `parser` reads: all, or the process ends.
fn read_damaged(parser: &Parser) -> usize {
    let folder = tempfile::tempdir().expect("a folder to write to");
    let mut rng = ChaCha20Rng::seed_from_u64(21);
    let seeds = (parser.seeds)();
    for seed in &seeds {
        parser.run(seed, folder.path());
    }
    for file in 0..FILES {
        let mut bytes = seeds[file % seeds.len()].clone();
        for _ in 0..rng.random_range(1..6) {
            damage(
                &mut bytes,
                seeds.choose(&mut rng).map_or(&[], Vec::as_slice),
                &mut rng,
            );
        }
        parser.run(&bytes, folder.path());
    }
    FILES
}

/// One test, so that no parser pays for the memory of another.
#[test]
fn no_parser_panics_or_takes_what_a_header_claims() {
    for parser in parsers() {
        println!("{}", parser.name);
        assert_eq!(read_damaged(&parser), FILES);
    }
}
