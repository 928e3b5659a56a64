use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use rand::Rng;

use super::super::Schema;
use super::super::column::Column;
use super::super::number::Unit;
use super::super::rules::{Ruled, Rules};

/// The most records of a group.
const GROUP: usize = 1 << 17;
const TRUTHS: [&str; 2] = ["false", "true"];
const MICROSECONDS: i64 = 1_000_000;

/// Writes codes as a Parquet file.
pub(in super::super) struct ParquetWriter<'a, W: Write + Send> {
    rules: &'a Rules,
    columns: Vec<Stored<'a>>,
    file: SerializedFileWriter<W>,
}

/// A code, and the number that a rule has for it.
type Coded = (usize, Option<f64>);

/// How a column is stored.
struct Stored<'a> {
    column: &'a Column,
    kind: Kind,
    /// Whether it may be missing.
    nullable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Real,
    Whole,
    Day,
    Time,
    Truth,
    Text,
}

impl Kind {
    /// Categories are truth values or whole numbers where they are all spelled as these.
    fn of(column: &Column) -> Self {
        let all = |is: &dyn Fn(&[String]) -> bool| {
            (0..column.codes()).all(|code| is(column.spellings(code)))
        };
        match column.number().map(|number| number.unit) {
            Some(Unit::Decimal(_)) => Self::Real,
            Some(Unit::One) => Self::Whole,
            Some(Unit::Day) => Self::Day,
            Some(Unit::Time { date: true, .. }) => Self::Time,
            Some(Unit::Time { .. }) => Self::Text,
            None if all(&|texts| texts.iter().any(|text| TRUTHS.contains(&&**text))) => Self::Truth,
            None if all(&|texts| texts.first().is_some_and(|text| whole(text).is_some())) => {
                Self::Whole
            }
            None => Self::Text,
        }
    }

    fn stored(self) -> (Physical, Option<LogicalType>) {
        match self {
            Self::Real => (Physical::DOUBLE, None),
            Self::Whole => (Physical::INT64, None),
            Self::Day => (Physical::INT32, Some(LogicalType::Date)),
            Self::Time => {
                let local = LogicalType::timestamp(false, TimeUnit::MICROS);
                (Physical::INT64, Some(local))
            }
            Self::Truth => (Physical::BOOLEAN, None),
            Self::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        }
    }
}

impl Stored<'_> {
    fn field(&self) -> Result<Arc<Type>, ParquetError> {
        let (physical, logical) = self.kind.stored();
        let repetition = match self.nullable {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        let field = Type::primitive_type_builder(&self.column.name, physical);
        let field = field.with_repetition(repetition);
        Ok(Arc::new(field.with_logical_type(logical).build()?))
    }

    /// A number of a code, in its unit: as a rule has it, where one does.
    fn number(&self, (code, ruled): Coded, rng: &mut impl Rng) -> Option<f64> {
        ruled.or_else(|| self.column.number()?.value(code, rng))
    }

    fn write(
        &self,
        codes: impl Iterator<Item = Coded>,
        to: &mut SerializedColumnWriter<'_>,
        rng: &mut impl Rng,
    ) -> Result<(), ParquetError> {
        let spelled = |(code, _): Coded| self.column.spellings(code);
        let word = |code| spelled(code).first();
        match self.kind {
            Kind::Real => self.put::<DoubleType>(to, codes.map(|code| self.number(code, rng))),
            Kind::Whole => {
                let of_word = |code| word(code).and_then(|text| whole(text));
                let value = |code| of_word(code).or(self.number(code, rng).map(|v| v as i64));
                self.put::<Int64Type>(to, codes.map(value))
            }
            Kind::Day => {
                let value = |code| self.number(code, rng).map(|day| day as i32);
                self.put::<Int32Type>(to, codes.map(value))
            }
            Kind::Time => {
                let unit = self
                    .column
                    .number()
                    .map_or(1, |number| number.unit.seconds());
                let value = |code| {
                    let count = self.number(code, rng)?;
                    Some(count as i64 * unit * MICROSECONDS)
                };
                self.put::<Int64Type>(to, codes.map(value))
            }
            Kind::Truth => {
                let is_true = |texts: &[String]| texts.iter().any(|text| text == TRUTHS[1]);
                let value = |code| word(code).map(|_| is_true(spelled(code)));
                self.put::<BoolType>(to, codes.map(value))
            }
            Kind::Text => {
                let value = |code| {
                    let text = word(code).cloned().or_else(|| {
                        let number = self.column.number()?;
                        Some(number.text(self.number(code, rng)? as i64))
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
            kind: Kind::of(column),
            nullable: schema.has_missing_level(column),
        };
        let columns: Vec<Stored<'a>> = schema.coded_columns().map(stored).collect();
        let fields: Result<_, _> = columns.iter().map(Stored::field).collect();
        let of_file = Type::group_type_builder("table")
            .with_fields(fields?)
            .build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let properties = Arc::new(properties.build());
        let file = SerializedFileWriter::new(to, Arc::new(of_file), properties)?;
        Ok(Self {
            rules: schema.rules(),
            columns,
            file,
        })
    }

    /// Adds records, `[n, D]` in rows.
    pub(in super::super) fn write(&mut self, codes: &[u16], rng: &mut impl Rng) -> io::Result<()> {
        let width = self.columns.len();
        for block in codes.chunks(GROUP * width) {
            // Numbers under a rule come together, and first.
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

    /// What it was written to.
    pub(in super::super) fn finish(self) -> io::Result<W> {
        Ok(self.file.into_inner()?)
    }
}

/// A whole number that is spelled as it is written.
fn whole(text: &str) -> Option<i64> {
    let value: i64 = text.parse().ok()?;
    (value.to_string() == text).then_some(value)
}
