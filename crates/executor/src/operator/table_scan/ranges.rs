//! The key ranges that a scan reads, from its path's conditions and the base frame.
//!
//! Invariant: the ranges hold every row that the conditions keep; where they hold more, `check_implied` says so. Called by `table_scan` when a
//! scan starts anew.
use super::Opened;
use crate::context::ExecContext;
use crate::range::RangeBuilder;
use datum::{SqlError, Value};
use engine::KeyRange;
use plan::{AccessPath, KeySpan, TableAccess};

fn range_of(span: &KeySpan) -> KeyRange {
    let key = |bound: &Option<(Vec<u8>, bool)>| bound.as_ref().map(|(key, _)| key.clone());
    let is_excluded = |bound: &Option<(Vec<u8>, bool)>| bound.as_ref().is_some_and(|(_, included)| !included);
    KeyRange {
        lower: key(&span.lower),
        lower_excluded: is_excluded(&span.lower),
        upper: key(&span.upper),
        upper_excluded: is_excluded(&span.upper),
    }
}

impl Opened {
    /// Makes the ranges (or the point) from the path's conditions and the base frame; none if the gate is not open.
    pub(super) fn find_ranges(
        &mut self,
        access: &TableAccess,
        base: &[Value],
        is_open: bool,
        context: &ExecContext<'_>,
    ) -> Result<(), SqlError> {
        self.ranges.clear();
        self.lookups.start();
        self.cursor = None;
        self.walk = None;
        self.merges = false;
        self.check_implied = false;
        self.point = None;
        if !is_open {
            return Ok(());
        }
        let index = match &access.path {
            AccessPath::Nothing => return Ok(()),
            AccessPath::FullScan | AccessPath::IndexScan { .. } => {
                self.ranges.push(KeyRange::all());
                return Ok(());
            }
            AccessPath::Keys { span, .. } => {
                self.ranges.push(range_of(span));
                return Ok(());
            }
            AccessPath::Point { index, .. } | AccessPath::Ranges { index, .. } => *index,
            AccessPath::Groups { index, walk } => {
                return self.begin_groups(access, *index, walk, base, context);
            }
            AccessPath::Skip { index, skipped, range } => {
                return self.begin_skips(access, *index, *skipped, range, base, context);
            }
            AccessPath::Merge(_) => {
                self.begin_merge(context);
                return Ok(());
            }
        };
        self.find_by_conditions(access, index, base, context)
    }

    /// The point or the ranges of an index that the path's conditions leave.
    fn find_by_conditions(
        &mut self,
        access: &TableAccess,
        index: usize,
        base: &[Value],
        context: &ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let layout = &self.handle.layout().indexes[index];
        let mut builder = RangeBuilder {
            table: &access.table,
            parts: &layout.parts,
            frame: base,
            context: context.eval,
            ranges: Vec::new(),
            widened: false,
        };
        match &access.path {
            AccessPath::Point { key, .. } => {
                if let Some(key) = builder.exact_key(key)? {
                    if layout.clustered {
                        self.point = Some(key);
                    } else {
                        self.ranges.push(KeyRange::prefix(&key));
                    }
                    return Ok(());
                }
                builder.add_point(key)?;
            }
            AccessPath::Ranges { ranges, .. } => {
                for range in ranges {
                    builder.add(range)?;
                }
            }
            _ => unreachable!("paths without conditions have returned"),
        }
        (self.ranges, self.check_implied) = builder.finish();
        if !access.backward {
            self.ranges.reverse();
        }
        Ok(())
    }
}
