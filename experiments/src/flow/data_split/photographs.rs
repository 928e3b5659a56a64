//! A folder of photographs as the private records of a run, beside a folder of public ones.

use std::path::Path;
use std::sync::Arc;

use data::ImageFolder;
use data::split::{Records as _, Use};
use lab::diagnostic::Failure;
use lab::private;
use lab::session::{Used, bounded, name_of_path};
use model::latent::DcganAutoencoder;

use super::DataSplit;
use crate::apart;
use crate::records::{Records, Source};

/// One public photograph in so many is kept for the test.
const TEST_EVERY: usize = 5;
/// Test photographs, at most.
const MOST_TESTS: usize = 10_000;

/// All photographs of `data_dir` are private, and all of `public` are public: a fifth of these is the test. Which photograph
/// is public is said by whoever puts it into a folder, and follows from no order of paths.
///
/// - `records`: what `--records` says, which a folder does not have.
pub(crate) fn load(
    [records, public_records]: [Option<usize>; 2],
    data_dir: Option<&Path>,
    public: &Path,
) -> Result<DataSplit, Failure> {
    let root = data_dir.ok_or_else(|| {
        Failure::input(
            "--dataset images: a folder of private photographs is needed",
            "name it with --data-dir",
        )
    })?;
    let bound = "the folder of the public photographs: move into it those that may be public";
    bounded("public", public.display(), public.is_dir(), bound)?;
    apart::check("public", public, root)?;
    let bound = "left out for a folder of photographs, all of which are private";
    bounded("records", records.unwrap_or(0), records.is_none(), bound)?;
    let scan = |flag: &str, folder: &Path| {
        ImageFolder::scan(folder, DcganAutoencoder::SIDE).map_err(|e| {
            private::refused_of(flag, &e, "give a folder of jpg and png files, at any depth")
        })
    };
    let (photographs, others) = (scan("data-dir", root)?, scan("public", public)?);
    let used = |path: &Path, folder: &ImageFolder, used| -> Result<Used, Failure> {
        let what = path.display().to_string();
        let name = name_of_path("images", path);
        Ok(Used::new(
            what,
            name,
            &folder.sha256().map_err(private::failed)?,
            used,
        ))
    };
    let used = vec![
        used(root, &photographs, Use::AllPrivate)?,
        used(public, &others, Use::AllPublic)?,
    ];
    let same = used[0].sha256 == used[1].sha256;
    let bound = "other photographs than the private ones";
    bounded("public", public.display(), !same, bound)?;
    let (test, shown): (Vec<_>, Vec<_>) =
        (0..others.len()).partition(|place| place % TEST_EVERY == TEST_EVERY - 1);
    let bound = format!("a folder of at least {} photographs", 2 * TEST_EVERY);
    bounded("public", public.display(), test.len() >= 2, &bound)?;
    let private = (0..photographs.len()).collect();
    let others = Source::Folder(Arc::new(others));
    Ok(DataSplit {
        private: Records::new(Source::Folder(Arc::new(photographs)), private, None),
        public: Records::new(others.clone(), shown, public_records),
        test: Records::new(others, test, Some(MOST_TESTS)),
        public_name: "the photographs that --public names".into(),
        used,
        classes: 1,
    })
}
