//! Types of `?` markers: what a value is taken for that is not there yet, or is NULL, from where its marker stands.
//!
//! PREPARE tells clients these types. A value that has come keeps its own type, but for numbers and moments that a
//! function has to have in its own kind; if a value has a kind that such a function does not convert, the statement
//! is planned anew, and all values keep their types. A text is what can be read in all of it: of `? + 0` '5' is an
//! integer, '5.0' a DECIMAL, for which the statement is planned anew, and '5x' a text. Invariant: without markers
//! (`Markers::default`) nothing here changes an expression. Callers: the constructors of `build`, aggregates, and the
//! binder for values that are stored.
use std::cell::{Cell, RefCell};

use collation::CollationId;
use datum::{ColumnType, SqlError, TypeKind};

use super::BindContext;
use super::wanted::Wanted;
use crate::expr::{Coercibility, Expr, ExprKind, ExprType};

/// The markers of a statement that is prepared or executed.
#[derive(Clone, Debug, Default)]
pub struct Markers {
    is_used: bool,
    keeps_types: bool,
    types: RefCell<Vec<Option<ColumnType>>>,
    is_refused: Cell<bool>,
}

impl Markers {
    /// Parameters are markers. With `keeps_types` no value is converted.
    pub fn of_statement(keeps_types: bool) -> Markers {
        Markers { is_used: true, keeps_types, ..Markers::default() }
    }

    pub(super) fn keeps_types(&self) -> bool {
        self.keeps_types
    }

    pub fn is_of_statement(&self) -> bool {
        self.is_used
    }

    /// Whether a value has a type that only a plan which keeps types can serve.
    pub fn is_refused(&self) -> bool {
        self.is_refused.get()
    }

    /// The type of each marker, as far as they are known.
    pub fn types(&self) -> Vec<Option<ColumnType>> {
        self.types.borrow().clone()
    }

    /// Whether something has said the marker's type.
    pub(super) fn is_known(&self, index: usize) -> bool {
        self.types.borrow().get(index).is_some_and(Option::is_some)
    }

    fn note(&self, index: usize, column: &ColumnType) {
        let mut types = self.types.borrow_mut();
        if types.len() <= index {
            types.resize(index + 1, None);
        }
        types[index].get_or_insert_with(|| column.clone());
    }
}

const VARCHAR_BYTES_MAX: u32 = 65_535;
/// What MySQL shows a BIGINT marker as wide as.
const INTEGER_WIDTH: u32 = 21;

/// The type of a marker beside a value of the type.
fn beside(column: &ColumnType, connection: CollationId) -> ColumnType {
    let text = |collation: CollationId| {
        ColumnType::varchar(VARCHAR_BYTES_MAX / collation.charset().bytes_per_character_max(), collation)
    };
    let integer = |unsigned| ColumnType { unsigned, length: INTEGER_WIDTH, ..ColumnType::bigint() };
    match column.kind {
        ref kind if kind.is_integer() => integer(column.unsigned),
        TypeKind::Decimal { .. } => ColumnType::decimal(65, 30),
        TypeKind::Float { .. } | TypeKind::Double { .. } => ColumnType::double(),
        TypeKind::Date => ColumnType::new(TypeKind::Date),
        TypeKind::Time { .. } => ColumnType::new(TypeKind::Time { fsp: 6 }),
        TypeKind::DateTime { .. } | TypeKind::Timestamp { .. } => {
            ColumnType::new(TypeKind::DateTime { fsp: 6 })
        }
        TypeKind::Year => ColumnType::new(TypeKind::Year),
        TypeKind::Bit(_) => ColumnType::new(TypeKind::Bit(64)),
        TypeKind::Json => ColumnType::new(TypeKind::Json),
        ref kind if kind.is_string() && !column.is_text() => ColumnType::varbinary(VARCHAR_BYTES_MAX),
        _ if column.is_text() => text(column.collation),
        _ => text(connection),
    }
}

impl BindContext {
    /// The marker of an expression that is one.
    pub(crate) fn marker(&self, expr: &Expr) -> Option<usize> {
        match expr.kind {
            ExprKind::Parameter(index) if self.markers.is_used && self.known.is_own(index) => Some(index),
            _ => None,
        }
    }

    /// Has the statement planned anew, with all values as they are.
    pub(super) fn refuse_markers(&self) {
        if !self.markers.keeps_types {
            self.markers.is_refused.set(true);
        }
    }

    pub(super) fn wanted_type(&self, wanted: Wanted) -> ColumnType {
        let sample = match wanted {
            Wanted::Integer => ColumnType::bigint(),
            Wanted::Unsigned => ColumnType::bigint_unsigned(),
            Wanted::Double => ColumnType::double(),
            Wanted::Decimal | Wanted::ToldDecimal => ColumnType::decimal(65, 30),
            Wanted::Text => ColumnType::varchar(0, self.connection_collation),
            Wanted::Date => ColumnType::new(TypeKind::Date),
            Wanted::Moment | Wanted::ToldMoment | Wanted::KeptMoment | Wanted::MomentOrTime => {
                ColumnType::new(TypeKind::DateTime { fsp: 6 })
            }
            Wanted::Time | Wanted::ToldTime => ColumnType::new(TypeKind::Time { fsp: 6 }),
            Wanted::Document | Wanted::Parsed => ColumnType::new(TypeKind::Json),
            Wanted::Bits => ColumnType::varbinary(VARCHAR_BYTES_MAX),
        };
        beside(&sample, self.connection_collation)
    }

    /// A marker that nothing else says a type of is text.
    pub fn text_marker(&self, expr: &mut Expr) {
        self.derive(expr, self.wanted_type(Wanted::Text));
    }

    /// A marker whose value is asked for as a text; numbers and moments keep their types.
    pub fn told_text_marker(&self, expr: &mut Expr) {
        let is_other = self.marker(expr).is_some()
            && !expr.ty.column.kind.is_string()
            && expr.ty.column.kind != TypeKind::Null;
        if is_other && !self.markers.keeps_types {
            self.markers.is_refused.set(true);
        }
        self.text_marker(expr);
    }

    /// A text marker that is a binary string of at most so many bytes.
    pub(crate) fn short_bits_marker(&self, expr: &mut Expr, bytes: u32) {
        let column = ColumnType::varbinary(bytes);
        self.derive(expr, column.clone());
        if self.marker(expr).is_some() && expr.ty.column.kind.is_string() {
            expr.ty.column = column;
        }
    }

    /// A marker that counts rows.
    pub fn count_marker(&self, expr: &mut Expr) {
        self.derive(expr, ColumnType { unsigned: true, ..self.wanted_type(Wanted::Integer) });
    }

    /// A marker whose value is stored into a column or is compared with it.
    pub fn marker_beside(&self, expr: &mut Expr, column: &ColumnType) {
        let mut derived = beside(column, self.connection_collation);
        if column.kind.is_large_object() && column.is_text() {
            derived = ColumnType { collation: column.collation, ..ColumnType::new(TypeKind::LongText) };
        }
        self.derive(expr, derived);
    }

    pub(super) fn derive(&self, expr: &mut Expr, column: ColumnType) {
        let Some(index) = self.marker(expr) else { return };
        self.markers.note(index, &column);
        if expr.ty.column.kind == TypeKind::Null {
            let is_text = column.kind.is_string();
            expr.ty.coercibility = if is_text { Coercibility::Coercible } else { Coercibility::Numeric };
            expr.ty.column = column;
        }
    }

    /// The markers among values that become or are compared with one another have the type of what is none.
    pub(crate) fn derive_together(&self, exprs: &mut [Expr]) {
        if !self.markers.is_used {
            return;
        }
        self.refuse_computed_among(exprs);
        if exprs.iter().all(|expr| self.marker(expr).is_none()) {
            return;
        }
        let others = exprs.iter().filter(|expr| self.marker(expr).is_none());
        let others: Vec<&ColumnType> =
            others.map(|expr| &expr.ty.column).filter(|column| column.kind != TypeKind::Null).collect();
        let column = match others.first() {
            Some(_) => beside(
                &super::merge::merged_type(&others, super::Merging::Value),
                others
                    .iter()
                    .find(|column| column.is_text())
                    .map_or(self.connection_collation, |text| text.collation),
            ),
            None => {
                let told = self.wanted_type(Wanted::Text);
                exprs.iter().for_each(|expr| self.refuse_other(expr, &told));
                let given = exprs.iter().map(|expr| &expr.ty.column);
                let given: Vec<&ColumnType> = given.filter(|column| column.kind != TypeKind::Null).collect();
                let merged = super::merge::merged_type(&given, super::Merging::Value);
                let is_text = matches!(merged.kind, TypeKind::Null) || merged.kind.is_string();
                if is_text { self.wanted_type(Wanted::Text) } else { merged }
            }
        };
        for expr in exprs {
            let given = expr.ty.column.kind.clone();
            self.refuse_other(expr, &column);
            self.refuse_computed(expr, &Expr::int(0));
            self.derive(expr, column.clone());
            if self.become_derived(expr, &given, &column) {
                continue;
            }
            // Beside floating numbers every number is a DOUBLE.
            let is_real = column.kind.is_floating() && given.is_numeric() && !given.is_floating();
            if is_real && self.marker(expr).is_some() && !self.markers.keeps_types {
                let marker = std::mem::replace(expr, Expr::null());
                *expr = self.converted(marker, column.clone());
                continue;
            }
            // An exact number is a DECIMAL of all digits beside other than integers.
            let given = &expr.ty.column.kind;
            let is_exact = given.is_integer() && matches!(column.kind, TypeKind::Decimal { .. });
            if is_exact && self.marker(expr).is_some() && !self.markers.keeps_types {
                self.relabel(expr, &column);
            }
        }
    }

    /// A marker's number or text is a year or a moment beside those that it is chosen among.
    fn become_derived(&self, expr: &mut Expr, given: &TypeKind, column: &ColumnType) -> bool {
        if self.marker(expr).is_none() || self.markers.keeps_types {
            return false;
        }
        let is_number = given.is_integer() || matches!(given, TypeKind::Decimal { .. });
        match column.kind {
            // An integer is not asked whether there is such a year.
            TypeKind::Year if given.is_integer() => self.relabel(expr, column),
            TypeKind::Year if given.is_string() => {
                let marker = std::mem::replace(expr, Expr::null());
                *expr = self.converted(marker, column.clone());
            }
            ref kind if kind.is_temporal() && (is_number || given.is_string()) => {
                if kind.has_date() && given.is_integer() && self.become_zero_moment(expr) {
                    return true;
                }
                let marker = std::mem::replace(expr, Expr::null());
                *expr = self.converted(marker, column.clone());
            }
            _ => return false,
        }
        true
    }

    /// The exact number of a marker, with the digits that it has itself, in the type that is wanted.
    pub(super) fn relabel(&self, expr: &mut Expr, column: &ColumnType) {
        let marker = std::mem::replace(expr, Expr::null());
        let column = ColumnType { nullable: marker.ty.column.nullable, ..column.clone() };
        let ty = ExprType::new(column, Coercibility::Numeric);
        *expr = Expr { kind: ExprKind::Relabel(Box::new(marker)), ty };
    }

    /// Where a text is expected of a number that is computed of markers alone, they keep their types, as all of the
    /// statement then do.
    pub fn refuse_numbers_of_markers(&self, expr: &Expr) {
        let is_computed = !matches!(expr.kind, ExprKind::Parameter(_));
        if is_computed && !self.markers.keeps_types && self.is_number_of_markers(expr) {
            self.markers.is_refused.set(true);
        }
    }

    /// Whether the expression is a number that operators make of markers which are numbers.
    pub(super) fn is_number_of_markers(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Parameter(_) => self.marker(expr).is_some() && expr.ty.column.kind.is_numeric(),
            ExprKind::Cast(operand) | ExprKind::Relabel(operand) | ExprKind::Negate(operand) => {
                self.is_number_of_markers(operand)
            }
            ExprKind::Arithmetic(_, left, right) => {
                self.is_number_of_markers(left) && self.is_number_of_markers(right)
            }
            ExprKind::Call(function, arguments) if matches!(function.name, "abs" | "ceiling" | "floor") => {
                arguments.iter().all(|argument| self.is_number_of_markers(argument))
            }
            _ => false,
        }
    }

    /// The exact number of a marker, or of what CASE chooses, with all digits after the point that its type has.
    pub fn with_all_digits(&self, expr: Expr) -> Result<Expr, SqlError> {
        let marker = match &expr.kind {
            ExprKind::Relabel(inner) => inner,
            _ => &expr,
        };
        let is_decimal = matches!(expr.ty.column.kind, TypeKind::Decimal { .. });
        let is_choice = matches!(expr.kind, ExprKind::Case { .. });
        if !is_decimal || !(is_choice || self.marker(marker).is_some()) {
            return Ok(expr);
        }
        let column = expr.ty.column.clone();
        self.convert(expr, column)
    }

    /// A marker that NULLIF gives is a number of the kind of what it is compared with.
    pub(super) fn become_nullified(&self, expr: &mut Expr, other: &Expr) {
        if self.marker(expr).is_none() || self.marker(other).is_some() || self.markers.keeps_types {
            return;
        }
        let column = beside(&other.ty.column, self.connection_collation);
        let given = expr.ty.column.kind.clone();
        let is_exact = given.is_integer() || matches!(given, TypeKind::Decimal { .. });
        match column.kind {
            TypeKind::Decimal { .. } | TypeKind::Year if is_exact => self.relabel(expr, &column),
            ref kind if kind.is_floating() && (is_exact || given.is_string()) => {
                let marker = std::mem::replace(expr, Expr::null());
                *expr = self.converted(marker, column);
            }
            _ => {}
        }
    }

    /// A marker has the type of what it stands beside.
    pub(crate) fn derive_beside(&self, expr: &mut Expr, other: &Expr) {
        if self.marker(expr).is_some() && self.marker(other).is_none() {
            let column = beside(&other.ty.column, self.connection_collation);
            self.refuse_other(expr, &column);
            self.derive(expr, column);
        }
    }

    pub(crate) fn derive_pair(&self, left: &mut Expr, right: &mut Expr) {
        if !self.markers.is_used {
            return;
        }
        match (self.marker(left), self.marker(right)) {
            (Some(_), None) => self.derive_beside(left, right),
            (None, Some(_)) => self.derive_beside(right, left),
            (Some(_), Some(_)) => {
                self.told_text_marker(left);
                self.told_text_marker(right);
            }
            (None, None) => {}
        }
    }
}
