//! What `synth --method` has beside the mixture, as a person runs it.

use data::{Asked, Classes};
use image::{GrayImage, Luma};

use crate::program::{Home, lines, made_again, says};
use crate::synth::images;

/// DP-MERF of few images, grey ones and colour ones: a copy with a card, what `export` makes of the folder alone, and a run that
/// was killed behind its release, which makes the same generator of it and releases nothing again.
#[test]
fn a_generator_learns_from_what_was_released_once() {
    for channels in [1, 3] {
        let home = Home::new();
        images(&home, &["a", "b"], 12);
        let printed = home.done(&format!(
            "synth scans --method merf --side 28 --channels {channels} --score-share 0 --epsilon 100 --delta 1e-5 --count 30 \
             --backend flex --out run"
        ));
        says(&printed, &["DP-MERF", "1 releases"]);
        let card = home.json("run/copy/card.json");
        let made = (&card["count"], &card["image"]["channels"]);
        assert_eq!(made, (&30.into(), &channels.into()));
        says(&card["public_knowledge"], &["DP-MERF"]);
        let export = |name: &str| {
            let flags = "--format npz --count 700 --out";
            home.done(&format!("export run {flags} {name}"));
            home.bytes(&format!("{name}/images.npz"))
        };
        let (before, weights) = (export("before"), home.bytes("run/weights.f32"));
        let gone = "weights.f32 samples.json run.json report.html";
        made_again(&home, "embeddings.bin", gone, 0);
        assert_eq!(lines(&home.at("run")), 1);
        assert!(weights == home.bytes("run/weights.f32") && before == export("after"));
    }
}

/// Without noise: images of a class that is bright on the left are so, and those of the other on the right.
#[test]
fn generated_images_are_of_their_class() {
    let home = Home::new();
    let names = ["left", "right"];
    for (class, name) in names.iter().enumerate() {
        for place in 0..60_u32 {
            let bright = |x: u32, y: u32| {
                usize::from(x >= 14) == class && !(x + y + place).is_multiple_of(7)
            };
            let image = GrayImage::from_fn(28, 28, |x, y| Luma([220 * u8::from(bright(x, y))]));
            let path = home.put(&format!("halves/{name}/{place}.png"), "");
            image.save(path).expect("written");
        }
    }
    home.done("synth halves --method merf --side 28 --channels 1 --no-privacy --quick-scores --backend flex --out run");
    let public = Asked {
        side: Some(28),
        channels: Some(1),
        classes: Classes::Named(names.map(String::from).to_vec()),
        ..Asked::default()
    };
    let copy = data::read(&home.at("run/copy"), &public, &|_| {}).expect("a copy");
    let images = copy.records;
    let mut excess = [0.0_f32; 2];
    for (place, &label) in images.labels().iter().enumerate() {
        let pixels = images.gather(&[place]).expect("an image");
        let sides = pixels.iter().enumerate();
        let sum: f32 = sides.map(|(i, x)| if i % 28 < 14 { *x } else { -x }).sum();
        excess[usize::from(label)] += sum / 392.0 / 60.0;
    }
    assert!(excess[0] > 0.3 && excess[1] < -0.3, "{excess:?}");
}

#[test]
fn one_cell_takes_one_release() {
    let home = Home::new();
    let printed = home.done(
        "synth shapes --cells 1 --public none --records 400 --latent 8 --no-privacy --count 5 --quick-scores --backend flex \
         --out run",
    );
    says(&printed, &["moments of 1 cells of each class"]);
    assert!(home.has("run/moments.bin") && !home.has("run/cells.bin"));
}
