//! Draws shapes of random processes onto a contact sheet: grey ones of 28 pixels above colour ones of 32.
//!
//! ```text
//! cargo run --release -p experiments -p data --example shapes -- SHEET.png [SEED]
//! ```

use std::error::Error;
use std::time::Instant;

use data::Shapes;

const COLUMNS: u32 = 16;
const ROWS: u32 = 2;
const CELL: u32 = 34;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let sheet = arguments.next().ok_or("usage: shapes SHEET.png [SEED]")?;
    let seed = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let mut picture = image::RgbImage::new(COLUMNS * CELL, 2 * ROWS * CELL);
    let start = Instant::now();
    for (part, shapes) in [Shapes::grey(28, seed), Shapes::colour(32, seed)]
        .into_iter()
        .enumerate()
    {
        let (side, area) = (shapes.side() as u32, shapes.side() * shapes.side());
        for index in 0..COLUMNS * ROWS {
            let image = shapes.image(index.into());
            let left = index % COLUMNS * CELL;
            let top = (index / COLUMNS + part as u32 * ROWS) * CELL;
            for (place, (x, y)) in (0..side)
                .flat_map(|y| (0..side).map(move |x| (x, y)))
                .enumerate()
            {
                let of = |channel: usize| image[(channel % shapes.channels()) * area + place];
                picture.put_pixel(left + x, top + y, image::Rgb([of(0), of(1), of(2)]));
            }
        }
    }
    let each = start.elapsed().as_secs_f64() * 1e6 / f64::from(2 * COLUMNS * ROWS);
    picture.save(&sheet)?;
    println!("{each:.0} microseconds an image, on one thread: {sheet}");
    Ok(())
}
