//! Reads rows of numbers from arrays and from text.

use std::io::BufReader;
use std::path::Path;

use super::arrays::{labels, listed};
use super::{Arrays, Asked, Form, Found, Skipped};
use crate::error::{check_pair, field, fields, open};
use crate::npy::NpyStream;
use crate::table::lines::Lines;
use crate::{DataError, Records, Stored};

/// The number of values that are read at once.
const BLOCK: usize = 1 << 20;

/// Reads an array of one or two dimensions, and its labels from another array if there is one.
pub(super) fn npy(
    path: &Path,
    asked: &Asked,
    done: &(dyn Fn(usize) + Sync),
    mut values: Stored<f32>,
) -> Result<Found, DataError> {
    let mut array = NpyStream::open(path)?;
    let file = array.name().to_string();
    let classes = listed(&file, &asked.classes)?;
    let labelled = match (&asked.labels, classes) {
        (Some(path), Some(classes)) => {
            let found = NpyStream::open(path)?;
            let name = found.name().to_string();
            let counts = [&array, &found].map(|array| array.rows() as u64);
            check_pair((&file, counts[0]), (&name, counts[1]))?;
            Some((labels(found, classes.len())?, classes))
        }
        _ => None,
    };
    let (width, count) = (array.columns(), asked.count(&file, array.rows())?);
    let (most, mut read) = ((BLOCK / width).max(1), 0);
    values.expect(count * width);
    while read < count {
        let block = array.next(most.min(count - read))?;
        if !asked.not_finite {
            array.check_finite(&block)?;
        }
        values.add(&block)?;
        read += block.len() / width;
        done(read);
    }
    let mut records = Records::rows(&file, width, values)?;
    let mut names = Vec::new();
    if let Some((mut labels, classes)) = labelled {
        labels.truncate(count);
        records = records.labelled(labels, classes.len())?;
        names = classes;
    }
    Ok(found(records, names, Vec::new()))
}

/// Reads text with one row on each line, its numbers between commas, semicolons, tabs or spaces. Empty lines are skipped,
/// and so is a first line without any number, which holds the names of columns.
pub(super) fn text(
    path: &Path,
    asked: &Asked,
    mut values: Stored<f32>,
) -> Result<Found, DataError> {
    let file = &path.display().to_string();
    let (mut width, mut block, mut skipped) = (0, Vec::new(), Vec::new());
    let mut first = true;
    // Separators differ from file to file, so a line is one field here.
    let mut lines = Lines::unquoted(file, BufReader::new(open(path)?));
    while let Some(line) = lines.next()? {
        let texts: Vec<&str> = line.fields.iter().flat_map(|text| split(text)).collect();
        let numbers = || texts.iter().map(|text| text.parse::<f32>().ok());
        if std::mem::take(&mut first) && numbers().all(|number| number.is_none()) {
            Skipped::count(&mut skipped, "its first line holds no number", path);
            continue;
        }
        if width == 0 {
            width = texts.len();
        }
        if texts.len() != width {
            return Err(fields(file, line.place, width, texts.len()));
        }
        for ((column, text), number) in (1..).zip(&texts).zip(numbers()) {
            let number = number.filter(|number| number.is_finite());
            block.push(number.ok_or_else(|| {
                let (column, advice) = (i32::to_string(&column), "repair or remove the line");
                field(file, line.place, column, "a finite number", text, advice)
            })?);
        }
        if block.len() >= BLOCK {
            values.add(&std::mem::take(&mut block))?;
        }
    }
    values.add(&block)?;
    let mut records = Records::rows(file, width.max(1), values)?;
    records.truncate(asked.count(file, records.len())?)?;
    Ok(found(records, Vec::new(), skipped))
}

fn found(records: Records, classes: Vec<String>, skipped: Vec<Skipped>) -> Found {
    Found {
        records,
        classes,
        paths: Vec::new(),
        form: Form::Rows,
        arrays: Arrays::default(),
        skipped,
    }
}

/// Splits a line at commas and semicolons if it has one, else at white space.
fn split(line: &str) -> Vec<&str> {
    match line.find([',', ';']) {
        Some(_) => line.split([',', ';']).map(str::trim).collect(),
        None => line.split_whitespace().collect(),
    }
}
