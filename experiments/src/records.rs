//! Records of a data set: images with labels, or shapes that are drawn.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use data::split::Use;
use data::{Dataset, DatasetKind, LoadOptions, Shapes};
use lab::prelude::*;
use model::latent::ImageShape;
use rayon::prelude::*;

/// The name of shapes that the program draws.
pub(crate) const SHAPES: &str = "shapes";

/// The word for no public images: the latent space learns from none.
pub(crate) const NO_IMAGES: &str = "none";

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
    let (options, refuse) = (options_of(kind, seed, records, data_dir), refused);
    let mut data = Dataset::load(kind, &options).map_err(refuse)?;
    // Of all records: runs on some of them are runs on the same data set.
    let name = match kind {
        DatasetKind::Glyphs => format!("glyphs-{seed}-{}", data.train.len()),
        kind => kind.name().to_string(),
    };
    let sha256 = data.train.sha256().map_err(refuse)?;
    let used = Used::new(&data.name, name, &sha256, Use::AllPrivate);
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
) -> Result<data::Records, Failure> {
    Dataset::load_test(kind, &options_of(kind, seed, None, data_dir)).map_err(refused)
}

/// How a data set by its name is loaded.
pub(crate) fn options(data_dir: Option<&Path>) -> LoadOptions {
    LoadOptions {
        data_dir: data_dir.map(Path::to_path_buf),
        progress: Some(Arc::new(|progress: &data::Progress| {
            if let data::Progress::MirrorFailed { url, reason } = progress {
                eprintln!("{url}: {reason}");
            }
        })),
        ..LoadOptions::default()
    }
}

fn options_of(
    kind: DatasetKind,
    seed: u64,
    records: Option<usize>,
    data_dir: Option<&Path>,
) -> LoadOptions {
    let glyphs = kind == DatasetKind::Glyphs;
    LoadOptions {
        seed,
        train: records.filter(|_| glyphs),
        // Glyphs are sampled, not read: as many as the evaluation looks at.
        test: glyphs.then_some(2000),
        ..options(data_dir)
    }
}

fn refused(e: data::DataError) -> Failure {
    private::refused(
        &e,
        "check --data-dir, or use --dataset glyphs, which needs no file",
    )
}

/// The data set of a kind in a file or a folder, by the checksum of its records.
pub(crate) fn of_path(kind: &str, path: &Path, sha256: &str, used: Use) -> Used {
    let (what, name) = (path.display().to_string(), name_of_path(kind, path));
    Used::new(what, name, sha256, used)
}

/// What a path is called in the name of a run.
pub(crate) fn stem(path: &Path) -> Cow<'_, str> {
    path.file_stem()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
}

/// The last name of a path; a data set by its name has no other.
pub(crate) fn file_name(input: &str) -> Cow<'_, str> {
    let path = Path::new(input);
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
}

/// Refuses public records, of this checksum, that are the private ones.
pub(crate) fn apart(
    flag: &str,
    path: impl Display,
    sha256: &str,
    private: &[Used],
    bound: &str,
) -> Result<(), Failure> {
    let same = |used: &Used| used.used == Use::AllPrivate && used.sha256 == sha256;
    bounded(flag, path, !private.iter().any(same), bound)
}

/// Where images come from.
#[derive(Clone)]
pub(crate) enum Source {
    /// Images with labels, in memory.
    Labelled(Arc<data::Records>),
    /// Shapes, sampled when they are asked for.
    Shapes(Shapes),
}

/// The first records of a data set.
pub(crate) struct FirstRecords {
    pub source: Source,
    pub count: usize,
}

impl FirstRecords {
    /// The first of these records.
    pub(crate) fn first(&self, count: usize) -> Self {
        let source = self.source.clone();
        Self { source, count }
    }

    /// Channels and side of an image.
    pub(crate) fn shape(&self) -> ImageShape {
        let (channels, side) = match &self.source {
            Source::Labelled(images) => (images.channels(), images.width()),
            Source::Shapes(shapes) => (shapes.channels(), shapes.side()),
        };
        ImageShape { channels, side }
    }

    /// The labels; empty for shapes.
    pub(crate) fn labels(&self) -> Vec<usize> {
        match &self.source {
            Source::Labelled(images) => {
                let labels = images.labels()[..self.count].iter();
                labels.map(|&label| label.into()).collect()
            }
            Source::Shapes(_) => Vec::new(),
        }
    }

    /// Images of some records, in their own size, `[n, channels, side, side]` in rows, values in
    /// `[0, 1]`.
    pub(crate) fn gather(&self, places: &[usize]) -> Result<Vec<f32>, Failure> {
        match &self.source {
            Source::Labelled(images) => images.gather(places).or_failed(),
            Source::Shapes(shapes) => {
                let images = places.par_iter().map(|&place| shapes.image(place as u64));
                let bytes: Vec<Vec<u8>> = images.collect();
                let unit = |byte: u8| f32::from(byte) / 255.0;
                Ok(bytes.into_iter().flatten().map(unit).collect())
            }
        }
    }

    /// A checksum of these records and of no others: of bytes and labels, or of what drawings follow from.
    pub(crate) fn fingerprint(&self) -> Result<String, Failure> {
        let places: Vec<usize> = (0..self.count).collect();
        let mut bytes = Vec::new();
        match &self.source {
            Source::Labelled(images) => {
                for place in places {
                    bytes.extend_from_slice(&images.image_bytes(place).or_failed()?);
                    bytes.push(images.labels()[place]);
                }
            }
            Source::Shapes(shapes) => {
                let which = (Shapes::VERSION, shapes, &places);
                bytes.extend(format!("{which:?}").into_bytes());
            }
        }
        Ok(lab::checkpoint::hex(&bytes))
    }
}
