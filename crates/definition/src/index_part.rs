//! Index parts that are expressions: each is a hidden generated column of the table.
//!
//! The column is made when the whole table is known, and goes with the index. Its name has a part that no statement can
//! write, since names in statements find visible columns only.
use datum::{ColumnType, SqlError, TypeKind, error_code};
use parser::ast::{Expr, ExprKind};
use schema::{ColumnDef, ColumnDefault, Generation, IndexKind, TableDef, TableId};
use std::sync::Arc;

use super::conditions::*;
use super::draft::{ColumnDraft, ColumnSource, DefinitionContext, TableDraft};
use super::row_expression::{Purpose, text_of};

/// The name of an index that begins with an expression and was given none.
pub const NAMELESS: &str = "functional_index";

/// The text of an expression among the parts of an index.
pub fn part_expression(
    expr: &Expr<'_>,
    kind: IndexKind,
    index: &str,
    context: &DefinitionContext<'_>,
) -> Result<String, SqlError> {
    if kind == IndexKind::Primary {
        return Err(ER_FUNCTIONAL_INDEX_PRIMARY_KEY.plain());
    }
    if matches!(expr.kind, ExprKind::Column(_)) {
        return Err(ER_FUNCTIONAL_INDEX_ON_FIELD.plain());
    }
    let index = if index.is_empty() { NAMELESS } else { index };
    text_of(expr, Purpose::IndexPart, index, context)
}

impl TableDraft {
    /// Takes the hidden columns away that no index needs any more.
    pub(crate) fn drop_needless_index_columns(&mut self) {
        let parts = || self.indexes.iter().flat_map(|index| &index.parts);
        let needed: Vec<&str> = parts().map(|part| part.column.as_str()).collect();
        let is_needed = |column: &ColumnDraft| {
            !column.definition.hidden || needed.contains(&column.definition.name.as_str())
        };
        let kept: Vec<bool> = self.columns.iter().map(is_needed).collect();
        let mut kept = kept.into_iter();
        self.columns.retain(|_| kept.next().unwrap_or(true));
    }

    /// Gives every expression among the parts its hidden column.
    pub(crate) fn place_index_parts(&mut self, context: &DefinitionContext<'_>) -> Result<(), SqlError> {
        self.drop_needless_index_columns();
        if self.indexes.iter().flat_map(|index| &index.parts).all(|part| part.expression.is_none()) {
            return Ok(());
        }
        let visible = Arc::new(self.with_visible_columns());
        for index in 0..self.indexes.len() {
            for part in 0..self.indexes[index].parts.len() {
                self.place_part(index, part, &visible, context)?;
            }
        }
        Ok(())
    }

    fn with_visible_columns(&self) -> TableDef {
        let mut table = TableDef::new(TableId(0), self.database.clone(), self.name.clone());
        let visible = self.columns.iter().filter(|column| !column.definition.hidden);
        table.columns = visible.map(|column| column.definition.clone()).collect();
        table
    }

    fn place_part(
        &mut self,
        index: usize,
        part: usize,
        visible: &Arc<TableDef>,
        context: &DefinitionContext<'_>,
    ) -> Result<(), SqlError> {
        let index_name = self.indexes[index].name.clone();
        let Some(expression) = self.indexes[index].parts[part].expression.clone() else { return Ok(()) };
        for name in super::row_expression::columns_read(&expression) {
            if self.column_position(&name).is_none() {
                return Err(Purpose::IndexPart.unknown_column(&index_name, &name));
            }
        }
        let (column_type, array_of) = (context.row_expression_type)(&expression, visible)?;
        match array_of {
            Some(_) => self.check_array_part(index, part)?,
            None => check_type(&column_type)?,
        }
        let known = self.indexes[index].parts[part].column.clone();
        if let Some(at) = self.part_position(&known) {
            // Its columns may have got other types.
            self.columns[at].definition.column_type = column_type;
            self.columns[at].definition.array_of = array_of;
            return Ok(());
        }
        let name = (0..)
            .map(|number| format!("!hidden!{index_name}!{part}!{number}"))
            .find(|name| self.part_position(name).is_none())
            .unwrap_or_default();
        let mut definition = ColumnDef::new(name.clone(), column_type);
        definition.default = ColumnDefault::None;
        definition.generated = Some(Generation { expression, stored: false });
        definition.hidden = true;
        definition.array_of = array_of;
        self.indexes[index].parts[part].column = name;
        self.columns.push(ColumnDraft {
            definition,
            written_nullable: None,
            primary: false,
            unique: false,
            source: ColumnSource::New,
        });
        Ok(())
    }

    /// Errors 1221 and 1235 for an array beside another one or in an order.
    fn check_array_part(&self, index: usize, part: usize) -> Result<(), SqlError> {
        let parts = &self.indexes[index].parts;
        if parts[part].descending {
            let (index, order) = ("multi-valued index", "explicit index order");
            return Err(error_code::ER_WRONG_USAGE.with(&[&index, &order]));
        }
        if parts.iter().filter(|part| part.is_array()).count() > 1 {
            let what = "more than one multi-valued key part per index";
            return Err(error_code::ER_NOT_SUPPORTED_YET.with(&[&what]));
        }
        Ok(())
    }

    /// The column of an index part, hidden or not.
    pub(crate) fn part_position(&self, name: &str) -> Option<usize> {
        let hidden = |column: &ColumnDraft| column.definition.hidden && column.definition.name == name;
        self.columns.iter().position(hidden).or_else(|| self.column_position(name))
    }
}

/// Errors 3753 and 3757 for what has no length that an index can take.
fn check_type(column_type: &ColumnType) -> Result<(), SqlError> {
    use TypeKind::{Blob, Json, LongBlob, LongText, MediumBlob, MediumText, Null, Text, TinyBlob, TinyText};
    match column_type.kind {
        Json => Err(ER_FUNCTIONAL_INDEX_ON_JSON_OR_GEOMETRY_FUNCTION.plain()),
        TinyText | Text | MediumText | LongText | TinyBlob | Blob | MediumBlob | LongBlob | Null => {
            Err(ER_FUNCTIONAL_INDEX_ON_LOB.plain())
        }
        _ => Ok(()),
    }
}
