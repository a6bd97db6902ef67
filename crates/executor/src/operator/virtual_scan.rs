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
            for mut row in rows.by_ref().take(wanted) {
                let VirtualAccess { table, projection, filter, late_from, .. } = self.access;
                let early = late_from.unwrap_or(filter.len());
                let frame = out.push_copy(&self.base);
                project(projection, &row, frame);
                let mut keeps = all_hold(&filter[..early], out.row(out.len() - 1), context).await?;
                if keeps && late_from.is_some() {
                    context.interrupt.check()?;
                    table.complete(context.viewer, &mut row).await?;
                    let last = out.len() - 1;
                    project(projection, &row, out.row_mut(last));
                    keeps = all_hold(&filter[early..], out.row(last), context).await?;
                }
                if !keeps {
                    out.pop();
                }
            }
            Ok(rows.len() > 0)
        })
    }
}

fn project(projection: &[(usize, usize)], row: &[Value], frame: &mut [Value]) {
    for &(column, position) in projection {
        frame[position] = row.get(column).cloned().unwrap_or_default();
    }
}
