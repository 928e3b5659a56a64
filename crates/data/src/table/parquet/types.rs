//! The types of columns in Parquet files, with names that are almost those of Arrow.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::schema::types::ColumnDescriptor;

use super::super::column::{Levels, Open, Role};
use super::super::number::{Number, Unit};

/// The texts of truth values.
pub(super) const TRUTHS: [&str; 2] = ["false", "true"];
/// The number of bytes of a decimal number that is written, and its largest number of digits.
pub(super) const DECIMAL: (i32, u32) = (16, 38);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Type {
    Truth,
    Text,
    Day,
    Float,
    Double,
    Whole {
        bits: u32,
        signed: bool,
    },
    /// A time since 1970, in UTC or in local time.
    Moment {
        part: Part,
        utc: bool,
    },
    /// A time of the day.
    Time(Part),
    /// Whole numbers of 10^-scale.
    Decimal {
        digits: u32,
        scale: u32,
    },
}

/// The unit in which a time is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Part {
    Milli,
    Micro,
    Nano,
}

impl Part {
    const ALL: [Self; 3] = [Self::Milli, Self::Micro, Self::Nano];

    fn of(unit: TimeUnit) -> Self {
        match unit {
            TimeUnit::MILLIS => Self::Milli,
            TimeUnit::MICROS => Self::Micro,
            TimeUnit::NANOS => Self::Nano,
        }
    }

    fn unit(self) -> TimeUnit {
        match self {
            Self::Milli => TimeUnit::MILLIS,
            Self::Micro => TimeUnit::MICROS,
            Self::Nano => TimeUnit::NANOS,
        }
    }

    /// The number of these units in a millisecond.
    pub(super) fn of_milli(self) -> i64 {
        match self {
            Self::Milli => 1,
            Self::Micro => 1000,
            Self::Nano => 1_000_000,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Milli => "ms",
            Self::Micro => "us",
            Self::Nano => "ns",
        }
    }
}

impl Type {
    pub(super) const WHOLE: Self = Self::Whole {
        bits: 64,
        signed: true,
    };

    /// The type of a column of single values; `None` if it is neither a number, a date, a text nor a truth value.
    pub(super) fn of(column: &ColumnDescriptor) -> Option<Self> {
        use ConvertedType as C;
        use LogicalType as L;
        if column.max_rep_level() > 0 {
            return None;
        }
        let whole = |bits, signed| Some(Self::Whole { bits, signed });
        let utc = |part| Some(Self::Moment { part, utc: true });
        let decimal = || {
            let [digits, scale] = [column.type_precision(), column.type_scale()];
            Some(Self::Decimal {
                digits: digits.try_into().ok()?,
                scale: scale.try_into().ok()?,
            })
        };
        match (column.physical_type(), column.logical_type_ref()) {
            (Physical::INT64, Some(L::Timestamp(time))) => {
                return Some(Self::Moment {
                    part: Part::of(time.unit),
                    utc: time.is_adjusted_to_u_t_c,
                });
            }
            (Physical::INT32 | Physical::INT64, Some(L::Time(time))) => {
                return Some(Self::Time(Part::of(time.unit)));
            }
            _ => {}
        }
        match (column.physical_type(), column.converted_type()) {
            (Physical::BOOLEAN, _) => Some(Self::Truth),
            (Physical::FLOAT, _) => Some(Self::Float),
            (Physical::DOUBLE, _) => Some(Self::Double),
            (Physical::INT96, _) => Some(Self::Moment {
                part: Part::Nano,
                utc: false,
            }),
            (Physical::INT32, C::DATE) => Some(Self::Day),
            (Physical::INT64, C::TIMESTAMP_MILLIS) => utc(Part::Milli),
            (Physical::INT64, C::TIMESTAMP_MICROS) => utc(Part::Micro),
            (Physical::INT32, C::TIME_MILLIS) => Some(Self::Time(Part::Milli)),
            (Physical::INT64, C::TIME_MICROS) => Some(Self::Time(Part::Micro)),
            (Physical::INT32, C::INT_8) => whole(8, true),
            (Physical::INT32, C::INT_16) => whole(16, true),
            (Physical::INT32, C::INT_32) => whole(32, true),
            (Physical::INT64, C::INT_64) => whole(64, true),
            (Physical::INT32, C::UINT_8) => whole(8, false),
            (Physical::INT32, C::UINT_16) => whole(16, false),
            (Physical::INT32, C::UINT_32) => whole(32, false),
            (Physical::INT64, C::UINT_64) => whole(64, false),
            (Physical::BYTE_ARRAY, C::UTF8 | C::ENUM | C::JSON) => Some(Self::Text),
            (Physical::INT32 | Physical::INT64, C::DECIMAL) => decimal(),
            (Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY, C::DECIMAL) => decimal(),
            // These types have no older name.
            (own @ (Physical::INT32 | Physical::INT64), C::NONE) => match column.logical_type_ref()
            {
                None | Some(L::Unknown) => {
                    whole(if own == Physical::INT32 { 32 } else { 64 }, true)
                }
                Some(_) => None,
            },
            _ => None,
        }
    }

    /// The default type of a column whose type the schema does not give. Categories are truth values or whole numbers if all
    /// their spellings are.
    pub(in super::super) fn of_role(role: &Role) -> Self {
        match role {
            Role::Number(Number { unit, .. }) => Self::of_unit(*unit),
            Role::Open(Open::Range(asked)) => Self::of_unit(asked.unit),
            Role::Levels(levels) if Self::Truth.has(levels) => Self::Truth,
            Role::Levels(levels) if Self::WHOLE.has(levels) => Self::WHOLE,
            _ => Self::Text,
        }
    }

    fn of_unit(unit: Unit) -> Self {
        match unit {
            Unit::Decimal(_) => Self::Double,
            Unit::One => Self::WHOLE,
            Unit::Day => Self::Day,
            Unit::Time { date: true, .. } => Self::Moment {
                part: Part::Micro,
                utc: false,
            },
            Unit::Time { .. } => Self::Text,
        }
    }

    /// Whether the type can hold all values of a column.
    pub(in super::super) fn fits(self, role: &Role) -> bool {
        match role {
            Role::Number(number) => {
                let special = number.special.iter().map(|special| special.value);
                let mut all = special.chain([number.min, number.max]);
                self.counts(number.unit) && all.all(|value| self.reaches(value))
            }
            // The range may turn out to be wider than any width.
            Role::Open(Open::Range(asked)) => {
                self.counts(asked.unit) && (self == Self::WHOLE || self.bounds().is_none())
            }
            Role::Levels(levels) => self.has(levels),
            _ => self == Self::Text,
        }
    }

    /// Whether the type may hold numbers of this unit.
    fn counts(self, unit: Unit) -> bool {
        match self {
            Self::Text => true,
            Self::Truth => false,
            Self::Whole { .. } => matches!(unit, Unit::One | Unit::Decimal(..=0)),
            Self::Decimal { digits, .. } => {
                digits <= DECIMAL.1 && matches!(unit, Unit::One | Unit::Decimal(_))
            }
            Self::Float | Self::Double => matches!(unit, Unit::One | Unit::Decimal(_)),
            Self::Day => unit == Unit::Day,
            Self::Moment { .. } => matches!(unit, Unit::Day | Unit::Time { date: true, .. }),
            Self::Time(_) => matches!(unit, Unit::Time { date: false, .. }),
        }
    }

    /// Whether a number fits the width of the type.
    fn reaches(self, value: f64) -> bool {
        self.bounds()
            .is_none_or(|[low, high]| (low..=high).contains(&value))
    }

    /// The least and the largest number of this width.
    pub(in super::super) fn bounds(self) -> Option<[f64; 2]> {
        let power = |bits: u32| 2_f64.powi(bits as i32);
        match self {
            Self::Whole { bits, signed: true } => Some([-power(bits - 1), power(bits - 1) - 1.0]),
            Self::Whole { bits, .. } => Some([0.0, power(bits) - 1.0]),
            Self::Decimal { digits, scale } => {
                let most = (10_f64.powi(digits as i32) - 1.0) / 10_f64.powi(scale as i32);
                Some([-most, most])
            }
            _ => None,
        }
    }

    /// Whether all categories are values of this type.
    fn has(self, levels: &Levels) -> bool {
        levels.spellings.iter().all(|spellings| match self {
            Self::Text => true,
            Self::Truth => spellings.iter().any(|text| TRUTHS.contains(&&**text)),
            Self::Whole { .. } => {
                let value = spellings.first().and_then(|text| whole(text));
                value.is_some_and(|value| self.reaches(value as f64))
            }
            Self::Float | Self::Double => {
                let value = spellings.first().and_then(|text| text.parse().ok());
                value.is_some_and(f64::is_finite)
            }
            _ => false,
        })
    }

    /// The Parquet types with which this program stores it.
    pub(super) fn stored(self) -> (Physical, Option<LogicalType>) {
        match self {
            Self::Truth => (Physical::BOOLEAN, None),
            Self::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Day => (Physical::INT32, Some(LogicalType::Date)),
            Self::Float => (Physical::FLOAT, None),
            Self::Double => (Physical::DOUBLE, None),
            Self::Whole { bits, signed } => {
                let physical = match bits {
                    64 => Physical::INT64,
                    _ => Physical::INT32,
                };
                let plain = signed && bits >= 32;
                let logical = LogicalType::integer(bits as i8, signed);
                (physical, (!plain).then_some(logical))
            }
            Self::Moment { part, utc } => {
                let logical = LogicalType::timestamp(utc, part.unit());
                (Physical::INT64, Some(logical))
            }
            Self::Time(part) => {
                let physical = match part {
                    Part::Milli => Physical::INT32,
                    _ => Physical::INT64,
                };
                (physical, Some(LogicalType::time(true, part.unit())))
            }
            Self::Decimal { digits, scale } => {
                let logical = LogicalType::decimal(scale as i32, digits as i32);
                (Physical::FIXED_LEN_BYTE_ARRAY, Some(logical))
            }
        }
    }

    /// The name of the type in a schema.
    pub(in super::super) fn name(self) -> String {
        match self {
            Self::Truth => "bool".into(),
            Self::Text => "string".into(),
            Self::Day => "date".into(),
            Self::Float => "float32".into(),
            Self::Double => "float64".into(),
            Self::Whole { bits, signed } => format!("{}int{bits}", if signed { "" } else { "u" }),
            Self::Moment { part, utc } => {
                let zone = if utc { ", UTC" } else { "" };
                format!("timestamp[{}{zone}]", part.name())
            }
            Self::Time(part) => format!("time[{}]", part.name()),
            Self::Decimal { digits, scale } => format!("decimal({digits}, {scale})"),
        }
    }

    /// Parses the name of a type from a schema.
    pub(in super::super) fn parse(text: &str) -> Option<Self> {
        let decimal = || {
            let digits = text.strip_prefix("decimal(")?.strip_suffix(')')?;
            let (digits, scale) = digits.split_once(", ")?;
            Some(Self::Decimal {
                digits: digits.parse().ok().filter(|digits| *digits <= DECIMAL.1)?,
                scale: scale.parse().ok().filter(|scale| *scale <= DECIMAL.1)?,
            })
        };
        let bits = [8, 16, 32, 64].into_iter();
        let wholes = bits.flat_map(|bits| [true, false].map(|signed| Self::Whole { bits, signed }));
        let moments = Part::ALL
            .into_iter()
            .flat_map(|part| [true, false].map(|utc| Self::Moment { part, utc }));
        let mut all = [
            Self::Truth,
            Self::Text,
            Self::Day,
            Self::Float,
            Self::Double,
        ]
        .into_iter()
        .chain(wholes)
        .chain(moments)
        .chain(Part::ALL.map(Self::Time));
        all.find(|known| known.name() == text).or_else(decimal)
    }
}

/// A whole number whose text is the one Rust writes for it.
pub(super) fn whole(text: &str) -> Option<i64> {
    let value: i64 = text.parse().ok()?;
    (value.to_string() == text).then_some(value)
}
