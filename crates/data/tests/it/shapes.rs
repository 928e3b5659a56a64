//! Shapes: reproducible, of every process, with ink, and as different as drawings of nothing are.

use data::Shapes;
use data::shapes::Process;

#[test]
fn an_image_depends_on_its_seed_and_number_alone() {
    for shapes in [Shapes::grey(28, 3), Shapes::colour(32, 3)] {
        let all = shapes.draw(0..40);
        let size = shapes.channels() * shapes.side() * shapes.side();
        assert_eq!(all.len(), 40 * size);
        for index in [0, 17, 39] {
            let image = &all[index * size..(index + 1) * size];
            assert_eq!(image, shapes.image(index as u64));
        }
        assert_eq!(shapes.draw(30..40), all[30 * size..]);
        let mut images: Vec<&[u8]> = all.chunks_exact(size).collect();
        images.sort_unstable();
        images.dedup();
        assert_eq!(images.len(), 40);
    }
    assert_ne!(Shapes::grey(28, 3).image(0), Shapes::grey(28, 4).image(0));
}

/// Strokes lie in the middle of a dark ground, silhouettes fill more of it, and the rest fills all of it.
#[test]
fn every_process_looks_as_it_is_said_to() {
    let shapes = Shapes::grey(28, 0);
    let mut inked = [0.0; 4];
    let mut dark = [0; 4];
    let mut flat = 0;
    const COUNT: u64 = 1600;
    for index in 0..COUNT {
        let image = shapes.image(index);
        let process = match Shapes::process(index) {
            Process::Strokes => 0,
            Process::Silhouettes => 1,
            Process::Leaves => 2,
            Process::Spectra => 3,
        };
        let ink = image.iter().filter(|&&pixel| pixel > 25).count();
        inked[process] += ink as f64 / 784.0;
        dark[process] += usize::from([0, 27, 756, 783].iter().all(|&corner| image[corner] == 0));
        let (low, high) = (image.iter().min(), image.iter().max());
        flat += usize::from(high.unwrap() - low.unwrap() < 20);
    }
    let counts = [600.0, 600.0, 200.0, 200.0];
    let inked: Vec<f64> = inked.iter().zip(counts).map(|(sum, n)| sum / n).collect();
    // MNIST has ink on 18 % of its pixels, Fashion-MNIST on 48 %.
    assert!((0.12..0.35).contains(&inked[0]), "{inked:?}");
    assert!((0.3..0.6).contains(&inked[1]), "{inked:?}");
    assert!(inked[2] > 0.8 && inked[3] > 0.7, "{inked:?}");
    let of_dark = |process: usize| dark[process] as f64 / counts[process];
    assert!(of_dark(0) > 0.8 && of_dark(1) > 0.6, "{dark:?}");
    assert!(flat < 16, "{flat} of {COUNT} are nearly of one grey");
}
