//! A folder of photographs as the records of a run.

use std::path::Path;
use std::sync::Arc;

use data::split::Use;
use data::{ImageFolder, Split, SplitPlan};
use lab::diagnostic::Failure;
use lab::private;
use model::latent::DcganAutoencoder;

use lab::session::{Used, name_of_path, splits_folder};

use super::DataSplit;
use crate::records::{Records, Source};

/// One public photograph in so many is kept for the test.
const TEST_EVERY: usize = 5;
/// Test photographs, at most.
const MOST_TESTS: usize = 10_000;

/// Half of a folder is private; of the public half, a fifth is the test.
pub(crate) fn load(
    [records, public_records]: [Option<usize>; 2],
    data_dir: Option<&Path>,
    cache: &Path,
) -> Result<DataSplit, Failure> {
    let root = data_dir.ok_or_else(|| {
        Failure::input(
            "--dataset images: a folder of photographs is needed",
            "name it with --data-dir",
        )
    })?;
    let refuse = |e: data::DataError| {
        private::refused_of(
            "data-dir",
            &e,
            "give a folder of jpg and png files, at any depth",
        )
    };
    let folder = ImageFolder::scan(root, DcganAutoencoder::SIDE).map_err(refuse)?;
    let name = name_of_path("images", root);
    let plan = SplitPlan::default();
    let split =
        Split::load_or_create(&splits_folder(cache), &name, &folder, &plan).map_err(refuse)?;
    let used = Used {
        what: root.display().to_string(),
        name,
        sha256: split.sha256().into(),
        used: Use::Split,
    };
    let (test, public): (Vec<_>, Vec<_>) = split
        .public()
        .iter()
        .enumerate()
        .partition(|(place, _)| place % TEST_EVERY == TEST_EVERY - 1);
    let indices =
        |side: Vec<(usize, &usize)>| side.into_iter().map(|(_, &i)| i).collect::<Vec<_>>();
    let (test, public) = (indices(test), indices(public));
    if test.len() < 2 {
        let least = 4 * TEST_EVERY;
        return Err(Failure::input(
            format!(
                "--data-dir {}: {} photographs, at least {least} are needed",
                root.display(),
                folder.len()
            ),
            "give more photographs",
        ));
    }
    let source = Source::Folder(Arc::new(folder));
    Ok(DataSplit {
        private: Records::new(source.clone(), split.private().to_vec(), records),
        public: Records::new(source.clone(), public, public_records),
        test: Records::new(source, test, Some(MOST_TESTS)),
        public_name: format!("the public half of {}", root.display()),
        used: vec![used],
        classes: 1,
    })
}
