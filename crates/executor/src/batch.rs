//! Rows on their way from one operator to the next: frames of one width in one flat vector.
use datum::Value;

#[derive(Debug, Default)]
pub struct RowBatch {
    width: usize,
    count: usize,
    values: Vec<Value>,
}

impl RowBatch {
    pub fn new(width: usize) -> RowBatch {
        RowBatch { width, count: 0, values: Vec::new() }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn clear(&mut self) {
        self.values.clear();
        self.count = 0;
    }

    /// Appends a row that starts as a copy of `base` and returns it to be filled in.
    pub fn push_copy(&mut self, base: &[Value]) -> &mut [Value] {
        assert_eq!(base.len(), self.width, "a base frame has the batch's width");
        self.values.extend_from_slice(base);
        self.count += 1;
        let start = self.values.len() - self.width;
        &mut self.values[start..]
    }

    /// Appends a row of NULLs and returns it to be filled in.
    pub fn push_empty(&mut self) -> &mut [Value] {
        self.values.resize(self.values.len() + self.width, Value::Null);
        self.count += 1;
        let start = self.values.len() - self.width;
        &mut self.values[start..]
    }

    pub fn push_row(&mut self, row: Vec<Value>) {
        assert_eq!(row.len(), self.width, "a row has the batch's width");
        if self.values.is_empty() {
            self.values = row;
        } else {
            self.values.extend(row);
        }
        self.count += 1;
    }

    /// Appends a row whose values are moved out; NULLs stay behind.
    pub fn push_moved(&mut self, row: &mut [Value]) {
        assert_eq!(row.len(), self.width, "a row has the batch's width");
        self.values.extend(row.iter_mut().map(std::mem::take));
        self.count += 1;
    }

    /// Takes the last row back.
    pub fn pop(&mut self) {
        assert!(self.count > 0, "pop needs a row");
        self.count -= 1;
        self.values.truncate(self.count * self.width);
    }

    pub fn row(&self, index: usize) -> &[Value] {
        assert!(index < self.count, "row {index} of {}", self.count);
        &self.values[index * self.width..(index + 1) * self.width]
    }

    pub fn row_mut(&mut self, index: usize) -> &mut [Value] {
        assert!(index < self.count, "row {index} of {}", self.count);
        &mut self.values[index * self.width..(index + 1) * self.width]
    }

    /// Moves a row's values out; NULLs stay behind.
    pub fn take_row(&mut self, index: usize) -> Vec<Value> {
        self.row_mut(index).iter_mut().map(std::mem::take).collect()
    }

    /// Appends a row of another batch, whose values are moved out; NULLs stay behind.
    pub fn push_taken(&mut self, from: &mut RowBatch, index: usize) {
        assert_eq!(from.width, self.width, "the batches have one width");
        self.values.extend(from.row_mut(index).iter_mut().map(std::mem::take));
        self.count += 1;
    }

    pub fn rows(&self) -> impl Iterator<Item = &[Value]> {
        (0..self.count).map(|index| self.row(index))
    }

    /// Keeps the rows from `first` on for which `keep` is true, in their order.
    pub fn retain_from<E>(
        &mut self,
        first: usize,
        mut keep: impl FnMut(&[Value]) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut kept = first;
        for index in first..self.count {
            if keep(self.row(index))? {
                self.move_row(index, kept);
                kept += 1;
            }
        }
        self.count = kept;
        self.values.truncate(kept * self.width);
        Ok(())
    }

    /// Moves a row to an earlier place, or leaves it where it is.
    pub fn move_row(&mut self, from: usize, to: usize) {
        assert!(to <= from && from < self.count, "row {from} of {} to {to}", self.count);
        if to < from {
            let (left, right) = self.values.split_at_mut(from * self.width);
            left[to * self.width..(to + 1) * self.width].swap_with_slice(&mut right[..self.width]);
        }
    }

    /// Drops the first `count` rows.
    pub fn drop_front(&mut self, count: usize) {
        let count = count.min(self.count);
        self.values.drain(..count * self.width);
        self.count -= count;
    }

    pub fn truncate(&mut self, count: usize) {
        if count < self.count {
            self.count = count;
            self.values.truncate(count * self.width);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retain_keeps_order_and_earlier_rows() {
        let mut batch = RowBatch::new(1);
        for number in 0..6 {
            batch.push_row(vec![Value::Int(number)]);
        }
        batch.retain_from::<()>(2, |row| Ok(row[0] != Value::Int(3))).expect("no error");
        let left: Vec<Value> = batch.rows().map(|row| row[0].clone()).collect();
        assert_eq!(left, [0, 1, 2, 4, 5].map(Value::Int));
        batch.drop_front(4);
        assert_eq!(batch.row(0), [Value::Int(5)]);
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let mut batch = RowBatch::new(0);
        batch.push_empty();
        batch.push_empty();
        assert_eq!(batch.len(), 2);
        assert!(batch.row(1).is_empty());
        batch.pop();
        assert_eq!(batch.rows().count(), 1);
    }
}
