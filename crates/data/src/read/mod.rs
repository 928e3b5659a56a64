//! Records from whatever holds them.
//!
//! | path | what it holds |
//! |---|---|
//! | a folder with folders in it | image files, a folder a class, at any depth below it (torchvision's `ImageFolder`) |
//! | a folder of files | image files without classes |
//! | `.tar`, `.tar.gz`, `.tgz`, `.zip` | the same, packed; a folder around all of it is passed over |
//! | `.npz` | `images` of `[n, h, w]`, `[n, h, w, 3]` or `[n, 3, h, w]`, and `labels` of `[n]` whole numbers; or other names of [`NAMES`] |
//! | `.npy` | rows of numbers ([`npy`](crate::npy)), one dimension as one column |
//! | `.csv`, `.txt`, `.tsv` | rows of numbers between commas, semicolons, tabs or spaces |
//! | anything else | an idx file of images, gzip or not, with its labels beside it: `*-images-idx3-*` and `*-labels-idx1-*` |
//!
//! Size, channels and classes are public, so they are asked for and never looked up in the records. What an array's
//! header and the names of class folders say is taken if nothing else is asked for: whoever gives them makes them
//! public.
//!
//! Bytes reach from 0 to 255. What is black and what is white in images of 16 bits, and in arrays of other types, is asked for likewise:
//! 12 bits of 16 would be almost black.
//!
//! Every JPEG, PNG, BMP, GIF, TIFF and WebP file of a folder, by its ending, is a record, in the order of its path, component by
//! component; of several pictures in a file the first is. Links to folders are not followed. [`Skipped`] has what is passed over. An image becomes square by cutting off its
//! longer sides equally, is resized by a triangle filter (bilinear, as wide as the reduction asks for), and is turned as
//! its EXIF data has it; of three channels, grey is repeated; what is transparent is white. HEIC, AVIF and raw photographs are refused: no image is
//! left out because of its form.
//!
//! Source of crop and size: "Differentially private gradient flow based on the sliced Wasserstein
//! distance", appendix C.1.

mod arrays;
mod decode;
mod files;
mod levels;
mod rows;
mod scan;
mod units;

use std::path::{Path, PathBuf};

use self::files::Packed;
pub(crate) use self::levels::value;
use crate::error::{empty, open, unfit};
use crate::{DataError, LoadOptions, Records, Stored};

/// What an archive of NumPy calls its images and their labels: the first pair whose images are there is read.
pub(crate) const NAMES: [[&str; 2]; 10] = [
    ["images", "labels"],
    ["train_images", "train_labels"],
    ["x_train", "y_train"],
    ["X_train", "y_train"],
    ["image", "label"],
    ["data", "target"],
    ["data", "labels"],
    ["x", "y"],
    ["X", "y"],
    ["arr_0", "arr_1"],
];

/// The most classes.
pub const MAX_CLASSES: usize = 256;

/// What is asked of records, all of it public.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Pixels along a side; for arrays that of the file if it is `None`.
    pub side: Option<usize>,
    /// 1 for grey, 3 for colour; likewise.
    pub channels: Option<usize>,
    /// What classes there are.
    pub classes: Classes,
    /// The values of black and of white: of image files with 16 bits, and of arrays of other types than bytes.
    pub levels: Option<[i32; 2]>,
    /// A file of the labels: of idx images if it does not lie beside them, and of an NPY array.
    pub labels: Option<PathBuf>,
    /// Only this number of first records, those of files in the order of their paths; of text all are read.
    pub first: Option<usize>,
    /// Of image files those at these places in the order of their paths, in this order.
    pub places: Option<Vec<usize>>,
    /// Whether numbers of an NPY array may be NaN or infinite.
    pub not_finite: bool,
}

/// The classes of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Classes {
    /// One for each folder, of its name; arrays do not have this.
    #[default]
    Folders,
    /// These; a label of an array is a place in the list.
    Named(Vec<String>),
    /// This number of classes, named by their numbers.
    Counted(usize),
    /// None are read, whatever folders and labels there are.
    Unread,
}

/// The form that records came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A folder, or an archive, with a folder a class.
    Folders,
    /// A folder of files.
    Flat,
    /// Arrays of NumPy.
    Npz,
    /// Idx files.
    Idx,
    /// Rows of numbers.
    Rows,
}

/// How an archive of NumPy holds images and labels.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrays {
    /// The name of the images.
    pub images: String,
    /// Their type, by its name in NumPy.
    pub pixels: String,
    /// The values of black and of white.
    pub levels: [i32; 2],
    /// Whether channels are planes: `[n, channels, h, w]`.
    pub planes: bool,
    /// That of the labels.
    pub labels: String,
    /// The type of the labels, by its name in NumPy.
    pub kind: String,
    /// Whether labels are of `[n, 1]`.
    pub column: bool,
    /// Whether grey images are of `[n, h, w, 1]`.
    pub channel: bool,
}

impl Default for Arrays {
    fn default() -> Self {
        Self {
            images: "images".into(),
            pixels: "|u1".into(),
            levels: [0, 255],
            planes: false,
            labels: "labels".into(),
            kind: "|u1".into(),
            column: false,
            channel: false,
        }
    }
}

/// Records with what is known of them.
pub struct Found {
    /// The records; all of class 0 if they have no classes.
    pub records: Records,
    /// The names of the classes; none for records without.
    pub classes: Vec<String>,
    /// The path of each image below the folder; none for arrays.
    pub paths: Vec<String>,
    /// The form that they came in.
    pub form: Form,
    /// Of [`Form::Npz`], how the archive holds them.
    pub arrays: Arrays,
    /// What was passed over.
    pub skipped: Vec<Skipped>,
}

debug_shows!(Found { records, form });

/// What a reader passed over for one reason. **Private** but for the reason: none of it is a record.
#[derive(Clone, PartialEq, Eq)]
pub struct Skipped {
    /// What, or why.
    pub reason: &'static str,
    /// The first of them.
    pub name: String,
    /// How many there are.
    pub count: usize,
}

debug_shows!(Skipped { reason });

impl Skipped {
    /// Counts one more.
    pub(crate) fn count(all: &mut Vec<Self>, reason: &'static str, name: &Path) {
        match all.iter_mut().find(|skipped| skipped.reason == reason) {
            Some(skipped) => skipped.count += 1,
            None => all.push(Self {
                reason,
                name: name.display().to_string(),
                count: 1,
            }),
        }
    }
}

fn named(path: &Path, endings: &[&str]) -> bool {
    let name = path.to_string_lossy().to_lowercase();
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Whether a path is taken for arrays, and not for files in a folder or in an archive.
pub fn is_array(path: &Path) -> bool {
    !path.is_dir() && !named(path, &[".tar", ".tar.gz", ".tgz", ".zip"])
}

/// Reads what lies at a path; `done` is called with the number of records read so far, from several threads.
///
/// ```
/// use data::{Asked, Classes, read};
///
/// let folder = tempfile::tempdir()?;
/// for class in ["cat", "dog"] {
///     std::fs::create_dir(folder.path().join(class))?;
///     image::RgbImage::new(40, 30).save(folder.path().join(class).join("1.png"))?;
/// }
/// let asked = Asked { side: Some(32), channels: Some(3), ..Asked::default() };
/// let found = read(folder.path(), &asked, &|_| {})?;
/// assert_eq!(found.records.shape(), [3, 32, 32]);
/// assert_eq!((found.records.labels(), &found.classes[..]), (&[0, 1][..], &["cat".into(), "dog".into()][..]));
///
/// let path = folder.path().join("points.csv");
/// std::fs::write(&path, "x,y\n0.5,1.5\n-1,2e-3\n")?;
/// let asked = Asked { classes: Classes::Unread, ..Asked::default() };
/// assert_eq!(read(&path, &asked, &|_| {})?.records.values()?, [0.5, 1.5, -1.0, 2e-3]);
/// std::fs::write(&path, "0.5,1.5\n1,nan\n")?;
/// let refused = read(&path, &asked, &|_| {}).unwrap_err();
/// assert!(refused.to_string().contains("column 2: expected a finite number"));
/// // Which record it is, and what it holds, is private.
/// assert!(refused.private().is_some_and(|told| told.contains("line 2, column 2")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`DataError::Request`] where something public was not said, or is out of its bounds; [`DataError::File`] for the first
/// file that cannot be read, a class that is empty or not on the list, and what is in no form above;
/// [`DataError::Record`] for a label that is no class, and for text that is no finite number or a row of another width
/// than the first; [`DataError::Io`].
pub fn read(path: &Path, asked: &Asked, done: &(dyn Fn(usize) + Sync)) -> Result<Found, DataError> {
    read_beyond(path, asked, done, Stored::<u8>::IN_MEMORY)
}

/// As [`read`], with at most this number of bytes of values in memory.
#[doc(hidden)]
pub fn read_beyond(
    path: &Path,
    asked: &Asked,
    done: &(dyn Fn(usize) + Sync),
    in_memory: usize,
) -> Result<Found, DataError> {
    let pixels = Stored::beyond(in_memory);
    if path.is_dir() {
        return files::read(path, None, asked, done, pixels);
    }
    if named(path, &[".zip"]) {
        return files::read(path, Some(Packed::Zip(open(path)?)), asked, done, pixels);
    }
    if !is_array(path) {
        return files::read(
            path,
            Some(Packed::Tar(&mut open(path)?)),
            asked,
            done,
            pixels,
        );
    }
    let numbers = Stored::beyond(in_memory / size_of::<f32>());
    let unread = asked.classes == Classes::Unread;
    if named(path, &[".npz"]) {
        arrays::npz(path, asked, done, pixels)
    } else if named(path, &[".npy"]) && (unread || asked.labels.is_some()) {
        rows::npy(path, asked, done, numbers)
    } else if named(path, &[".csv", ".txt", ".tsv"]) && unread {
        rows::text(path, asked, numbers)
    } else {
        arrays::idx(path, asked, done, pixels)
    }
}

/// How many image files there are in a folder.
///
/// # Errors
/// [`DataError::Request`] if there is none; as [`read`].
pub fn count_files(folder: &Path) -> Result<usize, DataError> {
    match scan::images(folder)?.files.len() {
        0 => Err(no_image(folder)),
        count => Ok(count),
    }
}

fn no_image(path: &Path) -> DataError {
    empty(path.display(), "image, in it or in a folder in it")
}

/// The training images of CIFAR-10 and its test images, of 32 x 32 pixels in colour (Krizhevsky 2009).
///
/// # Errors
/// As [`crate::fetch::fetch`].
pub fn cifar10(
    options: &LoadOptions,
    done: &(dyn Fn(usize) + Sync),
) -> Result<[Found; 2], DataError> {
    let asked = Asked {
        side: Some(32),
        channels: Some(3),
        ..Asked::default()
    };
    let read = |(name, bytes): &(String, Vec<u8>)| {
        let mut bytes = &bytes[..];
        let archive = Some(Packed::Tar(&mut bytes));
        files::read(Path::new(name), archive, &asked, done, Stored::default())
    };
    match &options.fetch("cifar10", false)?[..] {
        [train, test] => Ok([read(train)?, read(test)?]),
        other => Err(unfit("files of CIFAR-10", 2, other.len())),
    }
}

impl Found {
    /// The name of an image: its path, or its number.
    pub fn name(&self, place: usize) -> String {
        let number = || place.to_string();
        self.paths.get(place).cloned().unwrap_or_else(number)
    }
}

impl Classes {
    /// The names on the list, if there is one.
    ///
    /// # Errors
    /// [`DataError::Request`] for no class, more than [`MAX_CLASSES`], and a name that is there twice or none for a folder.
    pub fn listed(&self) -> Result<Option<Vec<String>>, DataError> {
        let names = match self {
            Self::Folders | Self::Unread => return Ok(None),
            Self::Named(names) => names.clone(),
            Self::Counted(count) => (0..*count.min(&(MAX_CLASSES + 1)))
                .map(|class| class.to_string())
                .collect(),
        };
        check_classes(&names)?;
        Ok(Some(names))
    }
}

fn check_classes(names: &[String]) -> Result<(), DataError> {
    if !(1..=MAX_CLASSES).contains(&names.len()) {
        let found = match names.len() {
            more if more > MAX_CLASSES => format!("{more} or more"),
            few => few.to_string(),
        };
        return Err(unfit(
            "number of classes",
            format!("1 to {MAX_CLASSES}"),
            found,
        ));
    }
    for (place, name) in names.iter().enumerate() {
        let folder =
            !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
        if !folder || names[..place].contains(name) {
            let expected = "names of folders, each once";
            return Err(unfit(
                "classes",
                expected,
                format!("'{}'", name.escape_default()),
            ));
        }
    }
    Ok(())
}
