//! The differences that are known, with their reasons.
//!
//! `known.txt` and `known_types.txt` have a line `template<TAB>cells` with the positions of the cells that differ, as `3 7-9`; a line that
//! begins with `#` is the reason of the lines below it. Invariant: a cell that is listed differs, so the list only
//! shrinks when answers become right.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::difference::Difference;

/// The lists of answers and of types.
const ANSWERS: &str = "known.txt";
const TYPES: &str = "known_types.txt";

/// The cells of one template that differ, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    pub reason: String,
    pub cells: BTreeSet<usize>,
}

#[derive(Debug, Default)]
pub struct KnownDifferences {
    pub templates: BTreeMap<String, Known>,
}

impl KnownDifferences {
    pub fn read(folder: &Path) -> Result<KnownDifferences, String> {
        KnownDifferences::read_file(folder, ANSWERS)
    }

    /// Those of the columns that CREATE TABLE .. SELECT makes.
    pub fn read_types(folder: &Path) -> Result<KnownDifferences, String> {
        KnownDifferences::read_file(folder, TYPES)
    }

    fn read_file(folder: &Path, file: &str) -> Result<KnownDifferences, String> {
        let text = std::fs::read_to_string(folder.join(file)).map_err(|error| format!("{file}: {error}"))?;
        let mut templates = BTreeMap::new();
        let mut reason = String::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(words) = line.strip_prefix('#') {
                words.trim().clone_into(&mut reason);
                continue;
            }
            let wrong = || format!("{file}: {line}");
            let (template, positions) = line.split_once('\t').ok_or_else(wrong)?;
            let mut cells = BTreeSet::new();
            for range in positions.split(' ') {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let bounds = (first.parse::<usize>(), last.parse::<usize>());
                let (Ok(first), Ok(last)) = bounds else { return Err(wrong()) };
                cells.extend(first..=last);
            }
            templates.insert(template.to_owned(), Known { reason: reason.clone(), cells });
        }
        Ok(KnownDifferences { templates })
    }

    /// By reason, then by template.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        self.write_file(folder, ANSWERS)
    }

    pub fn write_types(&self, folder: &Path) -> Result<(), String> {
        self.write_file(folder, TYPES)
    }

    fn write_file(&self, folder: &Path, file: &str) -> Result<(), String> {
        let mut by_reason: BTreeMap<&str, Vec<(&str, &BTreeSet<usize>)>> = BTreeMap::new();
        for (template, known) in self.templates.iter().filter(|(_, known)| !known.cells.is_empty()) {
            by_reason.entry(&known.reason).or_default().push((template, &known.cells));
        }
        let mut text = String::new();
        for (reason, templates) in by_reason {
            text.push_str(&format!("# {reason}\n"));
            for (template, cells) in templates {
                text.push_str(&format!("{template}\t{}\n", ranges(cells)));
            }
        }
        std::fs::write(folder.join(file), text).map_err(|error| error.to_string())
    }

    /// The list for the present differences.
    #[must_use]
    pub fn renewed(&self, differences: &[Difference]) -> KnownDifferences {
        const NO_REASON: &str = "Not yet looked at.";
        let mut list = KnownDifferences::default();
        for difference in differences {
            let old = self.templates.get(difference.template);
            let reason = old.map_or(NO_REASON, |known| known.reason.as_str());
            let entry = list.templates.entry(difference.template.to_owned());
            let entry = entry.or_insert_with(|| Known { reason: reason.to_owned(), ..Known::default() });
            entry.cells.insert(difference.index);
        }
        list
    }

    /// The listed cells that do not differ any more.
    pub fn without(&self, differences: &[Difference]) -> Vec<(String, usize)> {
        let present: BTreeSet<(&str, usize)> =
            differences.iter().map(|difference| (difference.template, difference.index)).collect();
        let listed = self
            .templates
            .iter()
            .flat_map(|(template, known)| known.cells.iter().map(move |cell| (template.as_str(), *cell)));
        let gone = listed.filter(|place| !present.contains(place));
        gone.map(|(template, cell)| (template.to_owned(), cell)).collect()
    }

    pub fn is_known(&self, template: &str, cell: usize) -> bool {
        self.templates.get(template).is_some_and(|known| known.cells.contains(&cell))
    }
}

fn ranges(cells: &BTreeSet<usize>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for cell in cells {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *cell => *last = *cell,
            _ => ranges.push((*cell, *cell)),
        }
    }
    let shown = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_written_as_ranges() {
        assert_eq!(ranges(&BTreeSet::from([1, 2, 3, 7, 9, 10])), "1-3 7 9-10");
        assert_eq!(ranges(&BTreeSet::new()), "");
    }
}
