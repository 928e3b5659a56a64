//! The contract of copies: of each release, and nothing but the releases reaches a copy.

use burn::tensor::Device;
use data::{Part, Schema, StoredTable, Units};
use dp_core::mechanism::{NameCounts, NoisyVector, SensitiveVector};
use model::latent::ImageShape;
use private_queries::Query;
use private_synth::images::{
    CosineSpace, ImageCopy, ImageMethod, ImageSampler, Merf, Mixture, PrivateImages, Signal,
};
use private_synth::table::{Aim, Records, Released};
use private_synth::{Releasing, SynthError, Watch, Work};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use test_support::contract::{Contract, Measured, furthest};

/// Answers with what was released before, of other records; then with the exact values, as noisy ones.
#[derive(Default)]
struct Exact {
    before: Vec<Vec<f64>>,
    /// Exact values, and their declared sensitivities.
    measured: Vec<(Vec<f64>, f64)>,
}

impl Exact {
    /// Another one that answers as this one did.
    fn again(&self) -> Self {
        let before = self.measured.iter().map(|(values, _)| values.clone());
        Self {
            before: before.collect(),
            measured: Vec::new(),
        }
    }

    /// How far each release is from that of other records, as a share of what it declares.
    fn apart(&self, other: &Self) -> Vec<f64> {
        assert_eq!(self.measured.len(), other.measured.len());
        let pairs = self.measured.iter().zip(&other.measured);
        let measured = |(values, upper): &(Vec<f64>, f64)| Measured::new(values.clone(), *upper);
        pairs
            .map(|(one, other)| furthest(&[measured(one), measured(other)]))
            .collect()
    }
}

impl Watch for Exact {
    type Error = SynthError;

    fn go_on(&mut self, _: Work) -> Result<(), SynthError> {
        Ok(())
    }

    fn failed(error: SynthError) -> SynthError {
        error
    }
}

impl Releasing for Exact {
    fn release<Q: Query>(
        &mut self,
        _: &str,
        query: &Q,
        measure: impl FnOnce() -> Result<SensitiveVector, SynthError>,
    ) -> Result<Q::Answer, SynthError> {
        let measured = measure()?;
        let exact = measured.before_noise().to_vec();
        let values = self.before.get(self.measured.len()).unwrap_or(&exact);
        let noisy = NoisyVector {
            values: values.clone(),
            deviation: 0.1,
        };
        self.measured.push((exact, measured.sensitivity_upper()));
        Ok(query.read(&noisy)?)
    }

    fn release_names(
        &mut self,
        _: &str,
        count: impl FnOnce() -> Result<NameCounts, SynthError>,
    ) -> Result<Vec<Vec<String>>, SynthError> {
        Ok(count()?.without_privacy())
    }
}

const SCHEMA: &str = r#"
header = true
[[column]]
name = "age"
kind = "integer"
min = 0
max = 99
public = true
[[column]]
name = "town"
kind = "categorical"
levels = ["a", "b", "c"]
public = true
[[column]]
name = "ill"
kind = "label"
classes = [["no"], ["yes"]]
public = true
"#;

/// A table whose last record is this one.
fn records(last: &str) -> Records {
    let schema = Schema::parse("people", SCHEMA).expect("a schema");
    let line = |i: usize| {
        let (town, ill) = (["a", "b", "c"][i % 3], ["no", "yes"][i / 7 % 2]);
        format!("{},{town},{ill}\n", i * 7 % 100)
    };
    let text = "age,town,ill\n".to_string() + &(0..400).map(line).collect::<String>() + last;
    let table = schema
        .coded_bytes("people", text.as_bytes())
        .expect("codes");
    Records::of(schema, StoredTable::from(table), None, Part::ALL).expect("records")
}

#[test]
fn a_record_of_a_table_moves_each_release_no_more_than_is_declared() {
    for aim in [Aim::Copy, Aim::Model] {
        a_record_moves_no_more_than_is_declared(aim);
    }
}

fn a_record_moves_no_more_than_is_declared(aim: Aim) {
    let mut first = Exact::default();
    let mut one = records("3,a,no\n");
    let released = Released::of(&mut one, 1.0, aim, &mut first).expect("releases");
    let mut second = first.again();
    let mut other = records("88,c,yes\n");
    let same = Released::of(&mut other, 1.0, aim, &mut second).expect("releases");
    let apart = first.apart(&second);
    assert_eq!(apart.len(), 2);
    let contract = Contract::of("a table").attained(0.6);
    apart
        .into_iter()
        .for_each(|release| contract.holds([release]));
    let mut third = first.again();
    let mut two = records("88,c,yes\n");
    let text = "age,town,ill\n".to_string() + &"88,c,yes\n".repeat(401);
    let table = two
        .schema()
        .coded_bytes("people", text.as_bytes())
        .expect("codes");
    two = Records::of(two.schema().clone(), table.into(), None, Part::ALL).expect("records");
    Released::of(&mut two, 1.0, aim, &mut third).expect("releases");
    contract.is_broken_by("two records", 2, first.apart(&third));

    // What was released being the same, so is the copy: to the last value.
    let copy = |released: &Released, records: &Records| {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let model = released
            .fit(records, rng, &mut Exact::default())
            .expect("a model");
        let rules = records.schema().rules();
        model
            .sample(rules, 300, rng, &mut Exact::default())
            .expect("rows")
    };
    assert_eq!(copy(&released, &one), copy(&same, &other));

    // And so is a model.
    let model = |released: &Released, records: &Records| {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let chosen = released.classifier(records, rng, &mut Exact::default());
        let chosen = chosen.expect("a model");
        (chosen.model, chosen.influences, chosen.losses)
    };
    assert_eq!(model(&released, &one), model(&same, &other));
}

#[test]
fn records_that_are_read_already_need_a_schema_that_is_confirmed() {
    let draft = SCHEMA.replacen("public = true\n", "", 1);
    let schema = Schema::parse("people", &draft).expect("a schema");
    let table = schema.coded_bytes("people", b"age,town,ill\n3,a,no\n");
    let table = StoredTable::from(table.expect("codes"));
    let refused = Records::of(schema, table, None, Part::ALL);
    let columns = match refused {
        Err(SynthError::Unconfirmed { columns }) => columns,
        other => panic!("{other:?}"),
    };
    assert_eq!(columns, ["age"]);
}

#[test]
fn a_unit_of_a_table_moves_each_release_no_more_than_is_declared() {
    // The last three records are of one unit, two of which are used.
    let names: Vec<String> = (0..403).map(|i: usize| i.min(400).to_string()).collect();
    let units = Units::of_texts(names.iter().map(String::as_str));
    let of = |last: &str| {
        let records = records(&last.repeat(3)).by_units(&units, 2);
        records.expect("units")
    };
    let mut one = of("3,a,no\n");
    assert_eq!(
        (one.rows(), one.neighbours(), one.most_per_unit()),
        (402, 401, 2)
    );
    let mut first = Exact::default();
    Released::of(&mut one, 1.0, Aim::Copy, &mut first).expect("releases");
    let mut second = first.again();
    Released::of(&mut of("88,c,yes\n"), 1.0, Aim::Copy, &mut second).expect("releases");
    let contract = Contract::of("a unit").attained(0.6);
    let apart = first.apart(&second).into_iter();
    apart.for_each(|release| contract.holds([release]));
    // Without units two records would move them twice as far as is declared.
    let mut third = Exact::default();
    Released::of(&mut records(""), 1.0, Aim::Copy, &mut third).expect("releases");
    assert!(first.measured[0].1 > 1.99 * third.measured[0].1);
    // Units of other records are none of these.
    assert!(one.by_units(&units, 2).is_err());
}

/// Images of two classes, of which the last ones are these.
fn images(last: &[(u8, u8)]) -> data::Records {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for i in 0..300_usize {
        pixels.extend((0..64).map(|place| ((place * (i + 3)) % 251) as u8));
        labels.push((i % 2) as u8);
    }
    for &(top, label) in last {
        pixels.extend((0..64).map(|place| if place < 32 { top } else { 255 - top }));
        labels.push(label);
    }
    data::Records::new(pixels, labels, 8, 8, 2).expect("images")
}

/// What a method releases of images, and samples of what it made of it.
fn copied<M: ImageMethod>(
    method: &M,
    last: &[(u8, u8)],
    mut by: Exact,
) -> (Exact, (Vec<f32>, Vec<usize>)) {
    let images = images(last);
    let private = PrivateImages {
        images: &images,
        units: images.len(),
        most: 1,
        signal: Signal::new(images.len(), Some(1.0)),
    };
    let (rng, device) = (&mut ChaCha20Rng::seed_from_u64(1), Device::flex());
    let mut fitted = method
        .fit(&private, &device, rng, &mut by)
        .expect("releases");
    let samples = fitted.sample(50, &device, rng).expect("samples");
    assert_eq!(by.measured.len(), method.releases(&private).len());
    (by, samples)
}

/// - `least`: how much of its bound the first release attains.
fn keeps_the_contract<M: ImageMethod>(method: &M, least: f64) {
    let [dark, bright] = [(0, 0), (255, 1)];
    let (first, samples) = copied(method, &[dark, dark], Exact::default());
    let (second, same) = copied(method, &[dark, bright], first.again());
    let apart = first.apart(&second);
    // But for the last bits of sums.
    let contract = Contract::of("an image").rounded(1e-12);
    contract.holds(apart.iter().copied());
    contract.attained(least).holds([apart[0]]);
    assert_eq!(samples, same);
    let (third, _) = copied(method, &[bright, bright], first.again());
    let contract = Contract::of("an image");
    contract.is_broken_by("two images", 1, [first.apart(&third)[0]]);
}

#[test]
fn an_image_moves_each_release_no_more_than_is_declared() {
    let shape = ImageShape {
        channels: 1,
        side: 8,
    };
    let space = CosineSpace::new(shape, 8).expect("a space");
    for cells in [1, 3] {
        keeps_the_contract(&Mixture::new(&space).cells(cells), 0.6);
    }
    // An image that goes to another class moves numbers and features as far as any can.
    keeps_the_contract(&Merf { labelled: true }, 0.999);
}

#[test]
fn units_of_images_are_as_many_as_is_said() {
    let shape = ImageShape {
        channels: 1,
        side: 8,
    };
    let space = CosineSpace::new(shape, 8).expect("a space");
    let of = |copy: ImageCopy<Mixture>| {
        let (mut by, rng) = (Exact::default(), &mut ChaCha20Rng::seed_from_u64(1));
        let images = images(&[(0, 0)]);
        copy.released(&images, &Device::flex(), rng, &mut by)
            .expect("releases");
        let plan = copy.plan(&images).expect("a plan");
        (by.measured[0].1, plan.delta)
    };
    let copy = ImageCopy::new(Mixture::new(&space).cells(1));
    let (one, delta) = of(copy.clone());
    let (two, of_units) = of(copy.of_units(151, 2));
    assert!((two / one - 2.0).abs() < 1e-3, "{two} {one}");
    assert!((delta * 301.0 - 0.1).abs() < 1e-9 && (of_units * 151.0 - 0.1).abs() < 1e-9);
}
