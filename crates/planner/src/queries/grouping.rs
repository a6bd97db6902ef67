//! Grouped queries: expressions over the tables become expressions over the groups' results.
//!
//! The frame after aggregation: group expressions, aggregates, carried columns, subqueries' values.
use crate::queries::dependence::Equalities;
use binder::block::{Block, Position};
use binder::bound::BoundSelect;
use binder::walk::{aggregate_number, for_each_operand_mut, grouping_number, subquery_number, window_number};
use datum::{ColumnType, CompareMode, ErrorCode, SqlError, SqlMode, error_code};
use expression::{ArithmeticOperator, ComparisonOperator, Expr, ExprKind};

const ER_FIELD_IN_GROUPING_NOT_GROUP_BY: ErrorCode =
    ErrorCode::new(3602, "HY000", "Argument #%d of GROUPING function is not in GROUP BY");

/// What decides how a column outside of GROUP BY is treated.
pub struct Grouping<'b> {
    pub block: &'b Block,
    pub groups: Vec<Expr>,
    pub aggregate_count: usize,
    /// Columns that get their value from a group's first row.
    pub carried: Vec<Expr>,
    /// WITH ROLLUP.
    pub rollup: bool,
    /// Whether GROUP BY was written.
    pub explicit: bool,
    pub sql_mode: SqlMode,
    pub equalities: &'b Equalities,
    /// The name of the merged column whose expression is being mapped.
    pub merged_name: Option<std::sync::Arc<str>>,
    /// Inside of ANY_VALUE, where a column may have several values.
    pub takes_any: bool,
    /// Inside of a select item or a key of ORDER BY.
    pub is_inside: bool,
    /// The select items that have an alias.
    pub aliased: Vec<ExprKind>,
    /// Which columns have one value in each group, once that has been asked.
    pub determined: Option<Vec<bool>>,
}

/// The clauses whose expressions are known by their whole alone.
pub const SELECT_LIST: &str = "SELECT list";
pub const ORDER_BY: &str = "ORDER BY clause";

/// Where the expression being mapped stands, for messages.
#[derive(Clone, Copy)]
pub struct Place {
    pub number: usize,
    pub clause: &'static str,
}

impl<'b> Grouping<'b> {
    /// Of a bound SELECT with `groups` and so many aggregates; groups that were not written are none.
    pub fn of(
        block: &'b Block,
        bound: &BoundSelect,
        (groups, aggregate_count): (Vec<Expr>, usize),
        equalities: &'b Equalities,
        sql_mode: SqlMode,
    ) -> Self {
        let aliased = bound.items.iter().filter(|item| item.is_alias);
        Self {
            block,
            aggregate_count,
            carried: Vec::new(),
            rollup: bound.rollup,
            explicit: !groups.is_empty(),
            groups,
            sql_mode,
            equalities,
            merged_name: None,
            takes_any: false,
            is_inside: false,
            aliased: aliased.map(|item| item.expr.kind.clone()).collect(),
            determined: None,
        }
    }
}

impl Grouping<'_> {
    /// Rewrites `expr` from the tables' frame to the groups' frame; subqueries stay numbered slots.
    pub fn map(&mut self, expr: &mut Expr, place: Place) -> Result<(), SqlError> {
        let group = self.groups.iter().position(|group| group.kind == expr.kind);
        if let Some(group) = group.filter(|_| self.takes_group(expr, place)) {
            expr.kind = ExprKind::Column(group);
            return Ok(());
        }
        if let Some(number) = aggregate_number(expr) {
            expr.kind = ExprKind::Column(self.groups.len() + number);
            return Ok(());
        }
        if let Some(number) = grouping_number(expr) {
            expr.kind = self.rolled_up(number)?.kind;
            return Ok(());
        }
        if subquery_number(expr).is_some() || window_number(expr).is_some() {
            return Ok(());
        }
        if let ExprKind::Column(position) = expr.kind {
            if !self.takes_any {
                let name = self.merged_name.clone().or_else(|| expr.ty.name.clone());
                self.check_bare_column(position, name.as_deref(), place)?;
            }
            let carried = match self.carried.iter().position(|known| known.kind == expr.kind) {
                Some(carried) => carried,
                None => {
                    self.carried.push(expr.clone());
                    self.carried.len() - 1
                }
            };
            expr.kind = ExprKind::Column(self.first_carried() + carried);
            return Ok(());
        }
        let is_any = matches!(&expr.kind, ExprKind::Call(function, _) if function.name == "any_value");
        let (takes_any, is_inside) = (self.takes_any, self.is_inside);
        self.takes_any |= is_any;
        self.is_inside = matches!(place.clause, SELECT_LIST | ORDER_BY);
        let outer_name = self.merged_name.clone();
        self.merged_name = outer_name.clone().or_else(|| expr.ty.name.clone());
        let mut result = Ok(());
        for_each_operand_mut(expr, &mut |operand| {
            if result.is_ok() {
                result = self.map(operand, place);
            }
        });
        (self.takes_any, self.is_inside) = (takes_any, is_inside);
        self.merged_name = outer_name;
        result
    }

    /// Under ONLY_FULL_GROUP_BY an expression of GROUP BY is known as a whole select item or key only, a column everywhere,
    /// and so is in ORDER BY what an alias may stand for.
    fn takes_group(&self, expr: &Expr, place: Place) -> bool {
        let is_column = matches!(expr.kind, ExprKind::Column(_)) || expr.ty.name.is_some();
        let is_strict = self.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY) && !self.rollup;
        let is_aliased = || place.clause == ORDER_BY && self.aliased.contains(&expr.kind);
        is_column || !self.is_inside || !is_strict || is_aliased()
    }

    /// The groups' frame without subqueries.
    pub fn width(&self) -> usize {
        self.first_carried() + self.carried.len()
    }

    fn first_carried(&self) -> usize {
        self.groups.len() + self.aggregate_count + usize::from(self.rollup)
    }

    /// GROUPING(..): a bit for each argument, set where it is rolled up.
    fn rolled_up(&self, number: usize) -> Result<Expr, SqlError> {
        let arguments = &self.block.groupings[number];
        let level = Expr::column(self.groups.len() + self.aggregate_count, ColumnType::bigint().not_null());
        let mut bits = Expr::int(0);
        for (position, argument) in arguments.iter().enumerate() {
            let group = self.groups.iter().position(|group| group.kind == argument.kind);
            let Some(group) = group else {
                return Err(ER_FIELD_IN_GROUPING_NOT_GROUP_BY.with(&[&(position + 1)]));
            };
            if !self.rollup {
                continue;
            }
            let is_rolled_up = of_kind(ExprKind::Compare(
                ComparisonOperator::LessOrEqual,
                CompareMode::Integer,
                Box::new(level.clone()),
                Box::new(Expr::int(group as i64)),
            ));
            let weight = Expr::int(1 << (arguments.len() - 1 - position));
            let bit = arithmetic(ArithmeticOperator::Multiply, is_rolled_up, weight);
            bits = arithmetic(ArithmeticOperator::Add, bits, bit);
        }
        Ok(bits)
    }

    /// `name`: how the statement calls the column.
    fn check_bare_column(
        &mut self,
        position: usize,
        name: Option<&str>,
        place: Place,
    ) -> Result<(), SqlError> {
        if !self.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY) {
            return Ok(());
        }
        let find = || self.equalities.determined(self.block, &self.groups);
        if self.determined.get_or_insert_with(find)[position] {
            return Ok(());
        }
        let name = name.map_or_else(|| self.full_name(position), |name| name.replace('`', ""));
        if self.explicit {
            Err(error_code::ER_WRONG_FIELD_WITH_GROUP_V2.with(&[&place.number, &place.clause, &name]))
        } else {
            Err(error_code::ER_MIX_OF_GROUP_FUNC_AND_FIELDS.with(&[&place.number, &place.clause, &name]))
        }
    }

    fn full_name(&self, position: usize) -> String {
        match self.block.frame[position] {
            Position::Column { source, column } => {
                let source = &self.block.sources[source];
                let column = &source.columns[column].name;
                match source.database.is_empty() {
                    true => format!("{}.{column}", source.alias),
                    false => format!("{}.{}.{column}", source.database, source.alias),
                }
            }
            Position::RowKey { .. }
            | Position::Subquery
            | Position::OnSubquery { .. }
            | Position::Computed => String::new(),
        }
    }
}

fn of_kind(kind: ExprKind) -> Expr {
    Expr { kind, ty: Expr::int(0).ty }
}

fn arithmetic(operator: ArithmeticOperator, left: Expr, right: Expr) -> Expr {
    of_kind(ExprKind::Arithmetic(operator, Box::new(left), Box::new(right)))
}
