//! What clients did and saw.
//!
//! Invariant: within a history every written value belongs to one write; 0 is never written, it stands for the initial
//! version of a register. Transactions are in the order in which they began, so neighbours are near in time.

/// A key of a table: a list, a register or a member.
pub type Key = u32;
/// A value that one write of the history has written.
pub type Value = u32;

/// One operation whose answer arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Adds a value to the end of a list.
    Append { key: Key, value: Value },
    /// Reads a list.
    List { key: Key, values: Vec<Value> },
    /// Replaces the value of a register, which was `over` at that moment.
    Write { key: Key, value: Value, over: Value },
    /// Reads a register.
    Register { key: Key, value: Value },
    /// Adds a member to a class; no key is used twice.
    Insert { class: u32, key: Key },
    /// Removes a member that was there.
    Delete { key: Key },
    /// Reads the members of a class.
    Members { class: u32, keys: Vec<Key> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    Aborted,
    /// The connection was lost while it committed; what it wrote is there or is not (`last_look` finds out which).
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    pub operations: Vec<Operation>,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// Members that were there before the first transaction, with their class.
    pub initial_members: Vec<(Key, u32)>,
    pub transactions: Vec<Transaction>,
    /// The last transaction began when all others had ended, and read every key.
    pub has_last_look: bool,
}

impl History {
    pub fn committed(&self) -> usize {
        self.transactions.iter().filter(|transaction| transaction.outcome == Outcome::Committed).count()
    }
}
