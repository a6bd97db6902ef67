//! Reads a table whose rows are computed.
use super::Operator;
use crate::batch::RowBatch;
use crate::context::ExecContext;
use crate::deferred::all_hold;
use datum::{SqlError, Value};
use plan::VirtualAccess;
use schema::LocalFuture;

pub struct VirtualScan<'p> {
    access: &'p VirtualAccess,
    base: Vec<Value>,
    rows: Option<std::vec::IntoIter<Vec<Value>>>,
}

impl<'p> VirtualScan<'p> {
    pub fn new(access: &'p VirtualAccess) -> VirtualScan<'p> {
        VirtualScan { access, base: Vec::new(), rows: None }
    }
}

impl Operator for VirtualScan<'_> {
    fn start(&mut self, base: &[Value]) {
        self.base = base.to_vec();
        self.rows = None;
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            context.interrupt.check()?;
            self.base.resize(out.width(), Value::Null);
            if self.rows.is_none() {
                let rows = self.access.table.rows(context.viewer).await?;
                self.rows = Some(rows.into_iter());
            }
            let rows = self.rows.as_mut().expect("filled above");
            for row in rows.by_ref().take(wanted) {
                let frame = out.push_copy(&self.base);
                for &(column, position) in &self.access.projection {
                    frame[position] = row.get(column).cloned().unwrap_or_default();
                }
                let row = out.row(out.len() - 1);
                let keeps = all_hold(&self.access.filter, row, context).await?;
                if !keeps {
                    out.pop();
                }
            }
            Ok(rows.len() > 0)
        })
    }
}
