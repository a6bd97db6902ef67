//! SELECT .. INTO OUTFILE and DUMPFILE: the rows of a query go into a new file of the host.
//!
//! Invariant: the result is never held in memory as a whole, and no worker waits for the disk: rows gather until
//! `select_into_buffer_size`, then the statement awaits the write. What an error leaves of a file stays, as in MySQL.
use std::sync::Arc;
use std::time::Duration;

use binder::Literals;
use collation::Charset;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use env::{File, IoBuf};
use executor::RowSink;
use expression::SessionServices;
use instance::{Conversion, HostPath, PreparedPlan, count, write_error};
use parser::ast::{Into, Query, Statement, StatementKind};
use plan::PlanKind;
use schema::LocalFuture;

use crate::caller::Caller;
use crate::files::outfile_format::{OutfileColumn, OutfileFormat, check_separators};
use session::PLAN_ATTEMPTS_MAX;
use session::Session;
use session::Shield;
use session::counter_of_plan;
use session::{Done, Effects, Request};
use session::{conversions, convert};

impl Caller<'_> {
    pub(crate) async fn select_into_file(
        &mut self,
        query: &Query<'_>,
        into: &Into<'_>,
        request: Request<'_>,
        shield: &Shield,
    ) -> Result<Done, SqlError> {
        let name = match into {
            Into::OutFile { path, fields, lines, .. } => {
                let warn = |condition: SqlError| self.shared().warning(condition);
                check_separators(fields, lines, self.settings().client_charset, &warn)?;
                *path
            }
            Into::DumpFile { path } => *path,
            Into::Variables(_) => return Err(error_code::ER_INTERNAL_ERROR.with(&[&"variables are no file"])),
        };
        let plain = Query { into: None, ..*query };
        let statement = Statement { kind: StatementKind::Query(&plain), ..*request.statement };
        let request = Request { statement: &statement, ..request };
        for _ in 0..PLAN_ATTEMPTS_MAX {
            let make = |session: &Session| session.plan_request(request, Literals::Inline, Vec::new());
            let plan = self.plan_knowing(make).await?;
            let prepared = self.prepare_plan(plan)?;
            let locked = self.enter_plan(&prepared).await;
            if locked.is_err() && self.plan_is_stale() {
                continue;
            }
            count(counter_of_plan(&prepared.plan, &self.process().counters));
            prepared.counted.count(&self.process().counters);
            locked?;
            let written = self.write_rows(&prepared, into, name, request.parameters).await?;
            self.end_statement_transaction(shield).await?;
            return Ok(Done::Ok(Effects { affected_rows: written, ..Effects::default() }));
        }
        Err(error_code::ER_TABLE_DEF_CHANGED.plain())
    }

    async fn write_rows(
        &mut self,
        prepared: &PreparedPlan,
        into: &Into<'_>,
        name: &str,
        parameters: &[Value],
    ) -> Result<u64, SqlError> {
        let PlanKind::Query(query) = &prepared.plan.kind else { return Ok(0) };
        let names = query.columns.iter().map(|column| column.name.clone()).collect();
        let types: Vec<ColumnType> = query.columns.iter().map(|column| column.column_type.clone()).collect();
        let shape = self.file_shape(into, &types)?;
        let path = self.instance().files.path_of(name, self.database())?;
        let allowed = self.instance().global_variable("secure_file_priv");
        let file = self.instance().files.create(&path, name, &allowed).await?;
        let instance = self.instance().clone();
        let shared = self.shared().clone();
        let mut rows = FileRows {
            session: &*shared,
            conversions: conversions(&types, self.settings()),
            zone: self.settings().time_zone.clone(),
            types,
            names,
            shape,
            count: 0,
            pending: Vec::new(),
            pending_bytes_max: self.variables().by_name("select_into_buffer_size").as_unsigned() as usize,
            file,
            path,
            written_bytes: 0,
            sync: self.variables().by_name("select_into_disk_sync").as_boolean(),
            delay: Duration::from_millis(
                self.variables().by_name("select_into_disk_sync_delay").as_unsigned(),
            ),
            instance: &instance,
        };
        self.execute_plan(&prepared.plan, parameters.to_vec(), &mut rows).await?;
        rows.flush().await?;
        Ok(rows.count)
    }

    /// How rows become bytes; warns of what cannot be read back.
    fn file_shape(&self, into: &Into<'_>, types: &[ColumnType]) -> Result<FileShape, SqlError> {
        let Into::OutFile { charset, fields, lines, .. } = into else { return Ok(FileShape::Dump) };
        let charset = match charset {
            Some(name) => Some(
                Charset::by_name(name.name)
                    .ok_or_else(|| error_code::ER_UNKNOWN_CHARACTER_SET.with(&[&name.name]))?,
            ),
            None => None,
        };
        let charset = charset.filter(|charset| *charset != Charset::Binary);
        let columns: Vec<OutfileColumn> = types.iter().map(|kind| OutfileColumn::of(kind, charset)).collect();
        let escapes = !self.settings().sql_mode.contains(datum::SqlMode::NO_BACKSLASH_ESCAPES);
        let format = OutfileFormat::new(fields, lines, &columns, escapes);
        if format.is_ambiguous() {
            self.shared().warning(error_code::WARN_AMBIGUOUS_FIELD_TERM.plain());
        }
        Ok(FileShape::Lines { format: Box::new(format), columns, charset })
    }
}

enum FileShape {
    Lines {
        format: Box<OutfileFormat>,
        columns: Vec<OutfileColumn>,
        /// That of all text, if the statement names one.
        charset: Option<Charset>,
    },
    /// Values one behind the other.
    Dump,
}

struct FileRows<'a> {
    session: &'a dyn SessionServices,
    types: Vec<ColumnType>,
    conversions: Vec<Conversion>,
    zone: datum::TimeZone,
    names: Vec<String>,
    shape: FileShape,
    count: u64,
    pending: Vec<u8>,
    pending_bytes_max: usize,
    file: Arc<dyn File>,
    path: HostPath,
    written_bytes: u64,
    sync: bool,
    delay: Duration,
    instance: &'a instance::Instance,
}

impl FileRows<'_> {
    /// The bytes of a value in the column's own character set.
    fn text(&self, column: usize, value: &Value) -> Option<Vec<u8>> {
        let column_type = &self.types[column];
        if let (Value::Bit(bits), TypeKind::Bit(width)) = (value, &column_type.kind) {
            let bytes = usize::from(*width).div_ceil(8);
            return Some(bits.to_be_bytes()[8 - bytes..].to_vec());
        }
        let converted = match self.conversions.get(column) {
            Some(conversion) => &convert(value, conversion, None, &self.zone),
            None => value,
        };
        match converted {
            Value::Null => None,
            value => Some(value.to_text(column_type).into_owned()),
        }
    }

    /// The text in the file's character set; what it lacks is `?` and a warning.
    fn recoded(&self, column: usize, text: Vec<u8>, target: Charset) -> Vec<u8> {
        let own = match self.types[column].kind {
            TypeKind::Json => Charset::Utf8mb4,
            _ => self.types[column].collation.charset(),
        };
        if own == Charset::Binary || own == target {
            return text;
        }
        let converted = own.convert_to(target, &text);
        if converted.is_lossy {
            let wrong = &text[lossy_position(own, target, &text)..];
            let shown: String =
                wrong.iter().take(6).map(|byte| shown_byte(*byte)).collect::<Vec<_>>().concat();
            let shown = if wrong.len() > 6 { shown + "..." } else { shown };
            let condition = ER_INCORRECT_STRING.with(&[&shown, &self.names[column], &(self.count + 1)]);
            self.session.warn(condition.into_warning());
        }
        converted.bytes
    }

    async fn write(&mut self) -> Result<(), SqlError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let bytes = IoBuf::copy_of(&self.pending);
        let length = self.pending.len() as u64;
        self.pending.clear();
        let failed = |error: env::IoError| write_error(&self.path.shown, &error);
        self.file.write_at(self.written_bytes, bytes).await.1.map_err(failed)?;
        self.written_bytes += length;
        if self.sync {
            self.file.sync().await.map_err(failed)?;
            if !self.delay.is_zero() {
                self.instance.timer().sleep(self.delay).await;
            }
        }
        Ok(())
    }
}

const ER_INCORRECT_STRING: datum::ErrorCode =
    datum::ErrorCode::new(1366, "HY000", "Incorrect string value: '%s' for column '%s' at row %d");

fn shown_byte(byte: u8) -> String {
    match byte {
        0x20..=0x7E => char::from(byte).to_string(),
        other => format!("\\x{other:02X}"),
    }
}

/// Where the first character begins that the target lacks.
fn lossy_position(own: Charset, target: Charset, text: &[u8]) -> usize {
    let is_lossy = |length: &usize| own.convert_to(target, &text[..*length]).is_lossy;
    let boundaries: Vec<usize> = match std::str::from_utf8(text) {
        Ok(text) if matches!(own, Charset::Utf8mb4 | Charset::Utf8mb3) => {
            text.char_indices().map(|(at, letter)| at + letter.len_utf8()).collect()
        }
        _ => (1..=text.len()).collect(),
    };
    let found = boundaries.partition_point(|length| !is_lossy(length));
    found.checked_sub(1).map_or(0, |before| boundaries[before])
}

impl RowSink for FileRows<'_> {
    fn row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        let mut out = std::mem::take(&mut self.pending);
        match &self.shape {
            FileShape::Dump => {
                // MySQL tells of too many rows when the third comes.
                if self.count > 1 {
                    return Err(error_code::ER_TOO_MANY_ROWS.plain());
                }
                for (column, value) in row.iter().enumerate() {
                    match self.text(column, value) {
                        Some(text) => out.extend_from_slice(&text),
                        None => out.push(0),
                    }
                }
            }
            FileShape::Lines { format, columns, charset } => {
                format.begin_line(&mut out);
                for (column, value) in row.iter().enumerate() {
                    let text = self.text(column, value);
                    let text = match charset {
                        Some(target) => text.map(|text| self.recoded(column, text, *target)),
                        None => text,
                    };
                    let is_last = column + 1 == row.len();
                    format.field(text.as_deref(), &columns[column], is_last, &mut out);
                }
                format.end_line(&mut out);
            }
        }
        self.pending = out;
        self.count += 1;
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.pending.len() >= self.pending_bytes_max
    }

    fn flush(&mut self) -> LocalFuture<'_, Result<(), SqlError>> {
        Box::pin(self.write())
    }
}
