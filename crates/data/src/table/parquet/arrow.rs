//! Arrow's description of a column beyond its Parquet type: dictionary, duration, or the zone of its times.
//!
//! Files hold it under the key `ARROW:schema`, as a message of flatbuffers in base64, and pandas and polars rely on it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::types::{Part, Type};

pub(super) const KEY: &str = "ARROW:schema";
const UTC: &str = "UTC";
const UNITS: [&str; 4] = ["s", "ms", "us", "ns"];

/// The type of a column in a Parquet file, with Arrow's description of it.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Storage {
    pub kind: Type,
    pub arrow: Arrow,
}

#[derive(Clone, Debug, PartialEq)]
pub(in super::super) enum Arrow {
    /// No further description.
    Plain,
    Dictionary,
    /// A duration in one of the units.
    Duration(usize),
    Zone(String),
}

impl Storage {
    pub(in super::super) fn plain(kind: Type) -> Self {
        Self {
            kind,
            arrow: Arrow::Plain,
        }
    }

    /// The storage of a type with this description.
    pub(super) fn of(kind: Type, arrow: Arrow) -> Self {
        let arrow = match (&kind, arrow) {
            (&Type::Text, Arrow::Dictionary) => Arrow::Dictionary,
            (&Type::WHOLE, Arrow::Duration(unit)) => Arrow::Duration(unit),
            (&Type::Moment { utc: true, .. }, Arrow::Zone(zone)) if zone != UTC => {
                Arrow::Zone(zone)
            }
            _ => Arrow::Plain,
        };
        Self { kind, arrow }
    }

    /// The name of the storage in a schema.
    pub(in super::super) fn name(&self) -> String {
        let name = self.kind.name();
        match &self.arrow {
            Arrow::Plain => name,
            Arrow::Dictionary => format!("dictionary[{name}]"),
            Arrow::Duration(unit) => format!("duration[{}]", UNITS[*unit]),
            Arrow::Zone(zone) => name.replace(UTC, zone),
        }
    }

    /// Parses the name of a storage from a schema.
    pub(in super::super) fn parse(text: &str) -> Option<Self> {
        if let Some(kind) = Type::parse(text) {
            return Some(Self::plain(kind));
        }
        let inside = |before| text.strip_prefix(before)?.strip_suffix(']');
        if inside("dictionary[") == Some("string") {
            return Some(Self::of(Type::Text, Arrow::Dictionary));
        }
        if let Some(unit) = inside("duration[") {
            let unit = UNITS.iter().position(|known| *known == unit)?;
            return Some(Self::of(Type::WHOLE, Arrow::Duration(unit)));
        }
        let (part, zone) = inside("timestamp[")?.split_once(", ")?;
        let kind = Type::parse(&format!("timestamp[{part}, {UTC}]"))?;
        let clear = |c: char| c.is_ascii_alphanumeric() || "/_+-:".contains(c);
        let clear = !zone.is_empty() && zone.chars().all(clear);
        clear.then(|| Self::of(kind, Arrow::Zone(zone.into())))
    }
}

// The numbers by which Arrow names types.
const INT: u8 = 2;
const FLOATING: u8 = 3;
const UTF8: u8 = 5;
const BOOL: u8 = 6;
const DECIMAL: u8 = 7;
const DATE: u8 = 8;
const TIME: u8 = 9;
const TIMESTAMP: u8 = 10;
const DURATION: u8 = 18;
const LARGE_UTF8: u8 = 20;

/// The description of each column, with its name; empty if it cannot be read.
pub(super) fn read(encoded: &str) -> Vec<(String, Arrow)> {
    let bytes = STANDARD.decode(encoded).unwrap_or_default();
    // The message starts with a continuation mark and its length.
    let start = match bytes.starts_with(&[0xff; 4]) {
        true => 8,
        false => 4,
    };
    let message = bytes.get(start..).and_then(Table::root);
    let fields = message.and_then(|message| message.table(2)?.tables(1));
    let said = |field: Table<'_>| Some((field.text(0)?.to_string(), field.arrow()?));
    fields
        .unwrap_or_default()
        .into_iter()
        .filter_map(said)
        .collect()
}

/// A table of flatbuffers, by the place where it begins.
#[derive(Clone, Copy)]
struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Table<'a> {
    fn root(bytes: &'a [u8]) -> Option<Self> {
        Self { bytes, at: 0 }.behind(0)
    }

    fn number<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    /// The table to which the offset at this place leads.
    fn behind(&self, at: usize) -> Option<Self> {
        let offset = u32::from_le_bytes(self.number(at)?) as usize;
        let at = at.checked_add(offset)?;
        Some(Self { at, ..*self })
    }

    /// The place of a field, if it exists.
    fn field(&self, number: usize) -> Option<usize> {
        let back = i32::from_le_bytes(self.number(self.at)?);
        let fields = self.at.checked_add_signed(-(back as isize))?;
        let length = usize::from(u16::from_le_bytes(self.number(fields)?));
        let place = 4 + 2 * number;
        let offset = u16::from_le_bytes(self.number(fields + place)?);
        (place < length && offset > 0).then(|| self.at + usize::from(offset))
    }

    fn table(&self, number: usize) -> Option<Self> {
        self.behind(self.field(number)?)
    }

    fn tables(&self, number: usize) -> Option<Vec<Self>> {
        let list = self.table(number)?;
        let count = u32::from_le_bytes(list.number(list.at)?) as usize;
        let places = (0..count.min(self.bytes.len())).map(|place| list.at + 4 + 4 * place);
        places.map(|place| self.behind(place)).collect()
    }

    fn text(&self, number: usize) -> Option<&'a str> {
        let text = self.table(number)?;
        let length = u32::from_le_bytes(text.number(text.at)?) as usize;
        let start = text.at + 4;
        str::from_utf8(self.bytes.get(start..start.checked_add(length)?)?).ok()
    }

    /// The description of a field of Arrow.
    fn arrow(&self) -> Option<Arrow> {
        let kind = self.number::<1>(self.field(2)?)?[0];
        if self.table(4).is_some() {
            let text = matches!(kind, UTF8 | LARGE_UTF8);
            return text.then_some(Arrow::Dictionary);
        }
        let of_type = self.table(3)?;
        match kind {
            TIMESTAMP => Some(Arrow::Zone(of_type.text(1)?.into())),
            DURATION => {
                // The default is milliseconds.
                let unit = of_type.field(0).map_or(Some(1), |at| {
                    Some(usize::from(u16::from_le_bytes(self.number(at)?)))
                })?;
                (unit < UNITS.len()).then_some(Arrow::Duration(unit))
            }
            _ => None,
        }
    }
}

/// The description of all columns of a file, each with its name.
pub(super) fn written<'a>(columns: impl Iterator<Item = (&'a str, bool, &'a Storage)>) -> String {
    let fields = columns.map(|(name, nullable, stored)| field(name, nullable, stored));
    let schema = vec![(1, Value::Tables(fields.collect()))];
    // This is version 5, with a schema as its header.
    let message = vec![
        (0, Value::Short(4)),
        (1, Value::Byte(1)),
        (2, Value::Table(schema)),
    ];
    let mut bytes = vec![0; 4];
    let root = put(&mut bytes, &message) as u32;
    bytes[..4].copy_from_slice(&root.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let mut all = vec![0xff; 4];
    all.extend((bytes.len() as u32).to_le_bytes());
    all.extend(bytes);
    STANDARD.encode(all)
}

/// A field of a table of flatbuffers.
enum Value {
    Byte(u8),
    Short(i16),
    Int(i32),
    Text(String),
    Table(Fields),
    Tables(Vec<Fields>),
}

type Fields = Vec<(usize, Value)>;

fn field(name: &str, nullable: bool, stored: &Storage) -> Fields {
    let (kind, of_type) = described(stored);
    let mut fields = vec![
        (0, Value::Text(name.into())),
        (1, Value::Byte(nullable.into())),
        (2, Value::Byte(kind)),
        (3, Value::Table(of_type)),
    ];
    if stored.arrow == Arrow::Dictionary {
        let index = vec![(0, Value::Int(32)), (1, Value::Byte(1))];
        fields.push((4, Value::Table(vec![(1, Value::Table(index))])));
    }
    fields.push((5, Value::Tables(Vec::new())));
    fields
}

/// The number of a type, and its fields.
fn described(stored: &Storage) -> (u8, Fields) {
    let unit = |part: Part| {
        let name = part.name();
        let unit = UNITS.iter().position(|unit| *unit == name);
        Value::Short(unit.unwrap_or(0) as i16)
    };
    match (&stored.kind, &stored.arrow) {
        (_, Arrow::Duration(own)) => (DURATION, vec![(0, Value::Short(*own as i16))]),
        (Type::Truth, _) => (BOOL, Vec::new()),
        (Type::Text, _) => (UTF8, Vec::new()),
        (Type::Day, _) => (DATE, vec![(0, Value::Short(0))]),
        (Type::Float, _) => (FLOATING, vec![(0, Value::Short(1))]),
        (Type::Double, _) => (FLOATING, vec![(0, Value::Short(2))]),
        (Type::Whole { bits, signed }, _) => {
            let signed = Value::Byte((*signed).into());
            (INT, vec![(0, Value::Int(*bits as i32)), (1, signed)])
        }
        (Type::Moment { part, utc }, arrow) => {
            let mut fields = vec![(0, unit(*part))];
            match arrow {
                Arrow::Zone(zone) => fields.push((1, Value::Text(zone.clone()))),
                _ if *utc => fields.push((1, Value::Text(UTC.into()))),
                _ => {}
            }
            (TIMESTAMP, fields)
        }
        (Type::Time(part), _) => {
            let bits = match part {
                Part::Milli => 32,
                _ => 64,
            };
            (TIME, vec![(0, unit(*part)), (1, Value::Int(bits))])
        }
        (Type::Decimal { digits, scale }, _) => {
            let all = [*digits as i32, *scale as i32, 128];
            (
                DECIMAL,
                all.into_iter().map(Value::Int).enumerate().collect(),
            )
        }
    }
}

/// Writes a table, and after it the targets of its fields; returns the place where it begins.
fn put(bytes: &mut Vec<u8>, fields: &Fields) -> usize {
    let count = fields
        .iter()
        .map(|(number, _)| number + 1)
        .max()
        .unwrap_or(0);
    let places = 4 + 2 * count;
    // Both begin at a place that suits any field.
    let start = bytes.len().next_multiple_of(8);
    let at = (start + places).next_multiple_of(8);
    let (mut of_fields, mut table) = (
        vec![0_u16; count],
        (at as i32 - start as i32).to_le_bytes().to_vec(),
    );
    let mut led = Vec::new();
    for (number, value) in fields {
        let own: Vec<u8> = match value {
            Value::Byte(value) => vec![*value],
            Value::Short(value) => value.to_le_bytes().into(),
            Value::Int(value) => value.to_le_bytes().into(),
            Value::Text(_) | Value::Table(_) | Value::Tables(_) => vec![0; 4],
        };
        table.resize(table.len().next_multiple_of(own.len()), 0);
        of_fields[*number] = table.len() as u16;
        if matches!(value, Value::Text(_) | Value::Table(_) | Value::Tables(_)) {
            led.push((at + table.len(), value));
        }
        table.extend(own);
    }
    bytes.resize(start, 0);
    let head = [places as u16, table.len() as u16];
    bytes.extend(head.into_iter().chain(of_fields).flat_map(u16::to_le_bytes));
    bytes.resize(at, 0);
    bytes.extend(table);
    for (place, value) in led {
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let target = match value {
            Value::Table(fields) => put(bytes, fields),
            Value::Tables(all) => {
                let list = bytes.len();
                bytes.extend((all.len() as u32).to_le_bytes());
                bytes.resize(list + 4 + 4 * all.len(), 0);
                for (number, fields) in all.iter().enumerate() {
                    let target = put(bytes, fields);
                    lead(bytes, list + 4 + 4 * number, target);
                }
                list
            }
            Value::Text(text) => {
                let start = bytes.len();
                bytes.extend((text.len() as u32).to_le_bytes());
                bytes.extend(text.as_bytes());
                bytes.push(0);
                start
            }
            Value::Byte(_) | Value::Short(_) | Value::Int(_) => place,
        };
        lead(bytes, place, target);
    }
    at
}

/// Writes the distance from a place to a target at this place.
fn lead(bytes: &mut [u8], place: usize, target: usize) {
    bytes[place..place + 4].copy_from_slice(&((target - place) as u32).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let names = [
            "dictionary[string]",
            "duration[us]",
            "timestamp[ns, Europe/Berlin]",
        ];
        let all = names.map(|name| Storage::parse(name).expect("a name"));
        assert_eq!(all.each_ref().map(Storage::name), names);
        let columns = names
            .iter()
            .zip(&all)
            .map(|(name, stored)| (*name, true, stored));
        let read = read(&written(columns));
        let expected = names.iter().zip(&all);
        let expected = expected.map(|(name, stored)| (name.to_string(), stored.arrow.clone()));
        assert_eq!(read, expected.collect::<Vec<_>>());
    }

    #[test]
    fn damaged_messages_say_nothing_and_do_no_harm() {
        let stored = Storage::parse("timestamp[ns, Europe/Berlin]").expect("a name");
        let whole = written([("a", true, &stored)].into_iter());
        let bytes = STANDARD.decode(&whole).expect("base64");
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[place] ^= 1 << bit;
                assert!(read(&STANDARD.encode(&damaged)).len() <= damaged.len());
            }
            assert!(read(&STANDARD.encode(&bytes[..place])).len() <= 1);
        }
    }
}
