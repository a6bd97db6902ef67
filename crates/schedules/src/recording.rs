//! Recorded answers as text: a head with the schedule's name, then its lines; and how two recordings are compared.

use std::collections::BTreeMap;

/// The recordings of a file by schedule name.
pub fn read(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut recordings: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = None;
    for line in text.lines() {
        if let Some(found) = line.strip_prefix("== ") {
            name = Some(found.to_owned());
            recordings.entry(found.to_owned()).or_default();
        } else if let Some(name) = &name
            && !line.is_empty()
        {
            recordings.get_mut(name).expect("the head came first").push(line.to_owned());
        }
    }
    recordings
}

pub fn write<'a>(recordings: impl Iterator<Item = (&'a str, &'a [String])>) -> String {
    let mut text = String::new();
    for (name, lines) in recordings {
        text.push_str(&format!("== {name}\n"));
        for line in lines {
            text.push_str(&line.replace('\n', " "));
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

/// What has to be the same in a line: whom a step waits for is told to the reader, but a queue may name its members
/// in another way without any client being able to tell.
fn compared(line: &str) -> &str {
    line.split_once(" | waits").map_or(line, |(step, _)| &line[..step.len() + " | waits".len()])
}

/// The first line that differs, as (expected, found).
pub fn first_difference(expected: &[String], found: &[String]) -> Option<(String, String)> {
    let none = "(nothing)".to_owned();
    for index in 0..expected.len().max(found.len()) {
        let (left, right) = (expected.get(index).unwrap_or(&none), found.get(index).unwrap_or(&none));
        if compared(left) != compared(&right.replace('\n', " ")) {
            return Some((left.clone(), right.clone()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_a_step_waits_for_is_no_difference() {
        let lines = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(first_difference(&lines("a | waits for s1/b"), &lines("a | waits/b")), None);
        let found = first_difference(&lines("a | ok 1/b"), &lines("a | waits"));
        assert_eq!(found, Some(("a | ok 1".to_owned(), "a | waits".to_owned())));
        let found = first_difference(&lines("a/b"), &lines("a"));
        assert_eq!(found, Some(("b".to_owned(), "(nothing)".to_owned())));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let lines = vec!["s1: BEGIN | ok".to_owned(), "t | rows (1)".to_owned()];
        let text = write([("a [RR]", lines.as_slice()), ("b", &[])].into_iter());
        let read = read(&text);
        assert_eq!(read["a [RR]"], lines);
        assert!(read["b"].is_empty());
    }
}
