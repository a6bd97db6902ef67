//! A history as text for Elle (EDN, one operation a line), so that another checker can judge the same transactions.
//!
//! Lists become appends and reads. A register's write becomes a read of what it replaced and a write, from which the
//! order of versions follows. Every transaction is a process of its own and follows the one before, so only orders that
//! claim no more than a level promises (not the strict ones) can be judged by it. Members have no counterpart there.

use std::fmt::Write;

use crate::history::{History, Operation, Outcome, Transaction};

/// The lines; transactions of unknown outcome are `:info`.
pub fn edn(history: &History) -> String {
    let mut text = String::new();
    for (number, transaction) in history.transactions.iter().enumerate() {
        let outcome = match transaction.outcome {
            Outcome::Committed => "ok",
            Outcome::Aborted => "fail",
            Outcome::Unknown => "info",
        };
        for (index, kind) in [(2 * number, "invoke"), (2 * number + 1, outcome)] {
            let shows_reads = kind == "ok";
            // Writing into a string does not fail.
            let _ = writeln!(
                text,
                "{{:index {index} :time {index} :type :{kind} :process {number} :f :txn :value [{}]}}",
                operations(transaction, shows_reads)
            );
        }
    }
    text
}

fn operations(transaction: &Transaction, shows_reads: bool) -> String {
    let mut texts = Vec::new();
    for operation in &transaction.operations {
        match operation {
            Operation::Append { key, value } => texts.push(format!("[:append {key} {value}]")),
            Operation::List { key, values } if shows_reads => texts.push(format!("[:r {key} {values:?}]")),
            Operation::Write { key, value, over } => {
                texts.push(register(*key, *over, shows_reads));
                texts.push(format!("[:w {key} {value}]"));
            }
            Operation::Register { key, value } => texts.push(register(*key, *value, shows_reads)),
            Operation::List { key, .. } => texts.push(format!("[:r {key} nil]")),
            Operation::Insert { .. } | Operation::Delete { .. } | Operation::Members { .. } => {}
        }
    }
    texts.join(" ")
}

/// Elle's initial version is nil.
fn register(key: u32, value: u32, shows: bool) -> String {
    if shows && value != 0 { format!("[:r {key} {value}]") } else { format!("[:r {key} nil]") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_in_lines() {
        let transaction =
            |operations: &[Operation], outcome| Transaction { operations: operations.to_vec(), outcome };
        let history = History {
            transactions: vec![
                transaction(
                    &[
                        Operation::Append { key: 1, value: 10 },
                        Operation::List { key: 1, values: vec![9, 10] },
                    ],
                    Outcome::Committed,
                ),
                transaction(&[Operation::Write { key: 2, value: 20, over: 0 }], Outcome::Unknown),
            ],
            ..History::default()
        };
        let expected = [
            "{:index 0 :time 0 :type :invoke :process 0 :f :txn :value [[:append 1 10] [:r 1 nil]]}",
            "{:index 1 :time 1 :type :ok :process 0 :f :txn :value [[:append 1 10] [:r 1 [9, 10]]]}",
            "{:index 2 :time 2 :type :invoke :process 1 :f :txn :value [[:r 2 nil] [:w 2 20]]}",
            "{:index 3 :time 3 :type :info :process 1 :f :txn :value [[:r 2 nil] [:w 2 20]]}",
        ];
        assert_eq!(edn(&history).lines().collect::<Vec<_>>(), expected);
    }
}
