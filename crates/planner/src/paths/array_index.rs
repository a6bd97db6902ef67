//! Multi-valued indexes: `x MEMBER OF (d)`, `JSON_CONTAINS(d, x)` and `JSON_OVERLAPS(d, x)` of a constant, where an index has
//! `CAST(d AS type ARRAY)` for a part.
//!
//! Invariant: in such a condition the array of the index takes the place of the document, and the constant is converted as
//! its elements are, so that the keys it asks for are in the index for every row that passes. A constant that cannot be
//! converted leaves the condition as it is. An index has not all rows, so it is used only where its array is asked for.
//! Called by `generated` (before access paths are chosen) and by `range`.
use crate::planner::Planner;
use binder::block::{Block, SourceKind};
use datum::{
    ColumnType, Date, Json, MomentContext, TimeZone, TypeKind, Value, json_of, json_text, parse_json,
    read_json, typed_elements, typed_value,
};
use expression::{EvalContext, Expr, ExprKind, Volatility, array_cast, array_keys};
use plan::{KeyCondition, RangeCondition};
use schema::{IndexDef, TableDef};

/// The conditions by the names of their functions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// `constant MEMBER OF (document)`
    Member,
    /// `JSON_CONTAINS(document, constant)`
    Contains,
    /// `JSON_OVERLAPS`, in both orders.
    Overlaps,
}

fn asks(condition: &Expr) -> Option<(Asks, &[Expr])> {
    let ExprKind::Call(function, arguments) = &condition.kind else { return None };
    let asks = match (function.name, arguments.len()) {
        ("member of", 2) => Asks::Member,
        ("json_contains", 2) => Asks::Contains,
        ("json_overlaps", 2) => Asks::Overlaps,
        _ => return None,
    };
    Some((asks, arguments))
}

impl Asks {
    /// Where the document may stand.
    fn document_places(self) -> &'static [usize] {
        match self {
            Asks::Member => &[1],
            Asks::Contains => &[0],
            Asks::Overlaps => &[0, 1],
        }
    }
}

impl Planner<'_> {
    /// Puts the array `column` of a table in the place of the document that `cast` converts.
    pub fn use_array(
        &self,
        block: &mut Block,
        condition: &mut Expr,
        (source, column): (usize, usize),
        cast: &Expr,
    ) {
        let Some((document, element)) = array_cast(cast) else { return };
        let Some((asks, arguments)) = asks(condition) else { return };
        let is_document = |place: &&usize| self.is_same(&arguments[**place], document);
        let Some(place) = asks.document_places().iter().find(is_document) else { return };
        let Some(keys) = self.constant_keys(asks, &arguments[1 - place], element) else { return };
        let constant = Value::Json(json_text(&keys).into_boxed_str());
        let array = block.column_expr(source, column);
        let constant = Expr::literal(constant, ColumnType::new(TypeKind::Json));
        if let ExprKind::Call(_, arguments) = &mut condition.kind {
            arguments[*place] = array;
            arguments[1 - place] = constant;
        }
    }

    /// What evaluates a constant: the plan is for its value only, which is not known where a statement is being prepared.
    fn constant_context(&self, constant: &Expr) -> Option<EvalContext> {
        let changes = |part: &Expr| match &part.kind {
            ExprKind::Column(_)
            | ExprKind::Slot(_)
            | ExprKind::UserVariable(_)
            | ExprKind::SetUserVariable(..) => true,
            ExprKind::Call(function, _) => function.volatility != Volatility::Pure,
            _ => false,
        };
        if binder::walk::any(constant, &changes) {
            return None;
        }
        let bind = &self.context.bind;
        let known = bind.known.all();
        let values = if known.is_empty() { self.values.to_vec() } else { known };
        let is_unknown = |part: &Expr| {
            bind.decide_by(part);
            matches!(part.kind, ExprKind::Parameter(index) if index >= values.len())
        };
        if binder::walk::any(constant, &is_unknown) {
            return None;
        }
        Some(EvalContext::of_constants(bind).with_parameters(values))
    }

    /// What a constant asks for, converted to the type of the elements.
    fn constant_keys(&self, asks: Asks, constant: &Expr, element: &ColumnType) -> Option<Json> {
        let ty = &constant.ty.column;
        let fits = match element.kind {
            TypeKind::LongLong => ty.kind.is_integer(),
            TypeKind::Decimal { .. } => matches!(ty.kind, TypeKind::Decimal { .. }),
            _ => !ty.kind.is_numeric(),
        };
        let is_text = ty.kind.is_string() || ty.kind == TypeKind::Json;
        if !(if asks == Asks::Member { fits } else { is_text }) {
            return None;
        }
        let bind = &self.context.bind;
        let context = self.constant_context(constant)?;
        let value = constant.eval(&[], &context).ok().filter(|value| !value.is_null())?;
        let document = match (&value, asks) {
            (Value::Json(text), _) => read_json(text),
            (value, Asks::Member) => json_of(value, ty),
            (Value::Bytes(text), _) => parse_json(text).ok()?,
            _ => return None,
        };
        let zone = TimeZone::utc();
        let moments = MomentContext { zone: &zone, mode: bind.sql_mode, today: Date::ZERO };
        match (array_keys(&document, element, &moments)?, asks) {
            (Json::Array(mut keys), Asks::Member) if !document.is_array() => keys.pop(),
            (_, Asks::Member) => None,
            (keys, _) => Some(keys),
        }
    }
}

/// The keys that a condition asks for of an array; `is_array` knows the array.
pub fn keys_asked(
    condition: &Expr,
    element: &ColumnType,
    is_array: impl Fn(&Expr) -> bool,
) -> Option<KeyCondition> {
    let (asks, arguments) = asks(condition)?;
    let place = *asks.document_places().iter().find(|place| is_array(&arguments[**place]))?;
    let ExprKind::Literal(Value::Json(constant)) = &arguments[1 - place].kind else { return None };
    let mut values = match asks {
        Asks::Member => vec![typed_value(read_json(constant), element)?],
        _ => typed_elements(constant, element)?,
    };
    // A row that contains all is found by any.
    if asks == Asks::Contains {
        values.truncate(1);
    }
    if values.is_empty() {
        return None;
    }
    let literal = |value| Expr::literal(value, element.clone());
    Some(KeyCondition::OneOf(values.into_iter().map(literal).collect()))
}

/// Whether the ranges say something of the array.
pub fn bound_array(table: &TableDef, index: &IndexDef, ranges: &[RangeCondition]) -> bool {
    let is_array = |part: &schema::IndexPart| table.columns[part.column].array_of.is_some();
    let array = index.parts.iter().position(is_array);
    array.is_none_or(|array| ranges.iter().all(|range| range.parts.len() > array))
}

/// Whether rows may have several entries in the ranges of a multi-valued index.
pub fn may_repeat_rows(table: &TableDef, index: &IndexDef, ranges: &[RangeCondition]) -> bool {
    let is_single = |(part, condition): (&schema::IndexPart, &KeyCondition)| {
        table.columns[part.column].array_of.is_none()
            || matches!(condition, KeyCondition::OneOf(values) if values.len() == 1)
    };
    let all_single = || ranges.iter().all(|range| index.parts.iter().zip(&range.parts).all(is_single));
    table.is_multi_valued(index) && (ranges.len() > 1 || !all_single())
}

/// Whether the table's hints leave an index of which the column is a part.
pub fn is_usable(block: &Block, source: usize, column: usize) -> bool {
    let SourceKind::Stored { table, hints, .. } = &block.sources[source].kind else { return false };
    table.indexes.iter().enumerate().any(|(position, index)| {
        index.parts.iter().any(|part| part.column == column)
            && (!index.invisible || hints.uses_invisible)
            && hints.join.allows(position)
    })
}
