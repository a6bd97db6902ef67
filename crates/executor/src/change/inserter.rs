//! The state of a running INSERT: what the ways of writing a row share.
use crate::change::assign::Assigner;
use crate::change::auto_increment::Generator;
use crate::change::foreign_key::ForeignKeys;
use crate::cooperate::Pace;
use crate::outcome::Outcome;
use datum::Value;
use plan::InsertPlan;
use table::ReadyTable;

pub struct Inserter<'p> {
    pub plan: &'p InsertPlan,
    pub handle: ReadyTable,
    pub foreign_keys: ForeignKeys,
    pub assigner: Assigner<'p>,
    pub outcome: Outcome,
    pub(super) filling: Filling,
    pub(super) generator: Generator,
    pub(super) pace: Pace,
    /// Rows that constraints refused, which the client is not told of as records.
    pub(super) refused: u64,
}

/// What becomes of the rows that were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Rows are not taken.
    Insert,
    /// They wait until there are enough.
    Gather,
    /// The host has them.
    Fill,
}

pub struct Filling {
    pub(super) way: Way,
    pub(super) waiting: Vec<Vec<Value>>,
    pub(super) waiting_bytes: usize,
}
