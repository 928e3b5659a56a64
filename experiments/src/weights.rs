//! The weights that a run leaves behind, in burn's format.

use burn::module::Module;
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;

/// Saves the weights as `model.bpk`, whole or not at all.
///
/// # Errors
///
/// [`Failure::Failed`] names the file and the cause.
pub fn save<M: Module>(folder: &RunFolder, model: &M) -> Result<(), Failure> {
    let (half, whole) = (folder.file("model.part.bpk"), folder.file("model.bpk"));
    model
        .clone()
        .save_file(&half)
        .map_err(|e| Failure::run(format!("{}: {e}", half.display())))?;
    std::fs::File::open(&half)
        .and_then(|file| file.sync_all())
        .and_then(|()| std::fs::rename(&half, &whole))
        .map_err(|e| Failure::run(format!("{}: {e}", whole.display())))
}
