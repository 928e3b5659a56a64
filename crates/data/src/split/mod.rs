//! Splits a data set into a public and a private half: sampled once, saved, and the same for every run.
//!
//! Some training uses public records beside private ones: an autoencoder is trained on one half of the
//! data, a private flow on the other ("Differentially private gradient flow based on the sliced
//! Wasserstein distance", section 4.4). The guarantee holds only if no run ever treats a record as public
//! that another run treats as private. So each data set has one file, `<name>.split.json`, in a folder
//! that the caller names (best the one that holds the data). The first process writes the file, whole or
//! not at all. Every later process reads it and checks it against the data, and gets an error if it asks
//! for another split or gives the same records another name.
//!
//! Runs without a split note in the same folder how they use their records ([`note`]), and learn of
//! runs that use the same records in another way.
//!
//! The guarantee does not cover a person with records in both halves, nor the files themselves, which hold
//! a hash of all records. **Keep the files with the data and do not publish them**: someone who knows every
//! record but one can check a guess of that one against the hash.

mod draw;
mod file;
mod splittable;
mod uses;

pub use draw::is_test_row;
pub use splittable::Splittable;
pub use uses::{Use, note};

use std::path::{Path, PathBuf};

use files::atomic;

use crate::DataError;
use crate::error::{check_count, io};
use file::Content;

/// The end of the name of a split file.
const ENDING: &str = ".split.json";
/// The end of the name of a note of a use.
const NOTE: &str = ".use.json";

/// The size of the public half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PublicShare {
    /// This fraction of the records, in (0, 1); the number is rounded to the nearest one, a half down.
    Fraction(f64),
    /// All records but this number.
    PrivateCount(usize),
}

/// The plan of a split; by default one half, with seed 0 and without strata.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitPlan {
    /// The size of the public half.
    pub share: PublicShare,
    /// The seed of the sampling.
    pub seed: u64,
    /// Whether each class is split in the same proportion.
    ///
    /// If so, a class of n_c records gives its exact share to the public half, or the next whole number
    /// below or above, such that the total is right. For two halves, a class of even size gives exactly
    /// half; the first half of the classes of odd size give the larger part to the public half, and the
    /// others give the smaller part. The class sizes become public, and neighbouring data sets replace a
    /// record by one of its class. Without strata the sampling looks at no record.
    pub stratified: bool,
}

impl Default for SplitPlan {
    fn default() -> Self {
        Self {
            share: PublicShare::Fraction(0.5),
            seed: 0,
            stratified: false,
        }
    }
}

/// The public and the private records of a data set. They are disjoint and make up the whole.
#[derive(Clone, PartialEq, Eq)]
pub struct Split {
    path: PathBuf,
    sha256: String,
    public: Vec<usize>,
    private: Vec<usize>,
}

debug_shows!(Split { path });

impl Split {
    /// Reads the split of the data set `name` in `folder` if any process has made it before, else samples
    /// and writes it.
    ///
    /// `records` must always be the same whole data set: take a part of a half afterwards. Glyphs of another
    /// seed or number are another data set and need another name.
    ///
    /// # Errors
    /// [`DataError::Split`] and [`DataError::Request`] for a plan that does not fit the data set; [`DataError::Split`] for a
    /// file that was changed or that belongs to another plan or data set; [`DataError::Io`].
    pub fn load_or_create(
        folder: &Path,
        name: &str,
        records: &impl Splittable,
        plan: &SplitPlan,
    ) -> Result<Self, DataError> {
        check_name(name)?;
        let count = records.count();
        let public = public_count(name, count, plan.share)?;
        let no_classes = || {
            DataError::Split(format!(
                "{name}: its records have no classes to stratify by; split it without strata"
            ))
        };
        let strata = match plan.stratified {
            true => Some(records.strata().ok_or_else(no_classes)?),
            false => None,
        };
        let asked = Content {
            dataset: name.into(),
            records: count,
            sha256: records.sha256()?,
            seed: plan.seed,
            stratified: plan.stratified,
            public_records: public,
            private_records: count - public,
            ..Content::default()
        };

        let path = folder.join(format!("{name}{ENDING}"));
        if let Some(content) = Content::read(&path)? {
            return Self::checked(path, &content, &asked);
        }
        check_no_other_name(folder, &asked)?;
        let half = draw::public_half(count, public, strata.as_deref(), plan.seed);
        let text = asked.clone().with_public(&half).render();
        std::fs::create_dir_all(folder)
            .and_then(|()| atomic::create_new(&path, text.as_bytes()))
            .map_err(io(&path, "write the file"))?;
        // The file is read back even after writing it, so that all processes use the split of the first one.
        match Content::read(&path)? {
            Some(content) => Self::checked(path, &content, &asked),
            None => Err(damaged(&path, "it was removed as soon as it was written")),
        }
    }

    /// The indices of the public records, ascending; at least one.
    pub fn public(&self) -> &[usize] {
        &self.public
    }

    /// The indices of the private records, ascending; at least one.
    pub fn private(&self) -> &[usize] {
        &self.private
    }

    /// The SHA-256 of all records, which is as secret as they are.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The path of the split file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn checked(path: PathBuf, file: &Content, asked: &Content) -> Result<Self, DataError> {
        let data = [
            ("name", file.dataset.clone(), asked.dataset.clone()),
            (
                "number of records",
                file.records.to_string(),
                asked.records.to_string(),
            ),
        ];
        if let Some((what, file, data)) = data.into_iter().find(|(_, file, data)| file != data) {
            return Err(other_data(&path, what, &file, &data));
        }
        if file.sha256 != asked.sha256 {
            // The message leaves out the checksums, which are as secret as the records.
            return Err(DataError::Split(format!(
                "{}: made for records that hold something else; each data set, whole, has one name and one split: give \
                 the data and the name that belong together",
                path.display()
            )));
        }
        let sizes = |content: &Content| {
            format!(
                "{} public and {} private records",
                content.public_records, content.private_records
            )
        };
        let strata = |content: &Content| {
            let classes = if content.stratified {
                "each class"
            } else {
                "all records"
            };
            format!("a draw from {classes}")
        };
        let plan = [
            ("seed", file.seed.to_string(), asked.seed.to_string()),
            ("sizes", sizes(file), sizes(asked)),
            ("strata", strata(file), strata(asked)),
        ];
        if let Some((what, file, asked)) = plan.into_iter().find(|(_, file, asked)| file != asked) {
            return Err(DataError::Split(format!(
                "{}: made with {what} {file}, asked for {asked}; all runs on a data set share one public half: ask for \
                 {what} {file}",
                path.display()
            )));
        }
        let records = file.records();
        let (public, private) = records.map_err(|reason| damaged(&path, &reason))?;
        Ok(Self {
            sha256: file.sha256.clone(),
            path,
            public,
            private,
        })
    }
}

/// Refuses the same records under a second name, where they would have a second public half.
fn check_no_other_name(folder: &Path, asked: &Content) -> Result<(), DataError> {
    for path in uses::files(folder, ENDING)? {
        if let Some(content) = Content::read(&path)?
            && content.sha256 == asked.sha256
            // Another process may have written the file of this data set a moment ago.
            && content.dataset != asked.dataset
        {
            return Err(other_data(&path, "name", &content.dataset, &asked.dataset));
        }
    }
    Ok(())
}

fn other_data(path: &Path, what: &str, file: &str, data: &str) -> DataError {
    DataError::Split(format!(
        "{}: made for data whose {what} is {file}, this data's is {data}; each data set, whole, has one name and one \
         split: give the data and the name that belong together",
        path.display()
    ))
}

/// The error for a file that is not a whole split file or note of a use.
fn damaged(path: &Path, reason: &str) -> DataError {
    let path = path.display().to_string();
    DataError::Split(format!(
        "{path}: not a whole file: {reason}; {}",
        remedy(&path)
    ))
}

/// Returns the advice for a file that was changed. Nobody knows any more to which records it belongs, so it
/// stops the runs on every data set of its folder.
fn remedy(path: &str) -> &'static str {
    if path.ends_with(NOTE) {
        "restore the file that was written there, or remove it if nothing was published of any run on \
         the data set that it is named after"
    } else {
        "restore the file that was written there; remove it only if no run on the data set that it is \
         named after is kept: the next one draws another public half"
    }
}

fn check_name(name: &str) -> Result<(), DataError> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=64).contains(&name.len()) && name.bytes().all(letter) && !name.starts_with('.') {
        return Ok(());
    }
    Err(DataError::Split(format!(
        "data set name '{name}': expected 1 to 64 letters, digits, '-', '_' or '.', not starting with '.'; its split \
         file is named after it"
    )))
}

fn public_count(name: &str, records: usize, share: PublicShare) -> Result<usize, DataError> {
    if records < 2 {
        return Err(DataError::Split(format!(
            "{name}: {records} records, expected at least 2 to split; give it more"
        )));
    }
    let (what, asked) = match share {
        PublicShare::PrivateCount(private) => ("private half", private),
        PublicShare::Fraction(fraction) => {
            if !(fraction > 0.0 && fraction < 1.0) {
                return Err(DataError::Split(format!(
                    "public fraction {fraction}: expected more than 0 and less than 1; change it"
                )));
            }
            // A half rounds down, so that the odd record is private.
            let public = (fraction * records as f64 - 0.5).ceil();
            ("public half", public as usize)
        }
    };
    check_count(format!("{name}, {what}"), asked, records - 1)?;
    Ok(match share {
        PublicShare::PrivateCount(private) => records - private,
        PublicShare::Fraction(_) => asked,
    })
}
