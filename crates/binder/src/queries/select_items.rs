//! The select list: stars expanded, names chosen, and what the client learns about each column.
use crate::binder::Binder;
use crate::block::{Block, Clause, Position, SourceKind};
use crate::bound::SelectItem;
use crate::context::Literals;
use crate::walk::aggregate_number;
use datum::{ColumnType, SqlError, TypeKind, Value, error_code};
use expression::{AggregateFunction, Expr, ExprKind};
use parser::ast;
use plan::{Kept, OutputColumn, Rights};
use schema::{ColumnDef, ColumnDefault, IndexKind, TableDef};

impl<'p> Binder<'p> {
    pub fn bind_select_items(
        &mut self,
        items: &[ast::SelectItem<'p>],
        star: Option<&[(usize, usize)]>,
    ) -> Result<Vec<SelectItem>, SqlError> {
        self.block().clause = Some(Clause::FieldList);
        let mut bound = Vec::with_capacity(items.len());
        let aliases = items.iter().filter_map(|item| match item {
            ast::SelectItem::Expression { alias, .. } => alias.map(|alias| alias.name.to_owned()),
            _ => None,
        });
        self.block().later_aliases = aliases.collect();
        for item in items {
            match item {
                ast::SelectItem::Wildcard(span) => {
                    let Some(star) = star else { return Err(error_code::ER_NO_TABLES_USED.plain()) };
                    self.note_star(span.start, star);
                    self.expand(star, &mut bound)?;
                }
                ast::SelectItem::QualifiedWildcard(name) => self.expand_qualified(name, &mut bound)?,
                ast::SelectItem::Expression { expr, alias, name } => {
                    let is_alias = alias.is_some();
                    let constant = if is_alias { None } else { name_of_constant(expr) };
                    // The name was read from the text, so the plan is for this text only.
                    self.shareable &= constant.is_none() || self.context.literals == Literals::Inline;
                    let name = constant.unwrap_or_else(|| alias.map_or(*name, |alias| alias.name).to_owned());
                    let is_column = matches!(expr.kind, ast::ExprKind::Column(_));
                    let mut expr = self.bind(expr)?;
                    self.context.bind.told_text_marker(&mut expr);
                    expression::name_stored_call(&mut expr, &name);
                    let own = if is_column && !is_alias { self.block().own_name(&expr) } else { None };
                    if is_alias {
                        self.block().later_aliases.remove(0);
                        self.block().aliases.push((name.clone(), expr.clone()));
                    }
                    bound.push(SelectItem { name: own.unwrap_or(name), expr, is_alias });
                }
            }
        }
        Ok(bound)
    }

    fn expand(&mut self, star: &[(usize, usize)], bound: &mut Vec<SelectItem>) -> Result<(), SqlError> {
        let depth = self.blocks.len() - 1;
        for &(source, column) in star {
            self.need_column(depth, source, column, Rights::SELECT, true)?;
            let block = self.block();
            let name = block.sources[source].columns[column].name.clone();
            let expr = block.column_expr(source, column);
            let expr = self.context.bind.read_column(expr);
            bound.push(SelectItem { expr, name, is_alias: false });
        }
        Ok(())
    }

    fn expand_qualified(
        &mut self,
        name: &ast::ObjectName<'_>,
        bound: &mut Vec<SelectItem>,
    ) -> Result<(), SqlError> {
        let database = name.database.map(|database| database.name);
        let block = self.block();
        let source = block.sources.iter().position(|source| source.is_named(database, Some(name.name.name)));
        let Some(source) = source else {
            return Err(error_code::ER_BAD_TABLE_ERROR.with(&[&name.name.name]));
        };
        let columns = block.sources[source].columns.iter().enumerate();
        let star: Vec<(usize, usize)> =
            columns.filter(|(_, column)| !column.invisible).map(|(column, _)| (source, column)).collect();
        self.note_star(name.name.span.start, &star);
        self.expand(&star, bound)
    }
}

/// The description of a select item; `expr` is bound over the block's own frame.
pub fn output_column(block: &Block, item: &SelectItem) -> OutputColumn {
    let mut output = OutputColumn::computed(item.name.clone(), item.expr.ty.column.clone());
    let read = match &item.expr.kind {
        ExprKind::Fit(column) => column,
        _ => &item.expr,
    };
    let ExprKind::Column(position) = read.kind else {
        if let Some(number) = number_in_hexadecimal(block, read) {
            (output.column_type.unsigned, output.column_type.zerofill) = (number.unsigned, number.zerofill);
        }
        output.kept = kept(block, read);
        return output;
    };
    let Some(Position::Column { source, column }) = block.frame.get(position).copied() else { return output };
    let source = &block.sources[source];
    output.table_alias = source.alias.clone();
    output.database = source.database.clone();
    output.original_name = source.columns[column].name.clone();
    if let Some(view) = &source.origin.view {
        output.table.clone_from(&view.name);
    }
    match &source.kind {
        SourceKind::Stored { table, .. } => describe(&mut output, table, column),
        SourceKind::Virtual(table) => describe(&mut output, table.definition(), column),
        SourceKind::Derived(_)
        | SourceKind::Query(_)
        | SourceKind::Common(_)
        | SourceKind::Round(_)
        | SourceKind::Lateral(_)
        | SourceKind::JsonTable(_) => {}
    }
    output
}

/// What NAME_CONST calls its value.
fn name_of_constant(expr: &ast::Expr<'_>) -> Option<String> {
    let ast::ExprKind::Function(call) = &expr.kind else { return None };
    let [name, _] = call.arguments else { return None };
    if call.name.database.is_some() || !call.name.name.name.eq_ignore_ascii_case("name_const") {
        return None;
    }
    match name.kind {
        ast::ExprKind::Literal(literal) => match literal.value {
            ast::LiteralValue::String { bytes, .. } => Some(String::from_utf8_lossy(bytes).into_owned()),
            ast::LiteralValue::Integer(number) => Some(number.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// What a table gets to keep the values of an expression that is no column.
fn kept(block: &Block, expr: &Expr) -> Kept {
    if let Some(number) = aggregate_number(expr) {
        let call = &block.aggregates[number];
        let argument = call.arguments.first().map(|argument| match &argument.kind {
            ExprKind::Cast(own) if own.ty.column.kind.has_members() => own,
            _ => argument,
        });
        return match (call.function, argument) {
            (AggregateFunction::GroupConcat, _) => Kept::Concatenated,
            (AggregateFunction::Min | AggregateFunction::Max, Some(argument))
                if matches!(argument.kind, ExprKind::Column(_)) =>
            {
                Kept::Extreme {
                    of: argument.ty.column.clone(),
                    no_default: block.table_column(argument).is_some_and(has_no_default),
                }
            }
            (AggregateFunction::Min | AggregateFunction::Max, _) => Kept::Aggregated,
            _ => Kept::Same,
        };
    }
    match &expr.kind {
        ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_) => Kept::Same,
        ExprKind::Call(function, _) if function.name == "ifnull" => Kept::Chosen,
        ExprKind::Slot(_) => Kept::Single,
        _ => Kept::Computed,
    }
}

/// The type of the number in hexadecimal that NULLIF, MIN or MAX give. They give its bytes, and clients see it as it was.
fn number_in_hexadecimal<'b>(block: &'b Block, expr: &'b Expr) -> Option<&'b ColumnType> {
    let given = match &expr.kind {
        ExprKind::Case { whens, otherwise: Some(given), .. } => {
            // A NULL that is written has no type.
            let is_nothing = |result: &Expr| {
                matches!(result.kind, ExprKind::Literal(Value::Null))
                    && result.ty.column.kind == TypeKind::VarBinary
            };
            whens.iter().all(|(_, result)| is_nothing(result)).then_some(&**given)
        }
        _ => aggregate_number(expr).and_then(|number| {
            let call = &block.aggregates[number];
            let is_extreme = matches!(call.function, AggregateFunction::Min | AggregateFunction::Max);
            call.arguments.first().filter(|_| is_extreme)
        }),
    };
    given.map(|given| &given.ty.column).filter(|column| column.is_hex_literal())
}

/// INSERT must give a value.
fn has_no_default(column: &ColumnDef) -> bool {
    !column.nullable() && column.default == ColumnDefault::None && !column.auto_increment
}

fn describe(output: &mut OutputColumn, table: &TableDef, position: usize) {
    let column = &table.columns[position];
    output.table = table.name.clone();
    output.auto_increment = column.auto_increment;
    output.on_update_now = column.on_update_current_timestamp;
    output.no_default = has_no_default(column);
    for index in &table.indexes {
        let Some(place) = index.parts.iter().position(|part| part.column == position) else { continue };
        match index.kind {
            IndexKind::Primary => output.primary_key = true,
            IndexKind::Unique if index.parts.len() == 1 => output.unique_key = true,
            _ if place == 0 => output.multiple_key = true,
            _ => {}
        }
    }
}
