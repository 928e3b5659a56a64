//! From the texts of a file to codes.

use std::collections::HashMap;
use std::io;

use rayon::prelude::*;

use super::coded::{Part, Read};
use super::column::{Column, Role};
use super::encode::{Places, one_field};
use super::field::Field;
use super::opened::{Block, Opened};
use super::texts::Texts;
use super::{Missing, Schema};
use crate::DataError;
use crate::error::Position;

/// How many records are read at once, unless they are long, and how many values at most.
const RECORDS: usize = 1 << 14;
const VALUES: usize = 1 << 21;

/// Reads the files of a table one after the other.
pub(super) struct Coding<'a> {
    schema: &'a Schema,
    coders: Vec<(&'a Column, Coder<'a>)>,
    part: Part,
    /// The first so many records count.
    most: usize,
    /// Whether the part is of groups of records of Parquet files, and how many of these were in the files before.
    pub by_groups: bool,
    groups: usize,
    pub read: Read,
    /// The sum of each file.
    pub sums: Vec<[u8; 32]>,
}

impl<'a> Coding<'a> {
    pub(super) fn new(schema: &'a Schema, part: Part, most: usize) -> Self {
        let coders = schema.coded_columns();
        let coders: Vec<_> = coders.map(|column| (column, Coder::new(column))).collect();
        Self {
            schema,
            read: Read {
                columns: coders.len(),
                ..Read::default()
            },
            coders,
            part,
            most,
            by_groups: false,
            groups: 0,
            sums: Vec::new(),
        }
    }

    /// Gives the codes of the part of a file to `each`.
    pub(super) fn read(
        &mut self,
        file: &str,
        opened: &mut Opened<impl io::Read>,
        mut places: Places,
        each: &mut impl FnMut(&[u16]) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let columns = self.coders.len();
        if let Opened::Text(lines) = opened
            && !places.named
            && let Some(line) = lines.peek()?
        {
            let found = line.fields.len();
            if found == 1 && self.schema.columns.len() > 1 && columns > 1 {
                return Err(one_field(self.schema, file, &line));
            }
            if found == columns {
                places = self.schema.places_of_copy();
            }
        }
        let kept = self.schema.columns.iter().zip(&places.of_columns);
        let kept = kept.filter(|(column, _)| column.role != Role::Ignored);
        let at: Vec<usize> = kept.filter_map(|(_, place)| *place).collect();
        opened.read_only(at.iter().copied())?;
        let groups = opened.groups();
        if self.by_groups {
            let own = |group: &usize| self.part.has(self.groups + group);
            opened.read_groups((0..groups.len()).filter(own).collect());
            self.groups += groups.len();
        }
        let before = self.read.rows;
        let most = RECORDS.min(VALUES / columns.max(1)).max(1);
        let (mut block, mut codes) = (Block::default(), Vec::new());
        loop {
            let filled = opened.block(file, &places, &at, most, &mut block);
            self.code(file, &block, &mut codes)?;
            filled?;
            let Some(&first) = block.places.first() else {
                break;
            };
            // Where groups were passed over, a record says its place.
            let first = match first {
                Position::Record(number) if self.by_groups => before + number as usize - 1,
                _ => self.read.rows,
            };
            self.read.rows = first + block.places.len();
            let has = |place| place < self.most && (self.by_groups || self.part.has(place));
            if !(first..self.read.rows).all(has) {
                let records = (first..).zip(codes.chunks_exact(columns));
                let kept = records.filter(|&(place, _)| has(place));
                codes = kept.flat_map(|(_, record)| record).copied().collect();
            }
            each(&codes)?;
        }
        if self.by_groups {
            self.read.rows = before + groups.iter().sum::<usize>();
        }
        Ok(())
    }

    /// The codes of a block, `[records, columns]` in rows.
    fn code(&mut self, file: &str, block: &Block, codes: &mut Vec<u16>) -> Result<(), DataError> {
        let columns = self.coders.par_iter().zip(&block.columns);
        let of_columns: Vec<_> = columns
            .map(|((column, coder), texts)| {
                self.codes_of(file, column, coder, texts, &block.places)
            })
            .collect();
        // The first record at fault is named, and its first column.
        let faults = of_columns.iter().filter_map(|of| of.as_ref().err());
        let first = faults.map(|(place, _)| *place).min();
        let mut all = Vec::new();
        for of in of_columns {
            match of {
                Ok((codes, clamped)) => {
                    self.read.clamped += clamped;
                    all.push(codes);
                }
                Err((place, error)) if Some(place) == first => return Err(error),
                Err(_) => {}
            }
        }
        codes.clear();
        codes.reserve(all.len() * block.places.len());
        for place in 0..block.places.len() {
            codes.extend(all.iter().map(|codes| codes[place]));
        }
        Ok(())
    }

    /// The codes of a column, and how many were clamped; or the first record that has none.
    fn codes_of(
        &self,
        file: &str,
        column: &Column,
        coder: &Coder<'_>,
        texts: &Texts,
        places: &[Position],
    ) -> Result<(Vec<u16>, u64), (usize, DataError)> {
        let mut clamped = 0;
        let mut codes = Vec::with_capacity(places.len());
        for (record, (value, &place)) in texts.iter().zip(places).enumerate() {
            let field = Field {
                file,
                place,
                column: &column.name,
                value,
            };
            let code = if self.schema.missing.iter().any(|text| text == value) {
                match column.missing {
                    Missing::Level => column.codes(),
                    _ => return Err((record, field.missing_in_copy())),
                }
            } else {
                let (code, outside) = coder.code(column, &field).map_err(|e| (record, e))?;
                clamped += u64::from(outside);
                code
            };
            codes.push(code as u16);
        }
        Ok((codes, clamped))
    }
}

/// What finds the codes of a column: categories may be many.
pub(super) struct Coder<'a>(HashMap<&'a str, usize>);

impl<'a> Coder<'a> {
    pub(super) fn new(column: &'a Column) -> Self {
        let spelled = |lists: &'a [Vec<String>]| {
            let lists = lists.iter().enumerate();
            lists
                .flat_map(|(code, texts)| texts.iter().map(move |text| (text.as_str(), code)))
                .collect()
        };
        Self(match &column.role {
            Role::Categorical { levels, .. } => {
                levels.iter().map(String::as_str).zip(0..).collect()
            }
            Role::Boolean(spellings) => spelled(spellings),
            Role::Classes(classes) => spelled(classes),
            Role::Number(_) | Role::Response(_) | Role::Ignored => HashMap::new(),
        })
    }

    /// The code of a category as it is spelled.
    pub(super) fn category(&self, text: &str) -> Option<usize> {
        self.0.get(text).copied()
    }

    /// The code of a field, and whether it was clamped.
    fn code(&self, column: &Column, field: &Field<'_>) -> Result<(usize, bool), DataError> {
        if let Some(&code) = self.0.get(field.value) {
            return Ok((code, false));
        }
        let code = match &column.role {
            Role::Number(number) | Role::Response(number) => {
                return field.coded(number).map(|coded| (coded.code, coded.clamped));
            }
            Role::Categorical { levels, other, .. } => {
                field.level(levels).or_else(|error| other.ok_or(error))?
            }
            Role::Boolean(spellings) => field.boolean(spellings)?,
            Role::Classes(classes) => field.class(classes)?,
            Role::Ignored => 0,
        };
        Ok((code, false))
    }
}
