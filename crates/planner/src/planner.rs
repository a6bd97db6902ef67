//! The state of planning one statement, which is bound. Made by `statement`; every step adds its methods in a file of its
//! own.
use crate::estimates::{Dive, Estimates, KnownLeaves};
use crate::trace::Trace;
use binder::{BinderContext, BoundStatement};
use datum::Value;
use plan::TableUsage;
use schema::TableId;
use std::cell::RefCell;

/// What planning knows of the session.
pub struct PlannerContext<'a> {
    pub binder: BinderContext<'a>,
    /// Values of `?` by which rows are estimated, if they are known. They decide nothing else.
    pub values: &'a [Value],
    /// Who wants to know what the search for a plan weighs.
    pub trace: Option<&'a Trace>,
}

pub struct Planner<'p> {
    pub catalog: &'p dyn Estimates,
    pub context: &'p BinderContext<'p>,
    /// As `PlannerContext::values`.
    pub values: &'p [Value],
    pub trace: Option<&'p Trace>,
    pub slot_count: usize,
    /// The statement reads user variables and assigns none.
    pub reads_variables_once: bool,
    /// The tables that the statement changes.
    pub changed: Vec<TableId>,
    /// What was asked of the indexes.
    pub dives: RefCell<Vec<Dive>>,
    /// What is known of the trees that are read.
    pub leaves: RefCell<Vec<KnownLeaves>>,
    /// The block being built takes values of the blocks around it.
    pub builds_correlated: bool,
    /// How many searches for driving semijoins are under way, one inside the other.
    pub searches: usize,
    /// How many blocks are being planned once more in another form, one inside the other.
    pub alternatives: usize,
}

impl<'p> Planner<'p> {
    pub fn new(
        bound: &BoundStatement,
        catalog: &'p dyn Estimates,
        context: &'p PlannerContext<'p>,
    ) -> Planner<'p> {
        let is_changed =
            |usage| matches!(usage, TableUsage::Insert | TableUsage::Update | TableUsage::Delete);
        let changed = bound.tables.iter().filter(|table| is_changed(table.usage));
        Planner {
            catalog,
            context: &context.binder,
            values: context.values,
            trace: context.trace,
            slot_count: bound.slot_count,
            reads_variables_once: !bound.user_variables.is_empty() && !bound.assigns_variables,
            changed: changed.map(|table| table.id).collect(),
            dives: RefCell::default(),
            leaves: RefCell::default(),
            builds_correlated: false,
            searches: 0,
            alternatives: 0,
        }
    }

    pub fn new_slot(&mut self) -> usize {
        self.slot_count += 1;
        self.slot_count - 1
    }
}
