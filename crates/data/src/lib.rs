//! Public data sets and synthetic digits.
//!
//! [`Dataset::load`] gives labelled images for training and for evaluation:
//!
//! | kind | where the images come from |
//! |---|---|
//! | [`DatasetKind::Glyphs`] | synthetic, from a seed ([`Glyphs`]); needs no file |
//! | [`DatasetKind::Mnist`], [`DatasetKind::FashionMnist`] | gzip idx files ([`idx`]), found on disk or downloaded ([`fetch`]), always checked against a pinned SHA-256 |
//! | [`DatasetKind::Usps`] | gzip text ([`usps`]), likewise; 28 x 28 pixels, as MNIST |
//!
//! [`read()`] reads anyone's own [`Records`]: class folders and photographs, archives, arrays, rows of numbers.
//! [`Shapes`] are made by random processes and show no class of anything. [`Gaussians`] are points in the plane.
//!
//! [`GroupedTable`] holds records with features, labels and a sensitive attribute: simulated
//! ([`biased`]), census records ([`adult`]), or any CSV file that a [`Schema`] describes.
//!
//! [`npy`] reads arrays as NumPy's `save` writes them.
//!
//! [`privatised`] are records that their owners gave noise, in a file that says
//! what was promised; [`transform`] is the cosine transform that may come before. [`export`] writes images as others
//! read them.
//!
//! [`Split`] keeps apart, for all runs, the records that are public and those that are private.
//!
//! Every random function takes its generator, or a seed, as an argument; nothing here panics on
//! input; every error is a [`DataError`] that names the value, the bound and what to do.

#![forbid(unsafe_code)]

/// `Debug` of what holds records: the fields that are named, which say nothing of any one of them.
macro_rules! debug_shows {
    ($name:ident { $($field:ident),* }) => {
        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut shown = formatter.debug_struct(stringify!($name));
                $(shown.field(stringify!($field), &self.$field);)*
                shown.finish_non_exhaustive()
            }
        }
    };
}

pub mod adult;
mod apportion;
pub mod biased;
mod catalogue;
mod class;
mod dataset;
mod download;
mod error;
pub mod export;
pub mod fetch;
pub mod gaussians;
pub mod glyphs;
pub mod idx;
pub mod npy;
pub mod penguins;
pub mod privatised;
mod progress;
mod read;
mod records;
mod reshape;
pub mod shapes;
pub mod split;
mod stored;
mod sums;
pub mod table;
pub mod transform;
mod units;
pub mod usps;

pub use adult::Adult;
pub use biased::{Biased, BiasedConfig};
pub use catalogue::PinnedFile;
pub use dataset::{Dataset, DatasetKind, LoadOptions};
pub use error::DataError;
pub use gaussians::{Gaussians, PlanePoints};
pub use glyphs::Glyphs;
pub use npy::NpyArray;
pub use progress::{Progress, ProgressFn};
pub use read::{
    Arrays, Asked, Classes, Form, Found, MAX_CLASSES, Skipped, cifar10, count_files, is_array,
    read, read_beyond,
};
pub use records::Records;
pub use shapes::Shapes;
pub use split::{PublicShare, Split, SplitPlan};
pub use stored::Stored;
pub use table::{
    CodeColumn, CodedTable, CsvTable, Drafting, GroupedTable, Labels, Missing, OpenSchema, Outside,
    Part, Rules, Schema, StoredTable, TableWriter, is_parquet, is_parts,
};
pub use units::Units;
