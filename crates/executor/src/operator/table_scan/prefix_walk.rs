//! Walking over the different values of an index's first parts: by seeking behind each.
//!
//! A loose index scan takes one entry of each value (and those that MIN and MAX need), a skip scan makes a range behind
//! each. Small groups are not sought one by one: entries are read in batches, which grow while groups lie within them. An entry of another version than the row could stand for a value that no row has: where that may be, all
//! entries are read. Called by `table_scan`.
use super::Opened;
use crate::context::ExecContext;
use crate::range::RangeBuilder;
use datum::{SqlError, Value};
use engine::{Direction, EntryBatch, KeyRange, ReadMode};
use plan::{GroupWalk, RangeCondition, TableAccess};
use table::{KeyPart, damaged, table_error};

/// Entries that are read together from a group's first one on.
const AHEAD_MIN: usize = 2;
const AHEAD_MAX: usize = 64;

pub struct PrefixWalk {
    /// So many first parts are walked over.
    parts: usize,
    /// What is left of the index, the next range last.
    outer: Vec<KeyRange>,
    takes: Takes,
    ahead: Ahead,
}

/// Entries that were read behind those that have been taken.
struct Ahead {
    entries: EntryBatch,
    next: usize,
    /// So many are read next time.
    wanted: usize,
    /// Nothing of the range follows them.
    is_end: bool,
}

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead { entries: EntryBatch::default(), next: 0, wanted: AHEAD_MIN, is_end: false }
    }
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
        self.walk = Some(PrefixWalk { parts: walk.parts, outer, takes, ahead: Ahead::default() });
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
        let takes = Takes::Ranges(ranges);
        self.walk = Some(PrefixWalk { parts: skipped, outer, takes, ahead: Ahead::default() });
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
        if let Takes::Groups { least, greatest } = walk.takes
            && !(least && layout.parts.get(walk.parts).is_some_and(|part| part.nullable))
        {
            return self.next_group(walk, access, index, greatest, context).await;
        }
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

    /// The first entry of the next group and, for MAX, the last one.
    async fn next_group(
        &mut self,
        walk: &mut PrefixWalk,
        access: &TableAccess,
        index: usize,
        greatest: bool,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        self.entries.clear();
        let ahead = &mut walk.ahead;
        while ahead.next == ahead.entries.len() {
            if std::mem::take(&mut ahead.is_end) {
                walk.outer.pop();
            }
            let Some(range) = walk.outer.last().cloned() else { return Ok(()) };
            (ahead.entries, ahead.is_end) =
                self.read_from(access, index, range, Direction::Forward, ahead.wanted, context).await?;
            ahead.next = 0;
        }
        let parts = &self.handle.layout().indexes[index].parts[..walk.parts];
        let (first, value) = ahead.entries.get(ahead.next);
        let length = prefix_length(parts, first).ok_or_else(|| damaged(&access.table.name))?;
        let prefix = &first[..length];
        self.entries.push(first, value);
        let is_other = |place: &usize| !ahead.entries.get(*place).0.starts_with(prefix);
        let end = (ahead.next + 1..ahead.entries.len()).find(is_other);
        let is_whole = end.is_some() || ahead.is_end;
        let end = end.unwrap_or(ahead.entries.len());
        if greatest && is_whole {
            let (last, value) = ahead.entries.get(end - 1);
            self.entries.push(last, value);
        }
        if is_whole {
            ahead.next = end;
            ahead.wanted = (ahead.wanted * 2).min(AHEAD_MAX);
            if end == ahead.entries.len() && ahead.is_end {
                walk.outer.pop();
                ahead.is_end = false;
            } else if end == ahead.entries.len() {
                // The next group begins behind what was read.
                let behind = KeyRange::prefix(prefix).upper;
                go_behind(&mut walk.outer, behind);
            }
            return Ok(());
        }
        ahead.wanted = (ahead.wanted / 2).max(AHEAD_MIN);
        let group = KeyRange::prefix(prefix);
        ahead.entries.clear();
        ahead.next = 0;
        go_behind(&mut walk.outer, group.upper.clone());
        if greatest {
            let (last, _) = self.read_from(access, index, group, Direction::Backward, 1, context).await?;
            last.iter().for_each(|(key, value)| self.entries.push(key, value));
        }
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
        self.entries = self.read_from(access, index, range, direction, 1, context).await?.0;
        Ok(())
    }

    /// Some first entries of the range in the direction, and whether there are no more.
    async fn read_from(
        &self,
        access: &TableAccess,
        index: usize,
        range: KeyRange,
        direction: Direction,
        wanted: usize,
        context: &mut ExecContext<'_>,
    ) -> Result<(EntryBatch, bool), SqlError> {
        let layout = self.handle.layout();
        let is_clustered = layout.indexes[index].clustered;
        let tree = if is_clustered { layout.tree } else { layout.indexes[index].tree };
        context.interrupt.check()?;
        context.work.begin_scan(&access.path, false);
        let mut cursor = context.host.transaction().scan(tree, range, direction, self.mode);
        let mut found = EntryBatch::default();
        loop {
            let more = cursor.next_batch(context.host.transaction(), wanted, &mut found).await;
            let more = more.map_err(|error| table_error(&access.table, error))?;
            if !more || !found.is_empty() {
                return Ok((found, !more));
            }
        }
    }
}

/// What is left of the last range begins at `lower`; nothing is left of it where that is none, or behind its end.
fn go_behind(outer: &mut Vec<KeyRange>, lower: Option<Vec<u8>>) {
    let Some(range) = outer.pop() else { return };
    let Some(lower) = lower else { return };
    if range.upper.as_ref().is_none_or(|upper| lower < *upper) {
        outer.push(KeyRange { lower: Some(lower), lower_excluded: false, ..range });
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
