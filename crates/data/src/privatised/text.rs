//! Converts a header to and from the strings of `__metadata__` and of the file beside an NPY file.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Header, LabelEncoding, NoiseKind, Transform, refuse};
use crate::DataError;

/// The entry that identifies these files, and the version that is written and read.
const FORMAT: &str = "sliver-privatised";
const VERSION: &str = "1";

pub(super) type Texts = BTreeMap<String, String>;

/// Whether a header is one of privatised records, of any version.
pub(super) fn is_ours(texts: &Texts) -> bool {
    texts.get("format").is_some_and(|format| format == FORMAT)
}

impl Header {
    pub(super) fn to_texts(&self) -> Texts {
        let mut texts = vec![
            ("format", FORMAT.to_string()),
            ("version", VERSION.into()),
            ("mechanism", word_of(&self.mechanism)),
            ("calibration", word_of(&self.calibration)),
            ("epsilon", number(self.epsilon)),
            ("delta", number(self.delta)),
            ("norm", word_of(&self.norm())),
            ("radius", number(self.radius)),
            ("noise_scale", number(self.noise_scale)),
            ("noise_seed", word_of(&self.noise_seed)),
            ("width", self.width.to_string()),
            ("records", self.records.to_string()),
        ];
        match &self.transform {
            Transform::None => texts.push(("transform", "none".into())),
            Transform::Dct {
                side,
                channels,
                kept,
            } => {
                let pairs: Vec<String> = kept.iter().map(|pair| list(pair)).collect();
                texts.push(("transform", "dct".into()));
                texts.push(("dct_side", side.to_string()));
                texts.push(("dct_channels", channels.to_string()));
                texts.push(("dct_kept", pairs.join(" ")));
            }
        }
        match self.labels {
            LabelEncoding::Dropped => texts.push(("labels", "dropped".into())),
            LabelEncoding::OneHot { weight, classes } => {
                texts.push(("labels", "one-hot".into()));
                texts.push(("label_weight", number(weight)));
                texts.push(("label_classes", classes.to_string()));
            }
        }
        texts.extend(self.source_shape.map(|s| ("source_shape", list(&s))));
        texts.into_iter().map(|(k, v)| (k.into(), v)).collect()
    }

    /// Parses the header from its strings, and checks it.
    pub(super) fn of_texts(file: &str, texts: Texts) -> Result<Self, DataError> {
        let mut entries = Entries { file, texts };
        let format = entries.take("format", "a text")?;
        if format != FORMAT {
            return Err(entries.refuse("format", FORMAT, &format));
        }
        let version = entries.take("version", VERSION)?;
        if version != VERSION {
            let expected = format!("{VERSION}, the only version that is known here");
            return Err(entries.refuse("version", &expected, &version));
        }
        let mechanism = entries.word("mechanism", "laplace or gaussian")?;
        let norm = entries.take("norm", "l1 or l2")?;
        let expected = match mechanism {
            NoiseKind::Laplace => "l1",
            NoiseKind::Gaussian => "l2",
        };
        if norm != expected {
            let expected = format!("{expected}, the norm of the mechanism");
            return Err(entries.refuse("norm", &expected, &norm));
        }
        let transform = match entries.take("transform", "none or dct")?.as_str() {
            "none" => Transform::None,
            "dct" => Transform::Dct {
                side: entries.parse("dct_side", "a number of pixels")?,
                channels: entries.parse("dct_channels", "a number of channels")?,
                kept: entries.pairs("dct_kept")?,
            },
            other => return Err(entries.refuse("transform", "none or dct", other)),
        };
        let labels = match entries.take("labels", "dropped or one-hot")?.as_str() {
            "dropped" => LabelEncoding::Dropped,
            "one-hot" => LabelEncoding::OneHot {
                weight: entries.parse("label_weight", "a number")?,
                classes: entries.parse("label_classes", "a number of classes")?,
            },
            other => return Err(entries.refuse("labels", "dropped or one-hot", other)),
        };
        let source_shape =
            match entries.texts.remove("source_shape") {
                None => None,
                Some(text) => Some(numbers(&text).ok_or_else(|| {
                    entries.refuse("source_shape", "channels,height,width", &text)
                })?),
            };
        let header = Self {
            mechanism,
            calibration: entries.word("calibration", "exact or paper")?,
            epsilon: entries.parse("epsilon", "a number")?,
            delta: entries.parse("delta", "a number")?,
            radius: entries.parse("radius", "a number")?,
            noise_scale: entries.parse("noise_scale", "a number")?,
            transform,
            labels,
            source_shape,
            noise_seed: entries.word("noise_seed", "secret or insecure")?,
            width: entries.parse("width", "a number of values")?,
            records: entries.parse("records", "a number of records")?,
        };
        // An unknown entry may change the meaning of the others.
        if let Some((key, value)) = entries.texts.first_key_value() {
            return Err(entries.refuse(key, "no such entry in version 1", value));
        }
        header.check(file)?;
        Ok(header)
    }
}

/// The entries that are not read yet.
struct Entries<'a> {
    file: &'a str,
    texts: Texts,
}

impl Entries<'_> {
    fn refuse(&self, key: &str, expected: &str, found: &str) -> DataError {
        // Headers come from others, so the message quotes only the start of the value.
        let found: String = found.chars().take(40).collect();
        refuse(self.file, key, expected, found.escape_default())
    }

    fn take(&mut self, key: &str, expected: &str) -> Result<String, DataError> {
        let text = self.texts.remove(key);
        text.ok_or_else(|| self.refuse(key, expected, "nothing"))
    }

    fn parse<T: FromStr>(&mut self, key: &str, expected: &str) -> Result<T, DataError> {
        let text = self.take(key, expected)?;
        text.parse().map_err(|_| self.refuse(key, expected, &text))
    }

    /// Reads a word that names a variant of an enum.
    fn word<T: DeserializeOwned>(&mut self, key: &str, expected: &str) -> Result<T, DataError> {
        let text = self.take(key, expected)?;
        serde_json::from_value(text.clone().into()).map_err(|_| self.refuse(key, expected, &text))
    }

    fn pairs(&mut self, key: &str) -> Result<Vec<[usize; 2]>, DataError> {
        let text = self.take(key, "pairs of numbers")?;
        let pairs: Option<Vec<[usize; 2]>> = text.split(' ').map(numbers).collect();
        pairs.ok_or_else(|| self.refuse(key, "pairs of numbers", &text))
    }
}

/// Writes the fewest digits that read back to the same number.
fn number(value: f64) -> String {
    format!("{value:?}")
}

fn word_of(word: &impl Serialize) -> String {
    match serde_json::to_value(word) {
        Ok(serde_json::Value::String(word)) => word,
        // Enums without fields are strings.
        _ => String::new(),
    }
}

fn list(numbers: &[impl Display]) -> String {
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    texts.join(",")
}

fn numbers<const N: usize>(text: &str) -> Option<[usize; N]> {
    let numbers: Option<Vec<usize>> = text.split(',').map(|part| part.parse().ok()).collect();
    numbers?.try_into().ok()
}
