//! Walking over the different values of an index's first parts: by seeking behind each.
//!
//! A loose index scan takes one entry of each value (and those that MIN and MAX need), a skip scan makes a range behind
//! each. An entry of another version than the row could stand for a value that no row has: where that may be, all
//! entries are read. Called by `table_scan`.
use super::Opened;
use crate::context::ExecContext;
use crate::range::RangeBuilder;
use datum::{SqlError, Value};
use engine::{Direction, EntryBatch, KeyRange, ReadMode};
use plan::{GroupWalk, RangeCondition, TableAccess};
use table::{KeyPart, damaged, table_error};

pub struct PrefixWalk {
    /// So many first parts are walked over.
    parts: usize,
    /// What is left of the index, the next range last.
    outer: Vec<KeyRange>,
    takes: Takes,
}

enum Takes {
    /// The first entry of each value.
    Groups { least: bool, greatest: bool },
    /// These ranges of the parts behind each value, in reverse order.
    Ranges(Vec<KeyRange>),
}

impl PrefixWalk {
    pub fn is_done(&self) -> bool {
        self.outer.is_empty()
    }
}

impl Opened {
    pub(super) fn begin_groups(
        &mut self,
        access: &TableAccess,
        index: usize,
        walk: &GroupWalk,
        base: &[Value],
        context: &ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let layout = &self.handle.layout().indexes[index];
        let mut outer = match walk.ranges.is_empty() {
            true => vec![KeyRange::all()],
            false => ranges_of(access, &layout.parts, &walk.ranges, base, context)?.0,
        };
        outer.reverse();
        if self.mode != ReadMode::Snapshot || context.host.seen_transaction().has_passed_snapshot() {
            self.ranges = outer;
            return Ok(());
        }
        let takes = Takes::Groups { least: walk.least, greatest: walk.greatest };
        self.walk = Some(PrefixWalk { parts: walk.parts, outer, takes });
        Ok(())
    }

    pub(super) fn begin_skips(
        &mut self,
        access: &TableAccess,
        index: usize,
        skipped: usize,
        range: &RangeCondition,
        base: &[Value],
        context: &ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let layout = &self.handle.layout().indexes[index];
        let behind = std::slice::from_ref(range);
        let (mut ranges, widened) = ranges_of(access, &layout.parts[skipped..], behind, base, context)?;
        self.check_implied = widened;
        ranges.reverse();
        let outer = if ranges.is_empty() { Vec::new() } else { vec![KeyRange::all()] };
        self.walk = Some(PrefixWalk { parts: skipped, outer, takes: Takes::Ranges(ranges) });
        Ok(())
    }

    /// Goes on to the next value: its entries into `entries`, or its ranges. As `next_entries`.
    pub(super) async fn walk_on(
        &mut self,
        access: &TableAccess,
        context: &mut ExecContext<'_>,
    ) -> Result<Option<bool>, SqlError> {
        self.entries.clear();
        let (Some(mut walk), Some(index)) = (self.walk.take(), access.path.index()) else { return Ok(None) };
        let found = self.next_value(&mut walk, access, index, context).await;
        let is_done = walk.is_done() && self.ranges.is_empty();
        self.walk = Some(walk);
        found?;
        Ok(if is_done && self.entries.is_empty() { None } else { Some(!is_done) })
    }

    async fn next_value(
        &mut self,
        walk: &mut PrefixWalk,
        access: &TableAccess,
        index: usize,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let handle = self.handle.clone();
        let layout = &handle.layout().indexes[index];
        while let Some(range) = walk.outer.last().cloned() {
            self.seek(access, index, range.clone(), Direction::Forward, context).await?;
            let Some((key, _)) = self.entries.iter().next() else {
                walk.outer.pop();
                continue;
            };
            let length = prefix_length(&layout.parts[..walk.parts], key);
            let prefix = key[..length.ok_or_else(|| damaged(&access.table.name))?].to_vec();
            let behind = KeyRange::prefix(&prefix).upper;
            let is_last = match (&behind, &range.upper) {
                (None, _) => true,
                (Some(behind), Some(upper)) => behind >= upper,
                (Some(_), None) => false,
            };
            walk.outer.pop();
            if !is_last {
                walk.outer.push(KeyRange { lower: behind, lower_excluded: false, ..range });
            }
            match &walk.takes {
                Takes::Ranges(ranges) => {
                    self.entries.clear();
                    self.ranges.extend(ranges.iter().map(|range| behind_prefix(&prefix, range)));
                }
                Takes::Groups { least, greatest } => {
                    let next = layout.parts.get(walk.parts);
                    self.take_ends(access, index, &prefix, next, (*least, *greatest), context).await?;
                }
            }
            return Ok(());
        }
        self.entries.clear();
        Ok(())
    }

    /// After the first entry of a group those that MIN and MAX need besides.
    async fn take_ends(
        &mut self,
        access: &TableAccess,
        index: usize,
        prefix: &[u8],
        next: Option<&KeyPart>,
        (least, greatest): (bool, bool),
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let mut all = std::mem::take(&mut self.entries);
        if let (true, Some(part)) = (least, next)
            && part.nullable
        {
            let mut lower = prefix.to_vec();
            part.write_not_null(&mut lower);
            let is_null = all.iter().next().is_some_and(|(key, _)| key < lower.as_slice());
            if is_null {
                let range = KeyRange { lower: Some(lower), ..KeyRange::prefix(prefix) };
                self.seek(access, index, range, Direction::Forward, context).await?;
                self.entries.iter().for_each(|(key, value)| all.push(key, value));
            }
        }
        if greatest {
            self.seek(access, index, KeyRange::prefix(prefix), Direction::Backward, context).await?;
            self.entries.iter().for_each(|(key, value)| all.push(key, value));
        }
        self.entries = all;
        Ok(())
    }

    /// The first entry of the range in the direction, if there is one.
    async fn seek(
        &mut self,
        access: &TableAccess,
        index: usize,
        range: KeyRange,
        direction: Direction,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        let layout = self.handle.layout();
        let is_clustered = layout.indexes[index].clustered;
        let tree = if is_clustered { layout.tree } else { layout.indexes[index].tree };
        context.interrupt.check()?;
        context.work.begin_scan(&access.path, false);
        let mut cursor = context.host.transaction().scan(tree, range, direction, self.mode);
        let mut found = EntryBatch::default();
        loop {
            let more = cursor.next_batch(context.host.transaction(), 1, &mut found).await;
            if !more.map_err(|error| table_error(&access.table, error))? || !found.is_empty() {
                break;
            }
        }
        self.entries = found;
        Ok(())
    }
}

fn ranges_of(
    access: &TableAccess,
    parts: &[KeyPart],
    conditions: &[RangeCondition],
    base: &[Value],
    context: &ExecContext<'_>,
) -> Result<(Vec<KeyRange>, bool), SqlError> {
    let mut builder = RangeBuilder {
        table: &access.table,
        parts,
        frame: base,
        context: context.eval,
        ranges: Vec::new(),
        widened: false,
    };
    conditions.iter().try_for_each(|condition| builder.add(condition))?;
    Ok(builder.finish())
}

/// The bytes of these parts.
fn prefix_length(parts: &[KeyPart], key: &[u8]) -> Option<usize> {
    parts.iter().try_fold(0, |end, part| Some(end + part.length(&key[end..])?))
}

/// A range of what comes behind the prefix.
fn behind_prefix(prefix: &[u8], range: &KeyRange) -> KeyRange {
    let all = KeyRange::prefix(prefix);
    let with = |bytes: &Vec<u8>| [prefix, bytes.as_slice()].concat();
    KeyRange {
        lower: range.lower.as_ref().map(with).or(all.lower),
        lower_excluded: range.lower_excluded && range.lower.is_some(),
        upper_excluded: if range.upper.is_some() { range.upper_excluded } else { all.upper_excluded },
        upper: range.upper.as_ref().map(with).or(all.upper),
    }
}
