//! Rows that several operators of one statement share: tables of WITH, and the rounds of recursive ones.
//!
//! Invariant: rows are complete before anybody but their maker sees them, and they do not change afterwards.
use crate::row_store::RowStore;
use datum::Value;
use std::rc::Rc;

#[derive(Default)]
pub struct KeptRows {
    tables: Vec<Option<Kept>>,
}

struct Kept {
    rows: Rc<RowStore>,
    /// Values of the slots that the rows were made for.
    values: Vec<Value>,
}

impl KeptRows {
    /// The rows, if they were made for these values.
    pub fn get(&self, number: usize, values: &[Value]) -> Option<Rc<RowStore>> {
        let kept = self.tables.get(number)?.as_ref()?;
        (kept.values == values).then(|| kept.rows.clone())
    }

    /// Answers the bytes that rows kept before took.
    pub fn set(&mut self, number: usize, rows: Rc<RowStore>, values: Vec<Value>) -> usize {
        if self.tables.len() <= number {
            self.tables.resize_with(number + 1, || None);
        }
        let before = self.tables[number].replace(Kept { rows, values });
        before.map_or(0, |kept| kept.rows.held_bytes())
    }
}
