//! The known name that a misspelt one most likely meant.

/// Differences beyond this many are no misspelling.
const DISTANCE_MAX: usize = 6;

pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, best) = known.map(|candidate| (distance(name, candidate), candidate)).min()?;
    (distance <= DISTANCE_MAX.min(name.len() / 2)).then_some(best)
}

/// Levenshtein distance, one row at a time.
fn distance(left: &str, right: &str) -> usize {
    let right = right.as_bytes();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, &byte) in left.as_bytes().iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, &other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(byte != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_are_recognised() {
        let known = ["port", "datadir", "innodb-buffer-pool-size"];
        assert_eq!(nearest("innodb-bufer-pool-sise", known.into_iter()), Some("innodb-buffer-pool-size"));
        assert_eq!(nearest("data-dir", known.into_iter()), Some("datadir"));
        assert_eq!(nearest("plugin-load-add", known.into_iter()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
