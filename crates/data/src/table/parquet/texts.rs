//! What the values of a column are as texts.

use std::fmt::{Display, Write};

use csv::StringRecord;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::schema::types::ColumnDescriptor;

use super::super::calendar::{day_text, second_text};

/// Milliseconds of a minute.
const MINUTE: i64 = 60_000;

/// What the values of a column are, beside their physical type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// As its physical type says.
    Plain,
    Unsigned,
    Text,
    Day,
    /// So many counts of a time are a minute.
    Time(i64),
    /// Whole numbers of 10^-scale.
    Decimal(u32),
}

impl Kind {
    /// Of a column of single values; `None` for what is neither a number, a date, a text nor a truth value.
    pub(super) fn of(column: &ColumnDescriptor) -> Option<Self> {
        use ConvertedType as C;
        if column.max_rep_level() > 0 {
            return None;
        }
        let decimal = || u32::try_from(column.type_scale()).ok().map(Self::Decimal);
        match (column.physical_type(), column.converted_type()) {
            (Type::BOOLEAN | Type::FLOAT | Type::DOUBLE, _) => Some(Self::Plain),
            (Type::INT96, _) => Some(Self::Time(MINUTE)),
            (Type::INT32, C::DATE) => Some(Self::Day),
            (Type::INT64, C::TIMESTAMP_MILLIS) => Some(Self::Time(MINUTE)),
            (Type::INT64, C::TIMESTAMP_MICROS) => Some(Self::Time(MINUTE * 1000)),
            (Type::INT32 | Type::INT64, C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64) => {
                Some(Self::Unsigned)
            }
            (Type::INT32 | Type::INT64, C::INT_8 | C::INT_16 | C::INT_32 | C::INT_64) => {
                Some(Self::Plain)
            }
            (Type::BYTE_ARRAY, C::UTF8 | C::ENUM | C::JSON) => Some(Self::Text),
            (Type::INT32 | Type::INT64, C::DECIMAL) => decimal(),
            (Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY, C::DECIMAL) => decimal(),
            // What there is no older word for.
            (Type::INT32 | Type::INT64, C::NONE) => match column.logical_type_ref() {
                None | Some(LogicalType::Unknown) => Some(Self::Plain),
                Some(LogicalType::Timestamp(time)) => match time.unit {
                    TimeUnit::MILLIS => Some(Self::Time(MINUTE)),
                    TimeUnit::MICROS => Some(Self::Time(MINUTE * 1000)),
                    TimeUnit::NANOS => Some(Self::Time(MINUTE * 1_000_000)),
                },
                Some(_) => None,
            },
            _ => None,
        }
    }

    fn whole(self, signed: i64, unsigned: u64, text: &mut String) -> Option<()> {
        match self {
            Self::Day => *text += &day_text(signed),
            Self::Time(minute) => *text += &second_text(60 * signed.div_euclid(minute), false),
            Self::Decimal(scale) => decimal(signed.into(), scale, text)?,
            Self::Unsigned => write!(text, "{unsigned}").ok()?,
            Self::Plain | Self::Text => write!(text, "{signed}").ok()?,
        }
        Some(())
    }

    fn bytes(self, bytes: &[u8], text: &mut String) -> Option<()> {
        if let Self::Decimal(scale) = self {
            // The highest byte first, in two's complement.
            let sign = if *bytes.first()? < 0x80 { 0 } else { 0xff };
            let mut value = [sign; 16];
            let start = 16_usize.checked_sub(bytes.len())?;
            value[start..].copy_from_slice(bytes);
            return decimal(i128::from_be_bytes(value), scale, text);
        }
        *text += str::from_utf8(bytes).ok()?.trim();
        Some(())
    }
}

/// A whole number of 10^-scale.
fn decimal(value: i128, scale: u32, text: &mut String) -> Option<()> {
    let (value, sign) = (value.unsigned_abs(), if value < 0 { "-" } else { "" });
    let scale = scale as usize;
    let digits = format!("{value:0>width$}", width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    let point = if part.is_empty() { "" } else { "." };
    write!(text, "{sign}{whole}{point}{part}").ok()
}

/// Adds so many values of a column, `absent` in the place of nulls; `None` where there are fewer, or damaged ones.
pub(super) fn read(
    texts: &mut StringRecord,
    reader: &mut ColumnReader,
    kind: Kind,
    count: usize,
    absent: &str,
) -> Option<()> {
    use ColumnReader as R;
    let mut to = Filled {
        texts,
        count,
        absent,
    };
    let whole = |signed, unsigned, text: &mut String| kind.whole(signed, unsigned, text);
    match reader {
        R::BoolColumnReader(reader) => to.fill(reader, shown),
        R::FloatColumnReader(reader) => to.fill(reader, shown),
        R::DoubleColumnReader(reader) => to.fill(reader, shown),
        R::Int32ColumnReader(reader) => {
            to.fill(reader, |&v, text| whole(v.into(), (v as u32).into(), text))
        }
        R::Int64ColumnReader(reader) => to.fill(reader, |&v, text| whole(v, v as u64, text)),
        R::Int96ColumnReader(reader) => to.fill(reader, |v, text| whole(v.to_millis(), 0, text)),
        R::ByteArrayColumnReader(reader) => to.fill(reader, |v, text| kind.bytes(v.data(), text)),
        R::FixedLenByteArrayColumnReader(reader) => {
            to.fill(reader, |v, text| kind.bytes(v.data(), text))
        }
    }
}

fn shown<T: Display>(value: &T, text: &mut String) -> Option<()> {
    write!(text, "{value}").ok()
}

struct Filled<'a> {
    texts: &'a mut StringRecord,
    count: usize,
    absent: &'a str,
}

impl Filled<'_> {
    fn fill<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        put: impl Fn(&T::T, &mut String) -> Option<()>,
    ) -> Option<()> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let read = reader.read_records(self.count, Some(&mut levels), None, &mut values);
        // A column that has a value in every record has no levels.
        levels.resize(self.count, 1);
        (read.ok()?.0 == self.count).then_some(())?;
        let (mut values, mut text) = (values.iter(), String::new());
        for level in levels {
            text.clear();
            match level {
                0 => text += self.absent,
                _ => put(values.next()?, &mut text)?,
            }
            self.texts.push_field(&text);
        }
        Some(())
    }
}
