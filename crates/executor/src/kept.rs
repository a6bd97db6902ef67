//! Rows that several operators of one statement share: tables of WITH, and the rounds of recursive ones.
//!
//! Invariant: rows are complete before anybody but their maker sees them, and they do not change afterwards.
use crate::batch::RowBatch;
use std::rc::Rc;

#[derive(Default)]
pub struct KeptRows {
    tables: Vec<Option<Rc<RowBatch>>>,
}

impl KeptRows {
    pub fn get(&self, number: usize) -> Option<Rc<RowBatch>> {
        self.tables.get(number)?.clone()
    }

    pub fn set(&mut self, number: usize, rows: Rc<RowBatch>) {
        if self.tables.len() <= number {
            self.tables.resize_with(number + 1, || None);
        }
        self.tables[number] = Some(rows);
    }
}
