//! DISTINCT: keeps the first of rows with equal keys.
use super::Operator;
use super::key_set::write_group_keys;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::memory::Held;
use datum::{SqlError, Value};
use expression::Expr;
use schema::LocalFuture;
use std::collections::HashSet;

/// What a key costs beside its bytes.
const ENTRY_BYTES: usize = 48;

pub struct DistinctRows<'p> {
    input: Box<dyn Operator + 'p>,
    keys: &'p [Expr],
    seen: HashSet<Vec<u8>>,
    held: Held,
}

impl<'p> DistinctRows<'p> {
    pub fn new(input: Box<dyn Operator + 'p>, keys: &'p [Expr]) -> DistinctRows<'p> {
        DistinctRows { input, keys, seen: HashSet::new(), held: Held::default() }
    }
}

impl Operator for DistinctRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.input.start(base);
        self.seen.clear();
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            context.interrupt.check()?;
            if self.seen.is_empty() {
                self.held.release(&mut context.memory);
            }
            let first = out.len();
            let more = self.input.next_batch(context, wanted, out).await?;
            let (seen, keys, held) = (&mut self.seen, self.keys, &mut self.held);
            let (eval, memory) = (&*context.eval, &mut context.memory);
            let mut key = Vec::new();
            out.retain_from(first, |row| {
                key.clear();
                write_group_keys(keys, row, eval, &mut key)?;
                if seen.contains(&key) {
                    return Ok(false);
                }
                held.take(key.len() + ENTRY_BYTES, memory)?;
                seen.insert(key.clone());
                Ok(true)
            })?;
            Ok(more)
        })
    }
}
