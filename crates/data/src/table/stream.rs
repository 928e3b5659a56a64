use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::Schema;
use super::column::Role;
use super::encode::{Places, Rows, places};
use super::lines::Lines;
use crate::DataError;
use crate::error::{empty, open};
use crate::stream::{Chunk, Form, RecordStream};

/// The records of a CSV file by a schema, read when they are asked for: features, and classes where the label has them.
///
/// The sensitive column is no feature, as in [`Schema::decode`]. The last line has to end with a line break: a file that
/// was cut off within a field would look whole otherwise.
pub struct CsvStream {
    schema: Schema,
    file: String,
    lines: Lines<BufReader<File>>,
    places: Places,
    form: Form,
    records: u64,
    dropped: u64,
}

impl CsvStream {
    /// Opens a file, and reads the names of its columns.
    pub fn open(schema: Schema, path: &Path) -> Result<Self, DataError> {
        schema.check_features()?;
        let file = path.display().to_string();
        let text = BufReader::new(open(path)?);
        let mut lines = Lines::new(&file, schema.delimiter, schema.comment, text);
        let places = places(&schema, &file, &mut lines)?;
        let classes = schema.columns.iter().find_map(|column| match &column.role {
            Role::Classes(classes) => Some(classes.len()),
            _ => None,
        });
        let form = Form {
            width: schema.feature_names().len(),
            shape: None,
            classes,
            count: None,
        };
        Ok(Self {
            schema,
            file,
            lines,
            places,
            form,
            records: 0,
            dropped: 0,
        })
    }
}

impl RecordStream for CsvStream {
    fn form(&self) -> Form {
        self.form.clone()
    }

    fn next(&mut self, most: usize) -> Result<Chunk, DataError> {
        let mut rows = Rows::new(&self.schema, &self.file);
        let mut count = 0;
        while count < most {
            let Some(line) = self.lines.next()? else {
                if self.records == 0 {
                    return Err(empty(&self.file, "record"));
                }
                break;
            };
            if line.broken_off {
                let (file, place) = (&self.file, line.place);
                let problem = "has no line break behind it: the file may be cut off; get it again, or end its last line with one";
                return Err(
                    DataError::record(format!("{file}: its last line {problem}"))
                        .telling(format!("{file}, {place}: it {problem}")),
                );
            }
            match rows.read(&line, &self.places)? {
                true => {
                    count += 1;
                    self.records += 1;
                }
                false => self.dropped += 1,
            }
        }
        let (values, labels) = (rows.features, rows.classes);
        Ok(Chunk { values, labels })
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }
}
