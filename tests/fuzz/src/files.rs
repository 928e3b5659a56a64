//! Files of records: idx, NPY, CSV, schemas, images, privatised records.

use std::io::{Cursor, Write};
use std::path::Path;

use data::export::{ImageWriter, Layout};
use data::idx::{decode_images, decode_labels};
use data::npy;
use data::privatised::{
    Calibration, Header, LabelEncoding, NoiseKind, NoiseSeed, Privatised, Transform, Writer,
    header_path,
};
use data::{Asked, Classes, Missing, Schema, usps};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{Parser, file, text};

pub(super) const PARSERS: &[Parser] = &[
    Parser {
        name: "idx_images",
        read: |bytes, _| {
            // Behind gzip's checksum no damaged byte would come as far as the header.
            let _ = decode_images("file", Cursor::new(gzip(bytes)));
            let _ = decode_images("file", bytes);
        },
        seeds: || vec![IMAGES.to_vec(), gzip(IMAGES)],
    },
    Parser {
        name: "idx_plain",
        read: |bytes, folder| {
            let _ = data::read(&file(folder, "images", bytes), &unread(None), &|_| {});
        },
        seeds: || vec![IMAGES.to_vec(), gzip(IMAGES)],
    },
    Parser {
        name: "idx_labels",
        read: |bytes, _| {
            let _ = decode_labels("file", Cursor::new(gzip(bytes)));
            let _ = decode_labels("file", bytes);
        },
        seeds: || vec![LABELS.to_vec(), gzip(LABELS)],
    },
    Parser {
        name: "usps",
        read: |bytes, _| {
            let _ = usps::decode("file", &gzip(bytes), 16);
            let _ = usps::decode("file", bytes, 16);
        },
        seeds: || {
            let line = |label: usize| {
                let greys: Vec<String> = (0..256)
                    .map(|i| format!("{:.4}", (i % 21) as f64 / 10.0 - 1.0))
                    .collect();
                format!("{label}.0000 {}\n", greys.join(" "))
            };
            let text = (line(3) + &line(10)).into_bytes();
            vec![gzip(&text), text]
        },
    },
    Parser {
        name: "npy",
        read: |bytes, _| {
            let _ = npy::decode("file", bytes);
        },
        seeds: arrays,
    },
    Parser {
        name: "pictures",
        read: |bytes, folder| {
            let asked = Asked {
                side: Some(8),
                channels: Some(1),
                classes: Classes::Counted(3),
                ..Asked::default()
            };
            for name in ["a.npz", "a.tar", "a.tar.gz"] {
                let _ = data::read(&file(folder, name, bytes), &asked, &|_| {});
            }
        },
        seeds: || {
            let folder = tempfile::tempdir().expect("a folder to write to");
            let layout = Layout {
                count: 2,
                sides: [3, 3],
                channels: 1,
                labels: true,
                classes: Vec::new(),
                formats: vec![data::export::Format::Npz],
                arrays: data::Arrays::default(),
            };
            let mut writer = ImageWriter::create(folder.path(), &layout).expect("a layout");
            writer.append(&[7; 18], &[0, 2]).expect("written");
            writer.finish().expect("written");
            vec![std::fs::read(folder.path().join("images.npz")).expect("written")]
        },
    },
    Parser {
        name: "rows_csv",
        read: |bytes, folder| {
            let _ = data::read(&file(folder, "a.csv", bytes), &unread(None), &|_| {});
        },
        seeds: || {
            vec![
                b"a,b,c\n1,2.5,-3e4\n\n4;5;6\n7\t8\t9\n".to_vec(),
                b"1 2\n3 4\n".to_vec(),
            ]
        },
    },
    Parser {
        name: "schema",
        read: |bytes, _| {
            if let Ok(schema) = Schema::parse("schema", text(bytes)) {
                let schema = schema.with_missing(Missing::Level);
                let _ = (schema.code_columns(), schema.coded_bytes("file", TABLE));
            }
        },
        seeds: || vec![SCHEMA.as_bytes().to_vec()],
    },
    Parser {
        name: "table",
        read: |bytes, _| {
            let schema = Schema::parse("schema", SCHEMA).expect("a schema");
            let _ = schema.decode("file", bytes);
            // A file is read by its draft, unless that asks whether a day is a month.
            if let Ok(draft) = Schema::draft("file", bytes, None)
                && !draft.contains("written = [")
            {
                let schema = Schema::parse("draft", &draft).expect("a schema");
                let _ = schema.coded_bytes("file", bytes);
            }
        },
        seeds: || {
            vec![
                TABLE.to_vec(),
                b"? , red , a , yes , 1 , 2021-12-31\n".to_vec(),
            ]
        },
    },
    Parser {
        name: "images",
        read: |bytes, folder| {
            let photographs = folder.join("photographs");
            std::fs::create_dir_all(&photographs).expect("a folder to write to");
            file(&photographs, "image.png", bytes);
            let _ = data::read(&photographs, &unread(Some(8)), &|_| {});
        },
        seeds: || {
            let image =
                image::RgbImage::from_fn(9, 7, |x, y| image::Rgb([x as u8 * 20, y as u8 * 30, 99]));
            let written = |format| {
                let mut bytes = Cursor::new(Vec::new());
                image.write_to(&mut bytes, format).expect("an image");
                bytes.into_inner()
            };
            vec![
                written(image::ImageFormat::Png),
                written(image::ImageFormat::Jpeg),
            ]
        },
    },
    Parser {
        name: "privatised",
        read: |bytes, folder| privatised(&file(folder, "records.safetensors", bytes)),
        seeds: || vec![written("records.safetensors").0],
    },
    Parser {
        name: "privatised_npy",
        read: |bytes, folder| {
            // The array, behind the length of the text beside it.
            let (first, rest) = bytes.split_at_checked(2).unwrap_or((&[0, 0], bytes));
            let length = usize::from(u16::from_le_bytes([first[0], first[1]]));
            let (header, array) = rest.split_at(length.min(rest.len()));
            let path = file(folder, "records.npy", array);
            std::fs::write(header_path(&path), header).expect("a folder to write to");
            privatised(&path);
        },
        seeds: || {
            let (array, header) = written("records.npy");
            let length = (header.len() as u16).to_le_bytes();
            vec![[&length, &header[..], &array].concat()]
        },
    },
];

const IMAGES: &[u8] = &[
    0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
];
const LABELS: &[u8] = &[0, 0, 8, 1, 0, 0, 0, 3, 0, 9, 4];
const SCHEMA: &str = include_str!("schema.toml");
const TABLE: &[u8] =
    b"37 , red , b , yes , 0.5 , 2020-02-29\n 38.5 , blue , a , no , 9 , 2020-01-01\n\n";

/// Records without labels.
fn unread(side: Option<usize>) -> Asked {
    Asked {
        side,
        channels: side.map(|_| 3),
        classes: Classes::Unread,
        ..Asked::default()
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn arrays() -> Vec<Vec<u8>> {
    let array = |rows, width: Option<usize>| {
        let values = (0..rows * width.unwrap_or(1)).map(|i| i as f32).collect();
        let mut bytes = Vec::new();
        npy::write(
            &mut bytes,
            &npy::NpyArray {
                rows,
                width,
                values,
            },
        )
        .expect("memory");
        bytes
    };
    vec![array(2, Some(3)), array(4, None)]
}

fn privatised(path: &Path) {
    let _ = Header::read(path);
    let _ = Privatised::load(path);
}

/// Two privatised records, and the header beside them where it is not in the file.
fn written(name: &str) -> (Vec<u8>, Vec<u8>) {
    let header = Header {
        mechanism: NoiseKind::Gaussian,
        calibration: Calibration::Exact,
        epsilon: 1.0,
        delta: 1e-5,
        radius: 2.5,
        noise_scale: 17.125,
        transform: Transform::Dct {
            side: 2,
            channels: 1,
            kept: vec![[0, 0], [0, 1], [1, 0]],
        },
        labels: LabelEncoding::OneHot {
            weight: 0.5,
            classes: 2,
        },
        source_shape: Some([1, 2, 2]),
        noise_seed: NoiseSeed::Secret,
        width: 5,
        records: 0,
    };
    let folder = tempfile::tempdir().expect("a folder to write to");
    let path = folder.path().join(name);
    let mut writer = Writer::create(&path, &header, false).expect("a file");
    for _ in 0..2 {
        writer.push(&[0.0, 1.0, 2.0, 3.0, 4.0]).expect("a record");
    }
    writer.finish().expect("a file");
    let read = |path| std::fs::read(path).unwrap_or_default();
    (read(path.clone()), read(header_path(&path)))
}
