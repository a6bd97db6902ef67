//! What is known of tables beyond their definitions and statistics, by which paths are priced: rows in ranges of indexes, and
//! what of them is in memory. Implemented by the session; asked by `paths`.
use binder::CatalogView;
use datum::Value;
use plan::{EstimateCheck, RangeCondition};
use schema::{TableDef, TableId};

pub trait Estimates: CatalogView {
    /// About how many rows lie in the ranges of an index, whose bounds are made from constants and the values of the
    /// parameters. Without waiting: `None` when what is in memory does not tell.
    fn rows_in(
        &self,
        _table: &TableDef,
        _index: usize,
        _ranges: &[RangeCondition],
        _parameters: &[Value],
    ) -> Option<f64> {
        None
    }

    /// The leaves of an index, or of the rows themselves, and which share of them would have to be read; `None` where all of
    /// them are in memory or nothing is known of it.
    fn leaves(&self, _table: &TableDef, _index: Option<usize>) -> Option<Leaves> {
        None
    }

    /// The share of a table's rows whose values of a column lie in the ranges, as its histogram tells.
    fn share_in_histogram(
        &self,
        _table: &TableDef,
        _column: usize,
        _ranges: &[RangeCondition],
        _parameters: &[Value],
    ) -> Option<f64> {
        None
    }

    /// Conditions with as many equalities are judged by statistics; 0: none are (`eq_range_index_dive_limit`).
    fn equality_dives_max(&self) -> usize {
        200
    }
}

/// The leaves of a tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leaves {
    pub count: f64,
    /// The share that is not in memory, from 0 to 1.
    pub absent: f64,
    /// All of them have room in memory.
    pub fits: bool,
}

/// An index that was asked for the rows in ranges.
pub struct Dive {
    pub check: EstimateCheck,
    /// `None` when the index could not tell.
    pub rows: Option<f64>,
    /// Another path could have won with another number.
    pub decides: bool,
}

/// What is known of a tree; without a number of an index: of the one that has the rows.
pub struct KnownLeaves {
    pub table: TableId,
    pub index: Option<usize>,
    pub leaves: Option<Leaves>,
}
