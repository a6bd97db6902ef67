//! Deadlocks as the session layer tells them: the statements of those involved, the text of the monitor's section and
//! the log of `innodb_print_all_deadlocks`.
use std::fmt::Write;
use std::sync::Weak;
use std::sync::atomic::Ordering::Relaxed;

use datum::TimeZone;
use engine::{DeadlockObserver, DeadlockReport, LockInfo, TransactionInfo};

use super::lock_text::{TreeNames, datetime_text, mode_words};
use instance::ConnectionId;
use instance::Instance;

/// How much of each statement is kept.
const STATEMENT_CHARACTERS_MAX: usize = 1024;

/// What the engine asks when it finds a deadlock.
pub struct DeadlockWitness {
    /// The server owns the engine, which owns this.
    instance: Weak<Instance>,
}

impl DeadlockWitness {
    pub fn new(instance: &Weak<Instance>) -> DeadlockWitness {
        DeadlockWitness { instance: instance.clone() }
    }
}

impl DeadlockObserver for DeadlockWitness {
    fn describe(&self, label: u64) -> String {
        let instance = self.instance.upgrade();
        instance.and_then(|instance| connection_text(&instance, label)).unwrap_or_default()
    }

    fn detected(&self, report: &DeadlockReport) {
        let Some(instance) = self.instance.upgrade() else { return };
        if instance.globals.by_name("innodb_print_all_deadlocks").as_boolean() {
            instance.log(&format!("deadlock detected\n{}", deadlock_text(&instance, report)));
        }
    }
}

/// Who runs a transaction, and with which statement: two lines.
pub fn connection_text(instance: &Instance, label: u64) -> Option<String> {
    let entry = instance.processes().find(ConnectionId(u32::try_from(label).ok()?))?;
    let activity = entry.activity();
    let statement: String =
        activity.info().unwrap_or_default().chars().take(STATEMENT_CHARACTERS_MAX).collect();
    let host = activity.host.split(':').next().unwrap_or_default();
    let number = entry.counters.questions.load(Relaxed);
    let state = entry.shown_state(&activity, instance.catalog().locks());
    let mut text = format!(
        "MySQL thread id {label}, OS thread handle 0, query id {number} {host} {} {state}\n",
        activity.user
    );
    if !statement.is_empty() {
        text.push_str(&statement);
        text.push('\n');
    }
    Some(text)
}

/// The two lines that every listed transaction begins with.
pub fn transaction_text(transaction: &TransactionInfo, lock_structs: u64) -> String {
    let mut text = format!("TRANSACTION {}, ACTIVE {} sec\n", transaction.id, transaction.age_us / 1_000_000);
    if transaction.waiting.is_some() {
        text.push_str("LOCK WAIT ");
    }
    let _ = write!(text, "{lock_structs} lock struct(s), heap size 0, {} row lock(s)", transaction.locks);
    if transaction.undo_records > 0 {
        let _ = write!(text, ", undo log entries {}", transaction.undo_records);
    }
    text.push('\n');
    text
}

/// One lock: where it is, how, and on which key.
pub fn lock_line(names: &TreeNames, lock: &LockInfo) -> String {
    let place = match names.place(lock.tree) {
        Some((schema, table, index)) => format!("index {index} of table `{schema}`.`{table}`"),
        None => "index PRIMARY of table `mysql`.`dictionary`".to_owned(),
    };
    let waiting = if lock.granted { "" } else { " waiting" };
    format!(
        "RECORD LOCKS space id {} page no 0 n bits 0 {place} trx id {} {}{waiting}\nKey: {}\n",
        lock.tree.0,
        lock.transaction,
        mode_words(lock),
        names.data(lock),
    )
}

/// What the monitor says of a deadlock, below its heading.
pub fn deadlock_text(instance: &Instance, report: &DeadlockReport) -> String {
    let locks = report.members.iter().flat_map(|member| [&member.holds, &member.waits_for]);
    let names = TreeNames::of(instance, locks);
    let at_us = i64::try_from(report.at_unix_us).unwrap_or(i64::MAX);
    let at = TimeZone::system().to_local(at_us).map(datetime_text).unwrap_or_default();
    let mut text = format!("{at} 0\n");
    // Whoever closed the cycle waited last.
    let count = report.members.len();
    let order: Vec<usize> = (1..=count).map(|step| step % count.max(1)).collect();
    for (number, place) in order.iter().enumerate() {
        let (number, member) = (number + 1, &report.members[*place]);
        let _ = write!(
            text,
            "*** ({number}) TRANSACTION:\n{}{}\n*** ({number}) HOLDS THE LOCK(S):\n{}\n\
             *** ({number}) WAITING FOR THIS LOCK TO BE GRANTED:\n{}\n",
            transaction_text(&member.transaction, member.transaction.locks),
            member.description,
            lock_line(&names, &member.holds),
            lock_line(&names, &member.waits_for),
        );
    }
    let victim = order.iter().position(|place| *place == report.victim).map_or(0, |place| place + 1);
    let _ = writeln!(text, "*** WE ROLL BACK TRANSACTION ({victim})");
    text
}
