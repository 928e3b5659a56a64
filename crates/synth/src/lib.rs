//! Private copies of tables and of labelled images.
//!
//! A copy of a table uses noisy counts alone: counts of each column, then of pairs of columns, each released once. A mixture of
//! products is fitted to them, and the rows of the copy are sampled from it. A copy of images uses noisy moments in a public
//! latent space, or another method ([`images`]). Every record is private. The schema or the classes, and the number of records
//! or units, are public.
//!
//! ```
//! use data::Schema;
//! use dp_core::ledger::Ledger;
//! use private_synth::table::{Reading, Records, TableCopy};
//! use rand::SeedableRng;
//! use rand_chacha::ChaCha20Rng;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("people.csv");
//! # let line = |i: usize| format!("{},{}\n", i % 90, ["no", "yes"][usize::from(i % 90 > 40)]);
//! # std::fs::write(&path, "age,retired\n".to_string() + &(0..2000).map(line).collect::<String>())?;
//! let schema = r#"
//! header = true
//! [[column]]
//! name = "age"
//! kind = "integer"
//! min = 0
//! max = 120
//! public = true
//! [[column]]
//! name = "retired"
//! kind = "categorical"
//! levels = ["no", "yes"]
//! public = true
//! "#;
//! let schema = Schema::parse("people", schema)?.with_label("retired")?;
//! let mut records = Records::read(&schema, &path, &Reading::default())?;
//! let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl"))?;
//! let mut rng = ChaCha20Rng::seed_from_u64(0);
//!
//! let copy = TableCopy::new().epsilon(1.0).fit(&mut records, &mut ledger, &mut rng)?;
//! let rows = copy.sample(500, &mut rng)?;
//! schema.write(&folder.path().join("copy.csv"), &rows, &mut rng)?;
//! // Both releases were written to the ledger before their noise was added.
//! assert_eq!((rows.len(), ledger.releases()), (2 * 500, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod error;
pub mod images;
mod products;
mod releasing;
pub mod table;

pub use error::SynthError;
pub use releasing::{Direct, Releasing, Unwatched, Watch, Work, plan_of_all};

/// A public generator for tests.
#[cfg(test)]
fn seeded() -> rand_chacha::ChaCha20Rng {
    rand::SeedableRng::seed_from_u64(1)
}
