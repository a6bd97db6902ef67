//! Records that know which row they come from, so that of several rows with the same unique values the earliest stays and the
//! next one is refused, as if they had come one by one.
//!
//! Invariant: records come in the order of their keys; those that share their unique part are neighbours and one group. Used by
//! `fill`.
use datum::SqlError;

/// In the place of the length of what must not be there twice; keys are far shorter.
const NOT_UNIQUE: u16 = u16::MAX;

/// The value of a record with what is kept beside it while it is sorted.
pub struct Numbered<'a> {
    /// How much of the key must not be there twice.
    unique: Option<usize>,
    pub number: u64,
    pub value: &'a [u8],
}

impl Numbered<'_> {
    pub fn write(unique: Option<usize>, number: u64, value: &[u8], out: &mut Vec<u8>) {
        assert!(unique.is_none_or(|length| length < usize::from(NOT_UNIQUE)), "keys are far shorter");
        out.clear();
        out.extend_from_slice(&unique.map_or(NOT_UNIQUE, |length| length as u16).to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(value);
    }

    pub fn read(bytes: &[u8]) -> Result<Numbered<'_>, SqlError> {
        let parts = || {
            let (unique, rest) = bytes.split_first_chunk()?;
            let (number, value) = rest.split_first_chunk()?;
            let unique = u16::from_le_bytes(*unique);
            let unique = (unique != NOT_UNIQUE).then_some(usize::from(unique));
            Some(Numbered { unique, number: u64::from_le_bytes(*number), value })
        };
        parts().ok_or_else(rowstore::damaged)
    }
}

/// A record of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    number: u64,
    unique: Option<usize>,
}

impl Kept {
    fn set(&mut self, key: &[u8], record: &Numbered<'_>) {
        debug_assert!(
            record.unique.is_none_or(|length| length <= key.len()),
            "what is unique is a part of the key"
        );
        self.key.clear();
        self.key.extend_from_slice(key);
        self.value.clear();
        self.value.extend_from_slice(record.value);
        (self.number, self.unique) = (record.number, record.unique);
    }

    /// Whether the other one must not be there as well.
    fn excludes(&self, key: &[u8], unique: Option<usize>) -> bool {
        match (self.unique, unique) {
            (Some(own), Some(other)) => own == other && self.key.get(..own) == key.get(..other),
            _ => false,
        }
    }
}

/// A row that is not let in.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub index: usize,
    pub number: u64,
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

/// Of several the one that would have come first.
pub fn earliest(refusals: Vec<Refusal>) -> Option<Refusal> {
    refusals.into_iter().min_by_key(|refusal| refusal.number)
}

/// The groups of one index, one after the other.
pub struct Group {
    index: usize,
    /// The earliest of the group that is read.
    first: Option<Kept>,
    /// The earliest of the group before.
    done: Kept,
    refusal: Option<Refusal>,
}

impl Group {
    pub fn of(index: usize) -> Group {
        Group { index, first: None, done: Kept::default(), refusal: None }
    }

    /// Takes the next record, or the end; gives the record that stays of a group that is complete now.
    pub fn next(&mut self, next: Option<(&[u8], Numbered<'_>)>) -> Option<&Kept> {
        let Some((key, record)) = next else {
            self.done = self.first.take()?;
            return Some(&self.done);
        };
        let Some(first) = &mut self.first else {
            self.first.insert(Kept::default()).set(key, &record);
            return None;
        };
        debug_assert!(*first.key <= *key, "records come in the order of their keys");
        if !first.excludes(key, record.unique) {
            std::mem::swap(first, &mut self.done);
            first.set(key, &record);
            return Some(&self.done);
        }
        let mut later = Kept::default();
        later.set(key, &record);
        if later.number < first.number {
            std::mem::swap(first, &mut later);
        }
        self.refuse(later);
        None
    }

    /// This record is not let in.
    pub fn refuse(&mut self, kept: Kept) {
        let Kept { key, value, number, .. } = kept;
        if self.refusal.as_ref().is_none_or(|refusal| number < refusal.number) {
            self.refusal = Some(Refusal { index: self.index, number, key, value });
        }
    }

    /// The earliest row that was refused since this was asked last: each of them, if it is asked after each record.
    pub fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }

    /// The earliest row that was refused.
    pub fn refusal(self) -> Option<Refusal> {
        self.refusal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stays(records: &[(&[u8], Option<usize>, u64)]) -> (Vec<u64>, Option<u64>) {
        let mut group = Group::of(0);
        let mut staying = Vec::new();
        for (key, unique, number) in records {
            let record = Numbered { unique: *unique, number: *number, value: b"v" };
            staying.extend(group.next(Some((key, record))).map(|kept| kept.number));
        }
        staying.extend(group.next(None).map(|kept| kept.number));
        assert!(group.next(None).is_none());
        (staying, group.refusal().map(|refusal| refusal.number))
    }

    #[test]
    fn the_earliest_of_a_group_stays() {
        assert_eq!(stays(&[]), (vec![], None));
        assert_eq!(stays(&[(b"a1", Some(1), 4), (b"b1", Some(1), 2)]), (vec![4, 2], None));
        let group: &[(&[u8], _, _)] = &[(b"a1", Some(1), 9), (b"a2", Some(1), 5), (b"a3", Some(1), 7)];
        assert_eq!(stays(group), (vec![5], Some(7)));
        // Two groups: the row that would have failed first.
        let groups: &[(&[u8], _, _)] =
            &[(b"a1", Some(1), 1), (b"a2", Some(1), 8), (b"b1", Some(1), 3), (b"b2", Some(1), 6)];
        assert_eq!(stays(groups), (vec![1, 3], Some(6)));
        assert_eq!(stays(&[(b"a1", None, 1), (b"a2", None, 2)]), (vec![1, 2], None));
    }

    #[test]
    fn records_come_back() {
        let mut bytes = Vec::new();
        Numbered::write(Some(3), 7, b"value", &mut bytes);
        let record = Numbered::read(&bytes).expect("a record");
        assert_eq!((record.unique, record.number, record.value), (Some(3), 7, &b"value"[..]));
        Numbered::write(None, 7, b"", &mut bytes);
        assert_eq!(Numbered::read(&bytes).expect("a record").unique, None);
        assert!(Numbered::read(&bytes[..9]).is_err());
    }
}
