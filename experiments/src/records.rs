//! Records of a data set: images with labels, or shapes that are drawn.

use std::path::Path;
use std::sync::Arc;

use data::split::{Records as _, Use};
use data::{Dataset, DatasetKind, LabelledImages, LoadOptions, Shapes};
use lab::prelude::*;
use model::latent::ImageShape;
use rayon::prelude::*;

/// The name of shapes that the program draws.
pub(crate) const SHAPES: &str = "shapes";

/// The word for no public images: the latent space learns from none.
pub(crate) const NO_IMAGES: &str = "none";

/// What synthetic records of this name show; none for a name of somebody's records.
pub(crate) fn synthetic(name: &str) -> Option<&'static str> {
    match name {
        "glyphs" => Some("synthetic digits, which show what the ten classes look like"),
        SHAPES => Some("lines, outlines and textures of no class"),
        _ => None,
    }
}

/// The data set that a flag names.
pub(crate) fn kind(flag: &str, name: &str) -> Result<DatasetKind, Failure> {
    name.parse()
        .map_err(|e| Failure::input(format!("--{flag} {name}: {e}"), "choose one"))
}

/// A data set whose training records are all private, cut to the first `records`, and how it is used.
pub(crate) fn load_private(
    kind: DatasetKind,
    seed: u64,
    records: Option<usize>,
    data_dir: Option<&Path>,
) -> Result<(Dataset, Used), Failure> {
    let (options, refuse) = (options(kind, seed, records, data_dir), refused);
    let mut data = Dataset::load(kind, &options).map_err(refuse)?;
    // Of all records: runs on some of them are runs on the same data set.
    let used = Used {
        what: data.name.clone(),
        name: match kind {
            DatasetKind::Glyphs => format!("glyphs-{seed}-{}", data.train.len()),
            kind => kind.name().to_string(),
        },
        sha256: data.train.sha256().map_err(refuse)?,
        used: Use::AllPrivate,
    };
    if let Some(records) = records {
        data.train.truncate(records).map_err(refuse)?;
    }
    Ok((data, used))
}

/// The public test records of a data set, without a look at the others.
pub(crate) fn load_test(
    kind: DatasetKind,
    seed: u64,
    data_dir: Option<&Path>,
) -> Result<LabelledImages, Failure> {
    Dataset::load_test(kind, &options(kind, seed, None, data_dir)).map_err(refused)
}

fn options(
    kind: DatasetKind,
    seed: u64,
    records: Option<usize>,
    data_dir: Option<&Path>,
) -> LoadOptions {
    let glyphs = kind == DatasetKind::Glyphs;
    LoadOptions {
        data_dir: data_dir.map(Path::to_path_buf),
        seed,
        train: records.filter(|_| glyphs),
        // Glyphs are sampled, not read: as many as the evaluation looks at.
        test: glyphs.then_some(2000),
        mirrors: None,
        progress: Some(Arc::new(|progress: &data::Progress| {
            if let data::Progress::MirrorFailed { url, reason } = progress {
                eprintln!("{url}: {reason}");
            }
        })),
    }
}

fn refused(e: data::DataError) -> Failure {
    private::refused(
        &e,
        "check --data-dir, or use --dataset glyphs, which needs no file",
    )
}

/// Where images come from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// Images with labels, in memory.
    Labelled(Arc<LabelledImages>),
    /// Shapes, sampled when they are asked for.
    Shapes(Shapes),
}

/// Some records of a data set.
pub(crate) struct Records {
    source: Source,
    indices: Vec<usize>,
}

impl Records {
    /// The records of `source` at the first `limit` of some indices.
    pub(crate) fn new(source: Source, mut indices: Vec<usize>, limit: Option<usize>) -> Self {
        indices.truncate(limit.unwrap_or(usize::MAX));
        Self { source, indices }
    }

    /// Some of these records.
    pub(crate) fn only(&self, places: &[usize]) -> Self {
        Self {
            source: self.source.clone(),
            indices: places.iter().map(|&p| self.indices[p]).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.indices.len()
    }

    /// Channels and side of an image.
    pub(crate) fn shape(&self) -> ImageShape {
        match &self.source {
            Source::Labelled(images) => ImageShape {
                channels: images.channels(),
                side: images.width(),
            },
            Source::Shapes(shapes) => ImageShape {
                channels: shapes.channels(),
                side: shapes.side(),
            },
        }
    }

    /// The labels; empty for shapes.
    pub(crate) fn labels(&self) -> Vec<usize> {
        match &self.source {
            Source::Labelled(images) => {
                let label = |&i| images.label(i).unwrap_or(0);
                self.indices.iter().map(label).collect()
            }
            Source::Shapes(_) => Vec::new(),
        }
    }

    /// Images of some records, in their own size, `[n, channels, side, side]` in rows, values in
    /// `[0, 1]`.
    pub(crate) fn gather(&self, places: &[usize]) -> Result<Vec<f32>, Failure> {
        let indices: Vec<usize> = places.iter().map(|&p| self.indices[p]).collect();
        match &self.source {
            Source::Labelled(images) => Ok(images.gather(&indices).unwrap_or_default()),
            Source::Shapes(shapes) => {
                let images = indices.par_iter().map(|&index| shapes.image(index as u64));
                let bytes: Vec<Vec<u8>> = images.collect();
                let unit = |byte: u8| f32::from(byte) / 255.0;
                Ok(bytes.into_iter().flatten().map(unit).collect())
            }
        }
    }

    /// Whether there are as many as are asked for: then each pass over them may have its own.
    pub(crate) fn endless(&self) -> bool {
        matches!(self.source, Source::Shapes(_))
    }

    /// A checksum of these records and of no others: of bytes and labels, or of what drawings follow from.
    pub(crate) fn fingerprint(&self) -> Result<String, Failure> {
        let mut bytes = Vec::new();
        match &self.source {
            Source::Labelled(images) => {
                for &index in &self.indices {
                    bytes.extend_from_slice(images.image_bytes(index).unwrap_or_default());
                    bytes.push(images.labels()[index]);
                }
            }
            Source::Shapes(shapes) => {
                let which = (Shapes::VERSION, shapes, &self.indices);
                bytes.extend(format!("{which:?}").into_bytes());
            }
        }
        Ok(lab::checkpoint::hex(&bytes))
    }
}
