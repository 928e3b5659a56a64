use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, Repetition};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type as Described;
use rand::Rng;

use super::super::Schema;
use super::super::column::Column;
use super::super::rules::{Ruled, Rules};
use super::arrow::{self, Arrow, Storage};
use super::types::{DECIMAL, Part, TRUTHS, Type, whole};

/// The largest number of records of a group.
const GROUP: usize = 1 << 17;

/// Writes codes as a Parquet file.
pub(in super::super) struct ParquetWriter<'a, W: Write + Send> {
    rules: &'a Rules,
    columns: Vec<Stored<'a>>,
    file: SerializedFileWriter<W>,
}

/// A code, with the number that a rule gives it, if one does.
type Coded = (usize, Option<f64>);

/// The storage of a column.
struct Stored<'a> {
    column: &'a Column,
    storage: Storage,
    /// Whether values may be missing.
    nullable: bool,
}

impl Stored<'_> {
    fn field(&self) -> Result<Arc<Described>, ParquetError> {
        let (physical, logical) = self.storage.kind.stored();
        let repetition = match self.nullable {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        let field = Described::primitive_type_builder(&self.column.name, physical);
        let field = field.with_repetition(repetition);
        let field = match self.storage.kind {
            Type::Decimal { digits, scale } => field
                .with_length(DECIMAL.0)
                .with_precision(digits as i32)
                .with_scale(scale as i32),
            _ => field,
        };
        Ok(Arc::new(field.with_logical_type(logical).build()?))
    }

    /// A number of a code, in its unit: the rule's number, if there is one.
    fn number(&self, (code, ruled): Coded, rng: &mut impl Rng) -> Option<f64> {
        ruled.or_else(|| self.column.number()?.value(code, rng))
    }

    /// The milliseconds of a day or a time.
    fn millis(&self, code: Coded, rng: &mut impl Rng) -> Option<i64> {
        let count = self.number(code, rng)? as i64;
        Some(count * self.column.number()?.unit.millis())
    }

    fn write(
        &self,
        codes: impl Iterator<Item = Coded>,
        to: &mut SerializedColumnWriter<'_>,
        rng: &mut impl Rng,
    ) -> Result<(), ParquetError> {
        let spelled = |(code, _): Coded| self.column.spellings(code);
        let word = |code| spelled(code).first();
        let real = |code, rng: &mut _| match word(code) {
            Some(word) => word.parse().ok(),
            None => self.number(code, rng),
        };
        let integer = |code, rng: &mut _| match word(code) {
            Some(word) => whole(word),
            None => self.number(code, rng).map(|value| value as i64),
        };
        match self.storage.kind {
            Type::Double => self.put::<DoubleType>(to, codes.map(|code| real(code, rng))),
            Type::Float => {
                let value = |code| real(code, rng).map(|value| value as f32);
                self.put::<FloatType>(to, codes.map(value))
            }
            Type::Decimal { scale, .. } => {
                let value = |code| {
                    let units = real(code, rng)? * 10_f64.powi(scale as i32);
                    let bytes = (units.round() as i128).to_be_bytes().to_vec();
                    Some(FixedLenByteArray::from(bytes))
                };
                self.put::<FixedLenByteArrayType>(to, codes.map(value))
            }
            Type::Whole { bits: 64, .. } => {
                self.put::<Int64Type>(to, codes.map(|code| integer(code, rng)))
            }
            // Unsigned numbers keep their bits.
            Type::Whole { .. } => {
                let value = |code| integer(code, rng).map(|value| value as i32);
                self.put::<Int32Type>(to, codes.map(value))
            }
            Type::Day => {
                let value = |code| self.number(code, rng).map(|day| day as i32);
                self.put::<Int32Type>(to, codes.map(value))
            }
            Type::Time(Part::Milli) => {
                let value = |code| self.millis(code, rng).map(|milli| milli as i32);
                self.put::<Int32Type>(to, codes.map(value))
            }
            Type::Time(part) | Type::Moment { part, .. } => {
                let value = |code| Some(self.millis(code, rng)?.saturating_mul(part.of_milli()));
                self.put::<Int64Type>(to, codes.map(value))
            }
            Type::Truth => {
                let is_true = |texts: &[String]| texts.iter().any(|text| text == TRUTHS[1]);
                let value = |code| word(code).map(|_| is_true(spelled(code)));
                self.put::<BoolType>(to, codes.map(value))
            }
            Type::Text => {
                let value = |code| {
                    let text = word(code).cloned().or_else(|| {
                        let number = self.column.number()?;
                        Some(number.shown(self.number(code, rng)?))
                    });
                    text.map(|text| text.into_bytes().into())
                };
                self.put::<ByteArrayType>(to, codes.map(value))
            }
        }
    }

    fn put<T: DataType>(
        &self,
        to: &mut SerializedColumnWriter<'_>,
        values: impl Iterator<Item = Option<T::T>>,
    ) -> Result<(), ParquetError> {
        let (mut levels, mut known) = (Vec::new(), Vec::new());
        for value in values {
            levels.push(i16::from(value.is_some()));
            known.extend(value);
        }
        let levels = self.nullable.then_some(&levels[..]);
        to.typed::<T>()
            .write_batch(&known, levels, None)
            .map(|_| ())
    }
}

impl<'a, W: Write + Send> ParquetWriter<'a, W> {
    pub(in super::super) fn new(schema: &'a Schema, to: W) -> io::Result<Self> {
        let stored = |column| Stored {
            column,
            storage: column
                .stored
                .clone()
                .unwrap_or_else(|| Storage::plain(Type::of_role(&column.role))),
            nullable: schema.has_missing_level(column),
        };
        let columns: Vec<Stored<'a>> = schema.coded_columns().map(stored).collect();
        let fields: Result<_, _> = columns.iter().map(Stored::field).collect();
        let of_file = Described::group_type_builder("table")
            .with_fields(fields?)
            .build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        // Arrow's description holds the facts that Parquet has no type for.
        let more = columns.iter().any(|own| own.storage.arrow != Arrow::Plain);
        let said = more.then(|| {
            let all = columns.iter();
            let all = all.map(|own| (&*own.column.name, own.nullable, &own.storage));
            vec![KeyValue::new(arrow::KEY.into(), arrow::written(all))]
        });
        let properties = properties.set_key_value_metadata(said);
        let properties = Arc::new(properties.build());
        let file = SerializedFileWriter::new(to, Arc::new(of_file), properties)?;
        Ok(Self {
            rules: schema.rules(),
            columns,
            file,
        })
    }

    /// Adds records of codes, shape `[n, D]` in row-major order.
    pub(in super::super) fn write(&mut self, codes: &[u16], rng: &mut impl Rng) -> io::Result<()> {
        let width = self.columns.len();
        for block in codes.chunks(GROUP * width) {
            // Numbers under a rule are sampled together, before all others.
            let ruled = block
                .chunks_exact(width)
                .map(|record| self.rules.sample(record, rng));
            let ruled: Vec<Vec<(usize, Ruled)>> = ruled.collect();
            let mut group = self.file.next_row_group()?;
            for (place, column) in self.columns.iter().enumerate() {
                let codes = block.iter().skip(place).step_by(width);
                let codes = codes.zip(&ruled).map(|(&code, ruled)| {
                    let own = ruled.iter().find(|(column, _)| *column == place);
                    (usize::from(code), own.map(|(_, own)| own.value()))
                });
                let mut to = group
                    .next_column()?
                    .ok_or_else(|| io::Error::other("no column"))?;
                column.write(codes, &mut to, rng)?;
                to.close()?;
            }
            group.close()?;
        }
        Ok(())
    }

    /// Completes the file and returns its writer.
    pub(in super::super) fn finish(self) -> io::Result<W> {
        Ok(self.file.into_inner()?)
    }
}
