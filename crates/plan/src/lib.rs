//! Physical plans as plain data: the planner makes them, the executor runs them.
//!
//! A plan is immutable, `Send + Sync` and shared by `Arc` between sessions; what differs from one execution to
//! the next comes in through `ExprKind::Parameter`. Rows inside a query block are *frames*: vectors of values with a
//! position for each column or intermediate value that the block uses. All nodes below an aggregation or projection
//! of a block share one frame layout; a join fills the positions of its inner side into the frame of the outer.
#![forbid(unsafe_code)]

mod access;
mod aggregate;
mod change;
mod common;
mod document_value;
mod estimate_check;
mod explain;
mod join;
mod json_table;
mod measure;
mod need;
mod node;
mod output;
mod reads;
mod row_rules;
mod statement;
mod subquery;
mod window;

pub use access::{
    AccessPath, GroupWalk, IndexMerge, Interval, KeyCondition, KeySpan, LockClause, LockWait, MergeKind,
    MergePart, RangeCondition, TableAccess, VirtualAccess, key_length,
};
pub use aggregate::{Aggregate, AggregateColumn};
pub use change::{
    Assignment, DefaultSource, DeletePlan, DeleteTarget, DuplicateRule, InsertPlan, InsertSource,
    InsertValue, InsertView, RowSubquery, UpdatePlan, UpdateTarget,
};
pub use common::{CommonTable, Recursive, RecursiveBranch, RoundScan};
pub use document_value::{JsonPath, table_document, table_value};
pub use estimate_check::EstimateCheck;
pub use explain::{
    ExplainRow, explain_json, explain_json_rows, explain_rows, explain_tree, lookup_text, ranges_text,
    with_end_markers,
};
pub use join::{HashJoin, JoinKind, NestedLoop};
pub use json_table::{JsonTable, JsonTableBehaviour, JsonTableColumn};
pub use measure::{Measure, measured};
pub use need::{ColumnNeed, Rights, TableNeed, ViewUser};
pub use node::{Estimate, Node, NodeKind, SortKey};
pub use output::{Kept, OutputColumn};
pub use reads::{KEYS_SORTED_FIRST, KEYS_SORTED_MAX, Reads, sorted_passes};
pub use row_rules::{GeneratedColumn, RowCheck, RowRules, RowViewCheck};
pub use statement::{FunctionUse, Plan, PlanKind, QueryPlan, TableUsage, TableUse};
pub use subquery::{
    Apply, ApplyKind, Comparison, Initialise, Initialiser, InitialiserKind, Lateral, Quantifier,
};
pub use window::{
    Distance, Frame, FrameBound, UNNAMED_WINDOW, Window, WindowColumn, WindowFunction, window_keys,
};
