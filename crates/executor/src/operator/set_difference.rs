//! EXCEPT and INTERSECT.
//!
//! Keys of the right side that memory has no room for are put aside on disk, with the rows of the left side that may match
//! them, and are looked at part by part. Without ALL equal rows of the left side all come out: a `Distinct` above keeps one.
use super::key_set::write_group_keys;
use super::{BATCH_ROWS, Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::cooperate::Pace;
use crate::divided::{split_record, write_record};
use crate::memory::Held;
use crate::sides::Sides;
use datum::{SqlError, Value};
use expression::Expr;
use foldhash::{HashMap, HashMapExt};
use plan::Node;
use rowstore::{StreamReader, read_row_into};
use schema::LocalFuture;

/// What a key costs beside its bytes.
const ENTRY_BYTES: usize = 48;

pub struct SetDifferenceRows<'p> {
    left: Box<dyn Operator + 'p>,
    right: Box<dyn Operator + 'p>,
    width: usize,
    intersect: bool,
    all: bool,
    left_keys: &'p [Expr],
    right_keys: &'p [Expr],
    /// How often each row of the right side can still be matched.
    counts: HashMap<Box<[u8]>, u64>,
    is_filled: bool,
    held: Held,
    aside: Sides,
    is_divided: bool,
    /// The left part that is looked at now, in place of the left side.
    left_part: Option<StreamReader>,
    key: Vec<u8>,
    record: Vec<u8>,
    pace: Pace,
}

impl<'p> SetDifferenceRows<'p> {
    pub fn new(
        left: &'p Node,
        right: &'p Node,
        intersect: bool,
        all: bool,
        left_keys: &'p [Expr],
        right_keys: &'p [Expr],
    ) -> SetDifferenceRows<'p> {
        SetDifferenceRows {
            left: build(left),
            right: build(right),
            width: right.width,
            intersect,
            all,
            left_keys,
            right_keys,
            counts: HashMap::new(),
            is_filled: false,
            held: Held::default(),
            aside: Sides::default(),
            is_divided: false,
            left_part: None,
            key: Vec::new(),
            record: Vec::new(),
            pace: Pace::default(),
        }
    }

    async fn fill(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        self.held.release(&mut context.memory);
        let mut rows = RowBatch::new(self.width);
        let mut more = true;
        while more {
            context.interrupt.check()?;
            rows.clear();
            more = self.right.next_batch(context, BATCH_ROWS, &mut rows).await?;
            for row in rows.rows() {
                self.key.clear();
                write_group_keys(self.right_keys, row, context.eval, &mut self.key)?;
                self.count(context).await?;
            }
        }
        Ok(())
    }

    /// The same for a part of the right side.
    async fn fill_from(
        &mut self,
        mut part: StreamReader,
        context: &mut ExecContext<'_>,
    ) -> Result<(), SqlError> {
        self.counts.clear();
        self.held.release(&mut context.memory);
        while part.advance().await? {
            let (key, _) = split_record(part.record())?;
            self.key.clear();
            self.key.extend_from_slice(key);
            self.count(context).await?;
            context.interrupt.check()?;
            self.pace.count(1).await;
        }
        Ok(())
    }

    /// Counts the right row with the key at hand.
    async fn count(&mut self, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
        if let Some(count) = self.counts.get_mut(self.key.as_slice()) {
            *count += 1;
            return Ok(());
        }
        if self.aside.is_dividing() {
            write_record(&self.key, [], &mut self.record);
            return self.aside.put_inner(&self.key, &self.record).await;
        }
        self.counts.insert(self.key.as_slice().into(), 1);
        let share = context.settings.shares.rows_bytes;
        if self.held.take_or_spill(self.key.len() + ENTRY_BYTES, share, &mut context.memory)? {
            context.work.disk_tables += u64::from(!std::mem::replace(&mut self.is_divided, true));
            self.aside.begin(context).await?;
        }
        Ok(())
    }

    /// Whether a left row comes out; `None` when that depends on keys that were put aside.
    fn keeps(&mut self, key: &[u8]) -> Option<bool> {
        let is_matched = match self.counts.get_mut(key) {
            Some(count) if self.all => {
                let is_left = *count > 0;
                *count -= u64::from(is_left);
                is_left
            }
            Some(_) => true,
            None if self.aside.concerns(key) => return None,
            None => false,
        };
        Some(is_matched == self.intersect)
    }

    /// Appends rows of the left side that come out; false at its end.
    async fn read_left(
        &mut self,
        context: &mut ExecContext<'_>,
        wanted: usize,
        out: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        let first = out.len();
        let mut more = self.left.next_batch(context, wanted, out).await?;
        if !self.is_filled {
            while more && out.len() == first {
                context.interrupt.check()?;
                more = self.left.next_batch(context, wanted, out).await?;
            }
            // Without a row on the left nothing is asked of the right side, which may fail.
            if out.len() > first {
                self.fill(context).await?;
            }
            self.is_filled = true;
        }
        let mut kept = first;
        for index in first..out.len() {
            let mut key = std::mem::take(&mut self.key);
            key.clear();
            write_group_keys(self.left_keys, out.row(index), context.eval, &mut key)?;
            match self.keeps(&key) {
                Some(true) => {
                    out.move_row(index, kept);
                    kept += 1;
                }
                Some(false) => {}
                None => {
                    write_record(&key, out.row(index), &mut self.record);
                    self.aside.put_outer(&key, &self.record).await?;
                }
            }
            self.key = key;
        }
        out.truncate(kept);
        Ok(more)
    }

    /// The same for the left part.
    async fn read_left_part(
        &mut self,
        mut part: StreamReader,
        wanted: usize,
        out: &mut RowBatch,
    ) -> Result<bool, SqlError> {
        for _ in 0..wanted {
            if !part.advance().await? {
                return Ok(false);
            }
            let (key, row) = split_record(part.record())?;
            match self.keeps(key) {
                Some(true) => read_row_into(row, out.push_empty())?,
                Some(false) => {}
                None => self.aside.put_outer(key, part.record()).await?,
            }
        }
        self.pace.count(wanted).await;
        self.left_part = Some(part);
        Ok(true)
    }
}

impl Operator for SetDifferenceRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.left.start(base);
        self.right.start(base);
        self.counts.clear();
        self.is_filled = false;
        self.aside = Sides::default();
        self.is_divided = false;
        self.left_part = None;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            context.interrupt.check()?;
            let wanted = wanted.min(BATCH_ROWS);
            let more = match self.left_part.take() {
                Some(part) => self.read_left_part(part, wanted, out).await?,
                None => self.read_left(context, wanted, out).await?,
            };
            if more {
                return Ok(true);
            }
            let Some((right, left)) = self.aside.next_pair(context).await? else { return Ok(false) };
            self.fill_from(right, context).await?;
            self.left_part = Some(left);
            Ok(true)
        })
    }
}
