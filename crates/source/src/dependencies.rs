//! Which transactions of a file have to be applied before another one: `last_committed`, from the keys of the rows that they
//! changed.
//!
//! Invariant: two transactions with a common key are in order, and all are in order with one whose keys are not known. What is
//! remembered begins anew with every note of the position, so that a crash, after which the file is written again from
//! there, changes no answer. Called by `writer`.
use std::collections::HashMap;

/// See the head of this file.
pub(crate) struct Dependencies {
    /// The last transaction that changed a key.
    last: HashMap<u64, u64>,
    /// Everything depends on this one.
    first: u64,
    /// `binlog_transaction_dependency_history_size`.
    keys_max: usize,
}

impl Dependencies {
    /// Behind the transaction with this number in the file.
    pub fn behind(number: u64, keys_max: u64) -> Dependencies {
        let keys_max = usize::try_from(keys_max).unwrap_or(usize::MAX);
        Dependencies { last: HashMap::new(), first: number, keys_max }
    }

    /// The last transaction that has to be applied before this one.
    pub fn last_committed(&mut self, number: u64, keys: Option<&[u64]>) -> u64 {
        let Some(keys) = keys else {
            self.forget(number);
            return number - 1;
        };
        let before = keys.iter().filter_map(|key| self.last.insert(*key, number));
        // A key may stand twice.
        let last = before.filter(|before| *before < number).fold(self.first, u64::max);
        if self.last.len() > self.keys_max {
            self.forget(number);
        }
        last
    }

    fn forget(&mut self, number: u64) {
        self.last.clear();
        self.first = number;
    }
}

#[cfg(test)]
mod tests {
    use super::Dependencies;

    #[test]
    fn common_keys_and_unknown_ones_keep_an_order() {
        let mut dependencies = Dependencies::behind(4, 100);
        let mut last = |number, keys: Option<&[u64]>| dependencies.last_committed(number, keys);
        assert_eq!(last(5, Some(&[1, 2])), 4);
        assert_eq!(last(6, Some(&[3])), 4);
        assert_eq!(last(7, Some(&[2, 2, 4])), 5);
        assert_eq!(last(8, Some(&[2, 3])), 7);
        assert_eq!(last(9, Some(&[])), 4);
        assert_eq!(last(10, None), 9);
        assert_eq!(last(11, Some(&[1])), 10);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut dependencies = Dependencies::behind(0, 3);
        assert_eq!(dependencies.last_committed(1, Some(&[1, 2])), 0);
        assert_eq!(dependencies.last_committed(2, Some(&[2, 3, 4])), 1);
        assert!(dependencies.last.is_empty());
        assert_eq!(dependencies.last_committed(3, Some(&[9])), 2);
    }
}
