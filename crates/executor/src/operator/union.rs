//! The rows of several inputs one after the other.
use super::{Operator, build};
use crate::batch::RowBatch;
use crate::context::ExecContext;
use datum::{SqlError, Value};
use plan::Node;
use schema::LocalFuture;

pub struct UnionRows<'p> {
    inputs: Vec<Box<dyn Operator + 'p>>,
    current: usize,
}

impl<'p> UnionRows<'p> {
    pub fn new(inputs: &'p [Node]) -> UnionRows<'p> {
        UnionRows { inputs: inputs.iter().map(build).collect(), current: 0 }
    }
}

impl Operator for UnionRows<'_> {
    fn start(&mut self, base: &[Value]) {
        self.current = 0;
        self.inputs.iter_mut().for_each(|input| input.start(base));
    }

    fn next_batch<'a, 'c: 'a>(
        &'a mut self,
        context: &'a mut ExecContext<'c>,
        wanted: usize,
        out: &'a mut RowBatch,
    ) -> LocalFuture<'a, Result<bool, SqlError>> {
        Box::pin(async move {
            let Some(input) = self.inputs.get_mut(self.current) else { return Ok(false) };
            if !input.next_batch(context, wanted, out).await? {
                self.current += 1;
            }
            Ok(self.current < self.inputs.len())
        })
    }
}
