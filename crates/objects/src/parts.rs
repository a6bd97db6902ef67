//! The parts of a file that grows: no object does, so what comes to a file is an object of its own.
//!
//! Invariants: a part is called by its file and by the bytes from where to where it has; parts that were joined may still be there beside
//! the whole, and what a request that was given up has written later as well, so a file is the parts that lead furthest from its
//! beginning. So many parts of one level become one of the next, so a file has few, and each byte is sent a few times at most.
//! Used by `folder`.
use std::collections::BTreeMap;

const MARK: &str = ".part-";
/// Parts of one level that become one.
const JOINED: usize = 16;
/// A file of this length is not written any more: it becomes one object.
const WHOLE_BYTES: u64 = 16 << 20;

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    pub start: u64,
    pub end: u64,
}

impl Part {
    pub fn name(&self, file: &str) -> String {
        format!("{file}{MARK}{:010x}-{:010x}", self.start, self.end)
    }

    fn parse(text: &str) -> Option<Part> {
        let (start, end) = text.split_once('-')?;
        let [start, end] = [start, end].map(|digits| u64::from_str_radix(digits, 16).ok());
        Some(Part { start: start?, end: end? }).filter(|part| part.start < part.end)
    }
}

/// What the names of all parts of a file begin with.
pub(crate) fn beginning(file: &str) -> String {
    format!("{file}{MARK}")
}

/// The file that an object belongs to.
pub(crate) fn file_of(object: &str) -> &str {
    object.split_once(MARK).map_or(object, |(file, _)| file)
}

/// The parts that lead furthest, of objects that were found.
pub(crate) fn chain<'a>(file: &str, objects: impl Iterator<Item = &'a str>) -> Vec<Part> {
    let beginning = beginning(file);
    let mut parts: Vec<Part> =
        objects.filter_map(|name| Part::parse(name.strip_prefix(&beginning)?)).collect();
    parts.sort_by_key(|part| (part.start, u64::MAX - part.end));
    // What leads to each place.
    let mut reached: BTreeMap<u64, Option<Part>> = BTreeMap::from([(0, None)]);
    for part in parts {
        if reached.contains_key(&part.start) {
            reached.entry(part.end).or_insert(Some(part));
        }
    }
    let mut chain = Vec::new();
    let mut at = reached.last_key_value().and_then(|(_, part)| *part);
    while let Some(part) = at {
        chain.push(part);
        at = reached[&part.start];
    }
    chain.reverse();
    chain
}

/// What has been written of a file.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// With their levels.
    parts: Vec<(Part, u32)>,
}

impl Written {
    pub fn end(&self) -> u64 {
        self.parts.last().map_or(0, |(part, _)| part.end)
    }

    /// The part that has to be written next.
    pub fn next(&self, end: u64) -> Option<Part> {
        Some(Part { start: self.end(), end }).filter(|part| part.start < part.end)
    }

    pub fn add(&mut self, part: Part) {
        self.parts.push((part, 0));
    }

    /// The parts that are to become one, and that.
    pub fn joint(&self) -> Option<(Vec<Part>, Part)> {
        let level = self.parts.last()?.1;
        let count = match self.end() >= WHOLE_BYTES {
            true => self.parts.len(),
            false => self.parts.iter().rev().take_while(|(_, other)| *other == level).count(),
        };
        let is_due = count >= JOINED || self.end() >= WHOLE_BYTES && count > 1;
        is_due.then(|| {
            let joined: Vec<Part> =
                self.parts[self.parts.len() - count..].iter().map(|(part, _)| *part).collect();
            let whole = Part { start: joined[0].start, end: self.end() };
            (joined, whole)
        })
    }

    /// They are one.
    pub fn join(&mut self, whole: Part) {
        let level = self.parts.last().map_or(0, |(_, level)| level + 1);
        self.parts.retain(|(part, _)| part.end <= whole.start);
        self.parts.push((whole, level));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(start: u64, end: u64) -> Part {
        Part { start, end }
    }

    #[test]
    fn a_file_is_the_parts_that_lead_furthest() {
        let names = |parts: &[Part]| parts.iter().map(|part| part.name("f.log")).collect::<Vec<_>>();
        let of = |parts: &[Part]| chain("f.log", names(parts).iter().map(String::as_str));
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[part(32, 90)]), []);
        assert_eq!(of(&[part(0, 32), part(32, 90), part(91, 95)]), [part(0, 32), part(32, 90)]);
        // Joined parts beside their whole.
        assert_eq!(of(&[part(0, 90), part(0, 32), part(32, 90), part(90, 91)]), [part(0, 90), part(90, 91)]);
        // What came late and leads nowhere.
        assert_eq!(of(&[part(0, 32), part(32, 80), part(32, 60), part(60, 99)]).last(), Some(&part(60, 99)));
        assert_eq!(file_of(&part(1, 2).name("f.log")), "f.log");
        assert_eq!(file_of("manifest"), "manifest");
    }

    #[test]
    fn parts_become_few_and_cover_the_same() {
        let (mut written, mut sent) = (Written::default(), 0);
        for number in 1..=5000 {
            let next = written.next(number * 100).expect("it grows");
            assert_eq!(next, part((number - 1) * 100, number * 100));
            sent += next.end - next.start;
            written.add(next);
            while let Some((joined, whole)) = written.joint() {
                assert_eq!(
                    (joined[0].start, joined.last().map(|last| last.end)),
                    (whole.start, Some(whole.end))
                );
                sent += whole.end - whole.start;
                written.join(whole);
            }
            assert!(written.parts.len() < 4 * JOINED);
        }
        assert_eq!(written.end(), 500_000);
        assert!(sent < 5 * 500_000, "{sent}");
        written.add(written.next(WHOLE_BYTES).expect("it grows"));
        let (_, whole) = written.joint().expect("it is long enough");
        written.join(whole);
        assert_eq!(whole, part(0, WHOLE_BYTES));
        assert!(written.joint().is_none());
    }
}
