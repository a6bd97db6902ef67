//! Option files in the form of my.cnf.
//!
//! Read: the groups [mysqld], [mysqld-9.7], [server] and [evenkeel]; `name`, `name = value`, quoted values, the escapes of
//! mysqld, comments, `!include file` and `!includedir directory`. Invariant: an error names file and line.
//! Called by `settings`.

use std::fs;
use std::path::{Path, PathBuf};

const GROUPS: &[&str] = &["mysqld", "mysqld-9.7", "server", "evenkeel"];
/// Files may include files; a circle ends here.
const DEPTH_MAX: usize = 10;

/// One option of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileOption {
    pub name: String,
    pub value: Option<String>,
    /// `file:line`, for messages.
    pub place: String,
}

pub(super) fn read(path: &Path) -> Result<Vec<FileOption>, String> {
    let mut options = Vec::new();
    read_into(path, 0, &mut options)?;
    Ok(options)
}

fn read_into(path: &Path, depth: usize, options: &mut Vec<FileOption>) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("{}: files include each other more than {DEPTH_MAX} deep", path.display()));
    }
    let bytes = fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8 text", path.display()))?;
    // Whether the group is ours, once there is one.
    let mut in_group = None;
    for (index, line) in text.lines().enumerate() {
        let place = format!("{}:{}", path.display(), index + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(directive) = line.strip_prefix('!') {
            include(directive, path, &place, depth, options)?;
        } else if let Some(group) = line.strip_prefix('[') {
            let name = group.split(']').next().unwrap_or(group);
            in_group = Some(GROUPS.contains(&name.trim()));
        } else if in_group.is_none() {
            return Err(format!("{place}: an option stands before the first group; write [mysqld] above it"));
        } else if in_group == Some(true) {
            let (name, value) = match line.split_once('=') {
                Some((name, value)) => (name, Some(read_value(value))),
                None => (strip_comment(line), None),
            };
            options.push(FileOption { name: name.trim().to_owned(), value, place });
        }
    }
    Ok(())
}

fn include(
    directive: &str,
    from: &Path,
    place: &str,
    depth: usize,
    options: &mut Vec<FileOption>,
) -> Result<(), String> {
    let base = from.parent().unwrap_or(Path::new("."));
    let (word, argument) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
    let target = base.join(argument.trim());
    match word {
        "include" => read_into(&target, depth + 1, options),
        "includedir" => {
            let entries = fs::read_dir(&target)
                .map_err(|error| format!("{place}: cannot list {}: {error}", target.display()))?;
            let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            files.retain(|file| file.extension().is_some_and(|ending| ending == "cnf"));
            files.sort();
            files.iter().try_for_each(|file| read_into(file, depth + 1, options))
        }
        _ => Err(format!("{place}: '!{word}' is neither !include nor !includedir")),
    }
}

fn read_value(raw: &str) -> String {
    let raw = raw.trim();
    let quoted = raw.chars().next().filter(|quote| matches!(quote, '"' | '\''));
    let inner = match quoted.and_then(|quote| Some((quote, raw[1..].find(quote)?))) {
        Some((_, end)) => &raw[1..=end],
        None => strip_comment(raw).trim_end(),
    };
    unescape(inner)
}

/// Only `#` begins a comment behind a value, as in mysqld.
fn strip_comment(text: &str) -> &str {
    text.split_once('#').map_or(text, |(before, _)| before)
}

fn unescape(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let replaced = match (character, characters.peek()) {
            ('\\', Some('b')) => '\u{8}',
            ('\\', Some('t')) => '\t',
            ('\\', Some('n')) => '\n',
            ('\\', Some('r')) => '\r',
            ('\\', Some('\\')) => '\\',
            ('\\', Some('s')) => ' ',
            _ => {
                result.push(character);
                continue;
            }
        };
        characters.next();
        result.push(replaced);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, text).expect("writable");
        path
    }

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("evenkeel-option-file-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("conf.d")).expect("writable");
        path
    }

    #[test]
    fn groups_values_and_includes_are_read() {
        let here = directory("read");
        write(&here.join("conf.d"), "b.cnf", "[evenkeel]\nport=2\n");
        write(&here.join("conf.d"), "a.cnf", "[mysqld]\nport=1\n");
        write(&here.join("conf.d"), "c.txt", "[mysqld]\nport=3\n");
        let main = write(
            &here,
            "my.cnf",
            "# comment\n[client]\nport=9\n[mysqld]\nskip-log-bin\n socket = \"/tmp/a b#c\" # why\n\
             sql_mode=a\\sb # c\n!includedir conf.d\n[ mysqld ]\nuser=x\n[mysql]\nuser=y\n",
        );
        let options = read(&main).expect("readable");
        let pairs: Vec<_> =
            options.iter().map(|option| (option.name.as_str(), option.value.as_deref())).collect();
        assert_eq!(
            pairs,
            [
                ("skip-log-bin", None),
                ("socket", Some("/tmp/a b#c")),
                ("sql_mode", Some("a b")),
                ("port", Some("1")),
                ("port", Some("2")),
                ("user", Some("x")),
            ]
        );
        assert!(options[0].place.ends_with("my.cnf:5"), "{}", options[0].place);
        fs::remove_dir_all(here).expect("removable");
    }

    #[test]
    fn mistakes_name_their_place() {
        let here = directory("mistakes");
        let circle = write(&here, "circle.cnf", "!include circle.cnf\n");
        assert!(read(&circle).expect_err("endless").contains("include each other"));
        let unknown = write(&here, "unknown.cnf", "\n!import x\n");
        assert!(read(&unknown).expect_err("no such directive").contains("unknown.cnf:2"));
        let outside = write(&here, "outside.cnf", "# comment\nport=9\n[mysqld]\n");
        assert!(read(&outside).expect_err("no group").contains("outside.cnf:2"));
        assert!(read(&here.join("absent.cnf")).expect_err("absent").contains("absent.cnf"));
        fs::remove_dir_all(here).expect("removable");
    }
}
