//! Reads the image files of a folder or an archive.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use files::foreign::Decoder;
use flate2::read::MultiGzDecoder;
use rayon::prelude::*;
use zip::ZipArchive;

use super::{
    Arrays, Asked, Classes, Form, Found, MAX_CLASSES, Skipped, check_classes, decode, no_image,
    scan,
};
use crate::error::{check_count, check_side, decoded, index, io, unfit};
use crate::{DataError, Records, Stored};

/// The most bytes of all files of an archive: 4 GiB.
const MAX_BYTES: u64 = 4 << 30;

/// The number of files that are decoded at once.
const BLOCK: usize = 500;

/// The names of the parts of a data set, which lie above its classes or beside each other; a year may follow them.
const PARTS: [&str; 21] = [
    "train",
    "training",
    "test",
    "testing",
    "val",
    "valid",
    "validation",
    "dev",
    "images",
    "image",
    "imgs",
    "img",
    "jpegimages",
    "masks",
    "mask",
    "labels",
    "annotations",
    "segmentations",
    "ground_truth",
    "groundtruth",
    "gt",
];

fn is_part(folder: &str) -> bool {
    let name = folder.to_lowercase();
    PARTS.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit()))
}

const LINK: &str = "an image in it is a link; pack the images themselves";

/// The path of a file in the folder or the archive, with the place of its content if that was read already.
type Held = (PathBuf, Option<Range<usize>>);

/// An archive.
pub(super) enum Packed<'a> {
    Tar(&'a mut dyn Read),
    Zip(File),
}

/// Reads the images of a folder, or of the `archive` of that name.
pub(super) fn read(
    path: &Path,
    archive: Option<Packed<'_>>,
    asked: &Asked,
    done: &(dyn Fn(usize) + Sync),
    mut pixels: Stored<u8>,
) -> Result<Found, DataError> {
    let unsaid = |what, flag| {
        DataError::request(format!(
            "{}: {what} is public, and no file is asked for it; say {flag}",
            path.display()
        ))
    };
    let side = asked
        .side
        .ok_or_else(|| unsaid("the side of the images", "a side"))?;
    let channels = asked
        .channels
        .ok_or_else(|| unsaid("whether they are grey or colour", "1 or 3 channels"))?;
    check_side(side)?;
    if ![1, 3].contains(&channels) {
        return Err(unfit("channels of an image", "1 or 3", channels));
    }
    let mut contents = Stored::beyond(pixels.most);
    let packed = archive.is_some();
    let (mut files, mut folders, skipped) = match archive {
        Some(archive) => {
            let (files, skipped) = match archive {
                Packed::Tar(archive) => untar(path, archive, &mut contents)?,
                Packed::Zip(archive) => unzip(path, archive, &mut contents)?,
            };
            (files, BTreeSet::new(), skipped)
        }
        None => {
            let scanned = scan::images(path)?;
            let files = scanned.files.into_iter().map(|file| (file, None));
            (files.collect(), scanned.folders, scanned.skipped)
        }
    };
    if files.is_empty() {
        return Err(no_image(path));
    }
    // A few files of other formats may lie beside images; if there are many, they may be the images.
    let others = skipped.iter().find(|passed| passed.reason == scan::OTHER);
    if let Some(others) = others.filter(|others| others.count > files.len()) {
        let problem = "most files in it end as no image's: expected .png, .jpg, .bmp, .gif, .tif, .webp; convert them, or \
                       move them away";
        return Err(refuse(path, problem, Path::new(&others.name)));
    }
    if let Some(first) = asked.first {
        check_count(path.display(), first, files.len())?;
        files.truncate(first);
    }
    if let Some(places) = &asked.places {
        let file = |&place: &usize| {
            let none = || index(path.display(), place, files.len());
            files.get(place).cloned().ok_or_else(none)
        };
        files = places.iter().map(file).collect::<Result<_, _>>()?;
    }
    // The folder of a class holds a file, or a folder with a file.
    let class = |file: &Path| {
        let mut parts = file.iter().map(|part| part.to_string_lossy().into_owned());
        parts.next().filter(|_| parts.next().is_some())
    };
    let mut of_files = Vec::with_capacity(files.len());
    for (file, _) in &files {
        of_files.push(class(file));
    }
    let unread = asked.classes == Classes::Unread;
    let flat = unread || of_files.iter().all(Option::is_none);
    let listed = asked.classes.listed()?;
    let names = match (listed, flat) {
        (Some(_), true) => {
            return Err(unfit(
                &format!("{}: classes", path.display()),
                "a folder for each",
                "files without",
            ));
        }
        (Some(names), false) => names,
        (None, true) => Vec::new(),
        (None, false) => {
            folders.extend(of_files.iter().flatten().cloned());
            folders.iter().cloned().collect()
        }
    };
    let mut labels = vec![0; files.len()];
    // The names of folders are public if they are the classes, but only if they can be classes.
    let of_folders = asked.classes == Classes::Folders;
    if of_folders && !names.is_empty() && names.iter().all(|name| is_part(name)) {
        let held = names
            .iter()
            .find(|name| name.starts_with("train") || name.starts_with("im"));
        let one = held.unwrap_or(&names[0]);
        let one = match packed {
            true => format!("pack {one} alone"),
            false => format!("give one, such as {}", path.join(one).display()),
        };
        let problem = format!(
            "its folders {} are parts of a data set, expected classes; {one}, or name them if they are the classes",
            names.join(", ")
        );
        return Err(DataError::file(format!("{}: {problem}", path.display())));
    }
    if !flat {
        check_classes(&names).map_err(|e| match of_folders {
            true => e.hidden(&format!(
                "{}: the names of its folders are no classes: expected 1 to {MAX_CLASSES} names, none with a \\; rename \
                 them, or name the classes",
                path.display()
            )),
            false => e,
        })?;
        for ((label, class), (file, _)) in labels.iter_mut().zip(&of_files).zip(&files) {
            let place = class
                .as_ref()
                .and_then(|class| names.iter().position(|name| name == class));
            let problem = "an image lies in no folder of a class; move it, or name its class";
            *label = place.ok_or_else(|| refuse(path, problem, file))? as u8;
        }
        // If the names are given as a list, it is private which of them have no image.
        let mut classes = (0..names.len()).filter(|_| of_folders);
        if let Some(class) = classes.find(|&class| !labels.contains(&(class as u8))) {
            let problem = "a folder of a class is empty: expected at least 1 image; remove it, or give it some";
            return Err(refuse(path, problem, Path::new(&names[class])));
        }
    }
    let decoded = AtomicUsize::new(0);
    let image = |(file, held): &Held| {
        let bytes = match held {
            Some(place) => contents.read(place.clone())?,
            None => Cow::Owned(decode::read(path, file)?),
        };
        let image = decode::square(
            decode::image(path, file, &bytes, asked.levels)?,
            side,
            channels,
        );
        done(1 + decoded.fetch_add(1, Ordering::Relaxed));
        Ok(image)
    };
    for part in files.chunks(BLOCK) {
        let images: Vec<Result<Vec<u8>, DataError>> = part.par_iter().map(image).collect();
        // Of several errors the first is returned, whichever thread is faster.
        let images = images.into_iter().collect::<Result<Vec<_>, _>>()?;
        pixels.add(&images.concat())?;
    }
    let paths = files.iter().map(|(file, _)| {
        let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
        parts.join("/")
    });
    Ok(Found {
        records: Records::planes(pixels, labels, [channels, side, side], names.len().max(1))?,
        paths: paths.collect(),
        form: if flat { Form::Flat } else { Form::Folders },
        arrays: Arrays::default(),
        classes: names,
        skipped,
    })
}

/// The error for a file or a folder in the input that cannot be used.
fn refuse(input: &Path, problem: &str, found: &Path) -> DataError {
    DataError::file(format!("{}: {problem}", input.display()))
        .telling(format!("{}: {problem}", input.join(found).display()))
}

/// The image files of an archive.
struct Unpacked<'a> {
    path: &'a Path,
    contents: &'a mut Stored<u8>,
    files: Vec<Held>,
    skipped: Vec<Skipped>,
    total: u64,
}

impl<'a> Unpacked<'a> {
    fn new(path: &'a Path, contents: &'a mut Stored<u8>) -> Self {
        Self {
            path,
            contents,
            files: Vec::new(),
            skipped: Vec::new(),
            total: 0,
        }
    }

    /// Hides the message about a damaged archive, which may quote the name of a file in it.
    fn failed(&self, error: std::io::Error) -> DataError {
        let shown = self.path.display();
        io(self.path, "read the archive")(error).hidden(&format!(
            "{shown}: cannot read the archive: it is damaged or cut off; pack it again"
        ))
    }

    /// Whether a file is an image to read.
    fn takes(&mut self, name: &Path) -> Result<bool, DataError> {
        let reason = match scan::made_by_itself(name) {
            Some(reason) => reason,
            None if scan::is_image(name) => return Ok(true),
            None => scan::no_image(self.path, name)?,
        };
        Skipped::count(&mut self.skipped, reason, name);
        Ok(false)
    }

    fn add(&mut self, name: &Path, entry: impl Read) -> Result<(), DataError> {
        let mut bytes = Vec::new();
        Decoder(entry)
            .take(MAX_BYTES - self.total + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.failed(error))?;
        self.total += bytes.len() as u64;
        if self.total > MAX_BYTES {
            return Err(unfit(
                &format!("{}: bytes of images", self.path.display()),
                format!("at most {MAX_BYTES}"),
                "more",
            ));
        }
        self.contents.add(&bytes)?;
        self.files.push((
            name.iter().filter(|part| *part != ".").collect(),
            Some(self.contents.len() - bytes.len()..self.contents.len()),
        ));
        Ok(())
    }

    /// Returns all image files in the order of their paths, without a folder around all of them.
    fn all(self) -> Result<(Vec<Held>, Vec<Skipped>), DataError> {
        let mut files = self.files;
        let around = |files: &[Held]| {
            let first = files.first()?.0.iter().next()?.to_owned();
            // A single folder of images may be a class, unless it has the name of a part of a data set.
            let least = if is_part(&first.to_string_lossy()) {
                1
            } else {
                2
            };
            let inside = |(file, _): &Held| {
                file.iter().next() == Some(&first) && file.iter().count() > least
            };
            files.iter().all(inside).then_some(first)
        };
        if let Some(around) = around(&files) {
            for (file, _) in &mut files {
                *file = file.strip_prefix(&around).unwrap_or(file).to_path_buf();
            }
        }
        files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        if let Some(twice) = files.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let problem = "an image is in it twice; pack each image once";
            return Err(refuse(self.path, problem, &twice[0].0));
        }
        Ok((files, self.skipped))
    }
}

/// Unpacks the image files of a tar archive.
fn untar(
    path: &Path,
    reader: &mut dyn Read,
    contents: &mut Stored<u8>,
) -> Result<(Vec<Held>, Vec<Skipped>), DataError> {
    let shown = path.display().to_string();
    let mut unpacked = Unpacked::new(path, contents);
    let mut reader = BufReader::new(reader);
    let start = reader.fill_buf().map_err(|error| unpacked.failed(error))?;
    let gzip = start.starts_with(&[0x1f, 0x8b]);
    let reader: Box<dyn Read> = match gzip {
        true => Box::new(Decoder(MultiGzDecoder::new(reader))),
        false => Box::new(reader),
    };
    let mut archive = tar::Archive::new(reader);
    let entries = decoded(&shown, || Ok(archive.entries()));
    let mut entries = entries?.map_err(|error| unpacked.failed(error))?;
    loop {
        let next = decoded(&shown, || {
            let Some(entry) = entries.next() else {
                return Ok(Ok(None));
            };
            let named = entry.and_then(|entry| {
                let name = entry.path()?.into_owned();
                Ok(Some((name, entry.header().entry_type(), entry)))
            });
            Ok(named)
        });
        let Some((name, kind, entry)) = next?.map_err(|error| unpacked.failed(error))? else {
            return unpacked.all();
        };
        if kind.is_dir() || !unpacked.takes(&name)? {
            continue;
        }
        if !kind.is_file() {
            return Err(refuse(path, LINK, &name));
        }
        unpacked.add(&name, entry)?;
    }
}

/// Unpacks the image files of a zip archive.
fn unzip(
    path: &Path,
    archive: File,
    contents: &mut Stored<u8>,
) -> Result<(Vec<Held>, Vec<Skipped>), DataError> {
    let shown = path.display().to_string();
    let mut unpacked = Unpacked::new(path, contents);
    let damaged = |_: zip::result::ZipError| std::io::Error::from(std::io::ErrorKind::InvalidData);
    let archive = decoded(&shown, || Ok(ZipArchive::new(archive).map_err(damaged)));
    let mut archive = archive?.map_err(|error| unpacked.failed(error))?;
    for place in 0..archive.len() {
        let entry = decoded(&shown, || Ok(archive.by_index(place).map_err(damaged)));
        let entry = entry?.map_err(|error| unpacked.failed(error))?;
        if entry.is_dir() {
            continue;
        }
        let Some(name) = entry.enclosed_name() else {
            let problem = "a path in it leads out of it; pack the images again";
            return Err(refuse(path, problem, Path::new("..")));
        };
        if !unpacked.takes(&name)? {
            continue;
        }
        if !entry.is_file() {
            return Err(refuse(path, LINK, &name));
        }
        unpacked.add(&name, entry)?;
    }
    unpacked.all()
}
