//! How a table's rows and index entries are laid out, derived once from its descriptor.
//!
//! - Clustered record: key = the clustering index's parts, or a hidden 8-byte row id; value = `datum::write_row` of
//!   the columns that the key does not give back.
//! - Secondary entry: key = the index's parts, then the row's clustered key; value = empty when clustered keys have
//!   one width, else the clustered key's length in two bytes.
use crate::key_codec::{DecodeError, KeyPart};
use crate::lacking::{ColumnBinder, ColumnMaker, Lacking, RowError, is_computed};
use crate::storage_kind::StorageKind;
use datum::{RowReader, SqlError, Value, write_row};
use engine::TreeId;
use schema::{IndexDef, RowPlaces, TableDef};
use std::sync::Arc;

/// The hidden row id of a table without a clustering index.
pub const ROW_ID_WIDTH: usize = 8;

#[derive(Debug)]
pub struct IndexLayout {
    pub parts: Vec<KeyPart>,
    pub tree: TreeId,
    pub unique: bool,
    /// It orders the rows themselves.
    pub clustered: bool,
    /// A row has an entry for each element of an array: several, or none.
    pub multi_valued: bool,
    /// Leading parts that can be read back: those before the first that cannot.
    readable: usize,
}

#[derive(Debug)]
pub struct TableLayout {
    pub tree: TreeId,
    /// The parts of the clustered key; empty with a hidden row id.
    pub clustered: Vec<KeyPart>,
    /// By position in `TableDef::indexes`.
    pub indexes: Vec<IndexLayout>,
    clustered_readable: usize,
    /// The width of all clustered keys, if it is one.
    clustered_width: Option<usize>,
    /// Columns in the record's value, in stored order; `None` for a place whose column is gone.
    stored: Vec<Option<usize>>,
    /// By column: its place in `stored`.
    stored_place: Vec<Option<usize>>,
    /// By column: what rows written before the column was added read.
    added_values: Vec<Value>,
    /// Computes those that are not the same in all of these rows.
    lacking: Option<Box<Lacking>>,
}

/// Which columns a reader wants and where they go; made once for each scan.
#[derive(Debug, Default)]
pub struct Projection {
    /// (key part, frame position), ascending by part.
    from_key: Vec<(usize, usize)>,
    /// The same for the clustered key behind an index entry's own parts.
    from_suffix: Vec<(usize, usize)>,
    /// (place in the stored row, column, frame position).
    from_row: Vec<(usize, usize, usize)>,
    /// Values that rows lack are computed as for a writer.
    strict: bool,
}

impl Projection {
    /// For whoever writes what it reads: a value that rows lack, and that does not fit its column, is an error.
    pub fn strictly(self) -> Projection {
        Projection { strict: true, ..self }
    }
}

impl IndexLayout {
    /// What the keys of all rows with these values in the first parts begin with.
    pub fn prefix(&self, values: &[&Value]) -> Result<Vec<u8>, SqlError> {
        debug_assert!(values.len() <= self.parts.len(), "a prefix has no more values than the key has parts");
        let mut key = Vec::with_capacity(32);
        self.parts.iter().zip(values).try_for_each(|(part, value)| part.write(value, &mut key))?;
        Ok(key)
    }
}

impl TableLayout {
    /// `binder`: how the values of virtual columns are computed that rows lack.
    pub fn new(table: &Arc<TableDef>, binder: ColumnBinder) -> TableLayout {
        let clustered = table.clustering_index().map(|index| parts_of(table, index)).unwrap_or_default();
        let clustered_readable = readable(&clustered);
        let clustered_width = if clustered.is_empty() {
            Some(ROW_ID_WIDTH)
        } else {
            clustered.iter().map(|part| part.fixed_width()).sum()
        };
        let stored = stored_columns(table, &clustered[..clustered_readable]);
        let mut stored_place = vec![None; table.columns.len()];
        for (place, column) in stored.iter().enumerate() {
            if let Some(column) = column {
                stored_place[*column] = Some(place);
            }
        }
        let indexes = table
            .indexes
            .iter()
            .map(|index| {
                let parts = parts_of(table, index);
                IndexLayout {
                    readable: readable(&parts),
                    tree: TreeId(index.tree),
                    unique: index.is_unique(),
                    clustered: table.clustered_by == Some(index.id),
                    multi_valued: parts.iter().any(|part| part.array),
                    parts,
                }
            })
            .collect();
        let in_key = |column: usize| clustered[..clustered_readable].iter().any(|part| part.column == column);
        let is_somewhere = |column: usize| stored_place[column].is_some() || in_key(column);
        debug_assert!((0..table.columns.len()).all(is_somewhere), "each column is in the row or its key");
        let added_values =
            table.columns.iter().map(|column| column.added_value.clone().unwrap_or(Value::Null)).collect();
        TableLayout {
            tree: TreeId(table.tree),
            clustered,
            indexes,
            clustered_readable,
            clustered_width,
            stored,
            stored_place,
            added_values,
            lacking: Lacking::of(table, binder),
        }
    }

    /// The width of all clustered keys, if it is one.
    pub(crate) fn clustered_width(&self) -> Option<usize> {
        self.clustered_width
    }

    /// Where stored rows have the columns.
    pub fn places(&self) -> RowPlaces {
        let place = |place: &Option<usize>| place.map(|place| place as u16);
        RowPlaces { of: self.stored_place.iter().map(place).collect(), width: self.stored.len() as u16 }
    }

    /// The clustered key of a row; `row_id` is used when the table has no clustering index.
    pub fn write_row_key(&self, row: &[Value], row_id: u64, key: &mut Vec<u8>) -> Result<(), SqlError> {
        let start = key.len();
        if self.clustered.is_empty() {
            key.extend_from_slice(&row_id.to_be_bytes());
            return Ok(());
        }
        debug_assert!(row.len() >= self.stored_place.len(), "a row has a value for each column");
        self.clustered.iter().try_for_each(|part| part.write(&row[part.column], key))?;
        debug_assert!(
            self.clustered_width.is_none_or(|width| width == key.len() - start),
            "row keys have one width"
        );
        Ok(())
    }

    /// The clustered record's value.
    pub fn write_row(&self, row: &[Value], out: &mut Vec<u8>) {
        debug_assert!(row.len() >= self.stored_place.len(), "a row has a value for each column");
        write_row(self.stored.iter().map(|column| column.map_or(&NOTHING, |column| &row[column])), out);
    }

    /// The key of a row's entry in a secondary index; the result is the length of its own parts and whether one of
    /// them is NULL (such entries are never duplicates).
    pub fn write_entry_key(
        &self,
        index: usize,
        row: &[Value],
        row_key: &[u8],
        key: &mut Vec<u8>,
    ) -> Result<(usize, bool), SqlError> {
        debug_assert!(
            self.clustered_width.is_none_or(|width| row_key.len() == width),
            "row keys have one width"
        );
        let mut has_null = false;
        for part in &self.indexes[index].parts {
            has_null |= row[part.column].is_null();
            part.write(&row[part.column], key)?;
        }
        let own = key.len();
        key.extend_from_slice(row_key);
        Ok((own, has_null))
    }

    /// The value of a secondary entry.
    pub fn write_entry_value(&self, row_key: &[u8], out: &mut Vec<u8>) {
        debug_assert!(
            self.clustered_width.is_none_or(|width| row_key.len() == width),
            "row keys have one width"
        );
        if self.clustered_width.is_none() {
            let length = u16::try_from(row_key.len()).expect("the engine's key limit is far below 64 KiB");
            out.extend_from_slice(&length.to_be_bytes());
        }
    }

    /// Where the clustered key begins in a secondary entry's key.
    pub fn suffix_start(&self, key: &[u8], value: &[u8]) -> Result<usize, DecodeError> {
        let width = match self.clustered_width {
            Some(width) => width,
            None => usize::from(u16::from_be_bytes(value.try_into().map_err(|_| DecodeError)?)),
        };
        key.len().checked_sub(width).ok_or(DecodeError)
    }

    /// Columns (with their frame positions) to be read from clustered records.
    pub fn project_rows(&self, wanted: &[(usize, usize)]) -> Projection {
        let mut projection = Projection::default();
        for &(column, position) in wanted {
            match self.stored_place[column] {
                Some(place) => projection.from_row.push((place, column, position)),
                None => {
                    let part = self.clustered.iter().position(|part| part.column == column);
                    projection.from_key.push((part.expect("not stored, so in the key"), position));
                }
            }
        }
        projection.from_key.sort_unstable();
        projection
    }

    /// Columns to be read from the entries of an index alone; `None` when one of them is not there.
    pub fn project_entries(&self, index: usize, wanted: &[(usize, usize)]) -> Option<Projection> {
        let layout = &self.indexes[index];
        let mut projection = Projection::default();
        for &(column, position) in wanted {
            let own = layout.parts[..layout.readable].iter().position(|part| part.column == column);
            let suffix =
                || self.clustered[..self.clustered_readable].iter().position(|part| part.column == column);
            match own {
                Some(part) => projection.from_key.push((part, position)),
                None => projection.from_suffix.push((suffix()?, position)),
            }
        }
        projection.from_key.sort_unstable();
        projection.from_suffix.sort_unstable();
        Some(projection)
    }

    /// Fills the projected columns of a clustered record into a frame.
    pub fn read_row(
        &self,
        table: &TableDef,
        projection: &Projection,
        key: &[u8],
        value: &[u8],
        frame: &mut [Value],
    ) -> Result<(), RowError> {
        read_parts(&self.clustered, &projection.from_key, key, frame)?;
        if projection.from_row.is_empty() {
            return Ok(());
        }
        let reader = RowReader::new(value).map_err(|_| DecodeError)?;
        for &(place, column, position) in &projection.from_row {
            let stored = reader.column(place, &table.columns[column].column_type).map_err(|_| DecodeError)?;
            frame[position] = match stored {
                Some(stored) => stored,
                None => self.added_value(table, column, (key, value), projection.strict)?,
            };
        }
        Ok(())
    }

    /// Fills columns of one clustered record into a frame; for who reads many, a `Projection` is made once.
    pub fn read_columns(
        &self,
        table: &TableDef,
        wanted: &[(usize, usize)],
        key: &[u8],
        value: &[u8],
        frame: &mut [Value],
    ) -> Result<(), RowError> {
        let mut reader = None;
        for &(column, position) in wanted {
            frame[position] = match self.stored_place[column] {
                Some(place) => {
                    let reader = match reader {
                        Some(reader) => reader,
                        None => *reader.insert(RowReader::new(value).map_err(|_| DecodeError)?),
                    };
                    let stored = reader.column(place, &table.columns[column].column_type);
                    match stored.map_err(|_| DecodeError)? {
                        Some(stored) => stored,
                        None => self.added_value(table, column, (key, value), false)?,
                    }
                }
                None => {
                    let part = self.clustered.iter().position(|part| part.column == column);
                    read_part(&self.clustered, part.expect("not stored, so in the key"), key)?
                }
            };
        }
        Ok(())
    }

    /// What a record reads that is older than the column.
    #[inline]
    fn added_value(
        &self,
        table: &TableDef,
        column: usize,
        record: (&[u8], &[u8]),
        strict: bool,
    ) -> Result<Value, RowError> {
        match &self.lacking {
            Some(lacking) if is_computed(&table.columns[column]) => {
                self.computed_value(lacking.maker()?, table, column, record, strict)
            }
            _ => Ok(self.added_values[column].clone()),
        }
    }

    /// The value of a virtual column that the record is older than.
    #[cold]
    fn computed_value(
        &self,
        maker: &Arc<dyn ColumnMaker>,
        table: &TableDef,
        column: usize,
        (key, value): (&[u8], &[u8]),
        strict: bool,
    ) -> Result<Value, RowError> {
        let mut row = vec![Value::Null; table.columns.len()];
        // No expression reads its own column, however far it goes.
        let reads: Vec<(usize, usize)> = maker.reads(column).iter().map(|read| (*read, *read)).collect();
        self.read_columns(table, &reads, key, value, &mut row)?;
        maker.make(column, &row, strict).map_err(|error| RowError::Computed(Box::new(error)))
    }

    /// Fills the projected columns of an index entry into a frame.
    pub fn read_entry(
        &self,
        index: usize,
        projection: &Projection,
        key: &[u8],
        value: &[u8],
        frame: &mut [Value],
    ) -> Result<(), DecodeError> {
        read_parts(&self.indexes[index].parts, &projection.from_key, key, frame)?;
        if projection.from_suffix.is_empty() {
            return Ok(());
        }
        let start = self.suffix_start(key, value)?;
        read_parts(&self.clustered, &projection.from_suffix, &key[start..], frame)
    }
}

fn read_parts(
    parts: &[KeyPart],
    wanted: &[(usize, usize)],
    key: &[u8],
    frame: &mut [Value],
) -> Result<(), DecodeError> {
    let Some(&(last, _)) = wanted.last() else { return Ok(()) };
    debug_assert!(wanted.is_sorted(), "parts are read in order");
    let mut wanted = wanted.iter().peekable();
    let mut rest = key;
    for (number, part) in parts[..=last].iter().enumerate() {
        let is_wanted = wanted.peek().is_some_and(|(next, _)| *next == number);
        if !is_wanted && let Some(width) = part.fixed_width() {
            rest = rest.get(width..).ok_or(DecodeError)?;
            continue;
        }
        let (value, length) = part.read(rest)?;
        rest = &rest[length..];
        while let Some(&&(next, position)) = wanted.peek()
            && next == number
        {
            frame[position] = value.clone();
            wanted.next();
        }
    }
    Ok(())
}

/// The value of one part of a key.
fn read_part(parts: &[KeyPart], number: usize, key: &[u8]) -> Result<Value, DecodeError> {
    let mut rest = key;
    for part in &parts[..number] {
        let length = match part.fixed_width() {
            Some(width) => width,
            None => part.read(rest)?.1,
        };
        rest = rest.get(length..).ok_or(DecodeError)?;
    }
    parts[number].read(rest).map(|(value, _)| value)
}

/// Stands in the place of a column that is gone.
static NOTHING: Value = Value::Null;

/// By place: the columns that the readable parts of the key do not give back.
fn stored_columns(table: &TableDef, key: &[KeyPart]) -> Vec<Option<usize>> {
    if let Some(places) = &table.places {
        let mut stored = vec![None; usize::from(places.width)];
        for (column, place) in places.of.iter().enumerate() {
            if let Some(place) = place {
                stored[usize::from(*place)] = Some(column);
            }
        }
        return stored;
    }
    let in_key = |column: &usize| key.iter().any(|part| part.column == *column);
    (0..table.columns.len()).filter(|column| !in_key(column)).map(Some).collect()
}

fn parts_of(table: &TableDef, index: &IndexDef) -> Vec<KeyPart> {
    index
        .parts
        .iter()
        .map(|part| {
            let column = &table.columns[part.column];
            KeyPart {
                column: part.column,
                kind: StorageKind::of(column.key_type()),
                nullable: column.key_type().nullable,
                descending: part.descending,
                prefix_length: part.prefix_length,
                array: column.array_of.is_some(),
            }
        })
        .collect()
}

fn readable(parts: &[KeyPart]) -> usize {
    parts.iter().take_while(|part| part.is_decodable()).count()
}
