//! Which tables and indexes an execution read and changed, and how many rows: for the summaries by table.
//!
//! Most statements use one table, so the first few are kept in place.
use schema::TableId;

const IN_PLACE: usize = 4;

/// Rows of one table that came through one index; `None` is the whole table, in no index's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableUse {
    pub table: TableId,
    pub index: Option<usize>,
    pub fetched: u64,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
}

impl TableUse {
    const fn none(table: TableId, index: Option<usize>) -> TableUse {
        TableUse { table, index, fetched: 0, inserted: 0, updated: 0, deleted: 0 }
    }
}

#[derive(Debug)]
pub struct TableUses {
    first: [TableUse; IN_PLACE],
    count: usize,
    more: Vec<TableUse>,
}

impl Default for TableUses {
    fn default() -> TableUses {
        TableUses { first: [TableUse::none(TableId(0), None); IN_PLACE], count: 0, more: Vec::new() }
    }
}

impl TableUses {
    /// The sums of a table and an index.
    pub fn of(&mut self, table: TableId, index: Option<usize>) -> &mut TableUse {
        let is_it = |used: &TableUse| used.table == table && used.index == index;
        let new = TableUse::none(table, index);
        if let Some(place) = self.first[..self.count].iter().position(is_it) {
            return &mut self.first[place];
        }
        if self.count < IN_PLACE {
            self.count += 1;
            let place = &mut self.first[self.count - 1];
            *place = new;
            return place;
        }
        let place = self.more.iter().position(is_it).unwrap_or_else(|| {
            self.more.push(new);
            self.more.len() - 1
        });
        &mut self.more[place]
    }

    pub fn all(&self) -> impl Iterator<Item = &TableUse> {
        self.first[..self.count].iter().chain(&self.more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_tables_are_kept_apart() {
        let mut uses = TableUses::default();
        for round in 1..=2 {
            for table in 0..10 {
                uses.of(TableId(table), None).fetched += round;
                uses.of(TableId(table), Some(0)).inserted += 1;
            }
        }
        assert_eq!(uses.all().count(), 20);
        assert!(
            uses.all().all(|used| used.fetched + used.inserted == if used.index.is_none() { 3 } else { 2 })
        );
    }
}
