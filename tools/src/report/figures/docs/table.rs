//! The tables of the results: files of comma-separated values, and tables within a page.

use std::path::{Path, PathBuf};

use csv::StringRecord;
use reporting::diagnostic::Failure;
use reporting::figures::Point;

/// What to do where a table is not as it should be.
const AGAIN: &str = "write the table with the command above it, or the report of its sweep, again";

/// Rows of text below names.
pub(super) struct Table {
    path: String,
    names: StringRecord,
    pub(super) rows: Vec<StringRecord>,
}

fn missing(path: &Path, error: impl std::fmt::Display) -> Failure {
    let help = "give the folder with the tables of the results: report --figures docs docs/results";
    Failure::input(format!("{}: {error}", path.display()), help)
}

/// A file beside the tables, and its path.
pub(super) fn text_of(folder: &Path, name: &str) -> Result<(PathBuf, String), Failure> {
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path).map_err(|e| missing(&path, e))?;
    Ok((path, text))
}

impl Table {
    /// A file of comma-separated values.
    pub(super) fn read(folder: &Path, name: &str) -> Result<Self, Failure> {
        let path = folder.join(name);
        let wrong = |e: csv::Error| missing(&path, e);
        let mut reader = csv::Reader::from_path(&path).map_err(wrong)?;
        Ok(Self {
            path: path.display().to_string(),
            names: reader.headers().map_err(wrong)?.clone(),
            rows: reader.records().collect::<Result<_, _>>().map_err(wrong)?,
        })
    }

    /// The first table of a page whose names have all of these words: its numbers stand there alone.
    pub(super) fn of_page(folder: &Path, page: &str, words: &[&str]) -> Result<Self, Failure> {
        let (path, text) = text_of(folder, page)?;
        let cells = |line: &str| -> StringRecord {
            let line = line.trim_start_matches('|').trim_end_matches('|');
            line.split('|').map(str::trim).collect()
        };
        let mut lines = text.lines().skip_while(|line| {
            !(line.starts_with('|') && words.iter().all(|word| line.contains(word)))
        });
        let Some(head) = lines.next() else {
            let message = format!("{}: no table with {}", path.display(), words.join(", "));
            return Err(Failure::input(message, AGAIN));
        };
        let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
        Ok(Self {
            path: path.display().to_string(),
            names: cells(head),
            rows: rows.map(cells).collect(),
        })
    }

    /// The column whose name has all of these words.
    pub(super) fn column(&self, words: &[&str]) -> Result<usize, Failure> {
        let has = |name: &str| words.iter().all(|word| name.contains(word));
        self.names.iter().position(has).ok_or_else(|| {
            let message = format!("{}: no column {}", self.path, words.join(" ... "));
            Failure::input(message, AGAIN)
        })
    }

    /// The columns whose names have these words.
    pub(super) fn columns<const N: usize>(&self, words: [&str; N]) -> Result<[usize; N], Failure> {
        let mut columns = [0; N];
        for (column, words) in columns.iter_mut().zip(words) {
            *column = self.column(&[words])?;
        }
        Ok(columns)
    }

    /// The columns whose names are these words and a number, with that number.
    pub(super) fn numbered<'a>(
        &'a self,
        words: &'a str,
    ) -> impl Iterator<Item = (usize, f64)> + 'a {
        let number = move |name: &str| name.strip_prefix(words)?.trim().parse().ok();
        let names = self.names.iter().enumerate();
        names.filter_map(move |(column, name)| Some((column, number(name)?)))
    }

    /// A mean, and a deviation that may stand behind it as `+- 0.1`, where the field is not empty; of `1 to 3` the
    /// middle, and how far the ends lie from it. Digits may be in groups.
    pub(super) fn number(
        &self,
        row: &StringRecord,
        column: usize,
    ) -> Result<Option<(f64, f64)>, Failure> {
        let text = row.get(column).unwrap_or_default();
        if text.is_empty() {
            return Ok(None);
        }
        let parse = |text: &str| text.replace(' ', "").parse::<f64>().ok();
        let number = if let Some((low, high)) = text.split_once(" to ") {
            let ends = parse(low).zip(parse(high));
            ends.map(|(low, high)| (0.5 * (low + high), 0.5 * (high - low)))
        } else {
            let (mean, deviation) = text.split_once(" +- ").unwrap_or((text, "0"));
            parse(mean).zip(parse(deviation))
        };
        let wrong = || Failure::input(format!("{}: {text} is no number", self.path), AGAIN);
        number.map(Some).ok_or_else(wrong)
    }

    /// The numbers of two columns in one row, where both are there, as a point with its deviations.
    pub(super) fn point(
        &self,
        row: &StringRecord,
        [x, y]: [usize; 2],
    ) -> Result<Option<Point>, Failure> {
        let both = self.number(row, x)?.zip(self.number(row, y)?);
        Ok(both.map(|((x, x_error), (y, y_error))| Point {
            x,
            y,
            x_error,
            y_error,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_a_page_has_its_numbers() {
        let folder = tempfile::tempdir().expect("a folder");
        let page = "# Page\n\n| program | ms |\n|---|---|\n| other | 7 |\n\n| records | step, ms |\n|---|---|\n\
                    | 10 000 | 9.2 to 9.6 |\n| 5 | 4 +- 1 |\n| 6 | |\n| 7 | fast |\n\nText\n";
        std::fs::write(folder.path().join("page.md"), page).expect("written");
        let table = Table::of_page(folder.path(), "page.md", &["records", "step"]).expect("there");
        assert_eq!(table.rows.len(), 4);
        let column = table.column(&["step"]).expect("a column");
        let number = |row: usize, column| table.number(&table.rows[row], column);
        assert_eq!(number(0, 0).expect("a number"), Some((10_000.0, 0.0)));
        let (middle, half) = number(0, column).expect("a number").expect("not empty");
        assert!((middle - 9.4).abs() < 1e-12 && (half - 0.2).abs() < 1e-12);
        assert_eq!(number(1, column).expect("a number"), Some((4.0, 1.0)));
        assert_eq!(number(2, column).expect("empty"), None);
        let refused = number(3, column).expect_err("no number").to_string();
        assert!(refused.contains("fast"), "{refused}");
        let refused = Table::of_page(folder.path(), "page.md", &["records", "ghost"]);
        assert!(refused.is_err_and(|e| e.to_string().contains("no table with records, ghost")));
        assert!(Table::of_page(folder.path(), "none.md", &[]).is_err());
    }
}
