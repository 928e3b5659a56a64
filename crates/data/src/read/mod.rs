//! Reads records from folders, archives, arrays and text.
//!
//! | path | content |
//! |---|---|
//! | a folder with folders in it | image files at any depth, one folder for each class (torchvision's `ImageFolder`) |
//! | a folder of files | image files without classes |
//! | `.tar`, `.tar.gz`, `.tgz`, `.zip` | either of these folders, packed; a folder around everything is ignored |
//! | `.npz` | `images` of `[n, h, w]`, `[n, h, w, 3]` or `[n, 3, h, w]`, and whole `labels` of `[n]`; or other [`NAMES`] |
//! | `.npy` | rows of numbers ([`npy`](crate::npy)); an array of one dimension is one column |
//! | `.csv`, `.txt`, `.tsv` | rows of numbers between commas, semicolons, tabs or spaces |
//! | anything else | an idx file of images, gzip or not, with its labels beside it: `*-images-idx3-*` and `*-labels-idx1-*` |
//!
//! Size, channels and classes are public, so the caller states them and they are never derived from the records. By
//! default they come from an array's header and the names of class folders, which the caller makes public by giving
//! them.
//!
//! Bytes range from 0 to 255. For images of 16 bits and arrays of other types the caller states the values of black and
//! white too, because 12 bits in 16 would be almost black.
//!
//! Each JPEG, PNG, BMP, GIF, TIFF and WebP file of a folder, by its extension, is a record. Records are sorted by path,
//! component by component. Only the first picture of a file is read. Links to folders are refused. [`Skipped`] lists
//! the files that are passed over. An image is turned by its EXIF data, cropped to a square by cutting its longer sides
//! equally, and resized by a triangle filter (bilinear, as wide as the reduction needs). With three channels, grey is
//! repeated. Transparent areas become white. HEIC, AVIF and raw photographs give an error, so that no image is dropped
//! because of its format.
//!
//! Source of the crop and the size: "Differentially private gradient flow based on the sliced Wasserstein
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

/// The names of images and labels in a NumPy archive: the first pair whose images exist is read.
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

/// The largest number of classes.
pub const MAX_CLASSES: usize = 256;

/// The public properties of the records to read, and which records to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The number of pixels along a side; if `None`, arrays keep that of the file.
    pub side: Option<usize>,
    /// The number of channels, 1 for grey and 3 for colour; if `None`, arrays keep that of the file.
    pub channels: Option<usize>,
    /// The classes.
    pub classes: Classes,
    /// The values of black and white in image files of 16 bits and in arrays of types other than bytes.
    pub levels: Option<[i32; 2]>,
    /// The file of the labels of an NPY array, or of idx images if it does not lie beside them.
    pub labels: Option<PathBuf>,
    /// The number of records to take, from the first (image files are sorted by path). Text is still read to its end.
    pub first: Option<usize>,
    /// The image files to read: their indices in the order of the paths. Records keep the order of this list.
    pub places: Option<Vec<usize>>,
    /// Whether the numbers of an NPY array may be NaN or infinite.
    pub not_finite: bool,
}

/// The classes of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Classes {
    /// One class for each folder, with its name; not for arrays.
    #[default]
    Folders,
    /// Classes of these names; a label of an array is an index into the list.
    Named(Vec<String>),
    /// This number of classes, named by their numbers.
    Counted(usize),
    /// No classes are read, even if there are folders or labels.
    Unread,
}

/// The format from which records were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A folder or an archive with one folder for each class.
    Folders,
    /// A folder or an archive of files without classes.
    Flat,
    /// A NumPy archive.
    Npz,
    /// Idx files.
    Idx,
    /// Rows of numbers.
    Rows,
}

/// The layout of images and labels in a NumPy archive.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrays {
    /// The name of the array of images.
    pub images: String,
    /// The type of the images, by its name in NumPy.
    pub pixels: String,
    /// The values of black and white.
    pub levels: [i32; 2],
    /// Whether channels are planes: `[n, channels, h, w]`.
    pub planes: bool,
    /// The name of the array of labels.
    pub labels: String,
    /// The type of the labels, by its name in NumPy.
    pub kind: String,
    /// Whether labels have the shape `[n, 1]`.
    pub column: bool,
    /// Whether grey images have the shape `[n, h, w, 1]`.
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

/// Records with the names and the format that were found.
pub struct Found {
    /// The records, all of class 0 if they have no classes.
    pub records: Records,
    /// The names of the classes; empty for records without classes.
    pub classes: Vec<String>,
    /// The path of each image below the folder; empty for arrays.
    pub paths: Vec<String>,
    /// The format from which they were read.
    pub form: Form,
    /// For [`Form::Npz`], the layout of the archive.
    pub arrays: Arrays,
    /// The files and arrays that were passed over.
    pub skipped: Vec<Skipped>,
}

debug_shows!(Found { records, form });

/// The files or arrays that a reader passed over for one reason. Only the reason is public; the rest is **private**.
#[derive(Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The kind of the files or arrays, or the reason.
    pub reason: &'static str,
    /// The name of the first one.
    pub name: String,
    /// Their number.
    pub count: usize,
}

debug_shows!(Skipped { reason });

impl Skipped {
    /// Counts one more file or array.
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

/// Whether a path is read as arrays, rather than as files in a folder or an archive.
pub fn is_array(path: &Path) -> bool {
    !path.is_dir() && !named(path, &[".tar", ".tar.gz", ".tgz", ".zip"])
}

/// Reads the records at a path; several threads call `done` with the number of records read so far.
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
/// [`DataError::Request`] if a public property is missing or out of its bounds; [`DataError::File`] for the first file that
/// cannot be read, a class that is empty or not on the list, and an unknown format; [`DataError::Record`] for a label that
/// is no class, and for text that is no finite number or a row of another width than the first; [`DataError::Io`].
pub fn read(path: &Path, asked: &Asked, done: &(dyn Fn(usize) + Sync)) -> Result<Found, DataError> {
    read_beyond(path, asked, done, Stored::<u8>::IN_MEMORY)
}

/// Reads the records at a path as [`read`] does, with at most `in_memory` bytes of values in memory.
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

/// Returns the number of image files in a folder.
///
/// # Errors
/// [`DataError::Request`] if there is no image; the errors of [`read`].
pub fn count_files(folder: &Path) -> Result<usize, DataError> {
    match scan::images(folder)?.files.len() {
        0 => Err(no_image(folder)),
        count => Ok(count),
    }
}

fn no_image(path: &Path) -> DataError {
    empty(path.display(), "image, in it or in a folder in it")
}

/// Loads the training images and the test images of CIFAR-10, 32 x 32 pixels in colour (Krizhevsky 2009).
///
/// # Errors
/// The errors of [`crate::fetch::fetch`].
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
    /// Returns the name of an image: its path if it has one, else its index.
    pub fn name(&self, place: usize) -> String {
        let number = || place.to_string();
        self.paths.get(place).cloned().unwrap_or_else(number)
    }
}

impl Classes {
    /// Returns the names of the classes, if the caller gave a list or a number.
    ///
    /// # Errors
    /// [`DataError::Request`] for no class, more than [`MAX_CLASSES`], a repeated name, and a name that no folder can have.
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
