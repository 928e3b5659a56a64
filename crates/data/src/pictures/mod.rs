//! Labelled images of anyone's own, from the forms that they come in.
//!
//! | path | what it holds |
//! |---|---|
//! | a folder with folders in it | JPEG and PNG files, a folder a class, at any depth below it (torchvision's `ImageFolder`) |
//! | a folder of files | JPEG and PNG files without classes |
//! | `.tar`, `.tar.gz`, `.tgz` | the same, packed; a folder around all of it is passed over |
//! | `.npz` | `images` of `[n, h, w]` or `[n, h, w, 3]` bytes, and `labels` of `[n]` whole numbers |
//! | anything else | an idx file of images, gzip or not, with its labels beside it: `*-images-idx3-*` and `*-labels-idx1-*` |
//!
//! Size, channels and classes are public, so they are asked for and never looked up in the records. What an array's
//! header and the names of class folders say is taken where nothing else is asked for: whoever gives them makes them
//! public.

mod arrays;
mod files;
mod units;

use std::io::Read;
use std::path::Path;

use crate::error::{open, unfit};
use crate::{DataError, LoadOptions, Stored, StoredImages};

/// The most classes.
pub const MAX_CLASSES: usize = 256;

/// What is public of images before they are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Public {
    /// Pixels along a side; for arrays that of the file where it is `None`.
    pub side: Option<usize>,
    /// 1 for grey, 3 for colour; likewise.
    pub channels: Option<usize>,
    /// What classes there are.
    pub classes: Classes,
}

/// The classes of images.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Classes {
    /// One for each folder, of its name; arrays do not have this.
    #[default]
    Folders,
    /// These; a label of an array is a place in the list.
    Named(Vec<String>),
    /// So many, named by their numbers.
    Counted(usize),
}

/// The form that images came in.
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
}

/// Images with what is known of them.
pub struct Pictures {
    /// The images; all of class 0 where they have no classes.
    pub images: StoredImages,
    /// The names of the classes; none for images without.
    pub classes: Vec<String>,
    /// The path of each image below the folder; none for arrays.
    pub paths: Vec<String>,
    /// The form that they came in.
    pub form: Form,
}

debug_shows!(Pictures { images, form });

fn named(path: &Path, endings: &[&str]) -> bool {
    let name = path.to_string_lossy().to_lowercase();
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Whether a path is taken for arrays, and not for files in a folder or in an archive.
pub fn is_array(path: &Path) -> bool {
    !path.is_dir() && !named(path, &[".tar", ".tar.gz", ".tgz"])
}

impl Pictures {
    /// Reads what lies at a path; `done` is called with the number of images decoded so far, from several threads.
    ///
    /// ```
    /// use data::pictures::{Classes, Pictures, Public};
    ///
    /// let folder = tempfile::tempdir()?;
    /// for class in ["cat", "dog"] {
    ///     std::fs::create_dir(folder.path().join(class))?;
    ///     image::RgbImage::new(40, 30).save(folder.path().join(class).join("1.png"))?;
    /// }
    /// let public = Public { side: Some(32), channels: Some(3), classes: Classes::Folders };
    /// let pictures = Pictures::read(folder.path(), &public, &|_| {})?;
    /// assert_eq!(pictures.images.shape(), [3, 32, 32]);
    /// assert_eq!((pictures.images.labels(), &pictures.classes[..]), (&[0, 1][..], &["cat".into(), "dog".into()][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DataError::Request`] where something public was not said, or is out of its bounds; [`DataError::File`] for the first
    /// file that cannot be read, a class that is empty or not on the list, and what is in no form above;
    /// [`DataError::Record`] for a label that is no class; [`DataError::Io`].
    pub fn read(
        path: &Path,
        public: &Public,
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Self, DataError> {
        Self::read_beyond(path, public, done, Stored::<u8>::IN_MEMORY)
    }

    /// As [`Pictures::read`], with at most so many bytes of pixels in memory.
    #[doc(hidden)]
    pub fn read_beyond(
        path: &Path,
        public: &Public,
        done: &(dyn Fn(usize) + Sync),
        in_memory: usize,
    ) -> Result<Self, DataError> {
        let pixels = Stored::beyond(in_memory);
        if path.is_dir() {
            files::read(path, None, public, done, pixels)
        } else if !is_array(path) {
            files::read(path, Some(&mut open(path)?), public, done, pixels)
        } else if named(path, &[".npz"]) {
            arrays::npz(path, public, done, pixels)
        } else {
            arrays::idx(path, public, done, pixels)
        }
    }

    /// The name of an image: its path, or its number.
    pub fn name(&self, place: usize) -> String {
        let number = || place.to_string();
        self.paths.get(place).cloned().unwrap_or_else(number)
    }

    /// The training images of CIFAR-10 and its test images, of 32 x 32 pixels in colour (Krizhevsky 2009).
    ///
    /// # Errors
    /// As [`crate::fetch::fetch`].
    pub fn cifar10(
        options: &LoadOptions,
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<[Self; 2], DataError> {
        let public = Public {
            side: Some(32),
            channels: Some(3),
            classes: Classes::Folders,
        };
        let read = |(name, bytes): &(String, Vec<u8>)| {
            let mut bytes = &bytes[..];
            files::read(
                Path::new(name),
                Some(&mut bytes as &mut dyn Read),
                &public,
                done,
                Stored::default(),
            )
        };
        match &options.fetch("cifar10", false)?[..] {
            [train, test] => Ok([read(train)?, read(test)?]),
            other => Err(unfit("files of CIFAR-10", 2, other.len())),
        }
    }
}

impl Classes {
    /// The names on the list; none for [`Classes::Folders`].
    ///
    /// # Errors
    /// [`DataError::Request`] for no class, more than [`MAX_CLASSES`], and a name that is there twice or none for a folder.
    pub fn listed(&self) -> Result<Option<Vec<String>>, DataError> {
        let names = match self {
            Self::Folders => return Ok(None),
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
