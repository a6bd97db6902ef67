//! LOAD DATA: an INSERT of one row whose values are parameters, one for each field of a line, and what SET makes of
//! them.
use crate::binder::{Binder, not_supported};
use crate::bound_statement::{BoundDuplicates, BoundInsert, BoundSource};
use datum::SqlError;
use expression::{Expr, ExprKind};
use parser::ast::{ColumnReference, DuplicateHandling, LoadColumn, LoadData};
use plan::{DefaultSource, InsertValue, InsertView, Rights};
use schema::TableDef;
use std::sync::Arc;

/// Where a field of a line goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadTarget {
    Column(usize),
    /// A user variable, in lower case, that SET may read.
    Variable(String),
}

/// The targets in the order of the fields: those that the statement lists, or all columns that are not invisible.
pub fn load_targets(
    load: &LoadData<'_>,
    table: &TableDef,
    view: Option<&InsertView>,
) -> Result<Vec<LoadTarget>, SqlError> {
    if load.columns.is_empty() {
        if let Some(view) = view {
            return Ok(view.columns.iter().map(|(column, _)| LoadTarget::Column(*column)).collect());
        }
        let shown = |column: &usize| !table.columns[*column].invisible && !table.columns[*column].hidden;
        return Ok((0..table.columns.len()).filter(shown).map(LoadTarget::Column).collect());
    }
    let target = |column: &LoadColumn<'_>| match column {
        LoadColumn::UserVariable(name) => Ok(LoadTarget::Variable(name.name.to_lowercase())),
        LoadColumn::Column(reference) => {
            let column = match view {
                Some(view) => crate::changes::insert_target::column_of_view(view, reference),
                None => crate::changes::insert_target::target_column(table, reference),
            };
            column.map(LoadTarget::Column)
        }
        LoadColumn::Local(_) => Err(not_supported("LOAD DATA in a stored program")),
    };
    load.columns.iter().map(target).collect()
}

impl<'p> Binder<'p> {
    /// Parameter n is the n-th field.
    pub fn bind_load(&mut self, load: &LoadData<'p>) -> Result<BoundInsert, SqlError> {
        if !load.partitions.is_empty() {
            return Err(not_supported("PARTITION"));
        }
        self.insert_also = match load.duplicates {
            Some(DuplicateHandling::Replace) => Rights::DELETE,
            _ => Rights::NONE,
        };
        let listed = listed_columns(load);
        let target = self.insert_target(&load.table, listed.as_deref())?;
        let (table, view) = (target.table.clone(), target.view());
        let targets = load_targets(load, &table, view.as_ref())?;
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for (field, place) in targets.iter().enumerate() {
            let bound = self.bind_parameter(field);
            if let LoadTarget::Column(column) = place {
                self.need_target(&target, *column, Rights::INSERT, load.columns.is_empty())?;
            }
            // What a file says of a generated column is not looked at.
            if let LoadTarget::Column(column) = place
                && table.columns[*column].generated.is_none()
            {
                // Of several fields for a column the last one counts.
                match columns.iter().position(|known| known == column) {
                    Some(known) => values[known] = InsertValue::Expr(bound),
                    None => {
                        columns.push(*column);
                        values.push(InsertValue::Expr(bound));
                    }
                }
            }
        }
        self.push_row_block(&target);
        for assignment in load.set {
            let column = target.column(&assignment.column)?;
            self.need_target(&target, column, Rights::INSERT, false)?;
            let mut value = self.insert_value(&table, column, &assignment.value)?;
            if let InsertValue::Expr(expr) = &mut value {
                self.read_fields(expr, &targets);
            }
            columns.push(column);
            values.push(value);
        }
        self.pop_row_block();
        let omitted = (0..table.columns.len()).filter(|column| !columns.contains(column));
        let omitted = omitted.map(|column| self.omitted_source(&table, column)).collect::<Result<_, _>>()?;
        self.check_not_read(&table, target.name(), target.reference(), "INSERT")?;
        self.shareable = false;
        let replaces = load.duplicates == Some(DuplicateHandling::Replace);
        Ok(BoundInsert {
            rules: self.target_rules(&target)?,
            view,
            columns,
            omitted,
            source: BoundSource::Rows(vec![values]),
            reads_target: false,
            duplicates: if replaces { BoundDuplicates::Replace } else { BoundDuplicates::Fail },
            initialisers: std::mem::take(&mut self.value_initialisers),
            row_initialisers: Vec::new(),
            // A client that has begun to send its file cannot be stopped, so LOCAL goes on behind bad rows.
            ignore: load.duplicates == Some(DuplicateHandling::Ignore) || load.local && !replaces,
            table,
        })
    }

    /// A file need not have all columns: also one that INSERT must be given a value is left at its zero.
    fn omitted_source(
        &mut self,
        table: &Arc<TableDef>,
        column: usize,
    ) -> Result<(usize, DefaultSource), SqlError> {
        Ok(match self.default_source(table, column)? {
            DefaultSource::Missing => {
                (column, DefaultSource::Value(table.columns[column].column_type.implicit_default()))
            }
            source => (column, source),
        })
    }

    /// A variable that a field is for is that field.
    fn read_fields(&mut self, expr: &mut Expr, targets: &[LoadTarget]) {
        let mut replacement = |part: &Expr| {
            let ExprKind::UserVariable(name) = &part.kind else { return None };
            let is_it = |target: &LoadTarget| matches!(target, LoadTarget::Variable(own) if **own == **name);
            targets.iter().rposition(is_it).map(|field| self.bind_parameter(field))
        };
        crate::walk::replace(expr, &mut replacement);
    }
}

/// The columns that the statement lists, if it does.
fn listed_columns<'s, 'p>(load: &'s LoadData<'p>) -> Option<Vec<&'s ColumnReference<'p>>> {
    let listed = load.columns.iter().filter_map(|column| match column {
        LoadColumn::Column(reference) => Some(reference),
        LoadColumn::UserVariable(_) | LoadColumn::Local(_) => None,
    });
    let assigned = load.set.iter().map(|assignment| &assignment.column);
    (!load.columns.is_empty()).then(|| listed.chain(assigned).collect())
}
