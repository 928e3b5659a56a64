//! Folders of images: what is found, in which order, and what becomes of it.

use std::fs;
use std::path::Path;

use data::{Asked, Classes, DataError, Found, count_files, read};
use image::{GrayImage, Luma, Rgb, RgbImage, Rgba, RgbaImage};

use crate::told;

fn save(image: &RgbImage, folder: &Path, name: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    image.save(path).unwrap();
}

fn plain(red: u8, green: u8, blue: u8) -> RgbImage {
    RgbImage::from_pixel(4, 4, Rgb([red, green, blue]))
}

fn asked(side: usize) -> Asked {
    Asked {
        side: Some(side),
        channels: Some(3),
        classes: Classes::Unread,
        ..Asked::default()
    }
}

/// All photographs of a folder.
fn scan(folder: &Path, side: usize) -> Result<Found, DataError> {
    read(folder, &asked(side), &|_| {})
}

/// Those at these places.
fn at(folder: &Path, side: usize, places: &[usize]) -> Result<Vec<f32>, DataError> {
    let asked = Asked {
        places: Some(places.to_vec()),
        ..asked(side)
    };
    read(folder, &asked, &|_| {})?.records.values()
}

#[test]
fn images_are_found_in_the_order_of_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    for (number, name) in [
        "b/2.png",
        "b/10.png",
        "a.PNG",
        "b.png",
        "a/z/1.jpeg",
        "a/0.JPG",
    ]
    .into_iter()
    .enumerate()
    {
        save(&plain(number as u8, 0, 0), folder.path(), name);
    }
    for name in ["notes.txt", ".hidden.png", "._2.png", ".cache/1.png", "png"] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "not an image").unwrap();
    }
    fs::create_dir(folder.path().join("folder.png")).unwrap();
    #[cfg(unix)]
    {
        let link = folder.path().join("b/above");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        let error = scan(folder.path(), 4).unwrap_err();
        assert!(
            told(&error).contains("above: a link to a folder"),
            "{error}"
        );
        fs::remove_file(link).unwrap();
    }
    let set = scan(folder.path(), 4).unwrap();
    let names = [
        "a/0.JPG",
        "a/z/1.jpeg",
        "a.PNG",
        "b/10.png",
        "b/2.png",
        "b.png",
    ];
    assert_eq!(set.paths, names);
    let mut skipped = set.skipped.clone();
    skipped.sort_by_key(|skipped| skipped.reason);
    let skipped: Vec<_> = skipped.iter().map(|s| (s.count, s.reason)).collect();
    assert_eq!(
        skipped,
        [
            (1, "files whose names end as no image's"),
            (3, "files whose names start with a dot"),
            (
                1,
                "texts and tables, such as .txt, .csv and .json: classes are read of folders alone"
            ),
        ]
    );
    let set = set.records;
    assert_eq!((set.len(), set.image_size(), set.classes()), (6, 48, 1));
    let first_red: Vec<f32> = (2..6)
        .map(|i| set.gather(&[i]).unwrap()[0] * 255.0)
        .collect();
    for (found, number) in first_red.iter().zip([2.0, 1.0, 0.0, 3.0]) {
        assert!((found - number).abs() < 1e-4, "{first_red:?}");
    }
}

#[test]
fn channels_come_one_after_the_other_and_batches_in_the_order_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut image = plain(0, 51, 255);
    image.put_pixel(1, 0, Rgb([102, 0, 0]));
    save(&image, folder.path(), "1.png");
    save(&plain(255, 255, 255), folder.path(), "2.png");
    let set = scan(folder.path(), 4).unwrap().records;
    let values = set.gather(&[1, 0, 1]).unwrap();
    assert_eq!(values.len(), 3 * 48);
    assert_eq!(values[..48], [1.0; 48]);
    assert_eq!(values[96..], [1.0; 48]);
    let image = &values[48..96];
    assert_eq!(image[..3], [0.0, 0.4, 0.0]);
    assert_eq!(image[16..19], [0.2, 0.0, 0.2]);
    assert_eq!(image[32..35], [1.0, 0.0, 1.0]);

    assert!(set.gather(&[]).unwrap().is_empty());
}

/// CelebA's 178 x 218: 20 rows are cut off above and below.
#[test]
fn the_middle_square_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let image = RgbImage::from_fn(178, 218, |x, y| {
        let inside = (20..198).contains(&y);
        Rgb([if inside { 0 } else { 255 }, x as u8, y as u8])
    });
    save(&image, folder.path(), "celeb.png");
    let set = scan(folder.path(), 178).unwrap().records;
    let values = set.gather(&[0]).unwrap();
    let plane = 178 * 178;
    assert!(values[..plane].iter().all(|&red| red == 0.0));
    assert_eq!(values[plane], 0.0);
    assert_eq!(values[2 * plane], 20.0 / 255.0);
    assert_eq!(values[3 * plane - 1], 197.0 / 255.0);
    // Wide: five columns too many, two are cut off on the left.
    let image = RgbImage::from_fn(10, 5, |x, _| Rgb([x as u8, 0, 0]));
    save(&image, folder.path(), "wide.png");
    let set = scan(folder.path(), 5).unwrap().records;
    let row: Vec<f32> = set.gather(&[1]).unwrap()[..5]
        .iter()
        .map(|v| v * 255.0)
        .collect();
    for (found, column) in row.iter().zip([2.0, 3.0, 4.0, 5.0, 6.0]) {
        assert!((found - column).abs() < 1e-4, "{row:?}");
    }
}

/// Halving by a triangle filter of radius 2: weights 1, 3, 3, 1 of 8 along each axis. A ramp of
/// slope 10 stays one of slope 20; inside, each value is the mean of the pair it covers.
#[test]
fn resizing_averages() {
    let folder = tempfile::tempdir().unwrap();
    let image = RgbImage::from_fn(8, 8, |x, y| Rgb([10 * x as u8, 10 * y as u8, 200]));
    save(&image, folder.path(), "ramp.png");
    let set = scan(folder.path(), 4).unwrap().records;
    let values = set.gather(&[0]).unwrap();
    for place in 0..16 {
        let (column, row) = (place % 4, place / 4);
        let (red, green) = (values[place] * 255.0, values[16 + place] * 255.0);
        if (1..3).contains(&column) {
            assert!((red - (20 * column + 5) as f32).abs() < 0.6, "{red}");
        }
        if (1..3).contains(&row) {
            assert!((green - (20 * row + 5) as f32).abs() < 0.6, "{green}");
        }
        assert_eq!(values[32 + place], 200.0 / 255.0);
    }
    // Small images are enlarged.
    let set = scan(folder.path(), 64).unwrap().records;
    let values = set.gather(&[0]).unwrap();
    assert_eq!(values.len(), 3 * 64 * 64);
    assert!(values.iter().all(|value| (0.0..=1.0).contains(value)));
}

#[test]
fn grey_is_repeated_and_what_is_transparent_is_white() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    GrayImage::from_pixel(2, 2, Luma([51]))
        .save(path("1.png"))
        .unwrap();
    RgbaImage::from_pixel(2, 2, Rgba([255, 0, 51, 0]))
        .save(path("2.png"))
        .unwrap();
    // A name may lie about the format.
    fs::copy(path("1.png"), path("3.jpg")).unwrap();
    let set = scan(folder.path(), 2).unwrap().records;
    assert_eq!(set.gather(&[0]).unwrap(), [0.2; 12]);
    let four = |value: f32| [value; 4];
    assert_eq!(
        set.gather(&[1]).unwrap(),
        [four(1.0), four(1.0), four(1.0)].concat()
    );
    assert_eq!(set.gather(&[2]).unwrap(), [0.2; 12]);
}

#[test]
fn a_photograph_survives_jpeg() {
    let folder = tempfile::tempdir().unwrap();
    let image = RgbImage::from_fn(64, 64, |x, y| Rgb([3 * x as u8, 3 * y as u8, 100]));
    save(&image, folder.path(), "1.jpg");
    save(&image, folder.path(), "2.png");
    let set = scan(folder.path(), 64).unwrap().records;
    let (jpg, png) = (set.gather(&[0]).unwrap(), set.gather(&[1]).unwrap());
    let worst = jpg
        .iter()
        .zip(&png)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(worst < 0.08, "{worst}");
}

/// A folder with good images 1 and 4, and four files that are none.
fn damaged() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    let image = RgbImage::from_fn(64, 64, |x, y| Rgb([(x * y) as u8, (x ^ y) as u8, 9]));
    save(&image, folder.path(), "1.png");
    save(&image, folder.path(), "4.jpg");
    let bytes = fs::read(path("1.png")).unwrap();
    fs::write(path("2.png"), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(path("3.png"), "text").unwrap();
    fs::write(path("5.jpg"), &fs::read(path("4.jpg")).unwrap()[..1500]).unwrap();
    fs::write(path("6.jpg"), "").unwrap();
    folder
}

/// A decoder's own words may quote a file: those of a PNG with a wrong checksum give both.
#[test]
fn a_decoders_words_are_not_passed_on() {
    let folder = damaged();
    let path = folder.path().join("1.png");
    let mut bytes = fs::read(&path).unwrap();
    // The checksum of its header.
    bytes[29] ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = at(folder.path(), 8, &[0]).unwrap_err();
    let message = "1.png: cannot be read as an image: its content is damaged or cut off; ";
    assert!(told(&error).contains(message), "{error}");
    assert!(!format!("{error} {error:?}").contains("1.png"));
}

#[test]
fn an_unreadable_file_is_named_when_it_is_asked_for() {
    let folder = damaged();
    assert_eq!(count_files(folder.path()).unwrap(), 6);
    at(folder.path(), 8, &[0, 3]).unwrap();
    for (index, name) in [(1, "2.png"), (2, "3.png"), (4, "5.jpg"), (5, "6.jpg")] {
        let error = at(folder.path(), 8, &[0, index, 3]).unwrap_err();
        assert!(matches!(error, DataError::File(_)), "{error}");
        assert!(told(&error).contains(name), "{error}");
    }
    // Of several the first, whichever thread is faster.
    for _ in 0..20 {
        let error = at(folder.path(), 8, &[0, 5, 4, 2]).unwrap_err();
        assert!(told(&error).contains("6.jpg"), "{}", told(&error));
    }
    let error = at(folder.path(), 8, &[6]).unwrap_err();
    assert!(matches!(error, DataError::Request(_)));
    assert!(told(&error).contains("expected 0 to 5"), "{error}");
}

/// A cut file is refused wherever it is cut, also behind a thumbnail with an end of its own.
#[test]
fn a_cut_photograph_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let image = RgbImage::from_fn(16, 16, |x, y| Rgb([(x * y) as u8, (x ^ y) as u8, 9]));
    save(&image, folder.path(), "1.jpg");
    let path = folder.path().join("1.jpg");
    let plain = fs::read(&path).unwrap();
    // An APP1 segment, as long as it says, that holds a whole jpg.
    let mut segment = vec![0xff, 0xe1];
    segment.extend(u16::try_from(plain.len() + 2).unwrap().to_be_bytes());
    segment.extend(&plain);
    let thumbnail = [&plain[..2], &segment, &plain[2..]].concat();
    for bytes in [plain, thumbnail] {
        for length in (0..bytes.len()).rev().step_by(7) {
            fs::write(&path, &bytes[..length]).unwrap();
            assert!(
                at(folder.path(), 8, &[0]).is_err(),
                "cut at {length} of {}",
                bytes.len()
            );
        }
        // Bytes after the end do no harm, those of a video that look like the start of a scan neither.
        for more in [&b"more"[..], b"....ftypmp42\xff\xda\xff\xd9\xff\xda.."] {
            fs::write(&path, [&bytes[..], more].concat()).unwrap();
            at(folder.path(), 8, &[0]).unwrap();
        }
    }
}

#[test]
fn folders_without_images_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = scan(folder.path(), 8).unwrap_err();
    assert!(matches!(error, DataError::Request(_)), "{error}");
    assert!(told(&error).contains("at least 1 image"), "{error}");
    let missing = folder.path().join("missing");
    let error = scan(&missing, 8).unwrap_err();
    assert!(
        error.to_string().contains("missing: cannot open the file"),
        "{error}"
    );
    for side in [0, 4097] {
        let error = scan(folder.path(), side).unwrap_err();
        assert!(matches!(error, DataError::Request(_)));
        assert!(told(&error).contains(&side.to_string()), "{error}");
    }
}
