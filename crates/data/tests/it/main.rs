//! What the readers of data give, and what they refuse.

mod adult;
mod biased;
mod coded;
mod dataset;
mod draft;
mod drawn;
mod export;
mod features;
mod fetch;
mod folder;
mod gaussians;
mod glyphs;
mod idx;
mod images;
mod npy;
mod pictures;
mod privatised;
mod published;
mod reshape;
mod rows;
mod rules;
mod schema;
mod split;
mod stream;
mod table;
mod usps;
