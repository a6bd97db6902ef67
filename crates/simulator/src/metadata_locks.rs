//! The metadata locks that the layers above the engine would hold: who uses a table keeps it from being dropped.

use crate::subject::Table;
use env::sync::Mutex;
use std::collections::BTreeMap;

pub(crate) struct MetadataLocks {
    tables: Mutex<BTreeMap<Table, Lock>>,
}

#[derive(Default)]
struct Lock {
    users: usize,
    dropping: bool,
}

impl MetadataLocks {
    pub(crate) fn new(tables: impl Iterator<Item = Table>) -> Self {
        Self { tables: Mutex::new(tables.map(|table| (table, Lock::default())).collect()) }
    }

    pub(crate) fn count(&self) -> usize {
        self.tables.lock().len()
    }

    /// Shares some table that is not being dropped and notes it in `used`, unless it is there already.
    pub(crate) fn share(&self, used: &mut Vec<Table>, choose: impl Fn(usize) -> usize) -> Option<Table> {
        let mut tables = self.tables.lock();
        let open: Vec<Table> =
            tables.iter().filter(|(_, lock)| !lock.dropping).map(|(table, _)| *table).collect();
        if open.is_empty() {
            return None;
        }
        let table = open[choose(open.len())];
        if !used.contains(&table) {
            used.push(table);
            tables.get_mut(&table).expect("chosen from it").users += 1;
        }
        Some(table)
    }

    /// Takes some table that nobody uses, leaving at least `tables_min` others.
    pub(crate) fn lock_for_drop(&self, tables_min: usize, choose: impl Fn(usize) -> usize) -> Option<Table> {
        let mut tables = self.tables.lock();
        let free: Vec<Table> = tables
            .iter()
            .filter(|(_, lock)| lock.users == 0 && !lock.dropping)
            .map(|(table, _)| *table)
            .collect();
        if free.len() <= tables_min {
            return None;
        }
        let table = free[choose(free.len())];
        tables.get_mut(&table).expect("chosen from it").dropping = true;
        Some(table)
    }

    /// Ends a transaction's locks; its new tables can be used from now on, its dropped ones are gone or back.
    pub(crate) fn release(&self, used: &[Table], created: &[Table], dropped: &[Table], committed: bool) {
        let mut tables = self.tables.lock();
        for table in used {
            tables.get_mut(table).expect("a used table is not dropped").users -= 1;
        }
        for table in dropped {
            if committed {
                tables.remove(table);
            } else if let Some(lock) = tables.get_mut(table) {
                lock.dropping = false;
            }
        }
        tables.extend(created.iter().map(|table| (*table, Lock::default())));
    }
}
