//! LOAD DATA: an INSERT of one row whose values are parameters, one for each field of a line, and what SET makes of
//! them.
use crate::planner::{Planner, not_supported};
use datum::{SqlError, error_code};
use expression::{Expr, ExprKind};
use parser::ast::{DuplicateHandling, LoadColumn, LoadData};
use plan::{DefaultSource, DuplicateRule, InsertPlan, InsertSource, InsertValue, Rights, TableUsage};
use schema::TableDef;

/// Where a field of a line goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadTarget {
    Column(usize),
    /// A user variable, in lower case, that SET may read.
    Variable(String),
}

/// The targets in the order of the fields: those that the statement lists, or all columns that are not invisible.
pub fn load_targets(load: &LoadData<'_>, table: &TableDef) -> Result<Vec<LoadTarget>, SqlError> {
    if load.columns.is_empty() {
        let shown = |column: &usize| !table.columns[*column].invisible && !table.columns[*column].hidden;
        return Ok((0..table.columns.len()).filter(shown).map(LoadTarget::Column).collect());
    }
    let target = |column: &LoadColumn<'_>| match column {
        LoadColumn::UserVariable(name) => Ok(LoadTarget::Variable(name.name.to_lowercase())),
        LoadColumn::Column(reference) => {
            crate::insert::target_column(table, reference).map(LoadTarget::Column)
        }
        LoadColumn::Local(_) => Err(not_supported("LOAD DATA in a stored program")),
    };
    load.columns.iter().map(target).collect()
}

impl<'p> Planner<'p> {
    /// Parameter n is the n-th field.
    pub fn plan_load(&mut self, load: &LoadData<'p>) -> Result<InsertPlan, SqlError> {
        if !load.partitions.is_empty() {
            return Err(not_supported("PARTITION"));
        }
        self.insert_also = match load.duplicates {
            Some(DuplicateHandling::Replace) => Rights::DELETE,
            _ => Rights::NONE,
        };
        let (table, need) = self.target_table(&load.table, TableUsage::Insert)?;
        let targets = load_targets(load, &table)?;
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for (field, target) in targets.iter().enumerate() {
            let bound = self.bind_parameter(field);
            if let LoadTarget::Column(column) = target {
                self.need_named(need, &table.columns[*column].name, Rights::INSERT, load.columns.is_empty())?;
            }
            // What a file says of a generated column is not looked at.
            if let LoadTarget::Column(column) = target
                && table.columns[*column].generated.is_none()
            {
                if columns.contains(column) {
                    return Err(error_code::ER_FIELD_SPECIFIED_TWICE.with(&[&table.columns[*column].name]));
                }
                columns.push(*column);
                values.push(InsertValue::Expr(bound));
            }
        }
        self.push_row_block(&table, need);
        for assignment in load.set {
            let column = crate::insert::target_column(&table, &assignment.column)?;
            self.need_named(need, &table.columns[column].name, Rights::INSERT, false)?;
            let mut value = self.insert_value(&table, column, &assignment.value)?;
            if let InsertValue::Expr(expr) = &mut value {
                self.read_fields(expr, &targets);
            }
            columns.push(column);
            values.push(value);
        }
        self.pop_row_block()?;
        let mut omitted = Vec::new();
        for column in (0..table.columns.len()).filter(|column| !columns.contains(column)) {
            // A file need not have them all: also a column that INSERT must be given a value is left at its zero.
            omitted.push(match self.default_source(&table, column)? {
                DefaultSource::Missing => {
                    (column, DefaultSource::Value(table.columns[column].column_type.implicit_default()))
                }
                source => (column, source),
            });
        }
        self.check_not_read(&table)?;
        self.shareable = false;
        let replaces = load.duplicates == Some(DuplicateHandling::Replace);
        Ok(InsertPlan {
            rules: crate::row_expression::row_rules(&table, self.catalog, &self.context)?,
            columns,
            omitted,
            source: InsertSource::Rows(vec![values]),
            reads_target: false,
            duplicates: if replaces { DuplicateRule::Replace } else { DuplicateRule::Fail },
            initialisers: std::mem::take(&mut self.value_initialisers),
            // A client that has begun to send its file cannot be stopped, so LOCAL goes on behind bad rows.
            ignore: load.duplicates == Some(DuplicateHandling::Ignore) || load.local && !replaces,
            table,
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
