//! Identifiers of transactions and sets of them, as text and as the binary log has them.
//!
//! Invariant: the intervals of a set are sorted, do not touch, and none is empty; numbers go from 1 to 2^63 - 2.
use crate::BinlogError;
use crate::bytes::Reader;
use std::collections::BTreeMap;
use std::fmt;

/// The largest number of a transaction.
pub const NUMBER_MAX: u64 = i64::MAX as u64 - 1;

/// A server's UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ServerUuid(pub [u8; 16]);

/// The identifier of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gtid {
    /// Where it was committed first.
    pub source: ServerUuid,
    /// 1 is the first.
    pub number: u64,
}

/// A set of identifiers.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct GtidSet {
    /// For each source its intervals, the first number to the one behind the last.
    sources: BTreeMap<ServerUuid, Vec<(u64, u64)>>,
}

impl ServerUuid {
    /// A UUID from its text, with or without hyphens and braces.
    pub fn parse(text: &str) -> Option<ServerUuid> {
        let text = text.trim();
        let text = text.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(text);
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
        let hyphens_fit = match text.len() {
            32 => digits.len() == 32,
            36 => [8, 13, 18, 23].iter().all(|at| text.as_bytes()[*at] == b'-'),
            _ => false,
        };
        if digits.len() != 32 || !hyphens_fit {
            return None;
        }
        let mut uuid = [0; 16];
        for (byte, pair) in uuid.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
        }
        Some(ServerUuid(uuid))
    }
}

impl fmt::Display for ServerUuid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.0.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                formatter.write_str("-")?;
            }
            write!(formatter, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl Gtid {
    /// `uuid:number`.
    pub fn parse(text: &str) -> Option<Gtid> {
        let (source, number) = text.trim().split_once(':')?;
        let number = number.trim().parse().ok().filter(|number| (1..=NUMBER_MAX).contains(number))?;
        Some(Gtid { source: ServerUuid::parse(source)?, number })
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.source, self.number)
    }
}

impl GtidSet {
    /// The empty set.
    pub fn new() -> GtidSet {
        GtidSet::default()
    }

    /// `uuid:1-3:5,uuid:7`; spaces and line ends are allowed anywhere between, and empty parts.
    pub fn parse(text: &str) -> Option<GtidSet> {
        let mut set = GtidSet::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let mut pieces = part.split(':').map(str::trim);
            let source = ServerUuid::parse(pieces.next()?)?;
            let mut any = false;
            for piece in pieces {
                let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
                let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                if first == 0 || last > NUMBER_MAX {
                    return None;
                }
                if first <= last {
                    set.add_interval(source, first, last + 1);
                }
                any = true;
            }
            if !any {
                return None;
            }
        }
        Some(set)
    }

    /// True without any identifier.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Whether the identifier is in the set.
    pub fn contains(&self, gtid: Gtid) -> bool {
        let intervals = self.sources.get(&gtid.source);
        intervals.is_some_and(|all| all.iter().any(|(first, end)| (*first..*end).contains(&gtid.number)))
    }

    /// Adds one identifier.
    pub fn add(&mut self, gtid: Gtid) {
        self.add_interval(gtid.source, gtid.number, gtid.number + 1);
    }

    /// Adds the numbers from `first` to before `end`.
    pub fn add_interval(&mut self, source: ServerUuid, first: u64, end: u64) {
        debug_assert!(first >= 1 && first < end, "an interval begins with 1 at least, and has a number");
        let intervals = self.sources.entry(source).or_default();
        // Nearly always the next number of the last interval.
        if let Some(last) = intervals.last_mut()
            && last.1 == first
        {
            last.1 = end;
            return;
        }
        let from = intervals.partition_point(|interval| interval.1 < first);
        let to = intervals.partition_point(|interval| interval.0 <= end);
        let merged =
            intervals[from..to].iter().fold((first, end), |all, one| (all.0.min(one.0), all.1.max(one.1)));
        intervals.splice(from..to, [merged]);
        debug_assert!(
            intervals.is_sorted_by(|one, next| one.1 < next.0),
            "intervals are in order, with gaps between"
        );
    }

    /// Adds all of another set.
    pub fn add_all(&mut self, other: &GtidSet) {
        for (source, first, end) in other.intervals() {
            self.add_interval(source, first, end);
        }
    }

    /// Takes away all that is in another set.
    pub fn remove_all(&mut self, other: &GtidSet) {
        for (source, cut_first, cut_end) in other.intervals() {
            let Some(intervals) = self.sources.get_mut(&source) else { continue };
            let left = |&(first, end): &(u64, u64)| [(first, end.min(cut_first)), (first.max(cut_end), end)];
            *intervals = intervals.iter().flat_map(left).filter(|(first, end)| first < end).collect();
            if intervals.is_empty() {
                self.sources.remove(&source);
            }
        }
    }

    /// Whether every identifier is in the other set.
    pub fn is_subset_of(&self, other: &GtidSet) -> bool {
        let mut left = self.clone();
        left.remove_all(other);
        left.is_empty()
    }

    /// The lowest number of a source that is not in the set.
    pub fn next_number(&self, source: ServerUuid) -> u64 {
        match self.sources.get(&source).and_then(|intervals| intervals.first()) {
            Some((1, end)) => *end,
            _ => 1,
        }
    }

    /// (source, first number, number behind the last) of each interval.
    pub fn intervals(&self) -> impl Iterator<Item = (ServerUuid, u64, u64)> {
        self.sources.iter().flat_map(|(source, all)| all.iter().map(|(first, end)| (*source, *first, *end)))
    }

    /// As PREVIOUS_GTIDS and COM_BINLOG_DUMP_GTID have it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(self.sources.values().all(|all| !all.is_empty()), "each source has an interval");
        out.extend_from_slice(&(self.sources.len() as u64).to_le_bytes());
        for (source, intervals) in &self.sources {
            out.extend_from_slice(&source.0);
            out.extend_from_slice(&(intervals.len() as u64).to_le_bytes());
            for (first, end) in intervals {
                out.extend_from_slice(&first.to_le_bytes());
                out.extend_from_slice(&end.to_le_bytes());
            }
        }
    }

    /// Reads what `encode` writes. Sets with tags have another form, which is refused.
    pub fn decode(bytes: &[u8]) -> Result<GtidSet, BinlogError> {
        let mut reader = Reader(bytes);
        let sources = reader.u64()?;
        if sources >> 56 != 0 {
            return Err(BinlogError::Unsupported("transaction identifiers with tags"));
        }
        let mut set = GtidSet::new();
        for _ in 0..sources {
            let source = ServerUuid(reader.array()?);
            for _ in 0..reader.u64()? {
                let (first, end) = (reader.u64()?, reader.u64()?);
                if first == 0 || first >= end || end > NUMBER_MAX + 1 {
                    return Err(BinlogError::Invalid("interval of transaction identifiers"));
                }
                set.add_interval(source, first, end);
            }
        }
        if reader.is_empty() { Ok(set) } else { Err(BinlogError::Invalid("set of transaction identifiers")) }
    }
}

impl fmt::Display for GtidSet {
    /// MySQL's form: a line for each source.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (source, intervals)) in self.sources.iter().enumerate() {
            let separator = if place == 0 { "" } else { ",\n" };
            write!(formatter, "{separator}{source}")?;
            for (first, end) in intervals {
                match end - first {
                    1 => write!(formatter, ":{first}")?,
                    _ => write!(formatter, ":{first}-{}", end - 1)?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SOURCE: &str = "494816f8-eab3-11f1-b506-02fc00000001";

    fn set(numbers: &str) -> GtidSet {
        GtidSet::parse(&format!("{SOURCE}:{numbers}")).unwrap()
    }

    #[test]
    fn sets_are_joined_cut_and_printed() {
        assert_eq!(set("1-3:4:9:7-8").to_string(), format!("{SOURCE}:1-4:7-9"));
        let mut cut = set("1-10");
        cut.remove_all(&set("3:5-6:10"));
        assert_eq!(cut, set("1-2:4:7-9"));
        assert!(set("2:4").is_subset_of(&set("1-4")) && !set("5").is_subset_of(&set("1-4")));
        assert_eq!(set("1-4:6").next_number(ServerUuid::parse(SOURCE).unwrap()), 5);
        assert_eq!(set("2").next_number(ServerUuid::parse(SOURCE).unwrap()), 1);
        assert_eq!(GtidSet::parse("junk"), None);
        assert_eq!(GtidSet::parse(" ,\n"), Some(GtidSet::new()));
        assert_eq!(Gtid::parse(&format!("{SOURCE}:0")), None);
    }

    proptest! {
        #[test]
        fn a_set_is_what_was_added(numbers in proptest::collection::vec(1u64..60, 0..40)) {
            let source = ServerUuid::parse(SOURCE).unwrap();
            let mut set = GtidSet::new();
            numbers.iter().for_each(|&number| set.add(Gtid { source, number }));
            for number in 1..60 {
                prop_assert_eq!(set.contains(Gtid { source, number }), numbers.contains(&number));
            }
            let mut bytes = Vec::new();
            set.encode(&mut bytes);
            prop_assert_eq!(GtidSet::decode(&bytes), Ok(set.clone()));
            prop_assert_eq!(GtidSet::parse(&set.to_string()), Some(set));
        }

        #[test]
        fn any_bytes_are_a_set_or_an_error(bytes: Vec<u8>) {
            let _ = GtidSet::decode(&bytes);
        }
    }
}
