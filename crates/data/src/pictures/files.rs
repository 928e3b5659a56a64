//! Image files: a folder, or a tar archive.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use files::foreign::Decoder;
use flate2::read::MultiGzDecoder;
use rayon::prelude::*;

use super::{Classes, Form, MAX_CLASSES, Pictures, Public, check_classes};
use crate::error::{check_side, decoded, empty, io, unfit};
use crate::folder::{decode, scan};
use crate::{DataError, Stored, StoredImages};

/// The most bytes of all files of an archive: 4 GiB.
const MAX_BYTES: u64 = 4 << 30;

/// Files that are decoded at once.
const BLOCK: usize = 500;

/// A file by its path in the folder or the archive, with the place of its content where that was read already.
type Held = (PathBuf, Option<Range<usize>>);

/// The images of a folder, or of the `archive` of that name.
pub(super) fn read(
    path: &Path,
    archive: Option<&mut dyn Read>,
    public: &Public,
    done: &(dyn Fn(usize) + Sync),
    mut pixels: Stored<u8>,
) -> Result<Pictures, DataError> {
    let asked = |what, flag| {
        DataError::request(format!(
            "{}: {what} is public, and no file is asked for it; say {flag}",
            path.display()
        ))
    };
    let side = public
        .side
        .ok_or_else(|| asked("the side of the images", "a side"))?;
    let channels = public
        .channels
        .ok_or_else(|| asked("whether they are grey or colour", "1 or 3 channels"))?;
    check_side(side)?;
    if ![1, 3].contains(&channels) {
        return Err(unfit("channels of an image", "1 or 3", channels));
    }
    let mut contents = Stored::beyond(pixels.most);
    let (files, mut folders) = match archive {
        Some(reader) => (unpack(path, reader, &mut contents)?, BTreeSet::new()),
        None => listing(path)?,
    };
    if files.is_empty() {
        return Err(empty(
            path.display(),
            "jpg or png image, in it or in a folder in it",
        ));
    }
    // A folder of a class has a file, or a folder with one.
    let class = |file: &Path| {
        let mut parts = file.iter().map(|part| part.to_string_lossy().into_owned());
        parts.next().filter(|_| parts.next().is_some())
    };
    let mut of_files = Vec::with_capacity(files.len());
    for (file, _) in &files {
        of_files.push(class(file));
    }
    let flat = of_files.iter().all(Option::is_none);
    let listed = public.classes.listed()?;
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
    // What folders are called is public where their names are the classes, but only if they can be.
    let of_folders = public.classes == Classes::Folders;
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
        // Of names that are on a list, which ones have no image is private.
        let mut classes = (0..names.len()).filter(|_| of_folders);
        if let Some(class) = classes.find(|&class| !labels.contains(&(class as u8))) {
            let problem = "a folder of a class is empty: expected at least 1 jpg or png image; remove it, or give it some";
            return Err(refuse(path, problem, Path::new(&names[class])));
        }
    }
    let decoded = AtomicUsize::new(0);
    let image = |(file, held): &Held| {
        let bytes = match held {
            Some(place) => contents.read(place.clone())?,
            None => Cow::Owned(decode::read(path, file)?),
        };
        let image = decode::square(decode::image(path, file, &bytes)?, side, channels);
        done(1 + decoded.fetch_add(1, Ordering::Relaxed));
        Ok(image)
    };
    for part in files.chunks(BLOCK) {
        let images: Result<Vec<Vec<u8>>, DataError> = part.par_iter().map(image).collect();
        pixels.add(&images?.concat())?;
    }
    let paths = files.iter().map(|(file, _)| {
        let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
        parts.join("/")
    });
    Ok(Pictures {
        images: StoredImages::new(pixels, labels, [channels, side, side], names.len().max(1))?,
        paths: paths.collect(),
        form: if flat { Form::Flat } else { Form::Folders },
        classes: names,
    })
}

/// A file or a folder in the input is none that can be taken.
fn refuse(input: &Path, problem: &str, found: &Path) -> DataError {
    DataError::file(format!("{}: {problem}", input.display()))
        .telling(format!("{}: {problem}", input.join(found).display()))
}

/// The files of a folder, and the names of the folders in it.
fn listing(root: &Path) -> Result<(Vec<Held>, BTreeSet<String>), DataError> {
    let mut folders = BTreeSet::new();
    let unreadable = io(root, "read the folder");
    for entry in fs::read_dir(root).map_err(&unreadable)? {
        let entry = entry.map_err(&unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && entry.file_type().map_err(&unreadable)?.is_dir() {
            folders.insert(name);
        }
    }
    let files = scan::images(root)?;
    Ok((
        files.into_iter().map(|file| (file, None)).collect(),
        folders,
    ))
}

/// The image files of a tar archive, without a folder that is around all of them, in the order of their paths.
fn unpack(
    path: &Path,
    reader: &mut dyn Read,
    contents: &mut Stored<u8>,
) -> Result<Vec<Held>, DataError> {
    let shown = path.display().to_string();
    // What is said of a damaged archive may quote the name of a file in it.
    let failed = |error: std::io::Error| {
        let error = io(path, "read the archive")(error);
        error.hidden(&format!(
            "{shown}: cannot read the archive: it is damaged or cut off; pack it again"
        ))
    };
    let mut reader = BufReader::new(reader);
    let gzip = reader
        .fill_buf()
        .map_err(&failed)?
        .starts_with(&[0x1f, 0x8b]);
    let reader: Box<dyn Read> = match gzip {
        true => Box::new(Decoder(MultiGzDecoder::new(reader))),
        false => Box::new(reader),
    };
    let (mut files, mut total): (Vec<Held>, u64) = (Vec::new(), 0);
    let mut archive = tar::Archive::new(reader);
    let mut entries = decoded(&shown, || archive.entries().map_err(&failed))?;
    loop {
        let next = decoded(&shown, || {
            let Some(entry) = entries.next().transpose().map_err(&failed)? else {
                return Ok(None);
            };
            let name = entry.path().map_err(&failed)?.into_owned();
            Ok(Some((name, entry.header().entry_type(), entry)))
        });
        let Some((name, kind, entry)) = next? else {
            break;
        };
        let hidden = name
            .iter()
            .any(|part| part.as_encoded_bytes().starts_with(b".") && part != ".");
        if kind.is_dir() || hidden || !scan::is_image(&name) {
            continue;
        }
        if !kind.is_file() {
            let problem = "an image in it is a link; pack the images themselves";
            return Err(refuse(path, problem, &name));
        }
        let mut bytes = Vec::new();
        Decoder(entry)
            .take(MAX_BYTES - total + 1)
            .read_to_end(&mut bytes)
            .map_err(&failed)?;
        total += bytes.len() as u64;
        if total > MAX_BYTES {
            return Err(unfit(
                &format!("{shown}: bytes of images"),
                format!("at most {MAX_BYTES}"),
                "more",
            ));
        }
        contents.add(&bytes)?;
        files.push((
            name.iter().filter(|part| *part != ".").collect(),
            Some(contents.len() - bytes.len()..contents.len()),
        ));
    }
    let around = |files: &[Held]| {
        let first = files.first()?.0.iter().next()?.to_owned();
        let inside =
            |(file, _): &Held| file.iter().next() == Some(&first) && file.iter().count() > 2;
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
        return Err(refuse(path, problem, &twice[0].0));
    }
    Ok(files)
}
