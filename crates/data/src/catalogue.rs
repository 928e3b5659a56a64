use std::borrow::Cow;

/// A published file whose size and SHA-256 are known before it is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedFile {
    /// The file's name, the same on disk and at every mirror.
    pub name: Cow<'static, str>,
    /// The subfolder of the data folder that holds it.
    pub folder: Cow<'static, str>,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256 as 64 lower-case hexadecimal digits.
    pub sha256: Cow<'static, str>,
}

const CATALOGUE: &str = include_str!("catalogue.txt");

/// The lines of the catalogue about one data set, each split into its fields.
fn lines(set: &str) -> impl Iterator<Item = Vec<&'static str>> {
    let fields = CATALOGUE.lines().map(|line| line.split(' ').collect());
    fields.filter(move |fields: &Vec<&str>| fields[0] == set)
}

/// The files of a data set: the training files, then as many test files.
pub(crate) fn files(set: &str) -> Vec<PinnedFile> {
    let file = |fields: Vec<&'static str>| match fields[..] {
        [folder, name, bytes, sha256] => Some(PinnedFile {
            name: name.into(),
            folder: folder.into(),
            bytes: bytes.parse().ok()?,
            sha256: sha256.into(),
        }),
        _ => None,
    };
    lines(set).filter_map(file).collect()
}

/// The addresses that serve the files of a data set, in the order in which to try them.
pub(crate) fn mirrors(set: &str) -> Vec<String> {
    let mirrors = lines(set).filter(|fields| fields.len() == 2);
    mirrors.map(|fields| fields[1].into()).collect()
}

/// Whether a published file of any data set has this SHA-256.
pub(crate) fn is_published(sha256: &str) -> bool {
    CATALOGUE.lines().any(|line| line.ends_with(sha256))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood() {
        for (set, count) in [
            ("mnist", 4),
            ("fashion-mnist", 4),
            ("usps", 2),
            ("cifar10", 2),
            ("adult", 2),
        ] {
            let files = files(set);
            assert_eq!(files.len(), count, "{set}");
            assert!(
                files
                    .iter()
                    .all(|file| file.sha256.len() == 64 && is_published(&file.sha256))
            );
            assert!(
                mirrors(set).iter().all(|mirror| mirror.ends_with('/')),
                "{set}"
            );
            assert_eq!(mirrors(set).is_empty(), set == "cifar10", "{set}");
        }
    }
}
