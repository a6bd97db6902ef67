//! How far an applier goes: what START REPLICA UNTIL says.
//!
//! Invariant: it is looked at between transactions only, so none is applied in part. It is forgotten by the next start.
use binlog::{Gtid, GtidSet};

use super::Applied;

/// Where an applier ends.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Until {
    /// Nowhere.
    #[default]
    Never,
    /// Behind the transaction that reaches the place in the source's files.
    Position { file: String, position: u64 },
    /// Before the first of these.
    Before(GtidSet),
    /// Behind the last of these.
    After(GtidSet),
    /// When nothing is missing in between: a single applier leaves no gaps.
    NoGaps,
}

/// The number at the end of a file's name.
fn number_of(file: &str) -> Option<(&str, u64)> {
    let (base, number) = file.rsplit_once('.')?;
    Some((base, number.parse().ok()?))
}

/// Whether a place in a source's files is at another one, or behind it.
pub(super) fn is_at((file, position): (&str, u64), (wanted_file, wanted): (&str, u64)) -> bool {
    match (number_of(file), number_of(wanted_file)) {
        (Some((base, number)), Some((wanted_base, wanted_number))) if base == wanted_base => {
            (number, position) >= (wanted_number, wanted)
        }
        _ => file == wanted_file && position >= wanted,
    }
}

impl Until {
    /// As SHOW REPLICA STATUS names it.
    pub fn name(&self) -> &'static str {
        match self {
            Until::Never => "None",
            Until::Position { .. } => "Source",
            Until::Before(_) => "SQL_BEFORE_GTIDS",
            Until::After(_) => "SQL_AFTER_GTIDS",
            Until::NoGaps => "DONE",
        }
    }

    /// File and position, where it is such a condition.
    pub fn place(&self) -> (&str, u64) {
        match self {
            Until::Position { file, position } => (file, *position),
            _ => ("", 0),
        }
    }

    /// Whether the applier ends with what is applied; `executed` is asked for where it matters.
    pub fn is_reached(&self, applied: &Applied, executed: impl FnOnce() -> GtidSet) -> bool {
        match self {
            Until::Never => false,
            Until::NoGaps => true,
            Until::Position { file, position } => is_at((&applied.file, applied.position), (file, *position)),
            Until::Before(set) => {
                let mut left = set.clone();
                left.remove_all(&executed());
                left != *set
            }
            Until::After(set) => set.is_subset_of(&executed()),
        }
    }

    /// Whether the applier ends before this transaction.
    pub fn ends_before(&self, gtid: Option<Gtid>) -> bool {
        matches!(self, Until::Before(set) if gtid.is_some_and(|gtid| set.contains(gtid)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn set(numbers: &str) -> GtidSet {
        GtidSet::parse(&format!("{UUID}:{numbers}")).unwrap()
    }

    fn at(file: &str, position: u64) -> Applied {
        Applied { file: file.to_owned(), position, ..Applied::default() }
    }

    #[test]
    fn a_place_is_reached_in_its_file_or_a_later_one() {
        let until = Until::Position { file: "b.000009".to_owned(), position: 100 };
        let none = GtidSet::new;
        assert!(
            !until.is_reached(&at("b.000009", 99), none) && !until.is_reached(&at("b.000008", 500), none)
        );
        assert!(until.is_reached(&at("b.000009", 100), none) && until.is_reached(&at("b.000010", 4), none));
        assert!(!until.is_reached(&at("", 4), none) && !until.is_reached(&at("c.000010", 4), none));
    }

    #[test]
    fn a_set_ends_before_its_first_or_behind_its_last() {
        let nowhere = Applied::default();
        let (before, after) = (Until::Before(set("5-7")), Until::After(set("5-7")));
        assert!(!before.is_reached(&nowhere, || set("1-4")) && before.is_reached(&nowhere, || set("1-6")));
        assert!(before.ends_before(Gtid::parse(&format!("{UUID}:5"))) && !before.ends_before(None));
        assert!(!after.is_reached(&nowhere, || set("1-6")) && after.is_reached(&nowhere, || set("1-9")));
        assert!(!after.ends_before(Gtid::parse(&format!("{UUID}:5"))));
    }
}
