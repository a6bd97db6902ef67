//! Window functions: the call is noted in its block and stands in the tree as a numbered slot.
//!
//! Windows are resolved as they are named: by inheritance between named windows first, then their expressions are bound.
use super::frame::ResolvedWindow;
use crate::binder::{Binder, not_supported};
use crate::block::{AliasUse, Clause, WindowCall};
use crate::error_codes::ER_SP_UNDECLARED_VAR;
use crate::queries::select::ordinal;
use crate::same_name::same_name;
use crate::walk::WINDOW_BASE;
use datum::{ColumnType, SqlError, TypeKind, error_code};
use expression::{AggregateCall, AggregateFunction, Coercibility, Expr, ExprKind, ExprType};
use parser::ast::{self, WindowFunction as Written};
use plan::{Frame, FrameBound, SortKey, UNNAMED_WINDOW, WindowFunction};

/// What a result of MySQL's integer window functions looks like.
const NUMBER_LENGTH: u32 = 21;

impl<'p> Binder<'p> {
    pub fn bind_window_call(&mut self, call: &ast::WindowCall<'p>) -> Result<Expr, SqlError> {
        let name = function_name(call.function);
        self.check_window_place(name)?;
        if call.nulls == Some(ast::NullTreatment::Ignore) {
            return Err(not_supported("IGNORE NULLS"));
        }
        if call.from_last {
            return Err(not_supported("FROM LAST"));
        }
        let (function, ty) = self.inside_window(|binder| binder.bind_window_function(call))?;
        self.place_window_call(call.over, function, ty)
    }

    /// An aggregate function with OVER.
    pub fn bind_window_aggregate(
        &mut self,
        aggregate: &ast::Aggregate<'p>,
        over: ast::WindowName<'p>,
    ) -> Result<Expr, SqlError> {
        let name = aggregate.name.name.to_lowercase();
        self.check_window_place(&name)?;
        if aggregate.distinct {
            return Err(not_supported("<window function>(DISTINCT ..)"));
        }
        let mut call = self.inside_window(|binder| binder.bind_aggregate_call(aggregate))?;
        if call.function == AggregateFunction::GroupConcat {
            return Err(not_supported("group_concat as window function"));
        }
        self.keep_document(&mut call);
        let ty = match call.function {
            AggregateFunction::Min | AggregateFunction::Max => {
                if call.ty.column.kind == TypeKind::Year {
                    let year = std::mem::replace(&mut call.arguments[0], Expr::null());
                    call.arguments[0] = self.without_year(year)?;
                    call.ty = call.arguments[0].ty.clone();
                }
                shown_type(&call.ty)
            }
            _ => call.ty.clone(),
        };
        self.place_window_call(over, WindowFunction::Aggregate(call), ty)
    }

    /// Windows keep the document that COALESCE gives, so that it is a number as a column's is, not by its text.
    fn keep_document(&self, call: &mut AggregateCall) {
        if let [Expr { kind: ExprKind::Cast(document), .. }] = call.arguments.as_mut_slice()
            && document.ty.column.kind == TypeKind::Json
        {
            let ty = document.ty.clone();
            let own = std::mem::replace(document, Box::new(Expr::null()));
            **document = Expr { kind: ExprKind::Relabel(own), ty };
        }
    }

    /// Error 3593 where no window function may stand.
    fn check_window_place(&mut self, name: &str) -> Result<(), SqlError> {
        let Some(block) = self.blocks.last() else {
            return Err(error_code::ER_WINDOW_INVALID_WINDOW_FUNC_USE.with(&[&name]));
        };
        if matches!(block.clause, Some(Clause::WindowPartition | Clause::WindowOrder)) {
            let window = block.window_name.as_deref().unwrap_or(UNNAMED_WINDOW);
            return Err(error_code::ER_WINDOW_NESTED_WINDOW_FUNC_USE_IN_WINDOW_SPEC.with(&[&window]));
        }
        let is_clause = matches!(block.clause, Some(Clause::FieldList | Clause::Order));
        if !block.allows_windows || !is_clause || block.inside_aggregate || block.inside_window {
            return Err(error_code::ER_WINDOW_INVALID_WINDOW_FUNC_USE.with(&[&name]));
        }
        Ok(())
    }

    fn inside_window<T>(
        &mut self,
        bind: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.block().inside_window = true;
        let bound = bind(self);
        self.block().inside_window = false;
        bound
    }

    fn bind_window_function(
        &mut self,
        call: &ast::WindowCall<'p>,
    ) -> Result<(WindowFunction, ExprType), SqlError> {
        let number = || {
            let column = ColumnType { length: NUMBER_LENGTH, ..ColumnType::bigint_unsigned().not_null() };
            ExprType::new(column, Coercibility::Numeric)
        };
        let share = || ExprType::new(ColumnType::double().not_null(), Coercibility::Numeric);
        Ok(match call.function {
            Written::RowNumber => (WindowFunction::RowNumber, number()),
            Written::Rank => (WindowFunction::Rank, number()),
            Written::DenseRank => (WindowFunction::DenseRank, number()),
            Written::PercentRank => (WindowFunction::PercentRank, share()),
            Written::CumulativeDistribution => (WindowFunction::CumulativeDistribution, share()),
            Written::NthTile => {
                let tiles = self.bind_window_constant(&call.arguments[0], "ntile", 1)?;
                (WindowFunction::NthTile(tiles), number())
            }
            Written::Lag | Written::Lead => self.bind_neighbour(call)?,
            Written::FirstValue | Written::LastValue | Written::NthValue => {
                let value = self.bind_window_value(&call.arguments[0])?;
                let ty = shown_type(&value.ty);
                let function = match call.function {
                    Written::FirstValue => WindowFunction::FirstValue(value),
                    Written::LastValue => WindowFunction::LastValue(value),
                    _ => {
                        let number = self.bind_window_constant(&call.arguments[1], "nth_value", 1)?;
                        WindowFunction::NthValue { value, number }
                    }
                };
                (function, ty)
            }
        })
    }

    fn bind_neighbour(&mut self, call: &ast::WindowCall<'p>) -> Result<(WindowFunction, ExprType), SqlError> {
        let lead = call.function == Written::Lead;
        let mut value = self.bind_window_value(&call.arguments[0])?;
        let distance = match call.arguments.get(1) {
            Some(distance) => self.bind_window_constant(distance, function_name(call.function), 0)?,
            None => Expr::int(1),
        };
        let mut ty = value.ty.clone();
        let mut default = call.arguments.get(2).map(|default| self.bind(default)).transpose()?;
        if let Some(default) = &mut default {
            ty = self.common_type(function_name(call.function), &[value.ty.clone(), default.ty.clone()])?;
            value = self.converted(value, &ty)?;
            *default = self.converted(std::mem::replace(default, Expr::null()), &ty)?;
        }
        let mut ty = shown_type(&ty);
        // Other than the frame's values it is signed where it is a DECIMAL.
        ty.column.unsigned &= !matches!(ty.column.kind, TypeKind::Decimal { .. });
        Ok((WindowFunction::Neighbour { lead, value, distance, default }, ty))
    }

    fn bind_window_value(&mut self, value: &ast::Expr<'p>) -> Result<Expr, SqlError> {
        let mut value = self.bind(value)?;
        self.context.bind.told_text_marker(&mut value);
        self.context.bind.refuse_numbers_of_markers(&value);
        self.without_year(value)
    }

    /// Windows keep the year as the number that it is.
    fn without_year(&self, value: Expr) -> Result<Expr, SqlError> {
        match value.ty.column.kind {
            TypeKind::Year => {
                let number = ColumnType { unsigned: true, length: 4, ..ColumnType::new(TypeKind::Short) };
                self.context.bind.convert(value, number)
            }
            _ => Ok(value),
        }
    }

    /// A number that is the same for all rows: a literal, a parameter or a variable.
    fn bind_window_constant(
        &mut self,
        expr: &ast::Expr<'p>,
        function: &str,
        least: i64,
    ) -> Result<Expr, SqlError> {
        if let ast::ExprKind::Column(reference) = expr.kind
            && reference.qualifier.is_none()
            && function != "nth_value"
        {
            return Err(ER_SP_UNDECLARED_VAR.with(&[&reference.name]));
        }
        let wrong = || error_code::ER_WRONG_ARGUMENTS.with(&[&function]);
        let bound = self.bind(expr)?;
        if !matches!(bound.kind, ExprKind::Literal(_) | ExprKind::Parameter(_) | ExprKind::UserVariable(_)) {
            return Err(wrong());
        }
        if let ExprKind::Literal(value) = &bound.kind {
            let is_right = match value {
                datum::Value::Int(number) => *number >= least,
                datum::Value::UInt(_) => true,
                _ => false,
            };
            if !is_right {
                return Err(wrong());
            }
        }
        Ok(bound)
    }

    fn place_window_call(
        &mut self,
        over: ast::WindowName<'p>,
        function: WindowFunction,
        ty: ExprType,
    ) -> Result<Expr, SqlError> {
        let resolved = self.resolve_window(over)?;
        let window = self.bind_window(&resolved)?;
        let uses_frame = matches!(
            function,
            WindowFunction::Aggregate(_)
                | WindowFunction::FirstValue(_)
                | WindowFunction::LastValue(_)
                | WindowFunction::NthValue { .. }
        );
        let frame = self.bind_frame(&resolved, window)?;
        let frame = if uses_frame { frame } else { whole_partition() };
        let block = self.block();
        let call = WindowCall { window, function, frame };
        let number = match block.window_calls.iter().position(|known| *known == call) {
            Some(number) => number,
            None => {
                block.window_calls.push(call);
                block.window_calls.len() - 1
            }
        };
        let mut expr = Expr::slot(WINDOW_BASE + number, ty.column.clone());
        expr.ty = ty;
        Ok(expr)
    }

    /// The partitioning and order of a window as a number among the block's; equal ones share it.
    pub fn bind_window(&mut self, resolved: &ResolvedWindow<'p>) -> Result<usize, SqlError> {
        let block = self.block();
        let before = (block.clause, block.alias_use, block.visible.take(), block.inside_window);
        (block.alias_use, block.inside_window) = (AliasUse::None, false);
        block.window_name = resolved.name.map(|name| name.name.to_owned());
        let bound = self.bind_window_keys(resolved);
        let block = self.block();
        (block.clause, block.alias_use, block.visible, block.inside_window) = before;
        let (partition_by, order_by) = bound?;
        let rank = match resolved.definition {
            Some(definition) => NAMED_RANK + definition,
            None => block.windows.len(),
        };
        Ok(block.add_window(partition_by, order_by, rank))
    }

    fn bind_window_keys(
        &mut self,
        resolved: &ResolvedWindow<'p>,
    ) -> Result<(Vec<Expr>, Vec<SortKey>), SqlError> {
        let is_ordinal = resolved.partition_by.iter().any(|expr| ordinal(expr).is_some())
            || resolved.order_by.iter().any(|item| ordinal(&item.expr).is_some());
        if is_ordinal {
            return Err(error_code::ER_WINDOW_ILLEGAL_ORDER_BY.with(&[&resolved.shown_name()]));
        }
        self.block().clause = Some(Clause::WindowPartition);
        let mut partition_by = self.bind_all(resolved.partition_by)?;
        partition_by.iter_mut().for_each(|expr| self.context.bind.told_text_marker(expr));
        self.block().clause = Some(Clause::WindowOrder);
        let mut order_by = Vec::with_capacity(resolved.order_by.len());
        for item in resolved.order_by {
            let mut expr = self.bind(&item.expr)?;
            self.context.bind.told_text_marker(&mut expr);
            self.context.bind.check_ordered(&expr)?;
            order_by.push(SortKey { expr, descending: item.descending });
        }
        Ok((partition_by, order_by))
    }

    /// WINDOW clause: names are unique, and what nobody uses must be right as well.
    pub fn check_named_windows(&mut self) -> Result<(), SqlError> {
        let named = self.named_windows;
        for (position, (name, _)) in named.iter().enumerate() {
            if named[..position].iter().any(|(known, _)| same_name(known.name, name.name)) {
                return Err(error_code::ER_WINDOW_DUPLICATE_NAME.with(&[&name.name]));
            }
        }
        for (name, _) in named {
            let resolved = self.resolve_window(ast::WindowName::Named(*name))?;
            let known = self.block().windows.len();
            let window = self.bind_window(&resolved)?;
            self.bind_frame(&resolved, window)?;
            self.block().windows.truncate(known.max(window));
        }
        Ok(())
    }
}

/// Named windows are sorted for after those that are written at their functions, as in MySQL.
const NAMED_RANK: usize = 1 << 20;

fn whole_partition() -> Frame {
    Frame { counts_rows: true, start: FrameBound::UnboundedPreceding, end: FrameBound::UnboundedFollowing }
}

/// Values of other rows: NULL where there is none, and integers are shown as INT or BIGINT.
fn shown_type(ty: &ExprType) -> ExprType {
    let mut ty = ExprType { name: None, ..ty.clone() };
    ty.column.nullable = true;
    let unsigned = ty.column.unsigned;
    let (kind, signed_width, unsigned_width) = match ty.column.kind {
        TypeKind::Tiny => (TypeKind::Long, 4, 3),
        TypeKind::Short => (TypeKind::Long, 6, 5),
        TypeKind::Int24 => (TypeKind::Long, 9, 8),
        TypeKind::Long => (TypeKind::LongLong, 11, 10),
        TypeKind::Char => (TypeKind::VarChar, ty.column.length, ty.column.length),
        TypeKind::Null => (TypeKind::VarBinary, 0, 0),
        _ => return ty,
    };
    ty.column.kind = kind;
    if ty.column.length == 0 {
        ty.column.length = if unsigned { unsigned_width } else { signed_width };
    }
    ty
}

fn function_name(function: Written) -> &'static str {
    match function {
        Written::RowNumber => "row_number",
        Written::Rank => "rank",
        Written::DenseRank => "dense_rank",
        Written::PercentRank => "percent_rank",
        Written::CumulativeDistribution => "cume_dist",
        Written::NthTile => "ntile",
        Written::Lag => "lag",
        Written::Lead => "lead",
        Written::FirstValue => "first_value",
        Written::LastValue => "last_value",
        Written::NthValue => "nth_value",
    }
}
