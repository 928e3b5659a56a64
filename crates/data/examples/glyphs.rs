//! Writes glyphs as gzip idx files, and a contact sheet of the first of each class.
//!
//! ```text
//! cargo run --release -p data --example glyphs -- FOLDER [TRAIN [TEST [SEED]]]
//! ```

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::time::Instant;

use data::{Glyphs, Records, idx};

const COLUMNS: usize = 10;
const SCALE: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments
        .next()
        .ok_or("usage: glyphs FOLDER [TRAIN [TEST [SEED]]]")?;
    let mut number = |default: u64| match arguments.next() {
        Some(text) => text
            .parse()
            .map_err(|error| format!("'{text}' is not a number: {error}")),
        None => Ok(default),
    };
    let (train, test, seed) = (number(8000)?, number(2000)?, number(0)?);

    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let start = Instant::now();
    let train = Glyphs::train(seed).draw(train.try_into()?, &|_| ())?;
    let test = Glyphs::test(seed).draw(test.try_into()?, &|_| ())?;
    let count = train.len() + test.len();
    let each = start.elapsed().as_secs_f64() * 1e6 / count as f64;
    println!("drew {count} images, {each:.1} microseconds each");

    for (name, images) in [("train", &train), ("t10k", &test)] {
        let path = |kind| folder.join(format!("{name}-{kind}-ubyte.gz"));
        idx::write_images(File::create(path("images-idx3"))?, images)?;
        idx::write_labels(File::create(path("labels-idx1"))?, images)?;
    }
    let sheet = folder.join("sheet.png");
    contact_sheet(&train)?.save(&sheet)?;
    println!("wrote four idx files and {}", sheet.display());
    Ok(())
}

/// A row for each class, with the first images of that class.
fn contact_sheet(images: &Records) -> Result<image::GrayImage, Box<dyn Error>> {
    let (height, width) = (images.height() * SCALE, images.width() * SCALE);
    let size = |side: usize, count: usize| u32::try_from(side * count);
    let mut sheet = image::GrayImage::new(size(width, COLUMNS)?, size(height, images.classes())?);
    for (row, indices) in images.indices_by_class().into_iter().enumerate() {
        for (column, index) in indices.into_iter().take(COLUMNS).enumerate() {
            let pixels = images.image_bytes(index)?;
            for y in 0..height {
                for x in 0..width {
                    let grey = pixels[y / SCALE * images.width() + x / SCALE];
                    let (x, y) = (size(column * width + x, 1)?, size(row * height + y, 1)?);
                    sheet.put_pixel(x, y, image::Luma([grey]));
                }
            }
        }
    }
    Ok(sheet)
}
