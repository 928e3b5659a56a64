//! Public features: what a head sees of a record.

mod embedding;
mod scattering;
mod whitening;

pub use embedding::Embedding;
pub use scattering::Scattering;
pub use whitening::Whitening;

use crate::ClassifierError;

/// How records become rows of norm 1: a public function of one record, followed by a whitening that public records gave.
///
/// ```
/// use private_classifiers::{Features, Scattering};
///
/// let features = Features::from(Scattering::new(1, 16, 1)?);
/// let public: Vec<f32> = (0..400 * 16 * 16).map(|i| (i * 37 % 97) as f32 / 96.0).collect();
/// let features = features.whitened_by(&public)?;
/// let rows = features.rows(&[0.5; 2 * 16 * 16])?;
/// assert_eq!(rows.len(), 2 * features.width());
/// # Ok::<(), private_classifiers::ClassifierError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    kind: Kind,
    whitening: Option<Whitening>,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Scattering(Scattering),
    Embedding(Embedding),
}

impl From<Scattering> for Features {
    fn from(scattering: Scattering) -> Self {
        Self {
            kind: Kind::Scattering(scattering),
            whitening: None,
        }
    }
}

impl From<Embedding> for Features {
    fn from(embedding: Embedding) -> Self {
        Self {
            kind: Kind::Embedding(embedding),
            whitening: None,
        }
    }
}

impl Features {
    /// Whitens by the features of public records.
    ///
    /// # Errors
    ///
    /// Those of [`Features::rows`] and of [`Whitening::of_public`].
    pub fn whitened_by(mut self, public: &[f32]) -> Result<Self, ClassifierError> {
        let rows = self.plain(public)?;
        self.whitening = Some(Whitening::of_public(&rows, self.width())?);
        Ok(self)
    }

    /// Whitens by a map that is there already.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if it is of rows of another width.
    pub fn with_whitening(mut self, whitening: Whitening) -> Result<Self, ClassifierError> {
        let (width, found) = (self.width(), whitening.mean().len());
        if width != found {
            let (name, bound) = ("the width of the whitening", format!("{width}"));
            return Err(ClassifierError::range(name, found as f64, bound));
        }
        self.whitening = Some(whitening);
        Ok(self)
    }

    /// Returns the whitening, if there is one.
    pub fn whitening(&self) -> Option<&Whitening> {
        self.whitening.as_ref()
    }

    /// Returns the number of values of a record.
    pub fn size(&self) -> usize {
        match &self.kind {
            Kind::Scattering(scattering) => scattering.size(),
            Kind::Embedding(embedding) => embedding.size(),
        }
    }

    /// Returns the number of features of a record.
    pub fn width(&self) -> usize {
        match &self.kind {
            Kind::Scattering(scattering) => scattering.width(),
            Kind::Embedding(embedding) => embedding.size() + 1,
        }
    }

    /// Returns the features of records, `[n, width]`.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if these are not whole records; [`ClassifierError::NotFinite`] if a value is not finite.
    pub fn rows(&self, records: &[f32]) -> Result<Vec<f32>, ClassifierError> {
        let rows = self.plain(records)?;
        match &self.whitening {
            None => Ok(rows),
            Some(whitening) => whitening.rows(&rows),
        }
    }

    fn plain(&self, records: &[f32]) -> Result<Vec<f32>, ClassifierError> {
        if records.iter().any(|value| !value.is_finite()) {
            return Err(ClassifierError::NotFinite { name: "records" });
        }
        match &self.kind {
            Kind::Scattering(scattering) => scattering.rows(records),
            Kind::Embedding(embedding) => embedding.rows(records),
        }
    }
}

/// Divides each row by its norm; a row of zeros stays.
fn normalise(rows: &mut [f32], width: usize) {
    for row in rows.chunks_exact_mut(width) {
        // In 64 bits: the inverse of the smallest norms has no place in 32.
        let squared: f64 = row.iter().map(|&x| f64::from(x).powi(2)).sum();
        if squared > 0.0 {
            let norm = squared.sqrt();
            let divided = |x: &mut f32| *x = (f64::from(*x) / norm) as f32;
            row.iter_mut().for_each(divided);
        }
    }
}
