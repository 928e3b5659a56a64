//! The public half: disjoint and covering, the same for every run, and refused where it does not fit.

use std::fs;
use std::path::Path;

use data::split::{Splittable, Use, note};
use data::{DataError, PublicShare, Records, Split, SplitPlan};
use proptest::prelude::*;
use test_support::says;

/// `count` one-pixel images of five classes of different sizes.
fn images(count: usize) -> Records {
    let pixels = (0..count).map(|i| (i * 7 % 251) as u8).collect();
    let labels = (0..count).map(|i| (i * i % 5) as u8).collect();
    Records::new(pixels, labels, 1, 1, 5).unwrap()
}

fn plan(share: PublicShare, seed: u64, stratified: bool) -> SplitPlan {
    SplitPlan {
        share,
        seed,
        stratified,
    }
}

/// No message holds a checksum, of records or of a file that holds one.
fn refused(folder: &Path, name: &str, records: &impl Splittable, plan: &SplitPlan) -> DataError {
    match Split::load_or_create(folder, name, records, plan).unwrap_err() {
        DataError::Split(error) => {
            let mut words = error.split(|letter: char| !letter.is_ascii_hexdigit());
            assert!(words.all(|word| word.len() < 16), "{error}");
            DataError::Split(error)
        }
        error => panic!("{error}"),
    }
}

/// Like images, but without classes.
struct Plain(Records);

impl Splittable for Plain {
    fn count(&self) -> usize {
        self.0.len()
    }
    fn sha256(&self) -> Result<String, DataError> {
        self.0.sha256()
    }
    fn strata(&self) -> Option<Vec<usize>> {
        None
    }
}

#[test]
fn a_split_is_made_once_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("not/there/yet");
    let set = images(101);
    let first = Split::load_or_create(&below, "toy", &set, &SplitPlan::default()).unwrap();
    assert_eq!((first.public().len(), first.private().len()), (50, 51));
    let text = fs::read(first.path()).unwrap();
    let again = Split::load_or_create(&below, "toy", &set, &SplitPlan::default()).unwrap();
    assert_eq!(first, again);
    assert_eq!(text, fs::read(first.path()).unwrap());
    // The same sizes, asked for in another way.
    let same = plan(PublicShare::PrivateCount(51), 0, false);
    assert_eq!(
        Split::load_or_create(&below, "toy", &set, &same).unwrap(),
        first
    );
    let files: Vec<_> = fs::read_dir(&below).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    // Another data set in the same folder is sampled from the same seed, and has a file of its own.
    let other = Split::load_or_create(&below, "other", &images(90), &SplitPlan::default()).unwrap();
    assert_ne!(other.path(), first.path());
}

/// Golden: written by this version; a file that is read today must be read for ever.
#[test]
fn the_format_does_not_change() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"{
  "format": "sliver split 1",
  "dataset": "toy",
  "records": 10,
  "sha256": "SUM",
  "seed": 3,
  "stratified": false,
  "public_records": 4,
  "private_records": 6,
  "public": "a102",
  "checksum": ""
}
"#;
    let set = images(10);
    let open = text.replace("SUM", &set.sha256().unwrap());
    let sum = {
        use sha2::{Digest, Sha256};
        Sha256::digest(&open)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect::<String>()
    };
    let sealed = open.replace(r#""checksum": """#, &format!(r#""checksum": "{sum}""#));
    fs::write(folder.path().join("toy.split.json"), sealed).unwrap();
    let plan = plan(PublicShare::Fraction(0.4), 3, false);
    let split = Split::load_or_create(folder.path(), "toy", &set, &plan).unwrap();
    assert_eq!(split.public(), [0, 5, 7, 9]);
    assert_eq!(split.private(), [1, 2, 3, 4, 6, 8]);
    // Python: hashlib over the header packed as "<Q" and the bytes.
    assert_eq!(
        set.sha256().unwrap(),
        "a14ecd578b0ac56d219f7a3721397fb00c25a3385df89c03d2ff316f669d0e25"
    );
}

#[test]
fn another_seed_or_size_is_refused_with_both_values() {
    let folder = tempfile::tempdir().unwrap();
    let set = images(100);
    let half = PublicShare::Fraction(0.5);
    Split::load_or_create(folder.path(), "toy", &set, &plan(half, 7, false)).unwrap();
    let refused = |plan| refused(folder.path(), "toy", &set, &plan);
    let error = refused(plan(half, 8, false));
    says(&error, &["toy.split.json", "seed 7", "asked for 8"]);
    let error = refused(plan(PublicShare::PrivateCount(40), 7, false));
    says(
        &error,
        &["50 public and 50 private", "60 public and 40 private"],
    );
    let error = refused(plan(half, 7, true));
    says(&error, &["all records", "each class"]);
}

#[test]
fn other_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let set = images(100);
    let path = Split::load_or_create(folder.path(), "toy", &set, &SplitPlan::default())
        .unwrap()
        .path()
        .to_path_buf();
    let error = refused(folder.path(), "toy", &images(99), &SplitPlan::default());
    says(&error, &["number of records is 100", "this data's is 99"]);

    let mut pixels = set.pixels().unwrap().to_vec();
    pixels[17] ^= 1;
    let changed = Records::new(pixels, set.labels().to_vec(), 1, 1, 5).unwrap();
    let error = refused(folder.path(), "toy", &changed, &SplitPlan::default());
    says(&error, &["toy.split.json", "something else"]);

    // The same records under a second name, before and after a file for that name is there.
    for _ in 0..2 {
        let error = refused(folder.path(), "renamed", &set, &SplitPlan::default());
        says(&error, &["name is toy", "this data's is renamed"]);
        fs::copy(&path, folder.path().join("renamed.split.json")).unwrap();
    }
}

/// The draw looks at no record: others of the same number are split alike.
#[test]
fn a_split_depends_on_the_number_of_records_alone() {
    let halves = |set: &Records| {
        let folder = tempfile::tempdir().unwrap();
        let split = Split::load_or_create(folder.path(), "toy", set, &SplitPlan::default());
        let split = split.unwrap();
        (split.public().to_vec(), split.private().to_vec())
    };
    let set = images(60);
    let pixels = set.pixels().unwrap().iter().map(|&pixel| !pixel).collect();
    let others = Records::new(pixels, vec![0; 60], 1, 1, 5).unwrap();
    assert_eq!(halves(&others), halves(&set));
    assert_ne!(halves(&images(61)), halves(&set));
}

/// Every change of one byte of the file is seen.
#[test]
fn an_edited_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let set = images(40);
    let load = || Split::load_or_create(folder.path(), "toy", &set, &SplitPlan::default());
    let path = load().unwrap().path().to_path_buf();
    let whole = fs::read(&path).unwrap();
    for place in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[place] ^= if place % 2 == 0 { 1 } else { 0x20 };
        fs::write(&path, &bytes).unwrap();
        let error = refused(folder.path(), "toy", &set, &SplitPlan::default());
        let message = error.to_string();
        assert!(
            message.contains("changed since it was written")
                || message.contains("not a whole file"),
            "byte {place}: {message}"
        );
    }
    for length in (0..whole.len()).rev().step_by(5) {
        fs::write(&path, &whole[..length]).unwrap();
        let error = refused(folder.path(), "toy", &set, &SplitPlan::default());
        says(&error, &["toy.split.json: not a whole file"]);
    }
    let moved = String::from_utf8(whole.clone()).unwrap().replace("  ", " ");
    fs::write(&path, moved).unwrap();
    assert!(load().is_err());
    fs::write(&path, whole).unwrap();
    load().unwrap();
}

/// A record that is public in one run and private in another is reported to whichever run comes later.
#[test]
fn every_other_use_of_the_same_records_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("not/there/yet");
    let (set, other) = (images(60), images(61).sha256().unwrap());
    let sum = set.sha256().unwrap();
    let files = || fs::read_dir(&below).unwrap().count();
    // The same use again is no other, and is noted once; other records do not matter.
    for _ in 0..2 {
        assert_eq!(note(&below, "toy", &sum, Use::AllPrivate).unwrap(), []);
        assert_eq!(note(&below, "toy", &other, Use::AllPublic).unwrap(), []);
        assert_eq!(files(), 2);
    }
    let split = Split::load_or_create(&below, "toy", &set, &SplitPlan::default()).unwrap();
    assert_eq!(split.sha256(), sum);
    let others = note(&below, "toy", &sum, Use::Split).unwrap();
    assert_eq!((others, files()), (vec![Use::AllPrivate], 3));
    // Whatever name the records have.
    let others = note(&below, "renamed", &sum, Use::AllPrivate).unwrap();
    assert_eq!(others, [Use::Split]);
    let others = note(&below, "renamed", &sum, Use::TestShare(0.2)).unwrap();
    assert_eq!(others, [Use::AllPrivate, Use::Split]);
    // A file that cannot be read may be of these records.
    for (name, removable) in [
        ("toy.use.json", "or remove it if nothing was published"),
        ("toy.split.json", "remove it only if no run"),
    ] {
        let path = below.join(name);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let error = note(&below, "toy", &sum, Use::AllPrivate).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains(name) && message.contains(removable),
            "{message}"
        );
        fs::write(&path, whole).unwrap();
    }
}

/// They hold checksums of private records.
#[cfg(unix)]
#[test]
fn only_the_owner_reads_a_split_or_a_note() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    Split::load_or_create(folder.path(), "toy", &images(40), &SplitPlan::default()).unwrap();
    note(folder.path(), "other", "sum", Use::AllPrivate).unwrap();
    let modes: Vec<u32> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().permissions().mode() & 0o777)
        .collect();
    assert_eq!(modes, [0o600; 2]);
}

/// Of two runs that start at once, one at least learns of the other.
#[test]
fn uses_that_race_are_not_both_silent() {
    for round in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        let (path, start) = (folder.path(), &std::sync::Barrier::new(2));
        let reports: usize = std::thread::scope(|scope| {
            let runs = [Use::AllPrivate, Use::AllPublic].map(|used| {
                scope.spawn(move || {
                    start.wait();
                    note(path, "toy", "sum", used).unwrap().len()
                })
            });
            runs.into_iter().map(|run| run.join().unwrap()).sum()
        });
        assert!(reports >= 1, "round {round}");
        assert_eq!(fs::read_dir(path).unwrap().count(), 2);
    }
}

#[test]
fn processes_that_race_get_one_split() {
    for round in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        let set = images(200);
        let (path, set, start) = (folder.path(), &set, &std::sync::Barrier::new(6));
        let splits: Vec<_> = std::thread::scope(|scope| {
            // Two of each of three seeds: one seed wins, the runs of the others are refused.
            let runs: Vec<_> = (0..6)
                .map(|run| {
                    scope.spawn(move || {
                        let plan = plan(PublicShare::Fraction(0.5), run % 3, false);
                        start.wait();
                        Split::load_or_create(path, "toy", set, &plan)
                    })
                })
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        let won: Vec<_> = splits.iter().flatten().collect();
        assert_eq!(won.len(), 2, "round {round}");
        assert_eq!(won[0], won[1]);
        for error in splits.iter().filter_map(|split| split.as_ref().err()) {
            let DataError::Split(error) = error else {
                panic!("{error}")
            };
            assert!(error.contains("made with seed"), "{error}");
        }
        let files: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(files.len(), 1, "{files:?}");
    }
}

#[test]
fn impossible_plans_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |name, count, share| {
        let plan = plan(share, 0, false);
        Split::load_or_create(folder.path(), name, &images(count), &plan).unwrap_err()
    };
    for fraction in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
        let error = ask("toy", 10, PublicShare::Fraction(fraction));
        assert!(error.to_string().contains(&fraction.to_string()), "{error}");
    }
    for private in [0, 10, 11, usize::MAX] {
        let error = ask("toy", 10, PublicShare::PrivateCount(private));
        assert!(error.to_string().contains("1 to 9;"), "{error}");
        assert!(error.to_string().contains("private half"), "{error}");
    }
    // A fraction that rounds to no record, or to all.
    for fraction in [0.05, 0.96] {
        let error = ask("toy", 10, PublicShare::Fraction(fraction));
        assert!(matches!(error, DataError::Request(_)), "{error}");
    }
    assert!(
        ask("toy", 1, PublicShare::Fraction(0.5))
            .to_string()
            .contains("at least 2")
    );
    for name in ["", "a/b", "..", ".hidden", "a b", "\u{e9}", &"x".repeat(65)] {
        let error = ask(name, 10, PublicShare::Fraction(0.5));
        assert!(error.to_string().contains("data set name"), "{error}");
    }
    let stratified = plan(PublicShare::Fraction(0.5), 0, true);
    let error = refused(folder.path(), "toy", &Plain(images(10)), &stratified);
    says(&error, &["no classes"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn mnist_halves_are_halves_of_each_class() {
    if test_support::data_folder().is_none() {
        return;
    }
    let options = data::LoadOptions {
        mirrors: Some(vec![]),
        ..Default::default()
    };
    let set = data::Dataset::load(data::DatasetKind::Mnist, &options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(PublicShare::Fraction(0.5), 0, true);
    let split = Split::load_or_create(folder.path(), &set.name, &set.train, &plan).unwrap();
    let public = set.train.select(split.public()).unwrap();
    let private = set.train.select(split.private()).unwrap();
    assert_eq!((public.len(), private.len()), (30_000, 30_000));
    assert_eq!(
        public.class_sizes(),
        [2962, 3371, 2979, 3066, 2921, 2711, 2959, 3132, 2925, 2974]
    );
    assert_eq!(
        private.class_sizes(),
        [2961, 3371, 2979, 3065, 2921, 2710, 2959, 3133, 2926, 2975]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn halves_are_disjoint_and_cover(
        (count, private) in (2_usize..400).prop_flat_map(|n| (Just(n), 1..n)),
        seed in any::<u64>(),
        stratified in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let set = images(count);
        let plan = plan(PublicShare::PrivateCount(private), seed, stratified);
        let split = Split::load_or_create(folder.path(), "toy", &set, &plan).unwrap();
        prop_assert_eq!(split.private().len(), private);
        prop_assert!(split.public().is_sorted() && split.private().is_sorted());
        let mut all = [split.public(), split.private()].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
        if stratified {
            let public = set.select(split.public()).unwrap();
            for (part, whole) in public.class_sizes().into_iter().zip(set.class_sizes()) {
                let share = whole as f64 * (count - private) as f64 / count as f64;
                prop_assert!((part as f64 - share).abs() < 1.0);
            }
        }
    }

    #[test]
    fn even_classes_give_exactly_half(sizes in prop::collection::vec(0_usize..20, 2..6)) {
        let count: usize = sizes.iter().sum();
        prop_assume!(count >= 2);
        let labels: Vec<u8> = sizes
            .iter()
            .enumerate()
            .flat_map(|(class, &size)| std::iter::repeat_n(class as u8, size))
            .collect();
        let set = Records::new(vec![0; count], labels, 1, 1, 6).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(PublicShare::Fraction(0.5), 1, true);
        let split = Split::load_or_create(folder.path(), "toy", &set, &plan).unwrap();
        prop_assert_eq!(split.public().len(), count / 2);
        let public = set.select(split.public()).unwrap().class_sizes();
        for (class, &size) in sizes.iter().enumerate() {
            prop_assert!(public[class] == size / 2 || size % 2 == 1 && public[class] == size.div_ceil(2));
        }
    }
}
