//! The names of the simulated disk: which are visible, which would survive a crash.
//!
//! Invariant: `durable` plus `pending`, applied in order, equals `visible`. A pending change becomes durable when
//! every directory it touches has been synced; a crash applies any subset of the pending ones.

use super::rng::Rng;
use std::collections::BTreeMap;

/// A file's place in the disk's table; it outlives its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileIndex(pub(super) usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    Directory,
    File(FileIndex),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Namespace {
    visible: BTreeMap<String, Node>,
    durable: BTreeMap<String, Node>,
    pending: Vec<Change>,
    sequence: u64,
}

#[derive(Debug, Clone)]
struct Change {
    sequence: u64,
    edit: Edit,
    /// Directories that must be synced yet.
    unsynced: Vec<String>,
}

#[derive(Debug, Clone)]
enum Edit {
    Insert { path: String, node: Node },
    Remove { path: String },
    Rename { from: String, to: String, node: Node },
}

impl Namespace {
    pub(super) fn get(&self, path: &str) -> Option<Node> {
        self.visible.get(path).copied()
    }

    pub(super) fn has_directory(&self, path: &str) -> bool {
        path.is_empty() || self.get(path) == Some(Node::Directory)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, FileIndex)> {
        self.visible.iter().filter_map(|(path, node)| match node {
            Node::File(index) => Some((path.as_str(), *index)),
            Node::Directory => None,
        })
    }

    /// The names directly inside a directory, sorted.
    pub(super) fn list(&self, directory: &str) -> Vec<String> {
        let inside = |path: &&String| parent(path) == directory;
        self.visible.keys().filter(inside).map(|path| base_name(path).to_string()).collect()
    }

    pub(super) fn insert(&mut self, path: &str, node: Node) {
        self.change(Edit::Insert { path: path.into(), node }, vec![parent(path).into()]);
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.change(Edit::Remove { path: path.into() }, vec![parent(path).into()]);
    }

    pub(super) fn rename(&mut self, from: &str, to: &str, node: Node) {
        let mut unsynced = vec![parent(from).to_string()];
        if parent(to) != parent(from) {
            unsynced.push(parent(to).into());
        }
        self.change(Edit::Rename { from: from.into(), to: to.into(), node }, unsynced);
    }

    fn change(&mut self, edit: Edit, unsynced: Vec<String>) {
        debug_assert!(!unsynced.is_empty(), "a name becomes durable with its directory");
        edit.apply(&mut self.visible);
        self.sequence += 1;
        self.pending.push(Change { sequence: self.sequence, edit, unsynced });
    }

    /// What a sync that starts now will cover.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) fn sync_through(&mut self, directory: &str, sequence: u64) {
        debug_assert!(sequence <= self.sequence, "a sync covers what was changed");
        for change in self.pending.iter_mut().filter(|change| change.sequence <= sequence) {
            change.unsynced.retain(|other| other != directory);
        }
        let durable = &mut self.durable;
        self.pending.retain(|change| {
            let done = change.unsynced.is_empty();
            if done {
                change.edit.apply(durable);
            }
            !done
        });
    }

    pub(super) fn crash(&mut self, rng: &mut Rng) {
        for change in std::mem::take(&mut self.pending) {
            if rng.chance(1, 2) {
                change.edit.apply(&mut self.durable);
            }
        }
        // A file whose directory is lost cannot be reached.
        let survivors = self.durable.clone();
        let reachable = |path: &str| {
            let directory = parent(path);
            directory.is_empty() || survivors.get(directory) == Some(&Node::Directory)
        };
        self.durable.retain(|path, _| reachable(path));
        debug_assert!(self.pending.is_empty(), "after a power cut all names are durable");
        self.visible = self.durable.clone();
    }
}

impl Edit {
    fn apply(&self, names: &mut BTreeMap<String, Node>) {
        match self {
            Self::Insert { path, node } => {
                names.insert(path.clone(), *node);
            }
            Self::Remove { path } => {
                names.remove(path);
            }
            Self::Rename { from, to, node } => {
                if names.get(from) == Some(node) {
                    names.remove(from);
                }
                names.insert(to.clone(), *node);
            }
        }
    }
}

/// The directory part; `""` for names in the root.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Node = Node::File(FileIndex(0));

    #[test]
    fn names_survive_only_when_their_directory_was_synced() {
        let mut outcomes = std::collections::BTreeSet::new();
        for seed in 0..100 {
            let mut names = Namespace::default();
            names.insert("d", Node::Directory);
            names.sync_through("", names.sequence());
            names.insert("d/kept", FILE);
            names.sync_through("d", names.sequence());
            names.rename("d/kept", "d/moved", FILE);
            names.insert("d/new", Node::File(FileIndex(1)));
            names.crash(&mut Rng::new(seed));
            outcomes.insert(names.list("d"));
        }
        let outcomes: Vec<String> = outcomes.iter().map(|names| names.join(" ")).collect();
        assert_eq!(outcomes, ["kept", "kept new", "moved", "moved new"]);
    }

    #[test]
    fn files_in_a_lost_directory_are_lost() {
        for seed in 0..20 {
            let mut names = Namespace::default();
            names.insert("d", Node::Directory);
            names.insert("d/file", FILE);
            names.sync_through("d", names.sequence());
            names.crash(&mut Rng::new(seed));
            assert_eq!(names.get("d/file").is_some(), names.get("d").is_some());
        }
    }
}
