//! Loads, generates, splits and exports data sets.
//!
//! [`Dataset::load`] gives labelled images for training and for evaluation:
//!
//! | kind | source of the images |
//! |---|---|
//! | [`DatasetKind::Glyphs`] | synthetic, from a seed ([`Glyphs`]); needs no file |
//! | [`DatasetKind::Mnist`], [`DatasetKind::FashionMnist`] | gzip idx files ([`idx`]), found or downloaded ([`fetch`]) |
//! | [`DatasetKind::Usps`] | gzip text ([`usps`]), found or downloaded ([`fetch`]); resized to MNIST's 28 x 28 pixels |
//!
//! Each of these files is checked against a pinned SHA-256.
//!
//! [`read()`] reads your own [`Records`] from class folders, photographs, archives, arrays and rows of numbers.
//! [`Shapes`] are images of random processes without classes. [`Gaussians`] are mixtures in the plane.
//!
//! [`GroupedTable`] holds records with features, labels and a sensitive attribute: simulated ones
//! ([`biased`]), census records ([`adult`]), or those of any CSV file that a [`Schema`] describes.
//!
//! [`npy`] reads arrays as NumPy's `save` writes them.
//!
//! [`privatised`] holds records to which their owners added noise, in a file that states the privacy guarantee;
//! [`transform`] is the cosine transform that may come before the noise. [`export`] writes images in common formats.
//!
//! [`Split`] separates the public records from the private ones, in the same way for all runs.
//!
//! Every random function takes its generator, or a seed, as an argument. No input makes a function
//! panic. Every error is a [`DataError`] that names the value, the bound and what to do.

#![forbid(unsafe_code)]

/// Implements `Debug` for a type that holds records: it shows only the named fields, which reveal no record.
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
