//! What the clients did and were told, and whether a recovered store can be explained by it.
//!
//! A store is explained if there is a set of transactions, containing every acknowledged one and every one whose
//! effects a snapshot read has shown, containing none that was rolled back or never asked to commit, and free in
//! the few whose commit was asked for and not yet answered, such that every key has the last value that the set
//! gave it. Because the log is one stream, the set must also be closed: who overwrote a member's value came after
//! it.

use crate::subject::{Rows, Table};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransactionNumber(pub u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// At work, or over without a commit.
    Loser,
    /// To be prepared; no answer yet.
    Preparing,
    /// That it is prepared was answered with OK: a restart finds it so.
    Prepared,
    /// A prepared one whose rollback was asked for, or commit; no answer yet.
    Aborting,
    Committing,
    /// Commit was asked for; no answer yet.
    Unknown,
    /// Commit was not answered yet, but somebody else has seen the effects.
    Seen,
    /// Commit was answered with OK.
    Committed,
}

/// Part of the message of `explain`: the store was readable, and wrong.
pub(crate) const UNEXPLAINED: &str = "keys cannot be explained";

/// A value, or the absence of the key.
type Effect = Option<Vec<u8>>;
type Place = (Table, Vec<u8>);

#[derive(Debug, Clone, Default)]
pub struct History {
    /// Indexed by transaction number.
    transactions: Vec<Status>,
    /// Per key, who did what, in the order in which the exclusive locks were held.
    effects: BTreeMap<Place, Vec<(TransactionNumber, Effect)>>,
    /// What was there in the beginning.
    base: BTreeMap<Place, Vec<u8>>,
    pub commits: u64,
}

impl History {
    /// Starts from what a recovery has found.
    pub fn new(contents: &Contents) -> Self {
        let mut base = BTreeMap::new();
        for (table, rows) in contents {
            base.extend(rows.iter().map(|(key, value)| ((*table, key.clone()), value.clone())));
        }
        Self { base, ..Self::default() }
    }

    pub fn begin(&mut self) -> TransactionNumber {
        self.transactions.push(Status::Loser);
        TransactionNumber(self.transactions.len() as u64 - 1)
    }

    /// Notes an effect, while the exclusive lock is held.
    pub fn note(&mut self, number: TransactionNumber, table: Table, key: &[u8], effect: Effect) {
        self.effects.entry((table, key.to_vec())).or_default().push((number, effect));
    }

    /// The transaction's effects were undone, all or back to a savepoint at `keep` effects.
    pub fn undo(&mut self, number: TransactionNumber, kept: &[Place]) {
        let mut kept_counts: BTreeMap<&Place, usize> = BTreeMap::new();
        for place in kept {
            *kept_counts.entry(place).or_default() += 1;
        }
        for (place, log) in &mut self.effects {
            let mut left = kept_counts.get(place).copied().unwrap_or(0);
            log.retain(|(writer, _)| {
                if *writer != number {
                    return true;
                }
                let keep = left > 0;
                left = left.saturating_sub(1);
                keep
            });
        }
    }

    pub fn ask_commit(&mut self, number: TransactionNumber) {
        self.set(number, Status::Unknown);
    }

    pub fn acknowledge(&mut self, number: TransactionNumber) {
        self.set(number, Status::Committed);
        self.commits += 1;
    }

    /// A commit was refused before it could have had any effect.
    pub fn refuse_commit(&mut self, number: TransactionNumber) {
        self.set(number, Status::Loser);
        self.undo(number, &[]);
    }

    pub fn ask_prepare(&mut self, number: TransactionNumber) {
        self.set(number, Status::Preparing);
    }

    /// That it is prepared was answered; or its decision was refused.
    pub fn prepared(&mut self, number: TransactionNumber) {
        self.set(number, Status::Prepared);
    }

    pub fn ask_decision(&mut self, number: TransactionNumber, commit: bool) {
        self.set(number, if commit { Status::Committing } else { Status::Aborting });
    }

    pub fn decided(&mut self, number: TransactionNumber, commit: bool) {
        if commit {
            self.acknowledge(number);
        } else {
            self.set(number, Status::Loser);
            self.undo(number, &[]);
        }
    }

    /// After a restart that has found these prepared: what became of the others. An error if that cannot be.
    pub fn restart(&mut self, found: &[u64]) -> Result<(), String> {
        let count = self.transactions.len() as u64;
        if let Some(stranger) = found.iter().find(|number| **number >= count) {
            return Err(format!("a transaction {stranger} is prepared that there never was"));
        }
        for number in (0..count).map(TransactionNumber) {
            let status = self.transactions[number.0 as usize];
            let is_found = found.contains(&number.0);
            match status {
                Status::Loser | Status::Unknown | Status::Seen | Status::Committed if is_found => {
                    return Err(format!("{number:?} is prepared, and {status:?}"));
                }
                Status::Prepared if !is_found && self.has_effects(number) => {
                    return Err(format!("{number:?} is no longer prepared"));
                }
                Status::Preparing | Status::Aborting | Status::Committing if is_found => {
                    self.set(number, Status::Prepared);
                }
                Status::Committing => self.set(number, Status::Committed),
                Status::Preparing | Status::Aborting | Status::Prepared if !is_found => {
                    self.decided(number, false);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn has_effects(&self, number: TransactionNumber) -> bool {
        self.effects.values().flatten().any(|(writer, _)| *writer == number)
    }

    /// It may have committed or has.
    fn may_be_member(&self, number: TransactionNumber) -> bool {
        matches!(
            self.transactions[number.0 as usize],
            Status::Unknown | Status::Committing | Status::Seen | Status::Committed
        )
    }

    fn set(&mut self, number: TransactionNumber, status: Status) {
        self.transactions[number.0 as usize] = status;
    }

    /// What the transaction itself must see at a key that it has changed; None if it has not.
    pub fn own_effect(&self, number: TransactionNumber, table: Table, key: &[u8]) -> Option<Effect> {
        let log = self.effects.get(&(table, key.to_vec()))?;
        log.iter().rev().find(|(writer, _)| *writer == number).map(|(_, effect)| effect.clone())
    }

    /// A snapshot read of `reader` has shown `value`. Whoever wrote it must have committed, and from now on that
    /// may not be reversed.
    pub fn observe(
        &mut self,
        reader: TransactionNumber,
        table: Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), String> {
        let place = (table, key.to_vec());
        let mut writer = None;
        if let Some(log) = self.effects.get(&place) {
            let found = log.iter().rev().find(|(_, effect)| effect.as_deref() == Some(value));
            writer = found.map(|(writer, _)| *writer);
        }
        match writer {
            None if self.base.get(&place).is_some_and(|base| base == value) => Ok(()),
            None => {
                Err(format!("{reader:?} read a value that nobody wrote or that was undone, at {place:?}"))
            }
            Some(writer) if writer == reader => Ok(()),
            Some(writer) if !self.may_be_member(writer) => {
                Err(format!("{reader:?} read what {writer:?} wrote and had not committed, at {place:?}"))
            }
            Some(writer) => {
                if matches!(self.transactions[writer.0 as usize], Status::Unknown | Status::Committing) {
                    self.set(writer, Status::Seen);
                }
                Ok(())
            }
        }
    }

    /// Whether the recovered contents can be explained; otherwise the nearest miss.
    pub fn explain(&self, contents: &Contents) -> Result<(), String> {
        let found: BTreeMap<Place, &[u8]> = contents
            .iter()
            .flat_map(|(table, rows)| rows.iter().map(|(key, value)| ((*table, key.clone()), &value[..])))
            .collect();
        let unknown: Vec<usize> = (0..self.transactions.len())
            .filter(|index| matches!(self.transactions[*index], Status::Unknown | Status::Committing))
            .collect();
        assert!(unknown.len() < 16, "fewer clients than that are at work");
        let mut nearest: Option<(usize, String)> = None;
        for subset in 0u32..1 << unknown.len() {
            let member = |number: TransactionNumber| match self.transactions[number.0 as usize] {
                Status::Loser | Status::Preparing | Status::Prepared | Status::Aborting => false,
                Status::Seen | Status::Committed => true,
                Status::Unknown | Status::Committing => {
                    let bit = unknown.iter().position(|index| *index as u64 == number.0);
                    subset >> bit.expect("it is unknown") & 1 == 1
                }
            };
            let misses = self.misses(&found, member);
            let Some(first) = misses.first() else { return Ok(()) };
            if nearest.as_ref().is_none_or(|(count, _)| misses.len() < *count) {
                nearest = Some((misses.len(), first.clone()));
            }
        }
        let (count, first) = nearest.expect("at least one subset was tried");
        Err(format!("{count} {UNEXPLAINED}, the first: {first}"))
    }

    /// Descriptions of the keys that do not have the value the members gave them.
    fn misses(
        &self,
        found: &BTreeMap<Place, &[u8]>,
        member: impl Fn(TransactionNumber) -> bool,
    ) -> Vec<String> {
        let mut misses = Vec::new();
        let mut tables_dropped = BTreeMap::new();
        for (place, log) in &self.effects {
            let last = log.iter().rev().find(|(number, _)| member(*number));
            let overtaken =
                log.iter().position(|(number, _)| !member(*number) && self.may_be_member(*number));
            let overtook = log.iter().rposition(|(number, _)| member(*number));
            if let (Some(lost), Some(kept)) = (overtaken, overtook)
                && lost < kept
            {
                misses.push(format!(
                    "{place:?}: {:?} survived, {:?} before it did not",
                    log[kept].0, log[lost].0
                ));
            }
            if place.0 == Table::CATALOG && last.is_some_and(|(_, effect)| effect.is_none()) {
                tables_dropped.insert(table_of_key(&place.1), ());
            }
        }
        let expected = |place: &Place| -> Option<&[u8]> {
            if tables_dropped.contains_key(&place.0) {
                return None;
            }
            let log = self.effects.get(place).map(Vec::as_slice).unwrap_or_default();
            match log.iter().rev().find(|(number, _)| member(*number)) {
                Some((_, effect)) => effect.as_deref(),
                None => self.base.get(place).map(Vec::as_slice),
            }
        };
        for place in self.effects.keys().chain(self.base.keys()).chain(found.keys()) {
            let (wanted, got) = (expected(place), found.get(place).copied());
            if wanted != got {
                let log = self.effects.get(place).map(Vec::as_slice).unwrap_or_default();
                let writers: Vec<_> =
                    log.iter().map(|(number, _)| (*number, self.transactions[number.0 as usize])).collect();
                misses.push(format!(
                    "{:?} key {}: expected {}, found {}; writers {writers:?}",
                    place.0,
                    String::from_utf8_lossy(&place.1),
                    shown(wanted),
                    shown(got)
                ));
            }
        }
        misses
    }
}

/// What is stored, by table.
pub type Contents = BTreeMap<Table, Rows>;

/// The key of a table's row in the catalog.
pub fn catalog_key(table: Table) -> Vec<u8> {
    format!("table-{:020}", table.0).into_bytes()
}

/// The table of a catalog key.
pub fn table_of_key(key: &[u8]) -> Table {
    let digits = std::str::from_utf8(key).ok().and_then(|key| key.strip_prefix("table-"));
    Table(digits.and_then(|digits| digits.parse().ok()).unwrap_or(0))
}

fn shown(value: Option<&[u8]>) -> String {
    match value {
        None => "nothing".into(),
        Some(value) => {
            let start = String::from_utf8_lossy(&value[..value.len().min(24)]).into_owned();
            format!("'{start}' ({} bytes)", value.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table = Table(5);

    fn contents(rows: &[(&str, &str)]) -> Contents {
        let rows = rows.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec()));
        Contents::from([(TABLE, rows.collect())])
    }

    fn put(history: &mut History, number: TransactionNumber, key: &str, value: &str) {
        history.note(number, TABLE, key.as_bytes(), Some(value.as_bytes().to_vec()));
    }

    #[test]
    fn acknowledged_must_be_there_and_unknown_is_all_or_nothing() {
        let mut history = History::default();
        let (first, second, third) = (history.begin(), history.begin(), history.begin());
        put(&mut history, first, "a", "1");
        history.ask_commit(first);
        history.acknowledge(first);
        put(&mut history, second, "a", "2");
        put(&mut history, second, "b", "2");
        history.ask_commit(second);
        put(&mut history, third, "c", "3");
        history.explain(&contents(&[("a", "1")])).unwrap();
        history.explain(&contents(&[("a", "2"), ("b", "2")])).unwrap();
        for wrong in [
            vec![],
            vec![("a", "2")],
            vec![("a", "1"), ("b", "2")],
            vec![("a", "1"), ("c", "3")],
            vec![("a", "1"), ("d", "4")],
        ] {
            history.explain(&contents(&wrong)).unwrap_err();
        }
    }

    #[test]
    fn commits_do_not_overtake() {
        let mut history = History::default();
        let (first, second) = (history.begin(), history.begin());
        put(&mut history, first, "a", "1");
        put(&mut history, first, "b", "1");
        history.ask_commit(first);
        put(&mut history, second, "a", "2");
        history.ask_commit(second);
        history.explain(&contents(&[("a", "2"), ("b", "1")])).unwrap();
        history.explain(&contents(&[("a", "2")])).unwrap_err();
    }

    #[test]
    fn what_was_seen_stays() {
        let mut history = History::default();
        let (writer, reader) = (history.begin(), history.begin());
        put(&mut history, writer, "a", "1");
        history.observe(reader, TABLE, b"a", b"1").unwrap_err();
        history.ask_commit(writer);
        history.explain(&contents(&[])).unwrap();
        history.observe(reader, TABLE, b"a", b"1").unwrap();
        history.explain(&contents(&[])).unwrap_err();
        history.observe(reader, TABLE, b"a", b"other").unwrap_err();
    }

    #[test]
    fn an_acknowledged_prepare_is_found_until_its_decision_was_asked_for() {
        let mut history = History::default();
        let number = history.begin();
        put(&mut history, number, "a", "1");
        history.ask_prepare(number);
        assert_eq!(history.clone().restart(&[]), Ok(()));
        history.prepared(number);
        assert!(history.clone().restart(&[]).is_err());
        let mut found = history.clone();
        assert_eq!(found.restart(&[number.0]), Ok(()));
        assert_eq!(found.explain(&contents(&[])), Ok(()));
        assert!(found.explain(&contents(&[("a", "1")])).is_err());
        history.ask_decision(number, true);
        let mut committed = history.clone();
        assert_eq!(committed.restart(&[]), Ok(()));
        assert_eq!(committed.explain(&contents(&[("a", "1")])), Ok(()));
        assert!(committed.explain(&contents(&[])).is_err());
        history.decided(number, false);
        assert!(history.restart(&[number.0]).is_err());
    }

    #[test]
    fn undone_effects_are_forgotten() {
        let mut history = History::default();
        let number = history.begin();
        put(&mut history, number, "a", "1");
        put(&mut history, number, "a", "2");
        put(&mut history, number, "b", "2");
        history.undo(number, &[(TABLE, b"a".to_vec())]);
        history.ask_commit(number);
        history.acknowledge(number);
        history.explain(&contents(&[("a", "1")])).unwrap();
    }
}
