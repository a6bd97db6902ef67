//! What a window's name stands for, and its frame.
use crate::binder::{Binder, not_supported};
use crate::same_name::same_name;
use datum::{CompareMode, SqlError, Value, error_code};
use expression::{ArithmeticOperator, Expr, ExprKind};
use parser::ast;
use plan::{Distance, Frame, FrameBound, SortKey, UNNAMED_WINDOW};

/// A window after inheritance.
pub struct ResolvedWindow<'p> {
    pub name: Option<ast::Ident<'p>>,
    /// Its place in the WINDOW clause.
    pub definition: Option<usize>,
    pub partition_by: &'p [ast::Expr<'p>],
    pub order_by: &'p [ast::OrderItem<'p>],
    pub frame: Option<ast::WindowFrame<'p>>,
}

impl ResolvedWindow<'_> {
    /// The name in messages.
    pub fn shown_name(&self) -> &str {
        self.name.map_or(UNNAMED_WINDOW, |name| name.name)
    }
}

impl<'p> Binder<'p> {
    pub fn resolve_window(&self, over: ast::WindowName<'p>) -> Result<ResolvedWindow<'p>, SqlError> {
        match over {
            ast::WindowName::Named(name) => self.named_window(name, &mut Vec::new()),
            ast::WindowName::Inline(specification) => {
                self.inherit(None, None, specification, &mut Vec::new())
            }
        }
    }

    fn named_window(
        &self,
        name: ast::Ident<'p>,
        asked: &mut Vec<usize>,
    ) -> Result<ResolvedWindow<'p>, SqlError> {
        let place = self.named_windows.iter().position(|(known, _)| same_name(known.name, name.name));
        let place = place.ok_or_else(|| error_code::ER_WINDOW_NO_SUCH_WINDOW.with(&[&name.name]))?;
        if asked.contains(&place) {
            return Err(error_code::ER_WINDOW_CIRCULARITY_IN_WINDOW_GRAPH.plain());
        }
        asked.push(place);
        let (own_name, specification) = &self.named_windows[place];
        self.inherit(Some(*own_name), Some(place), specification, asked)
    }

    fn inherit(
        &self,
        name: Option<ast::Ident<'p>>,
        definition: Option<usize>,
        written: &'p ast::WindowSpecification<'p>,
        asked: &mut Vec<usize>,
    ) -> Result<ResolvedWindow<'p>, SqlError> {
        let mut resolved = ResolvedWindow {
            name,
            definition,
            partition_by: written.partition_by,
            order_by: written.order_by,
            frame: written.frame,
        };
        let Some(base) = written.base else { return Ok(resolved) };
        let base = self.named_window(base, asked)?;
        if !written.partition_by.is_empty() {
            return Err(error_code::ER_WINDOW_NO_CHILD_PARTITIONING.plain());
        }
        if base.frame.is_some() {
            return Err(error_code::ER_WINDOW_NO_INHERIT_FRAME.with(&[&base.shown_name()]));
        }
        if !written.order_by.is_empty() && !base.order_by.is_empty() {
            let names = (resolved.shown_name(), base.shown_name());
            return Err(error_code::ER_WINDOW_NO_REDEFINE_ORDER_BY.with(&[&names.0, &names.1]));
        }
        resolved.partition_by = base.partition_by;
        if written.order_by.is_empty() {
            resolved.order_by = base.order_by;
        }
        Ok(resolved)
    }

    /// The frame of a function over a window; without one it reaches to the current row's last peer, or, in a window
    /// without order, over the whole partition.
    pub fn bind_frame(&mut self, resolved: &ResolvedWindow<'p>, window: usize) -> Result<Frame, SqlError> {
        let Some(written) = resolved.frame else {
            let is_ordered = !resolved.order_by.is_empty();
            let end = if is_ordered { FrameBound::CurrentRow } else { FrameBound::UnboundedFollowing };
            return Ok(Frame { counts_rows: !is_ordered, start: FrameBound::UnboundedPreceding, end });
        };
        use ast::FrameBound::{CurrentRow, Following, Preceding, UnboundedFollowing, UnboundedPreceding};
        if written.unit == ast::FrameUnit::Groups {
            return Err(not_supported("GROUPS"));
        }
        let name = resolved.shown_name().to_owned();
        let end = written.end.unwrap_or(CurrentRow);
        match (written.start, end) {
            (UnboundedFollowing, _) => {
                return Err(error_code::ER_WINDOW_FRAME_START_ILLEGAL.with(&[&name]));
            }
            (_, UnboundedPreceding) => {
                return Err(error_code::ER_WINDOW_FRAME_END_ILLEGAL.with(&[&name]));
            }
            (CurrentRow, Preceding { .. }) | (Following { .. }, CurrentRow | Preceding { .. }) => {
                return Err(error_code::ER_WINDOW_FRAME_ILLEGAL.with(&[&name]));
            }
            _ => {}
        }
        let counts_rows = written.unit == ast::FrameUnit::Rows;
        let start = self.bind_bound(written.start, counts_rows, &name, window)?;
        let end = self.bind_bound(end, counts_rows, &name, window)?;
        Ok(Frame { counts_rows, start, end })
    }

    fn bind_bound(
        &mut self,
        written: ast::FrameBound<'p>,
        counts_rows: bool,
        name: &str,
        window: usize,
    ) -> Result<FrameBound, SqlError> {
        let (amount, unit, is_before) = match written {
            ast::FrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            ast::FrameBound::UnboundedPreceding => return Ok(FrameBound::UnboundedPreceding),
            ast::FrameBound::UnboundedFollowing => return Ok(FrameBound::UnboundedFollowing),
            ast::FrameBound::Preceding { amount, unit } => (amount, unit, true),
            ast::FrameBound::Following { amount, unit } => (amount, unit, false),
        };
        let distance = if counts_rows {
            if unit.is_some() {
                return Err(error_code::ER_WINDOW_ROWS_INTERVAL_USE.with(&[&name]));
            }
            let amount = self.bind(amount)?;
            if let ExprKind::Literal(value) = &amount.kind
                && !matches!(value, Value::Int(_) | Value::UInt(_))
            {
                return Err(error_code::ER_WINDOW_FRAME_ILLEGAL.with(&[&name]));
            }
            Distance::Rows(amount)
        } else {
            self.bind_value_distance(amount, unit, is_before, name, window)?
        };
        Ok(if is_before { FrameBound::Preceding(distance) } else { FrameBound::Following(distance) })
    }

    fn bind_value_distance(
        &mut self,
        amount: &ast::Expr<'p>,
        unit: Option<ast::IntervalUnit>,
        is_before: bool,
        name: &str,
        window: usize,
    ) -> Result<Distance, SqlError> {
        let order_type = || error_code::ER_WINDOW_RANGE_FRAME_ORDER_TYPE.with(&[&name]);
        let [SortKey { expr: order, descending }] = self.block().windows[window].order_by.as_slice() else {
            return Err(order_type());
        };
        let (order, descending) = (order.clone(), *descending);
        let kind = &order.ty.column.kind;
        match (kind.is_temporal(), unit) {
            (true, None) => return Err(error_code::ER_WINDOW_RANGE_FRAME_TEMPORAL_TYPE.with(&[&name])),
            (true, Some(_)) => {}
            _ if !kind.is_numeric() || crate::walk::any(&order, &crate::walk::is_volatile) => {
                return Err(order_type());
            }
            (false, Some(_)) => return Err(error_code::ER_WINDOW_RANGE_FRAME_NUMERIC_TYPE.with(&[&name])),
            (false, None) => {}
        }
        let amount = self.bind(amount)?;
        let is_slot = |part: &Expr| matches!(part.kind, ExprKind::Slot(_));
        if !crate::walk::is_row_independent(&amount) || crate::walk::any(&amount, &is_slot) {
            return Err(error_code::ER_WINDOW_RANGE_BOUND_NOT_CONSTANT.with(&[&name]));
        }
        if is_no_distance(&amount) {
            return Err(error_code::ER_WINDOW_FRAME_ILLEGAL.with(&[&name]));
        }
        let goes_down = is_before != descending;
        let bind = &self.context.bind;
        let bound = match unit {
            Some(unit) => {
                let unit = super::function::interval_unit(unit);
                bind.date_add(order.clone(), amount.clone(), unit, goes_down)?
            }
            None => {
                let operator = if goes_down { ArithmeticOperator::Subtract } else { ArithmeticOperator::Add };
                bind.arithmetic(operator, order.clone(), amount.clone())?
            }
        };
        let mode = CompareMode::of(&order.ty.column, &bound.ty.column, order.ty.collation());
        Ok(Distance::Value { amount, bound, mode })
    }
}

/// A constant that is NULL or negative.
fn is_no_distance(amount: &Expr) -> bool {
    match &amount.kind {
        ExprKind::Literal(value) => match value {
            Value::Null => true,
            Value::Int(number) => *number < 0,
            Value::Decimal(number) => number.is_negative(),
            Value::Double(number) => *number < 0.0,
            Value::Bytes(text) => text.trim_ascii_start().starts_with(b"-"),
            _ => false,
        },
        ExprKind::Negate(_) => true,
        _ => false,
    }
}
