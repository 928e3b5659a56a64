//! Drafts schemas from the content of records.

mod example;
mod forms;
mod guess;
mod moments;
mod range;

use std::collections::{BTreeSet, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::{Serialize, Serializer};
use toml::Value;

use self::forms::InForm;
use self::guess::{Drafted, Guess, Listed, MAX_LEVELS};
use super::blocks::{Block, NULL, Opened, Places, Records, named_fields as named};
use super::column::{Role, role};
use super::lines::Lines;
use super::parquet::{ParquetRows, Storage, Type, is_parquet};
use super::parts::parts;
use super::text::{Look, Quotes, Text, start_of};
use super::{OpenSchema, Schema};
use crate::DataError;
use crate::error::empty;

/// The number of records that are read at once, with all fields of all columns.
const RECORDS: usize = 1 << 10;
/// The number of leading records by which an order between columns is guessed.
const FIRST_RECORDS: usize = 1 << 14;
/// The number of leading lines by which the delimiter is guessed.
const FIRST_LINES: usize = 20;
/// Common words for a missing value, for drafts that show nothing of the records.
const ABSENT_WORDS: [&str; 18] = [
    "", "?", "NA", "na", "N/A", "n/a", "NULL", "null", "NaN", "NAN", "nan", "None", "none", "-",
    "#N/A", "<NA>", "\\N", ".",
];

/// The options for drafting the schema of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drafting {
    /// The column that a copy is to predict.
    pub label: Option<String>,
    /// Whether the first line of a CSV file names the columns. If this is not set, a first line of numbers alone is refused.
    pub header: Option<bool>,
    /// The names of the columns that no copy contains.
    pub leave_out: Vec<String>,
}

impl Schema {
    /// Drafts a schema from the content of a CSV file and returns its text: delimiter, column names, kinds, forms of numbers,
    /// days and times, the categories that at least 5 records share (100 at most), ranges widened to round numbers or whole
    /// years, and the words for missing values. The draft says why a column is left out. `name` is the name to use in errors and
    /// in the draft, `label` the column that a copy is to predict.
    ///
    /// **Private**: the draft depends on the records. Each column says `public = false` until someone has confirmed it.
    ///
    /// # Errors
    /// [`DataError::Request`] if there is no record, and for a label that does not exist, or has neither two categories nor
    /// numbers; [`DataError::Record`] for a line that has another number of fields than the first; [`DataError::File`] for a
    /// file that is not text, and for columns without a name or with the same name.
    pub fn draft(name: &str, bytes: &[u8], label: Option<&str>) -> Result<String, DataError> {
        let guessed = Guessed::of_text(None, name, None, || Ok(bytes))?;
        match guessed.records {
            0 => Err(empty(name, "record")),
            _ => {
                let label = label.map(String::from);
                let said = Drafting {
                    label,
                    ..Drafting::default()
                };
                guessed.draft(name, &said, Shown::All)
            }
        }
    }

    /// Drafts a schema as [`Schema::draft`] does, from one or several Parquet or CSV files, as [`Schema::coded`] reads them.
    ///
    /// # Errors
    /// As [`Schema::draft`]; [`DataError::Io`]; [`DataError::File`] for a first line of numbers alone if `header` is not set;
    /// [`DataError::Request`] if a column to leave out does not exist.
    pub fn draft_of(path: &Path, said: &Drafting) -> Result<String, DataError> {
        let guessed = Guessed::of_files(path, said.header)?;
        guessed.draft(&path.display().to_string(), said, Shown::All)
    }

    /// Returns the schema of a public file by the rules of [`Schema::draft_of`], confirmed: it shows no private record.
    ///
    /// # Errors
    /// As [`Schema::draft_of`].
    pub fn of_public(path: &Path) -> Result<String, DataError> {
        let name = path.display().to_string();
        Guessed::of_files(path, None)?.text(&name, &Drafting::default(), Shown::Confirmed)
    }
}

impl OpenSchema {
    /// Drafts a schema that shows only names and kinds of columns, and the classes or the range of the `label`. Files that agree
    /// in these have the same draft. Truth values count as categories, whose spellings noisy counts find.
    ///
    /// **Private**: the kinds are guessed from the records.
    ///
    /// # Errors
    /// As [`Schema::draft_of`].
    pub fn draft_of(path: &Path, said: &Drafting) -> Result<String, DataError> {
        let guessed = Guessed::of_files(path, said.header)?;
        guessed.draft(&path.display().to_string(), said, Shown::Kinds)
    }
}

/// The amount that a draft shows of the records.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    /// All fields of the schema, as public.
    Confirmed,
    /// All fields of the schema, to be confirmed.
    All,
    /// Names and kinds only, to be confirmed.
    Kinds,
}

fn head(name: &str, shown: Shown) -> String {
    let head = match shown {
        Shown::Kinds => KINDS_HEAD,
        _ => HEAD,
    };
    format!("# A draft of the schema of {name:?}. IT HAS SEEN THE RECORDS.\n{head}")
}

const HEAD: &str = "#\n\
         # The categories, ranges and words for missing values below were taken from them, and so tell of them. No private\n\
         # copy is made with a column that says public = false. For each column:\n\
         #\n\
         # 1. Replace what is not known to everybody: give the range or the categories that anyone would expect who has\n\
         #    never seen a record. For rare categories say other = \"other\", and remove them.\n\
         # 2. Or leave the column out: kind = \"ignore\", and nothing else but its name.\n\
         # 3. Then say public = true. One at a time: names, addresses and notes of people are in the copy if they stand here.\n\
         #\n\
         # The copy names the columns that are left out. It says why if that column too says public = true.\n\
         #\n\
         # The words in 'missing' and the names of the columns become public with them. If the names are values of the first\n\
         # record, say header = false and name the columns.\n\n";

const KINDS_HEAD: &str = "#\n\
         # The kinds below were guessed from them, and the classes or the range of a label are theirs. A share of the budget\n\
         # finds all other ranges and categories (--private-schema). No private copy is made with a column that says\n\
         # public = false. For each column:\n\
         #\n\
         # 1. Say the range or the categories where everybody knows them: nothing is spent on them then.\n\
         # 2. Or leave the column out: kind = \"ignore\", and nothing else but its name.\n\
         # 3. Remove missing = \"level\" where no value can be missing.\n\
         # 4. Then say public = true.\n\
         #\n\
         # The names of the columns become public. If they are values of the first record, say header = false and name the\n\
         # columns.\n\n";

/// The guesses about a file.
struct Guessed {
    delimiter: u8,
    header: bool,
    records: usize,
    columns: Vec<(String, Guess)>,
    /// The first character of lines that are not records.
    comment: Option<u8>,
    look: Look,
    /// The first records, by columns.
    first: Vec<Vec<String>>,
}

impl Guessed {
    /// Guesses from one file, or from several with the same columns.
    fn of_files(path: &Path, header: Option<bool>) -> Result<Self, DataError> {
        let mut all: Option<Self> = None;
        let file = path.display().to_string();
        for part in parts(path)? {
            let with = Self::with(all, &file, &part, header).map_err(|e| e.of_part(path, &part))?;
            all = Some(with);
        }
        all.filter(|all| all.records > 0)
            .ok_or_else(|| empty(path.display(), "record"))
    }

    /// Adds a part to the guesses of the files before it.
    fn with(
        before: Option<Self>,
        file: &str,
        part: &Path,
        header: Option<bool>,
    ) -> Result<Self, DataError> {
        if !is_parquet(part) {
            return Self::of_text(before, file, header, || Text::open(part));
        }
        let rows = ParquetRows::open(file, part, NULL)?;
        let names = checked(file, named(rows.names().to_vec(), None))?;
        let mut guessed = Self::or(before, file, b',', true, names)?;
        for ((_, guess), stored) in guessed.columns.iter_mut().zip(rows.types()) {
            guess.stored = stored;
        }
        guessed.read(
            file,
            rows.readable(),
            Records::<std::fs::File>::Parquet(rows),
        )
    }

    /// Guesses from a text, which is read more than once: first for its delimiter.
    fn of_text<R: Read>(
        before: Option<Self>,
        file: &str,
        header: Option<bool>,
        text: impl Fn() -> Result<R, DataError>,
    ) -> Result<Self, DataError> {
        let text = || text().map(BufReader::new);
        let Parted {
            delimiter, comment, ..
        } = parted(file, &text)?;
        let look = Look::of(&start_of(text()?), delimiter);
        let new = || -> Result<_, DataError> { Ok(Lines::new(file, delimiter, comment, text()?)) };
        let mut lines = new()?;
        let mut first: Vec<Vec<String>> = Vec::new();
        while first.len() < FIRST_LINES
            && let Some(line) = lines.next()?
        {
            first.push(line.fields.iter().map(|&text| text.into()).collect());
        }
        let [names, below @ ..] = &first[..] else {
            return Err(empty(file, "record"));
        };
        let header = match header {
            Some(header) => header,
            None => is_header(file, names, below)?,
        };
        let mut lines = new()?;
        let names = if header {
            lines.next()?;
            checked(file, named(names.clone(), lines.peek()?.as_ref()))?
        } else {
            let numbered = (1..=names.len()).map(|place| format!("column{place}"));
            numbered.collect()
        };
        let mut guessed = Self::or(before, file, delimiter, header, names)?;
        (guessed.look, guessed.comment) = (look, comment);
        let all = (0..guessed.columns.len()).collect();
        guessed.read(file, all, Records::Text(lines))
    }

    /// The guesses of the files before, which have the same columns, or empty guesses.
    fn or(
        before: Option<Self>,
        file: &str,
        delimiter: u8,
        header: bool,
        names: Vec<String>,
    ) -> Result<Self, DataError> {
        let Some(before) = before else {
            return Ok(Self {
                delimiter,
                header,
                records: 0,
                first: vec![Vec::new(); names.len()],
                comment: None,
                look: Look::default(),
                columns: names.into_iter().map(|name| (name, Guess::new())).collect(),
            });
        };
        let same = before.columns.iter().map(|(name, _)| name).eq(&names);
        match same && (before.delimiter, before.header) == (delimiter, header) {
            true => Ok(before),
            false => Err(DataError::file(format!(
                "{file}: expected the columns of the files before it, in their order, found others; write it anew, or leave it \
                 out"
            ))),
        }
    }

    /// Takes all records; these columns of them can be read.
    fn read<R: Read>(
        mut self,
        file: &str,
        readable: Vec<usize>,
        records: Records<R>,
    ) -> Result<Self, DataError> {
        for (place, (_, guess)) in self.columns.iter_mut().enumerate() {
            guess.unread |= !readable.contains(&place);
        }
        let places = Places {
            of_columns: Vec::new(),
            fields: self.columns.len(),
            named: self.header,
        };
        let mut opened = Opened::new(file.into(), records, places);
        opened.read_only(readable.clone())?;
        let mut block = Block::default();
        loop {
            opened.block(RECORDS, &mut block)?;
            if block.places.is_empty() {
                return Ok(self);
            }
            let is_first = self.records < FIRST_RECORDS;
            self.records += block.places.len();
            let columns = block.columns.iter().zip(&block.typed);
            for (&place, (texts, &typed)) in readable.iter().zip(columns) {
                let guess = &mut self.columns[place].1;
                guess.typed = typed;
                if !guess.unread {
                    texts.iter().for_each(|text| guess.add(text));
                    if is_first {
                        self.first[place].extend(texts.iter().map(String::from));
                    }
                }
            }
        }
    }

    fn draft(&self, file: &str, said: &Drafting, shown: Shown) -> Result<String, DataError> {
        let text = self.text(file, said, shown)?;
        Ok(head(file, shown) + &text)
    }

    fn text(&self, file: &str, said: &Drafting, shown: Shown) -> Result<String, DataError> {
        let named = said.label.iter().map(|label| ("label", label));
        let named = named.chain(
            said.leave_out
                .iter()
                .map(|name| ("column to leave out", name)),
        );
        for (what, named) in named {
            if !self.columns.iter().any(|(name, _)| name == named) {
                // The names are left out: if the first line is a record, they are its values.
                return Err(DataError::request(format!(
                    "{file}: {what} '{named}': no column has this name; choose one of the first line"
                )));
            }
        }
        let label = said.label.as_ref();
        let listed = match shown {
            Shown::All => Listed::Frequent,
            _ => Listed::All {
                public: shown == Shown::Confirmed,
            },
        };
        let mut drafted = Vec::new();
        for (name, guess) in &self.columns {
            let column = match label == Some(name) {
                _ if said.leave_out.contains(name) => Drafted::left_out("--leave-out"),
                true => guess.label(name).ok_or_else(|| {
                    DataError::request(format!(
                        "{file}: label '{name}': expected 2 to {MAX_LEVELS} categories, or numbers; choose another column"
                    ))
                })?,
                false => guess.column(name, listed),
            };
            drafted.push(column);
        }
        let words: BTreeSet<&String> = self
            .columns
            .iter()
            .flat_map(|(_, guess)| guess.missing())
            .collect();
        let words: Vec<&String> = words.into_iter().filter(|word| *word != NULL).collect();
        let missing = match shown {
            Shown::Kinds => texts(ABSENT_WORDS),
            _ => texts(words.iter().map(|word| word.as_str())),
        };
        let mut first = Fields(vec![
            ("delimiter", char::from(self.delimiter).to_string().into()),
            ("header", self.header.into()),
            ("missing", missing),
        ]);
        let comment = self.comment.map(|sign| char::from(sign).to_string());
        first.0.extend(comment.map(|sign| ("comment", sign.into())));
        let Look { mark, crlf, quotes } = self.look;
        if mark {
            first.0.push(("byte_order_mark", true.into()));
        }
        if crlf {
            first.0.push(("line_ends", "crlf".into()));
        }
        match quotes {
            Quotes::Needed => {}
            Quotes::Texts => first.0.push(("quotes", "texts".into())),
            Quotes::All => first.0.push(("quotes", "all".into())),
        }
        let mut text = first.written(file)?;
        for ((name, guess), column) in self.columns.iter().zip(&drafted) {
            let is_label = label == Some(name);
            let mut fields = match (is_label, shown) {
                (false, Shown::Kinds) => column.fields.open(guess.has_values()),
                _ => column.fields.clone(),
            };
            if fields.kind() != Some("ignore") {
                let is_level = shown == Shown::Kinds && !is_label || !column.absent.is_empty();
                if is_level {
                    fields.0.push(("missing", "level".into()));
                }
                let own: Vec<&String> = column.absent.iter().filter(|word| *word != NULL).collect();
                if shown != Shown::Kinds && !own.is_empty() && own != words {
                    fields
                        .0
                        .push(("absent", texts(own.into_iter().map(String::as_str))));
                }
                if let Some(stored) = &guess.stored
                    && let Some(role) = fields.role()
                    && *stored != Storage::plain(Type::of_role(&role))
                    && stored.kind.fits(&role)
                {
                    fields.0.push(("stored", stored.name().into()));
                }
                let public = shown == Shown::Confirmed;
                fields.0.push(("public", public.into()));
            }
            fields.0.insert(0, ("name", name.as_str().into()));
            text += "\n[[column]]\n";
            text += fields.written(file)?.trim_end();
            text += "\n";
        }
        if shown == Shown::All {
            text += &self.orders(file, &drafted)?;
        }
        Ok(text)
    }

    /// Rules for columns of which one is at most the other in all of the first records, written as comments.
    fn orders(&self, file: &str, drafted: &[Drafted]) -> Result<String, DataError> {
        let read = |(column, texts): (&Drafted, &Vec<String>)| {
            let kept = column.fields.kind() != Some("ignore");
            let form = column
                .form
                .as_ref()
                .filter(|form| kept && form.values > 0)?;
            let values = texts
                .iter()
                .map(|text| form.read(text).map(|(value, _)| value));
            Some((form.clone(), values.collect::<Vec<_>>()))
        };
        let values: Vec<Option<(InForm, Vec<Option<f64>>)>> =
            drafted.iter().zip(&self.first).map(read).collect();
        let mut text = String::new();
        for (low, low_name) in self.columns.iter().map(|(name, _)| name).enumerate() {
            for (high, high_name) in self.columns.iter().map(|(name, _)| name).enumerate() {
                let (Some((one, lows)), Some((other, highs))) = (&values[low], &values[high])
                else {
                    continue;
                };
                let unit = |form: &InForm, column: &Drafted| {
                    let decimals = column
                        .fields
                        .0
                        .iter()
                        .find(|(field, _)| *field == "decimals");
                    (
                        form.kind,
                        form.step(),
                        column.fields.kind().map(String::from),
                        decimals.map(|(_, value)| value.to_string()),
                    )
                };
                if low == high || unit(one, &drafted[low]) != unit(other, &drafted[high]) {
                    continue;
                }
                // Ranges that do not overlap are in order already.
                if one.range[1] <= other.range[0] {
                    continue;
                }
                let (mut both, mut apart) = (0, 0);
                let pairs = lows.iter().zip(highs);
                let ordered = pairs.filter_map(|(a, b)| a.zip(*b)).all(|(a, b)| {
                    both += 1;
                    apart += usize::from(a < b);
                    a <= b
                });
                if ordered && both >= 20 && apart > 0 {
                    let rule =
                        Fields(vec![("at_most", texts([low_name, high_name]))]).written(file)?;
                    text += &format!(
                        "\n# So it is in all of the first {} records. If everybody knows that it must be, remove the '#' signs.\n# [[rule]]\n",
                        lows.len()
                    );
                    text += &rule
                        .lines()
                        .map(|line| format!("# {line}\n"))
                        .collect::<String>();
                }
            }
        }
        Ok(text)
    }
}

/// A line of a draft: its key and its value.
type Field = (&'static str, Value);

/// A table of TOML, in the order in which it is written.
#[derive(Clone)]
struct Fields(Vec<Field>);

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(field, value)| (field, value)))
    }
}

impl Fields {
    fn kind(&self) -> Option<&str> {
        let (_, kind) = self.0.iter().find(|(field, _)| *field == "kind")?;
        kind.as_str()
    }

    /// The role that a schema gives to this column.
    fn role(&self) -> Option<Role> {
        let of_kind = |(field, _): &&Field| !matches!(*field, "absent" | "name" | "public");
        let fields = self.0.iter().filter(of_kind);
        let fields: toml::Table = fields
            .map(|(field, value)| (field.to_string(), value.clone()))
            .collect();
        Some(role(fields.try_into().ok()?, &[]).ok()?.0)
    }

    /// Only the kind, and how it is written, as a column whose values noisy counts find.
    fn open(&self, has_values: bool) -> Self {
        let kind = match self.kind() {
            Some("boolean") => "categorical",
            Some("ignore") if has_values => return self.clone(),
            kind => kind.unwrap_or_default(),
        };
        let mut fields = vec![("kind", kind.into())];
        let kept = |field: &str| matches!(field, "written" | "why");
        fields.extend(self.0.iter().filter(|(field, _)| kept(field)).cloned());
        Self(fields)
    }

    fn written(&self, file: &str) -> Result<String, DataError> {
        toml::to_string(self).map_err(|error| DataError::file(format!("{file}: {error}")))
    }
}

/// How the first lines of a text are split into fields.
#[derive(Clone, Copy)]
struct Parted {
    delimiter: u8,
    comment: Option<u8>,
    /// Whether all lines have the same number of fields.
    even: bool,
    /// The number of fields of a line.
    fields: usize,
    /// The number of lines above the first even ones.
    above: usize,
}

impl Parted {
    fn of<R: BufRead>(
        file: &str,
        (delimiter, comment): (u8, Option<u8>),
        text: R,
    ) -> Result<Self, DataError> {
        let mut lines = Lines::new(file, delimiter, comment, text);
        let mut widths = Vec::new();
        while widths.len() < FIRST_LINES
            && let Some(line) = lines.next()?
        {
            widths.push(line.fields.len());
        }
        let times = |width: &&usize| widths.iter().filter(|other| other == width).count();
        let fields = widths.iter().max_by_key(|width| (times(width), **width));
        let fields = fields.copied().unwrap_or(0);
        let above = widths.iter().take_while(|&&width| width != fields).count();
        let alike = widths[above..].iter().all(|&width| width == fields);
        // The first line may have one name fewer if the rows have names too.
        let rows = above == 1 && fields > 2 && widths[0] == fields - 1;
        Ok(Self {
            delimiter,
            comment,
            even: alike && fields > 1 && (above == 0 || rows),
            fields,
            above: if alike { above } else { 0 },
        })
    }
}

/// Finds the delimiter that splits the first lines into the most fields, the same number in each, without comments if needed.
///
/// # Errors
/// [`DataError::File`] if there are lines above the table.
fn parted<R: BufRead>(
    file: &str,
    text: &impl Fn() -> Result<R, DataError>,
) -> Result<Parted, DataError> {
    let mut best: Option<Parted> = None;
    for (delimiters, comments) in [
        (&b",;\t|"[..], &[None][..]),
        (b",;\t|", &[Some(b'#'), Some(b'%')]),
        (b" ^~", &[None, Some(b'#')]),
    ] {
        // Blanks do not split lines that another delimiter splits anywhere.
        let rest = best.filter(|best| best.fields > 1);
        for &delimiter in delimiters
            .iter()
            .filter(|&&sign| rest.is_none() || sign != b' ')
        {
            for &comment in comments {
                let parted = Parted::of(file, (delimiter, comment), text()?)?;
                let key = |parted: &Parted| (parted.even, parted.fields);
                if best.is_none_or(|best| key(&parted) > key(&best)) {
                    best = Some(parted);
                }
            }
        }
        if let Some(best) = best.filter(|best| best.even) {
            return Ok(best);
        }
    }
    let first = Parted::of(file, (b',', None), text()?)?;
    let best = best.filter(|best| best.delimiter != b' ').unwrap_or(first);
    // There must be enough lines to tell that those above are not records.
    if best.fields > 1 && best.above > 0 && best.above <= FIRST_LINES / 2 {
        let Parted {
            fields,
            above,
            delimiter,
            ..
        } = best;
        return Err(DataError::file(format!(
            "{file}: its first {above} lines have not the {fields} fields between {:?} of those below: if they are a title, leave \
             them out, as by: tail -n +{} IN > OUT; else repair them",
            char::from(delimiter),
            above + 1,
        )));
    }
    Ok(if best.fields > 1 { best } else { first })
}

/// Whether the first line names the columns, judged by the lines below.
///
/// # Errors
/// [`DataError::File`] if the lines below do not tell.
fn is_header(file: &str, first: &[String], below: &[Vec<String>]) -> Result<bool, DataError> {
    let ask = |what: String| {
        Err(DataError::file(format!(
            "{file}: its first line {what}: say --header yes if they name the columns, and --header no if they are a record"
        )))
    };
    let is_number = |text: &String| Guess::is_number_or_date(text);
    let numbers = first.iter().filter(|text| is_number(text)).count();
    // Names that are numbers may be years.
    if numbers == first.len() {
        return ask(format!("holds numbers alone, {numbers} of them"));
    }
    let column = |place: usize| below.iter().filter_map(move |line| line.get(place));
    let words = || {
        let all = first.iter().enumerate();
        all.filter(|(_, text)| !text.is_empty() && !is_number(text))
    };
    let above_numbers = |(place, _): (usize, &String)| {
        let values = || column(place).filter(|text| !text.is_empty());
        values().next().is_some() && values().all(is_number)
    };
    if words().any(above_numbers) {
        return Ok(true);
    }
    let again = |(place, text): (usize, &String)| column(place).any(|value| value == text);
    if numbers == 0 {
        let all = first.iter().all(|text| !text.is_empty()) && words().all(again);
        return match all {
            true => ask("holds words that are values below too".into()),
            false => Ok(true),
        };
    }
    let year = |text: &String| {
        let digits = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
        digits && ("1800"..="2199").contains(&&**text) || text.contains(['-', '/'])
    };
    let may_be_names = first.iter().filter(|text| is_number(text)).all(year);
    match may_be_names && !words().any(again) {
        true => ask(format!("holds {numbers} years or dates beside words")),
        false => Ok(false),
    }
}

/// Checks that the column names are unique.
fn checked(file: &str, names: Vec<String>) -> Result<Vec<String>, DataError> {
    let refuse = |problem: String| DataError::file(format!("{file}, line 1: {problem}"));
    let mut seen = HashSet::new();
    for (place, name) in (1..).zip(&names) {
        let place: usize = place;
        if !seen.insert(name) {
            return Err(refuse(format!(
                "field {place} is the name of another column too: rename or remove one"
            )));
        }
    }
    Ok(names)
}

fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Value {
    let texts = texts.into_iter().map(|text| Value::String(text.into()));
    Value::Array(texts.collect())
}
