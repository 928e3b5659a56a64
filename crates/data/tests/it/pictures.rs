//! Labelled images of anyone's own, in every form that they come in, and what is wrong with some.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use data::export::{Format, ImageWriter, Layout};
use data::{Asked, Classes, Form, Found, Records, Skipped, Units, idx, read_beyond};
use image::{ImageBuffer, Luma, Rgb, RgbImage};

use crate::{says, told};

fn public(side: usize, channels: usize) -> Asked {
    Asked {
        side: Some(side),
        channels: Some(channels),
        ..Asked::default()
    }
}

fn counted(classes: usize) -> Asked {
    Asked {
        classes: Classes::Counted(classes),
        ..Asked::default()
    }
}

/// In memory, and in a file: the same images, or the same fault.
fn read(path: &Path, public: &Asked) -> Result<Found, String> {
    let read = |in_memory| read_beyond(path, public, &|_| {}, in_memory).map_err(|e| told(&e));
    match (read(usize::MAX), read(1000)) {
        (Ok(memory), Ok(file)) => {
            assert_eq!(whole(&memory), whole(&file));
            let sum = whole(&file).sha256().unwrap();
            assert_eq!(
                [&memory, &file].map(|p| p.records.sha256().unwrap()),
                [&*sum; 2]
            );
            Ok(file)
        }
        (Err(memory), Err(file)) if memory == file => Err(file),
        other => panic!("{other:?}"),
    }
}

fn whole(pictures: &Found) -> Records {
    pictures.records.whole().unwrap()
}

fn save(folder: &Path, name: &str, red: u8) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    RgbImage::from_pixel(40, 32, Rgb([red, 0, 0]))
        .save(path)
        .unwrap();
}

/// The first value of each image, and its label.
fn firsts(pictures: &Found) -> Vec<(u8, u8)> {
    let images = whole(pictures);
    let pixels = images.pixels().unwrap();
    let first = pixels.iter().step_by(images.image_size());
    let labels = images.labels().iter().copied();
    first.copied().zip(labels).collect()
}

#[test]
fn a_folder_a_class_at_any_depth_and_a_folder_of_files() {
    let folder = tempfile::tempdir().unwrap();
    for (name, red) in [("cat/2.png", 2), ("cat/deep/1.png", 1), ("dog/1.PNG", 3)] {
        save(folder.path(), name, red);
    }
    let found = read(folder.path(), &public(32, 3)).unwrap();
    assert_eq!(
        (found.form, &found.classes[..]),
        (Form::Folders, &["cat".into(), "dog".into()][..])
    );
    assert_eq!(found.paths, ["cat/2.png", "cat/deep/1.png", "dog/1.PNG"]);
    assert_eq!(firsts(&found), [(2, 0), (1, 0), (3, 1)]);
    assert!(found.skipped.is_empty());
    let named = |names: &[&str]| Asked {
        classes: Classes::Named(names.iter().map(|name| name.to_string()).collect()),
        ..public(32, 3)
    };
    let turned = read(folder.path(), &named(&["dog", "cat"])).unwrap();
    assert_eq!(firsts(&turned), [(2, 1), (1, 1), (3, 0)]);
    says(
        &read(folder.path(), &named(&["dog", "cow"])).unwrap_err(),
        &["cat/2.png", "in no folder of a class"],
    );
    // Which classes of a list have no image is private: no error tells it.
    let more = read(folder.path(), &named(&["dog", "cat", "cow"])).unwrap();
    assert_eq!(whole(&more).class_sizes(), [1, 2, 0]);
    fs::create_dir(folder.path().join("empty")).unwrap();
    says(
        &read(folder.path(), &public(32, 3)).unwrap_err(),
        &["empty: a folder of a class is empty", "at least 1"],
    );
    let flat = read(&folder.path().join("cat/deep"), &public(32, 1)).unwrap();
    assert_eq!(
        (flat.form, flat.classes.len(), flat.records.shape()),
        (Form::Flat, 0, [1, 32, 32])
    );
    says(
        &read(&folder.path().join("cat/deep"), &named(&["a"])).unwrap_err(),
        &["a folder for each"],
    );
}

/// Sixteen bits, grey for colour and colour for grey, and a camera that was turned.
#[test]
fn depth_colour_and_orientation_are_those_of_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let deep: ImageBuffer<Luma<u16>, Vec<u16>> = ImageBuffer::from_pixel(8, 8, Luma([257 * 100]));
    deep.save(folder.path().join("deep.png")).unwrap();
    let all = Asked {
        levels: Some([0, 65535]),
        ..public(8, 3)
    };
    let found = read(folder.path(), &all).unwrap();
    assert_eq!(*found.records.pixels().unwrap(), [100; 192]);
    // White above and black below; EXIF tag 0x0112 says that it hangs upside down.
    let mut picture = RgbImage::from_pixel(16, 16, Rgb([255; 3]));
    (0..16).for_each(|x| (8..16).for_each(|y| picture.put_pixel(x, y, Rgb([0; 3]))));
    let mut jpeg = Vec::new();
    picture
        .write_to(
            &mut std::io::Cursor::new(&mut jpeg),
            image::ImageFormat::Jpeg,
        )
        .unwrap();
    let tag = [0x12, 0x01, 3, 0, 1, 0, 0, 0, 3, 0, 0, 0];
    let tiff = [&b"II*\0\x08\0\0\0\x01\0"[..], &tag, &[0; 4]].concat();
    let body = [&b"Exif\0\0"[..], &tiff].concat();
    let length = (body.len() as u16 + 2).to_be_bytes();
    let turned = [&jpeg[..2], &[0xff, 0xe1], &length, &body, &jpeg[2..]].concat();
    let own = tempfile::tempdir().unwrap();
    fs::write(own.path().join("turned.jpg"), turned).unwrap();
    let found = read(own.path(), &public(16, 1)).unwrap();
    let found = whole(&found);
    let pixels = found.pixels().unwrap();
    assert!(
        pixels[0] < 30 && pixels[255] > 225,
        "{} {}",
        pixels[0],
        pixels[255]
    );
}

#[test]
fn an_archive_is_the_folder_that_was_packed() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("all");
    for (name, red) in [("cat/1.png", 1), ("dog/1.png", 2)] {
        save(&folder, name, red);
    }
    let path = home.path().join("all.tar.gz");
    let gzip =
        flate2::write::GzEncoder::new(File::create(&path).unwrap(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(gzip);
    archive.append_dir_all("train", &folder).unwrap();
    archive.into_inner().unwrap().finish().unwrap();
    let (packed, plain) = (
        read(&path, &public(32, 3)).unwrap(),
        read(&folder, &public(32, 3)).unwrap(),
    );
    assert_eq!(whole(&packed), whole(&plain));
    assert_eq!((packed.paths, packed.classes), (plain.paths, plain.classes));
    let twice = home.path().join("twice.tar");
    let mut archive = tar::Builder::new(File::create(&twice).unwrap());
    for _ in 0..2 {
        archive
            .append_path_with_name(folder.join("cat/1.png"), "cat/1.png")
            .unwrap();
    }
    archive.finish().unwrap();
    drop(archive);
    says(
        &read(&twice, &public(32, 3)).unwrap_err(),
        &["cat/1.png: an image is in it twice"],
    );
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(read(&path, &public(32, 3)).is_err());
}

fn images() -> Records {
    let pixels = (0..3 * 32 * 32).map(|i| (i % 251) as u8).collect();
    Records::new(pixels, vec![0, 2, 1], 32, 32, 3).unwrap()
}

fn npz(path: &Path, parts: &[(&str, &str, &str, Vec<u8>)]) {
    let mut archive = zip::ZipWriter::new(File::create(path).unwrap());
    for (name, descr, shape, body) in parts {
        archive
            .start_file(*name, zip::write::SimpleFileOptions::default())
            .unwrap();
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        archive.write_all(b"\x93NUMPY\x01\x00").unwrap();
        archive
            .write_all(&(text.len() as u16).to_le_bytes())
            .unwrap();
        archive
            .write_all(&[text.as_bytes(), body].concat())
            .unwrap();
    }
    archive.finish().unwrap();
}

#[test]
fn arrays_say_their_size_and_are_told_their_classes() {
    let folder = tempfile::tempdir().unwrap();
    let (path, images) = (folder.path().join("a.npz"), images());
    let labels: Vec<u8> = images
        .labels()
        .iter()
        .flat_map(|&l| i64::from(l).to_le_bytes())
        .collect();
    let grey = (
        "images.npy",
        "|u1",
        "(3, 32, 32)",
        images.pixels().unwrap().to_vec(),
    );
    npz(
        &path,
        &[grey.clone(), ("labels.npy", "<i8", "(3,)", labels.clone())],
    );
    let found = read(&path, &counted(3)).unwrap();
    assert_eq!((&whole(&found), found.form), (&images, Form::Npz));
    assert_eq!(found.classes, ["0", "1", "2"]);
    assert_eq!([0, 1, 2].map(|place| found.name(place)), ["0", "1", "2"]);
    // Channels last become channels first.
    let last = images
        .pixels()
        .unwrap()
        .iter()
        .flat_map(|&p| [p, 0, 255])
        .collect();
    let colour = ("images.npy", "|u1", "(3, 32, 32, 3)", last);
    npz(&path, &[colour, ("labels.npy", "<i8", "(3,)", labels)]);
    let found = whole(&read(&path, &counted(3)).unwrap());
    assert_eq!(found.shape(), [3, 32, 32]);
    assert_eq!(
        found.image_bytes(1).unwrap()[..1024],
        images.pixels().unwrap()[1024..2048]
    );
    assert_eq!(found.image_bytes(1).unwrap()[2048..], [255; 1024]);
    says(
        &read(&path, &public(32, 3)).unwrap_err(),
        &["how many classes"],
    );
    says(&read(&path, &counted(2)).unwrap_err(), &["row 1", "0 to 1"]);
    says(
        &read(&path, &counted(300)).unwrap_err(),
        &["1 to 256", "257 or more"],
    );
    npz(
        &path,
        &[grey.clone(), ("labels.npy", "|u1", "(2,)", vec![0, 1])],
    );
    says(
        &read(&path, &counted(3)).unwrap_err(),
        &["2 labels", "expected 3"],
    );
    npz(&path, &[grey]);
    says(&read(&path, &counted(3)).unwrap_err(), &["labels"]);
    fs::write(&path, "no archive").unwrap();
    assert!(read(&path, &counted(3)).is_err());

    let at = |name: &str| folder.path().join(name);
    let (mut first, mut second) = (Vec::new(), Vec::new());
    idx::write_images(&mut first, &images).unwrap();
    idx::write_labels(&mut second, &images).unwrap();
    fs::write(at("own-images-idx3-ubyte.gz"), first).unwrap();
    says(
        &read(&at("own-images-idx3-ubyte.gz"), &counted(3)).unwrap_err(),
        &["own-labels-idx1-ubyte.gz"],
    );
    fs::write(at("own-labels-idx1-ubyte.gz"), second).unwrap();
    let found = read(&at("own-images-idx3-ubyte.gz"), &counted(3)).unwrap();
    assert_eq!((whole(&found), found.form), (images, Form::Idx));
    says(
        &read(&at("own-images-idx3-ubyte.gz"), &counted(2)).unwrap_err(),
        &["index 1", "0 to 1"],
    );
    let smaller = Asked {
        side: Some(28),
        channels: Some(3),
        ..counted(3)
    };
    assert_eq!(
        read(&at("own-images-idx3-ubyte.gz"), &smaller)
            .unwrap()
            .records
            .shape(),
        [3, 28, 28]
    );
    says(
        &read(&at("what"), &counted(3)).unwrap_err(),
        &["images-idx3"],
    );
}

#[test]
fn nothing_public_is_looked_up_and_damage_is_named() {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "cat/1.png", 1);
    says(
        &read(
            folder.path(),
            &Asked {
                side: None,
                ..public(1, 1)
            },
        )
        .unwrap_err(),
        &["side", "public"],
    );
    says(
        &read(
            folder.path(),
            &Asked {
                channels: None,
                ..public(32, 1)
            },
        )
        .unwrap_err(),
        &["grey or colour", "public"],
    );
    says(
        &read(folder.path(), &public(32, 2)).unwrap_err(),
        &["1 or 3", "found 2"],
    );
    let bytes = fs::read(folder.path().join("cat/1.png")).unwrap();
    fs::write(folder.path().join("cat/2.png"), &bytes[..bytes.len() - 20]).unwrap();
    says(
        &read(folder.path(), &public(32, 3)).unwrap_err(),
        &["cat/2.png", "damaged or cut off"],
    );
    let empty = tempfile::tempdir().unwrap();
    says(
        &read(empty.path(), &public(32, 3)).unwrap_err(),
        &["at least 1 image"],
    );
}

#[test]
fn units_are_named_for_each_image_and_bounded_each_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    for (name, red) in [
        ("cat/ann-1.png", 1),
        ("cat/ann-2.png", 2),
        ("cat/bob-1.png", 3),
        ("dog/ann-3.png", 4),
    ] {
        save(folder.path(), name, red);
    }
    let all = read(folder.path(), &public(32, 3)).unwrap();
    let by_name = |name: &str| Some(name.split(['/', '-']).nth(1)?.to_string());
    let units = Units::of_names(&all, by_name).unwrap();
    assert_eq!(units.count(), 2);
    let kept = |most| -> Vec<u8> {
        let images = units.bounded(&all.records, most).unwrap();
        let images = images.whole().unwrap();
        images
            .pixels()
            .unwrap()
            .iter()
            .step_by(images.image_size())
            .copied()
            .collect()
    };
    assert_eq!(
        (kept(9), kept(1).len(), kept(2).len()),
        (vec![1, 2, 3, 4], 2, 3)
    );
    assert!(kept(1).contains(&3));
    // Which images of one unit are kept depends on no other unit.
    let fewer = all.records.select(&[0, 1, 3]).unwrap();
    let ann = Units::of_texts(["ann"; 3]);
    let two = ann.bounded(&fewer, 2).unwrap().whole().unwrap();
    let two: Vec<u8> = two
        .pixels()
        .unwrap()
        .iter()
        .step_by(two.image_size())
        .copied()
        .collect();
    assert!(two.iter().all(|red| kept(2).contains(red)), "{two:?}");
    says(
        &Units::of_names(&all, |name| by_name(name).filter(|n| n != "bob")).unwrap_err(),
        &["cat/bob-1.png", "no unit"],
    );

    let path = folder.path().join("units.csv");
    let csv = "file,age,person\ncat/ann-1.png,3,ann\ncat/ann-2.png,4,ann\ncat/bob-1.png,3,bob\ndog/ann-3.png,5,ann\n";
    fs::write(&path, csv).unwrap();
    assert_eq!(Units::of_csv(&all, &path, Some("person")).unwrap(), units);
    assert_eq!(Units::of_csv(&all, &path, None).unwrap().count(), 3);
    let refused = |text: &str, column| {
        fs::write(&path, text).unwrap();
        told(&Units::of_csv(&all, &path, column).unwrap_err())
    };
    says(&refused(csv, Some("name")), &["no column name", "3"]);
    says(&refused("file\n1\n", None), &["no column the second"]);
    says(
        &refused(&csv.replace("cat/bob-1.png,3,bob\n", ""), None),
        &["cat/bob-1.png", "no unit"],
    );
    says(
        &refused(&format!("{csv}cat/bob-1.png,3,eve\n"), None),
        &["line 6", "there before"],
    );
}

/// Block by block, some of them, and the first ones: as of those in memory.
#[test]
fn what_is_taken_of_images_in_a_file_is_what_is_taken_of_those_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    for place in 0..7_u8 {
        save(
            folder.path(),
            &format!("{}/{place}.png", place % 3),
            9 * place,
        );
    }
    let mut images = read(folder.path(), &public(32, 3)).unwrap().records;
    let memory = images.whole().unwrap();
    for length in [1, 3, 7, 8] {
        let blocks: Vec<_> = images.blocks(length).map(Result::unwrap).collect();
        assert_eq!(blocks.len(), 7_usize.div_ceil(length));
        let part = |block: &Records| (block.pixels().unwrap().to_vec(), block.labels().to_vec());
        let (pixels, labels): (Vec<_>, Vec<_>) = blocks.iter().map(part).unzip();
        assert_eq!(
            (&*pixels.concat(), &*labels.concat()),
            (&*memory.pixels().unwrap(), memory.labels())
        );
    }
    let some = images.select(&[5, 0, 5]).unwrap().whole().unwrap();
    assert_eq!(some, memory.select(&[5, 0, 5]).unwrap());
    says(&images.select(&[7]).unwrap_err(), &["index 7", "0 to 6"]);
    images.truncate(2).unwrap();
    assert_eq!(images.whole().unwrap(), memory.select(&[0, 1]).unwrap());
    assert!(images.truncate(3).is_err());
}

/// In a process whose folder for temporary files is not there.
#[cfg(unix)] // Elsewhere other variables name the folder.
#[test]
fn a_temporary_file_that_cannot_be_written_is_an_error_that_says_where() {
    const NONE: &str = "/no/such/folder";
    if std::env::temp_dir() != Path::new(NONE) {
        let test = "pictures::a_temporary_file_that_cannot_be_written_is_an_error_that_says_where";
        let program = std::env::current_exe().unwrap();
        let mut again = std::process::Command::new(program);
        let ended = again.args([test, "--exact"]).env("TMPDIR", NONE).output();
        let said = String::from_utf8(ended.unwrap().stdout).unwrap();
        return assert!(said.contains("1 passed"), "{said}");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures-no-temporary-folder");
    save(&folder, "1.png", 1);
    let read = |in_memory| read_beyond(&folder, &public(8, 1), &|_| {}, in_memory);
    assert!(read(64).is_ok());
    says(&read(63).unwrap_err(), &[NONE, "TMPDIR"]);
}

/// Images of every form that people have: none is left out because of it.
#[test]
fn images_of_other_forms_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (class, ending) in (0..).zip(["png", "jpg", "bmp", "gif", "tiff", "TIF", "webp"]) {
        save(folder.path(), &format!("a/{class}.{ending}"), 200);
        save(folder.path(), &format!("b/{class}.{ending}"), 0);
    }
    let found = read(folder.path(), &public(8, 3)).unwrap();
    assert_eq!(
        found.records.labels(),
        [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    );
    let (reds, blacks) = firsts(&found)
        .into_iter()
        .partition::<Vec<_>, _>(|(_, label)| *label == 0);
    assert!(
        reds.iter().all(|(red, _)| red.abs_diff(200) < 6) && blacks.iter().all(|(red, _)| *red < 6)
    );
    assert!(found.skipped.is_empty());
    fs::write(folder.path().join("b/notes.txt"), "none").unwrap();
    let skipped = read(folder.path(), &public(8, 3)).unwrap().skipped;
    assert_eq!(
        (skipped.len(), skipped[0].count, &*skipped[0].name),
        (1, 1, "b/notes.txt")
    );
    fs::write(folder.path().join("a/IMG_1.HEIC"), "none").unwrap();
    let refused = read(folder.path(), &public(8, 3)).unwrap_err();
    says(
        &refused,
        &[
            "in it is a .heic image",
            "magick mogrify -format png *.heic",
            "a/IMG_1.HEIC",
        ],
    );
}

#[test]
fn a_zip_archive_is_read_as_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (inner, path) = (
        folder.path().join("inner"),
        folder.path().join("images.zip"),
    );
    for (name, red) in [("a/1.png", 10), ("a/2.png", 20), ("b/1.png", 30)] {
        save(&inner, name, red);
    }
    let names = [
        "around/b/1.png",
        "around/a/2.png",
        "around/a/1.png",
        "__MACOSX/a/._1.png",
        "around/readme.md",
    ];
    let pack = |names: &[&str], damage: bool| {
        let mut archive = zip::ZipWriter::new(File::create(&path).unwrap());
        for name in names {
            archive
                .start_file(*name, zip::write::SimpleFileOptions::default())
                .unwrap();
            let file = inner.join(name.trim_start_matches("around/"));
            archive
                .write_all(&fs::read(file).unwrap_or_default())
                .unwrap();
        }
        archive.finish().unwrap();
        if damage {
            let whole = fs::read(&path).unwrap();
            fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        }
    };
    pack(&names, false);
    let found = read(&path, &public(8, 3)).unwrap();
    assert_eq!(found.paths, ["a/1.png", "a/2.png", "b/1.png"]);
    assert_eq!(whole(&found), whole(&read(&inner, &public(8, 3)).unwrap()));
    pack(&names, true);
    says(
        &read(&path, &public(8, 3)).unwrap_err(),
        &["damaged or cut off; pack it again"],
    );
    // Nothing is left out without a word: a path that leads out of the archive, and a link.
    pack(&["../a/1.png", "around/a/1.png"], false);
    says(
        &read(&path, &public(8, 3)).unwrap_err(),
        &["a path in it leads out of it"],
    );
    let mut archive = zip::ZipWriter::new(File::create(&path).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    archive.add_symlink("a/1.png", "b/1.png", options).unwrap();
    archive.finish().unwrap();
    says(
        &read(&path, &public(8, 3)).unwrap_err(),
        &["an image in it is a link", "a/1.png"],
    );
}

/// Above the classes may lie the parts of a data set.
#[test]
fn parts_of_a_data_set_are_no_classes() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "train/a/1.png",
        "train/b/1.png",
        "Val/a/1.png",
        "Val/b/1.png",
    ] {
        save(folder.path(), name, 3);
    }
    let refused = read(folder.path(), &public(8, 3)).unwrap_err();
    says(
        &refused,
        &[
            "its folders Val, train are parts of a data set, expected classes; give one, such as",
            "/train",
        ],
    );
    assert_eq!(
        read(&folder.path().join("train"), &public(8, 3))
            .unwrap()
            .classes,
        ["a", "b"]
    );
    // Who names them says that they are classes.
    let named = Asked {
        classes: Classes::Named(vec!["train".into(), "Val".into()]),
        ..public(8, 3)
    };
    assert_eq!(
        read(folder.path(), &named).unwrap().records.labels(),
        [1, 1, 0, 0]
    );
    // Images beside their masks, those of COCO, and a folder of images alone.
    for names in [
        &["images/1.png", "masks/1.png"][..],
        &["train2017/1.png", "val2017/1.png", "annotations/a.json"],
        &["images/1.png"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            save(folder.path(), &name.replace(".json", ".png"), 3);
        }
        let refused = read(folder.path(), &public(8, 3)).unwrap_err();
        // The one that has the images.
        let one = folder.path().join(names[0].split('/').next().unwrap());
        let one = one.display().to_string();
        says(
            &refused,
            &[
                "parts of a data set, expected classes; give one, such as",
                &one,
            ],
        );
    }
    let packed = folder.path().join("a.tar");
    let pack = |names: &[&str]| {
        let mut archive = tar::Builder::new(File::create(&packed).unwrap());
        let image = folder.path().join("train/a/1.png");
        for name in names {
            archive.append_path_with_name(&image, name).unwrap();
        }
        archive.finish().unwrap();
        read(&packed, &public(8, 3))
    };
    says(
        &pack(&["test/1.png", "train/1.png"]).unwrap_err(),
        &["; pack train alone"],
    );
    let flat = pack(&["images/1.png", "images/2.png"]).unwrap();
    assert_eq!((flat.form, &*flat.paths[0]), (Form::Flat, "1.png"));
    assert_eq!(pack(&["cat/1.png", "cat/2.png"]).unwrap().classes, ["cat"]);
}

/// A file that is no image is named by its kind, wherever it lies. If there are more of them than images, the folder is refused.
#[test]
fn what_lies_among_images_is_passed_over_by_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let others = [
        "Thumbs.db",
        "a/desktop.ini",
        "__MACOSX/a/1.png",
        ".ipynb_checkpoints/1.png",
        "b/.1.png",
        "labels.csv",
        "b/1.xyz",
    ];
    for name in ["a/1.png", "b/1.JFIF"] {
        save(folder.path(), "x.png", 3);
        fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        fs::rename(folder.path().join("x.png"), folder.path().join(name)).unwrap();
    }
    for name in others {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "none").unwrap();
    }
    let kinds = |found: &Found| {
        let count = |kind: &str| {
            let of = |skipped: &&Skipped| skipped.reason.contains(kind);
            found.skipped.iter().find(of).unwrap().count
        };
        ["names end", "names start", "a system", "texts"].map(count)
    };
    let found = read(folder.path(), &public(8, 3)).unwrap();
    assert_eq!(
        (&*found.classes, found.records.len()),
        (&["a".into(), "b".into()][..], 2)
    );
    assert_eq!(kinds(&found), [1, 2, 3, 1]);
    // In an archive each file of such a folder counts.
    let path = folder.path().join("all.tar");
    let mut archive = tar::Builder::new(File::create(&path).unwrap());
    for name in others.iter().chain(&["a/1.png", "b/1.JFIF"]) {
        archive
            .append_path_with_name(folder.path().join(name), name)
            .unwrap();
    }
    archive.finish().unwrap();
    drop(archive);
    assert_eq!(kinds(&read(&path, &public(8, 3)).unwrap()), kinds(&found));
    fs::remove_file(&path).unwrap();
    for place in 2..4 {
        fs::write(folder.path().join(format!("b/{place}.xyz")), "none").unwrap();
    }
    says(
        &read(folder.path(), &public(8, 3)).unwrap_err(),
        &[
            "b/",
            ".xyz",
            "most files in it end as no image's: expected .png, .jpg,",
            "convert them, or move them away",
        ],
    );
}

/// Arrays as medmnist has them, with others beside them, come back by the same names, types and dimensions.
#[test]
fn an_archive_of_other_names_is_read_and_written_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let pixels: Vec<u8> = (0..12).collect();
    let labels: Vec<u8> = [2_i16, 0, 1].iter().flat_map(|l| l.to_le_bytes()).collect();
    let parts = [
        ("train_images.npy", "|u1", "(3, 2, 2, 1)", pixels.clone()),
        ("train_labels.npy", "<i2", "(3, 1)", labels.clone()),
        ("val_images.npy", "|u1", "(1, 2, 2, 1)", vec![9; 4]),
    ];
    npz(&path, &parts);
    let found = read(&path, &counted(3)).unwrap();
    assert_eq!(*found.records.pixels().unwrap(), pixels);
    assert_eq!(found.records.labels(), [2, 0, 1]);
    assert_eq!(
        (found.skipped.len(), &*found.skipped[0].name),
        (1, "val_images.npy")
    );
    let layout = Layout {
        count: 3,
        sides: [2, 2],
        channels: 1,
        labels: true,
        classes: Vec::new(),
        formats: vec![Format::Npz],
        arrays: found.arrays.clone(),
    };
    let mut writer = ImageWriter::create(folder.path(), &layout).unwrap();
    writer.append(&pixels, &[2, 0, 1]).unwrap();
    writer.finish().unwrap();
    let archive = fs::read(folder.path().join("images.npz")).unwrap();
    for (name, descr, shape, body) in &parts[..2] {
        let header = format!("'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, ");
        let place = |part: &[u8]| archive.windows(part.len()).position(|bytes| bytes == part);
        let [name, header, body] = [name.as_bytes(), header.as_bytes(), body].map(place);
        assert!(name.is_some() && name < header && header < body, "{descr}");
    }
    // Without labels there are no classes; without a name that is known, those that are there are named.
    npz(
        &path,
        &[("x_train.npy", "|u1", "(3, 2, 2)", pixels.clone())],
    );
    let found = read(&path, &Asked::default()).unwrap();
    assert_eq!(
        (found.classes.len(), found.arrays.images),
        (0, "x_train".into())
    );
    npz(&path, &[("faces.npy", "|u1", "(3, 2, 2)", pixels)]);
    says(
        &read(&path, &counted(3)).unwrap_err(),
        &[
            "no array is named images, train_images, x_train,",
            "found faces.npy; save it by",
        ],
    );
}

/// Twelve bits of sixteen: how many there are is said, and no image is looked at for it.
#[test]
fn levels_of_images_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let save = |white: u16| {
        let pixel = |x, _| Luma([[0, white, 1000, 2048][x as usize % 4]]);
        let deep: ImageBuffer<Luma<u16>, Vec<u16>> = ImageBuffer::from_fn(4, 4, pixel);
        deep.save(folder.path().join("deep.png")).unwrap();
    };
    let asked = Asked {
        levels: Some([0, 4095]),
        ..public(4, 1)
    };
    save(4095);
    let found = read(folder.path(), &asked).unwrap();
    assert_eq!(found.records.pixels().unwrap()[..4], [0, 255, 62, 128]);
    says(
        &read(folder.path(), &public(4, 1)).unwrap_err(),
        &[
            "an image in it has 16 bits",
            "say it: 4096 for 12 bits, 65536 for all",
            "deep.png",
        ],
    );
    save(4096);
    says(
        &read(folder.path(), &asked).unwrap_err(),
        &[
            "outside of the levels that were said, 0 to 4095; say others",
            "deep.png",
            "found 4096",
        ],
    );
    // Images of 8 bits beside them have no others.
    fs::remove_file(folder.path().join("deep.png")).unwrap();
    image::GrayImage::from_pixel(4, 4, Luma([77]))
        .save(folder.path().join("a.png"))
        .unwrap();
    assert_eq!(
        *read(folder.path(), &asked)
            .unwrap()
            .records
            .pixels()
            .unwrap(),
        [77; 16]
    );
}

/// Colour planes of floats come back as they were but for what bytes cannot hold.
#[test]
fn levels_of_arrays_are_said_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let values: Vec<f32> = (0..12).map(|i| i as f32 / 5.5 - 1.0).collect();
    let body = |values: &[f32]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let write = |values: &[f32]| npz(&path, &[("x.npy", "<f4", "(1, 3, 2, 2)", body(values))]);
    let asked = Asked {
        levels: Some([-1, 1]),
        ..Asked::default()
    };
    write(&values);
    says(
        &read(&path, &Asked::default()).unwrap_err(),
        &["images of type <f4 is public", "0..1 of floats"],
    );
    let found = read(&path, &asked).unwrap();
    let bytes = [0, 23, 46, 70, 93, 116, 139, 162, 185, 209, 232, 255];
    assert_eq!(*found.records.pixels().unwrap(), bytes);
    let layout = Layout {
        count: 1,
        sides: [2, 2],
        channels: 3,
        labels: false,
        classes: Vec::new(),
        formats: vec![Format::Npz],
        arrays: found.arrays.clone(),
    };
    let mut writer = ImageWriter::create(folder.path(), &layout).unwrap();
    let pixels: Vec<u8> = (0..4)
        .flat_map(|p| [p, p + 4, p + 8].map(|at| bytes[at]))
        .collect();
    writer.append(&pixels, &[]).unwrap();
    writer.finish().unwrap();
    let again = read(&folder.path().join("images.npz"), &asked).unwrap();
    assert_eq!((*again.records.pixels().unwrap()).to_vec(), bytes);
    assert_eq!(again.arrays, found.arrays);
    let archive = fs::read(folder.path().join("images.npz")).unwrap();
    let near = archive.windows(48).any(|window| {
        let read = window
            .as_chunks::<4>()
            .0
            .iter()
            .map(|&b| f32::from_le_bytes(b));
        read.zip(&values).all(|(a, b)| (a - b).abs() < 0.004)
    });
    assert!(near, "no values near {values:?}");
    write(&[&values[..11], &[1.5]].concat());
    says(
        &read(&path, &asked).unwrap_err(),
        &[
            "a value of an image is outside of the levels that were said, -1 to 1",
            "found 1.5",
        ],
    );
}

/// A column of labels is an array of them.
#[test]
fn labels_of_one_column_are_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let grey = ("images.npy", "|u1", "(3, 2, 2)", vec![7; 12]);
    npz(
        &path,
        &[grey.clone(), ("labels.npy", "|u1", "(3, 1)", vec![0, 1, 1])],
    );
    assert_eq!(
        read(&path, &counted(2)).unwrap().records.labels(),
        [0, 1, 1]
    );
    let text = ("labels.npy", "<U1", "(3,)", vec![0; 12]);
    npz(&path, &[grey.clone(), text]);
    says(
        &read(&path, &counted(2)).unwrap_err(),
        &["text or of objects", "numpy.unique(labels"],
    );
    npz(&path, &[grey, ("labels.npy", "|u1", "(3, 2)", vec![0; 6])]);
    says(
        &read(&path, &counted(2)).unwrap_err(),
        &["2 columns: expected one"],
    );
}
