//! Tables of several files, tables beyond memory, and the parts of them that processes share.

use std::fs;
use std::path::{Path, PathBuf};

use data::{DataError, Drafting, Part, Schema, StoredTable, is_parquet, is_parts};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::says;

const SCHEMA: &str = "[[column]]\nname = \"x\"\nkind = \"integer\"\nmin = 0\nmax = 9999\noutside = \"clamp\"\nedges = [100, 2000]\n\
                      [[column]]\nname = \"y\"\nkind = \"categorical\"\nlevels = [\"a\", \"b\", \"c\"]\n\
                      [[column]]\nname = \"who\"\nkind = \"ignore\"\n";

fn schema() -> Schema {
    Schema::parse("t.toml", SCHEMA).unwrap()
}

/// Records, and the codes that they have.
fn records(from: usize, count: usize) -> (String, Vec<u16>) {
    let (mut text, mut codes) = ("x,y,who\n".to_string(), Vec::new());
    for i in from..from + count {
        let x = i * 37 % 11_000;
        text += &format!("{x},{},p{}\n", ["a", "b", "c"][i % 3], i % 5);
        codes.extend([u16::from(x >= 100) + u16::from(x >= 2000), (i % 3) as u16]);
    }
    (text, codes)
}

/// Three CSV files of 40, 1 and 59 records, and the codes of all.
fn csv_parts(folder: &Path) -> (PathBuf, Vec<u16>) {
    let mut all = Vec::new();
    for (name, from, count) in [("part-0", 0, 40), ("part-1", 40, 1), ("part-2", 41, 59)] {
        let (text, codes) = records(from, count);
        fs::write(folder.join(format!("{name}.csv")), text).unwrap();
        all.extend(codes);
    }
    (folder.join("part-*.csv"), all)
}

/// Parquet files of 2, 1 and 3 groups of records (2^17 each, the last smaller), and the codes of all.
fn parquet_parts(folder: &Path) -> Vec<u16> {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let mut all = Vec::new();
    for (name, count) in [("a", 1 << 17 | 50), ("b", 7), ("c", 2 << 17 | 3)] {
        let codes: Vec<u16> = (0..count as u32)
            .flat_map(|i| [(i * 7 % 3) as u16, (i % 3) as u16])
            .collect();
        let schema = schema();
        let mut writer = schema
            .writer(&folder.join(format!("{name}.parquet")))
            .unwrap();
        writer.write(&codes, rng).unwrap();
        writer.finish().unwrap();
        all.extend(codes);
    }
    fs::write(folder.join("_SUCCESS"), "").unwrap();
    fs::write(folder.join(".part.parquet"), "half written").unwrap();
    fs::write(folder.join("_metadata.parquet"), "of another kind").unwrap();
    all
}

fn codes(table: &StoredTable) -> Vec<u16> {
    let blocks = table.blocks().map(Result::unwrap);
    blocks.flat_map(|block| block.into_owned()).collect()
}

#[test]
fn several_files_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let (pattern, all) = csv_parts(folder.path());
    let table = schema().coded(&pattern).unwrap();
    assert_eq!((table.rows, &table.codes), (100, &all));
    assert_eq!(
        table.clamped,
        (0..100).filter(|i| i * 37 % 11_000 > 9999).count() as u64
    );
    // Its sum is of all files, in their order; that of one file stays what it was.
    let first = schema().coded(&folder.path().join("part-0.csv")).unwrap();
    let bytes = fs::read(folder.path().join("part-0.csv")).unwrap();
    assert_eq!(
        first.sha256,
        schema().coded_bytes("f", &bytes).unwrap().sha256
    );
    assert_ne!(first.sha256, table.sha256);
    // Units go on from file to file: person 0 has records in all.
    assert_eq!(schema().units(&pattern, "who").unwrap().count(), 5);
    assert_eq!(schema().units(&pattern, "who").unwrap().records(), 100);
    // A draft is of all files.
    let draft = Schema::draft_of(&pattern, &Drafting::default()).unwrap();
    assert!(draft.contains("max = 4000"), "{draft}");

    let parts = tempfile::tempdir().unwrap();
    let all = parquet_parts(parts.path());
    assert!(is_parts(parts.path()) && is_parquet(parts.path()));
    assert!(!is_parts(folder.path()) && !is_parts(&pattern));
    for path in [
        parts.path().to_path_buf(),
        parts.path().join("[a-c].parquet"),
    ] {
        assert_eq!(schema().coded(&path).unwrap().codes, all);
    }
}

#[test]
fn what_is_no_table_of_parts_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (pattern, _) = csv_parts(folder.path());
    let refused = |path: &Path| schema().coded(path).unwrap_err();
    says(
        &refused(folder.path()),
        &["expected a folder of Parquet files", "FOLDER/*.csv"],
    );
    says(
        &refused(&folder.path().join("none-*.csv")),
        &["none-*.csv", "found none"],
    );
    fs::copy(
        folder.path().join("part-0.csv"),
        folder.path().join("part-9.parquet"),
    )
    .unwrap();
    says(&refused(&folder.path().join("part-*")), &["of one form"]);
    // The file at fault is named, and what is wrong is said of its own lines.
    let (text, _) = records(0, 3);
    fs::write(folder.path().join("part-1.csv"), text + "5,d,p\n").unwrap();
    says(&refused(&pattern), &["part-1.csv, line 5", "column y"]);
    fs::write(folder.path().join("part-1.csv"), "x,y\n1,a\n").unwrap();
    let draft = Schema::draft_of(&pattern, &Drafting::default()).unwrap_err();
    says(&draft, &["part-1.csv", "columns of the files before it"]);
    let nothing = folder.path().join("part-7.csv");
    says(&refused(&nothing), &["part-7.csv", "cannot open"]);
}

/// Beyond so many codes they lie in a file: the same records, in the same order, whatever is left out of them.
#[test]
fn what_lies_in_a_file_is_what_lay_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (pattern, all) = csv_parts(folder.path());
    for in_memory in [0, 1, 100, 199, 200] {
        let read = |most| schema().stored_beyond(&pattern, Part::ALL, most, in_memory);
        let mut table = read(usize::MAX).unwrap();
        assert_eq!((table.rows, codes(&table)), (100, all.clone()));
        // Twice: the second release of a run reads them again.
        assert_eq!(codes(&table), all);
        table.retain(|place| place % 3 == 1).unwrap();
        let third: Vec<u16> = all
            .chunks(2)
            .skip(1)
            .step_by(3)
            .flatten()
            .copied()
            .collect();
        assert_eq!(codes(&table), third);
        table.retain(|place| place == 2).unwrap();
        assert_eq!(codes(&table), all[14..16]);
        let first = read(41).unwrap();
        assert_eq!((first.rows, codes(&first)), (100, all[..82].to_vec()));
    }
}

/// Each record is in one part; a part of Parquet files is of whole groups where there are as many.
#[test]
fn parts_are_all_records_once() {
    let folder = tempfile::tempdir().unwrap();
    let (pattern, all) = csv_parts(folder.path());
    let parts = tempfile::tempdir().unwrap();
    let of_parquet = parquet_parts(parts.path());
    for (path, all, groups) in [(&*pattern, &all, 0), (parts.path(), &of_parquet, 6)] {
        let mut sorted: Vec<&[u16]> = all.chunks(2).collect();
        sorted.sort_unstable();
        for of in [1, 2, 5, 6, 9] {
            for most in [usize::MAX, 43, 1 << 17 | 53] {
                let mut found = Vec::new();
                for number in 0..of {
                    let table = schema().stored(path, Part { of, number }, most).unwrap();
                    assert_eq!(table.rows, all.len() / 2);
                    let own = codes(&table);
                    if most == usize::MAX && of == 6 && groups == 6 {
                        let starts = [0, 1 << 17, (1 << 17) + 50, (1 << 17) + 57];
                        let starts = [
                            &starts[..],
                            &[(2 << 17) + 57, (3 << 17) + 57, (3 << 17) + 60],
                        ]
                        .concat();
                        assert_eq!(own, all[2 * starts[number]..2 * starts[number + 1]]);
                    }
                    found.extend(own);
                }
                let mut found: Vec<&[u16]> = found.chunks(2).collect();
                found.sort_unstable();
                let mut first: Vec<&[u16]> = all.chunks(2).take(most).collect();
                first.sort_unstable();
                assert!(found == first, "{of} parts of the first {most}");
            }
        }
    }
}

/// A value at fault is found by the part that has it, and named by its place in the file.
#[test]
fn a_fault_is_named_by_its_place_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    parquet_parts(folder.path());
    let narrow = SCHEMA.replace("\"a\", \"b\", \"c\"", "\"a\", \"b\"");
    let schema = Schema::parse("t.toml", &narrow).unwrap();
    let fault = |number| -> DataError {
        schema
            .stored(folder.path(), Part { of: 6, number }, usize::MAX)
            .unwrap_err()
    };
    says(&fault(0), &["a.parquet, record 3,", "column y"]);
    says(&fault(1), &["a.parquet, record 131073,", "column y"]);
    says(&fault(4), &["c.parquet, record 131073,", "column y"]);
}
