//! The values of a column as texts.

use std::fmt::{Display, Write};

use csv::StringRecord;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;

use super::super::calendar::{Step, clock_text, day_text, moment_text};
use super::types::Type;

impl Type {
    fn whole(self, signed: i64, unsigned: u64, text: &mut String) -> Option<()> {
        match self {
            Self::Day => *text += &day_text(signed),
            Self::Moment { part, .. } => {
                *text += &moment_text(signed.div_euclid(part.of_milli()), Step::Milli);
            }
            Self::Time(part) => {
                *text += &clock_text(signed.div_euclid(part.of_milli()), Step::Milli);
            }
            Self::Decimal { scale, .. } => decimal(signed.into(), scale, text)?,
            Self::Whole { signed: false, .. } => write!(text, "{unsigned}").ok()?,
            _ => write!(text, "{signed}").ok()?,
        }
        Some(())
    }

    fn bytes(self, bytes: &[u8], text: &mut String) -> Option<()> {
        if let Self::Decimal { scale, .. } = self {
            // The bytes are in two's complement, the highest first.
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

/// Adds `count` values of a column, with `absent` for nulls; `None` if there are fewer values, or damaged ones.
pub(super) fn read(
    texts: &mut StringRecord,
    reader: &mut ColumnReader,
    kind: Type,
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
        R::Int96ColumnReader(reader) => to.fill(reader, |v, text| {
            *text += &moment_text(v.to_millis(), Step::Milli);
            Some(())
        }),
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
        // A column with a value in every record has no levels.
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
