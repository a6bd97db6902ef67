//! Where a HANDLER reads: the span of keys behind its place, put into a plan of one table.
//!
//! Invariant: a plan that has been aimed gives, behind the columns that are shown, what tells the place of each of its rows.
//! Called by the reads of `handler`.
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use plan::{AccessPath, KeySpan, Node, NodeKind, TableAccess};
use schema::TableDef;
use session_state::open_handlers::At;
use table::ReadyTable;

/// What a read asks of the keys.
pub struct Walk {
    pub index: Option<usize>,
    pub span: KeySpan,
    pub backward: bool,
    /// Where the place is when nothing is left.
    pub exhausted: At,
    pub is_empty: bool,
}

impl Walk {
    pub fn forward(index: Option<usize>, span: KeySpan) -> Walk {
        Walk { index, span, backward: false, exhausted: At::End, is_empty: false }
    }

    pub fn back(index: Option<usize>, span: KeySpan) -> Walk {
        Walk { index, span, backward: true, exhausted: At::Begin, is_empty: false }
    }

    pub fn compared(index: Option<usize>, comparison: &str, key: &[u8]) -> Walk {
        let behind = engine::KeyRange::prefix(key).upper;
        let upper = behind.clone().map(|behind| (behind, false));
        match comparison {
            "=" => {
                let span = KeySpan { lower: Some((key.to_vec(), true)), upper };
                let exhausted = behind.map_or(At::End, At::Gap);
                Walk { exhausted, ..Walk::forward(index, span) }
            }
            ">=" => Walk::forward(index, above(key.to_vec(), true)),
            ">" => match behind {
                Some(behind) => Walk::forward(index, above(behind, true)),
                None => Walk { is_empty: true, ..Walk::forward(index, KeySpan::default()) },
            },
            "<=" => Walk::back(index, KeySpan { lower: None, upper }),
            _ => Walk::back(index, below(key.to_vec())),
        }
    }
}

pub fn above(key: Vec<u8>, included: bool) -> KeySpan {
    KeySpan { lower: Some((key, included)), upper: None }
}

pub fn below(key: Vec<u8>) -> KeySpan {
    KeySpan { lower: None, upper: Some((key, false)) }
}

/// Gives the table of a plan its path, and adds to the rows the clustered key and what the index has of the row.
/// False where the plan reads no table.
pub fn aim(node: &mut Node, walk: &Walk, table: &TableDef, shown: &[ColumnType]) -> Result<bool, SqlError> {
    match &mut node.kind {
        NodeKind::Nothing | NodeKind::Dual => return Ok(false),
        NodeKind::Project { input, expressions } => {
            let Some(positions) = aim_table(input, walk, table)? else { return Ok(false) };
            let added = ColumnType::new(TypeKind::LongBlob);
            expressions.extend(positions.into_iter().map(|position| column_at(position, &added)));
            node.width = expressions.len();
            return Ok(true);
        }
        _ => {}
    }
    // The frame of the table is the row that is shown.
    let Some(positions) = aim_table(node, walk, table)? else { return Ok(false) };
    let added = ColumnType::new(TypeKind::LongBlob);
    let own = shown.iter().enumerate().map(|(position, of)| column_at(position, of));
    let expressions: Vec<_> = own.chain(positions.into_iter().map(|at| column_at(at, &added))).collect();
    let (width, rows) = (expressions.len(), node.estimate.rows);
    let input = Box::new(std::mem::replace(node, Node::new(NodeKind::Nothing, 0, 0.0)));
    *node = Node::new(NodeKind::Project { input, expressions }, width, rows);
    Ok(true)
}

fn column_at(position: usize, of: &ColumnType) -> expression::Expr {
    let ty = expression::ExprType::new(of.clone(), expression::Coercibility::Implicit);
    expression::Expr { kind: expression::ExprKind::Column(position), ty }
}

/// The frame positions of the clustered key and the index's columns.
fn aim_table(node: &mut Node, walk: &Walk, table: &TableDef) -> Result<Option<Vec<usize>>, SqlError> {
    let (positions, width) = match &mut node.kind {
        NodeKind::Nothing => return Ok(None),
        NodeKind::Filter { input, .. } | NodeKind::Limit { input, .. } => {
            (aim_table(input, walk, table)?, input.width)
        }
        NodeKind::Table(access) => {
            let positions = aim_access(access, node.width, walk, table);
            let width = positions.iter().map(|position| position + 1).max().unwrap_or(0).max(node.width);
            (Some(positions), width)
        }
        _ => return Err(unsupported_filter()),
    };
    node.width = width;
    Ok(positions)
}

fn aim_access(access: &mut TableAccess, width: usize, walk: &Walk, table: &TableDef) -> Vec<usize> {
    access.path = AccessPath::Keys { index: walk.index, span: walk.span.clone() };
    access.backward = walk.backward;
    access.covering = false;
    let mut next = width;
    let row_key = *access.row_key_position.get_or_insert(next);
    next = next.max(row_key + 1);
    let mut positions = vec![row_key];
    let parts = walk.index.map_or(&[][..], |index| &table.indexes[index].parts);
    for part in parts {
        let known = access.projection.iter().find(|(column, _)| *column == part.column);
        positions.push(match known {
            Some((_, position)) => *position,
            None => {
                access.projection.push((part.column, next));
                next += 1;
                next - 1
            }
        });
    }
    access.projection.sort_unstable();
    positions
}

fn unsupported_filter() -> SqlError {
    error_code::ER_NOT_SUPPORTED_YET.with(&[&"HANDLER with a subquery"])
}

/// Where a read that has given `last` as its last row leaves the place; `None` leaves it where it was.
pub fn place_of(
    walk: &Walk,
    last: Option<Vec<Value>>,
    is_exhausted: bool,
    table: &ReadyTable,
) -> Result<Option<At>, SqlError> {
    if is_exhausted {
        return Ok(Some(walk.exhausted.clone()));
    }
    let Some(last) = last else { return Ok(None) };
    let Some(Value::Bytes(row_key)) = last.first() else { return Ok(None) };
    let layout = table.handle().layout();
    let secondary = walk.index.filter(|index| !layout.indexes[*index].clustered);
    let mut key = Vec::new();
    if let Some(index) = secondary {
        for (part, value) in layout.indexes[index].parts.iter().zip(&last[1..]) {
            part.write(value, &mut key)?;
        }
    }
    key.extend_from_slice(row_key);
    Ok(Some(At::Key(key)))
}
