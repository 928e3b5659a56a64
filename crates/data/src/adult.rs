//! UCI Adult: census records, and whether a person earns more than 50 000 dollars a year.
//!
//! There are 32561 training and 16281 test records. The schema `adult.toml` beside this file ([`SCHEMA`]) reads them. The
//! sensitive attribute is `sex` (0 female, 1 male) or `race` (0 other, 1 white), and the other one is a feature. Numbers are
//! scaled by declared constants, not by fitted ones. A missing value (`?`, in 2399 and 1221 records) is a level by default.
//!
//! Source: Becker and Kohavi (1996), UCI Machine Learning Repository. "Learning with differentially
//! private sliced Wasserstein gradients" uses it in remark C.3.

use crate::dataset::Fetched;
use crate::error::{check_count, empty};
use crate::table::{CodedTable, CsvTable, Missing, Schema};
use crate::{DataError, GroupedTable, LoadOptions};

/// The schema of the published files, in TOML.
pub const SCHEMA: &str = include_str!("adult.toml");

/// The training and the test records of Adult.
#[derive(Clone, PartialEq)]
pub struct Adult {
    /// The records to train on: the private ones.
    pub train: GroupedTable,
    /// Records that are never trained on.
    pub test: GroupedTable,
    /// The schema that read the records.
    pub schema: Schema,
    /// The SHA-256 of the training file and of the test file.
    pub sha256: [String; 2],
}

debug_shows!(Adult { train, test });

/// Returns the schema of the published files with `sex` or `race` as the sensitive attribute.
///
/// # Errors
/// [`DataError::Request`] for any other attribute.
pub fn schema(sensitive: &str) -> Result<Schema, DataError> {
    Schema::parse("adult.toml", SCHEMA)?.with_sensitive(sensitive)
}

/// Loads Adult: finds it on this machine, or downloads it. It ignores the seed of `options`.
///
/// [`Missing::Level`] reads it by [`schema`]. [`Missing::Drop`] drops records with a missing value before it takes the
/// first [`LoadOptions::train`] and [`LoadOptions::test`] records, so it is public which ones are dropped.
/// [`Missing::Refuse`] always gives an error.
///
/// # Errors
/// The errors of [`schema`], [`crate::fetch::fetch`] and [`Schema::decode`]; [`DataError::Request`] for more
/// records than there are.
pub fn load(sensitive: &str, missing: Missing, options: &LoadOptions) -> Result<Adult, DataError> {
    let schema = schema(sensitive)?;
    let schema = match missing {
        Missing::Level => schema,
        rule => schema.with_missing(rule),
    };
    let files = options.fetch("adult", false)?;
    let [train, test] = files.as_slice() else {
        return Err(empty("the catalogue", "file"));
    };
    let read = |(name, bytes): &Fetched, count: Option<usize>| {
        let CsvTable { table, sha256, .. } = schema.decode(name, bytes)?;
        let Some(count) = count else {
            return Ok((table, sha256));
        };
        check_count(name, count, table.len())?;
        Ok((table.select(&(0..count).collect::<Vec<_>>())?, sha256))
    };
    let (train, train_sum) = read(train, options.train)?;
    let (test, test_sum) = read(test, options.test)?;
    Ok(Adult {
        train,
        test,
        schema,
        sha256: [train_sum, test_sum],
    })
}

/// Loads Adult as codes of all 15 columns, and returns the schema, the training records and the test records. It ignores
/// the seed of `options`.
///
/// A missing value has a code in the schema. With `complete`, records with a missing value are dropped instead, before the
/// first `train` and `test` records are taken: 30162 and 15060 are left, and it is public which ones.
///
/// # Errors
/// The errors of [`crate::fetch::fetch`] and [`Schema::coded_bytes`]; [`DataError::Request`] for more records than there
/// are.
pub fn tables(
    complete: bool,
    options: &LoadOptions,
) -> Result<(Schema, CodedTable, CodedTable), DataError> {
    let schema = Schema::parse("adult.toml", SCHEMA)?;
    let files = options.fetch("adult", false)?;
    let [train, test] = files.as_slice() else {
        return Err(empty("the catalogue", "file"));
    };
    let whole = schema.clone().with_missing(Missing::Refuse);
    // A missing value has the last code. A schema without missing values lacks this code.
    let codes = whole.code_columns();
    let read = |(name, bytes): &Fetched, count: Option<usize>| {
        let mut table = schema.coded_bytes(name, bytes)?;
        if complete {
            let records = table.codes.chunks_exact(table.columns);
            let is_whole = |record: &&[u16]| {
                let mut values = record.iter().zip(&codes);
                values.all(|(&code, column)| usize::from(code) < column.codes.len())
            };
            table.codes = records.filter(is_whole).flatten().copied().collect();
            table.rows = table.codes.len() / table.columns;
        }
        if let Some(count) = count {
            check_count(name, count, table.rows)?;
            table.codes.truncate(count * table.columns);
            table.rows = count;
        }
        Ok::<_, DataError>(table)
    };
    let (train, test) = (read(train, options.train)?, read(test, options.test)?);
    Ok((if complete { whole } else { schema }, train, test))
}
