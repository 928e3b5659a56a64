//! Private classifiers: public features of images or of embeddings, and a linear head that learns by private gradient descent.
//!
//! A feature is a function of one record that nobody had to learn from private records, so it costs nothing. What is private is
//! the head: softmax regression on these features, by gradient descent over all records. All its steps together are one Gaussian
//! release, and so its epsilon is exact.
//!
//! - [`Scattering`] gives the moduli of wavelet coefficients of an image, averaged over places; [`Embedding`] takes rows that a
//!   public network made;
//! - [`Whitening`] decorrelates features by public records;
//! - [`Features`] are either of them, with a whitening or without;
//! - [`Head`] is the classifier of their rows, or the model of a number. [`HeadConfig`] trains it, and says what noise would leave of it
//!   before anything is spent; [`Descent`] is one that learns a step at a time, with [`ClassWeights`] if rare classes shall weigh as
//!   much as others;
//! - [`TableModel`] tells a column of a table from the others. It learns from coded records, such as samples of a private copy,
//!   without any budget of its own.
//!
//! Neighbours replace one record with its label, or all records of a unit.
//!
//! ```
//! use dp_core::ledger::Ledger;
//! use dp_core::mechanism::NoiseSource;
//! use dp_core::plan::TrainingPlan;
//! use dp_core::sampling::Sampler;
//! use private_classifiers::{Embedding, Examples, Features, HeadConfig};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("ledger.jsonl");
//! // 1000 records of two numbers, whose class is the larger one.
//! let records: Vec<f32> = (0..2000).map(|i| ((i * 37) % 101) as f32 - 50.0).collect();
//! let labels: Vec<u16> = records.chunks(2).map(|record| u16::from(record[1] > record[0])).collect();
//!
//! let features = Features::from(Embedding::new(2)?);
//! let rows = features.rows(&records)?;
//! let examples = Examples::new(rows, labels, 2)?;
//!
//! let config = HeadConfig::suited(1000, Some(2.0));
//! let plan = TrainingPlan::for_epsilon(2.0, 1e-6, config.steps, Sampler::all(1000)?).check()?;
//! let mut releaser = plan.releaser(NoiseSource::secret()?);
//! let head = config.fit(&examples, &mut releaser, &mut Ledger::create(&path)?)?;
//! // What it could reach at most.
//! let ceiling = config.fit_without_privacy(&examples)?;
//! assert_eq!(ceiling.outputs(), head.outputs());
//!
//! let new = features.rows(&[3.0, -1.0])?;
//! assert_eq!(head.predict(&new)?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod features;
mod head;
mod table;

pub use error::ClassifierError;
pub use features::{Embedding, Features, Scattering, Whitening};
pub use head::{ClassWeights, Descent, Examples, Head, HeadConfig, ValueLoss, largest};
pub use table::{CodedRecords, Learner, TableModel};
