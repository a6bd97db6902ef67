//! Option names of other servers of the family that this program does not declare itself.
//!
//! Invariant: every name of mysqld 5.0 to 9.7, Percona Server and MariaDB that `table` lacks stands once in
//! `known_options.txt`, in a group with the reason why it has no effect here. Called by `resolve` and `help`.

const TEXT: &str = include_str!("known_options.txt");

/// The group whose options end the start: what they ask for would be missed.
const REFUSED: &str = "refused";

/// What is known of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub name: &'static str,
    /// Why the option has no effect here, or what to do instead of a refused one.
    pub reason: &'static str,
    pub is_refused: bool,
}

pub(super) fn all() -> impl Iterator<Item = Known> {
    let mut group = ("", "");
    TEXT.lines().filter(|line| !line.starts_with('#')).flat_map(move |line| {
        let names = match line.strip_prefix('[').and_then(|line| line.split_once("] ")) {
            Some(header) => {
                group = header;
                ""
            }
            None => line,
        };
        let (class, reason) = group;
        names.split(' ').filter(|name| !name.is_empty()).map(move |name| Known {
            name,
            reason,
            is_refused: class == REFUSED,
        })
    })
}

pub(super) fn find(name: &str) -> Option<Known> {
    all().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::table::OPTIONS;

    #[test]
    fn every_name_stands_once_with_a_reason() {
        let mut names: Vec<_> = all().map(|known| known.name).collect();
        assert!(names.len() > 1300, "{}", names.len());
        assert!(all().all(|known| known.reason.len() > 10));
        names.extend(OPTIONS.iter().map(|spec| spec.name));
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn names_are_found_with_their_reason() {
        assert_eq!(find("query-cache-size").expect("known").reason, "there is no query cache");
        assert!(find("initialize").expect("known").is_refused);
        assert_eq!(find("query cache"), None);
    }
}
