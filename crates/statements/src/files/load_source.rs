//! The rows of a file that LOAD DATA or LOAD XML reads, from the client or from the host, piece by piece.
//!
//! Invariant: never more than a record and a piece are in memory, and no worker waits for the disk.
use std::sync::Arc;

use binder::LoadTarget;
use datum::{ColumnType, ErrorCode, SqlError, Value, error_code};
use env::{File, IoBuf};
use executor::{LoadSource, LoadedRow};
use instance::read_error;
use schema::{ColumnDefault, LocalFuture, TableDef};

use crate::files::load_format::{Cut, Field, LineFormat, Record};
use crate::files::load_xml::XmlRows;
use session::ResultSink;
use session::display_length;

const ER_WARN_TOO_FEW_RECORDS: ErrorCode =
    ErrorCode::new(1261, "01000", "Row %d doesn't contain data for all columns");
const ER_WARN_TOO_MANY_RECORDS: ErrorCode = ErrorCode::new(
    1262,
    "01000",
    "Row %d was truncated; it contained more data than there were input columns",
);
const ER_WARN_NULL_TO_NOTNULL: ErrorCode = ErrorCode::new(
    1263,
    "22004",
    "Column set to default value; NULL supplied to NOT NULL column '%s' at row %d",
);

const PIECE_BYTES: u64 = 256 * 1024;

/// Where the bytes come from.
pub enum FileBytes<'a> {
    Client(&'a mut dyn ResultSink),
    Host { file: Arc<dyn File>, shown: String, at: u64, length: u64 },
}

impl FileBytes<'_> {
    /// Empty at the end.
    async fn next_piece(&mut self) -> Result<Vec<u8>, SqlError> {
        match self {
            FileBytes::Client(sink) => {
                sink.next_piece().await.map_err(|_| error_code::ER_QUERY_INTERRUPTED.plain())
            }
            FileBytes::Host { file, shown, at, length } => {
                let bytes = (*length - *at).min(PIECE_BYTES);
                if bytes == 0 {
                    return Ok(Vec::new());
                }
                let buffer = IoBuf::for_overwriting(bytes as usize);
                let (buffer, result) = file.read_at(*at, buffer).await;
                result.map_err(|error| read_error(shown, &error))?;
                *at += bytes;
                Ok(buffer.as_slice().to_vec())
            }
        }
    }
}

/// How the bytes are rows.
pub enum FileFormat {
    Lines(LineFormat),
    /// Lines whose fields have so many bytes.
    Fixed(LineFormat, Vec<usize>),
    /// With the names that the fields have in the file.
    Xml(XmlRows, Vec<Vec<u8>>),
}

impl FileFormat {
    /// The widths of columns in rows of fixed size; `None` for columns without any. The second tells of large ones.
    pub fn widths(table: &TableDef, targets: &[LoadTarget]) -> Option<(Vec<usize>, bool)> {
        let mut has_large = false;
        let mut width = |target: &LoadTarget| match target {
            LoadTarget::Variable(_) => None,
            LoadTarget::Column(column) => {
                let column_type: &ColumnType = &table.columns[*column].column_type;
                has_large |= column_type.kind.is_large_object();
                Some(display_length(column_type, column_type.collation.charset()) as usize)
            }
        };
        let widths: Option<Vec<usize>> = targets.iter().map(&mut width).collect();
        widths.map(|widths| (widths, has_large))
    }
}

/// A file, row by row.
pub struct FileRows<'a> {
    bytes: FileBytes<'a>,
    format: FileFormat,
    table: Arc<TableDef>,
    targets: Vec<LoadTarget>,
    /// What has arrived and is no row yet begins at `taken`.
    input: Vec<u8>,
    taken: usize,
    is_end: bool,
    /// Lines, or rows of XML, to leave out first.
    skipped: u64,
    pub last_variables: Vec<(String, Value)>,
}

impl<'a> FileRows<'a> {
    pub fn new(
        bytes: FileBytes<'a>,
        format: FileFormat,
        table: Arc<TableDef>,
        targets: Vec<LoadTarget>,
        skipped: u64,
    ) -> FileRows<'a> {
        let skipped = match &format {
            FileFormat::Lines(lines) | FileFormat::Fixed(lines, _) if !lines.has_line_end() => 0,
            _ => skipped,
        };
        FileRows {
            bytes,
            format,
            table,
            targets,
            input: Vec::new(),
            taken: 0,
            is_end: false,
            skipped,
            last_variables: Vec::new(),
        }
    }

    /// At least one piece, and as much again as there is of a record that does not end: each byte is looked at a few times.
    async fn read_more(&mut self) -> Result<(), SqlError> {
        self.input.drain(..std::mem::take(&mut self.taken));
        let wanted = self.input.len() * 2;
        while !self.is_end {
            let piece = self.bytes.next_piece().await?;
            self.is_end = piece.is_empty();
            self.input.extend_from_slice(&piece);
            if self.input.len() > wanted {
                break;
            }
        }
        Ok(())
    }

    /// What the client still sends.
    pub async fn read_to_end(&mut self) -> Result<(), SqlError> {
        while matches!(self.bytes, FileBytes::Client(_)) && !self.is_end {
            self.input.clear();
            self.taken = 0;
            self.is_end = self.bytes.next_piece().await?.is_empty();
        }
        Ok(())
    }

    async fn next_record(&mut self) -> Result<Option<Record>, SqlError> {
        loop {
            let rest = &self.input[self.taken..];
            let cut = match &mut self.format {
                FileFormat::Lines(lines) | FileFormat::Fixed(lines, _) if self.skipped > 0 => {
                    match lines.skip_line(rest, self.is_end) {
                        Cut::Whole((), length) => Cut::Whole(Record::default(), length),
                        Cut::More => Cut::More,
                        Cut::Nothing => Cut::Nothing,
                    }
                }
                FileFormat::Lines(lines) => lines.record(rest, self.is_end, self.targets.len()),
                FileFormat::Fixed(lines, widths) => lines.record(rest, self.is_end, widths.iter().sum()),
                FileFormat::Xml(rows, names) => match rows.row(rest, self.is_end) {
                    Cut::Whole((), length) => {
                        let value = |name: &Vec<u8>| rows.value(name).map(<[u8]>::to_vec);
                        let fields = names.iter().map(value).collect();
                        Cut::Whole(Record { fields, is_truncated: false }, length)
                    }
                    Cut::More => Cut::More,
                    Cut::Nothing => Cut::Nothing,
                },
            };
            match cut {
                Cut::Whole(record, length) => {
                    self.taken += length;
                    if self.skipped == 0 {
                        return Ok(Some(record));
                    }
                    self.skipped -= 1;
                }
                Cut::More => self.read_more().await?,
                Cut::Nothing => return Ok(None),
            }
        }
    }

    fn row_of(&mut self, record: Record, number: u64) -> LoadedRow {
        let mut row = LoadedRow::default();
        let mut is_truncated = record.is_truncated;
        let fields = match &self.format {
            FileFormat::Fixed(_, widths) => {
                let line = record.fields.into_iter().flatten().next().unwrap_or_default();
                let (fields, has_rest) = split(&line, widths);
                is_truncated |= has_rest;
                fields
            }
            _ => record.fields,
        };
        row.late_problem = is_truncated.then(|| ER_WARN_TOO_MANY_RECORDS.with(&[&number]));
        self.last_variables.clear();
        let mut fields = fields.into_iter();
        for target in &self.targets {
            let field = fields.next();
            if field.is_none() {
                row.problems.push(ER_WARN_TOO_FEW_RECORDS.with(&[&number]));
            }
            let value = match target {
                LoadTarget::Variable(name) => {
                    let value = field.flatten().map_or(Value::Null, Value::Bytes);
                    self.last_variables.push((name.clone(), value.clone()));
                    value
                }
                LoadTarget::Column(column) => column_value(&self.table, *column, field, number, &mut row),
            };
            row.values.push(value);
        }
        row
    }
}

/// A line of fixed widths; whether something is left of it.
fn split(line: &[u8], widths: &[usize]) -> (Vec<Field>, bool) {
    let mut rest = line;
    let mut fields = Vec::new();
    for width in widths {
        if rest.is_empty() {
            break;
        }
        let (field, behind) = rest.split_at((*width).min(rest.len()));
        fields.push(Some(field.to_vec()));
        rest = behind;
    }
    (fields, !rest.is_empty())
}

/// A field that is not there is the column's NULL or zero; NULL is that for a column that cannot be NULL.
fn column_value(
    table: &TableDef,
    column: usize,
    field: Option<Field>,
    number: u64,
    row: &mut LoadedRow,
) -> Value {
    let definition = &table.columns[column];
    let implicit = || {
        let value = definition.column_type.implicit_default();
        Value::bytes(value.to_text(&definition.column_type))
    };
    match field {
        Some(Some(bytes)) => Value::Bytes(bytes),
        Some(None) if definition.nullable() || definition.auto_increment => Value::Null,
        Some(None) => {
            row.problems.push(ER_WARN_NULL_TO_NOTNULL.with(&[&definition.name, &number]));
            implicit()
        }
        None if definition.auto_increment => Value::Null,
        None if definition.nullable() && definition.default == ColumnDefault::Null => Value::Null,
        None => implicit(),
    }
}

impl LoadSource for FileRows<'_> {
    fn next_row(&mut self, number: u64) -> LocalFuture<'_, Result<Option<LoadedRow>, SqlError>> {
        Box::pin(async move {
            let record = self.next_record().await?;
            Ok(record.map(|record| self.row_of(record, number)))
        })
    }
}
