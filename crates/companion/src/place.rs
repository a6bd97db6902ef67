//! Where a folder lies: its file system, the device under that, and how much room there is.
//!
//! Invariant: it only looks; what the kernel does not tell is left empty. Used by `directory_host`.

use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};

/// The file system of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    pub mount_point: String,
    /// As `ext4`.
    pub kind: String,
    /// What is mounted, as `/dev/vda1`.
    pub source: String,
    pub options: String,
    /// `MAJOR:MINOR`, as the kernel names the device below /sys/dev/block.
    pub device: String,
}

/// How full a file system is.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub bytes: u64,
    /// For those who are not root.
    pub bytes_free: u64,
    /// 0: the file system has no fixed number of them.
    pub files: u64,
    pub files_free: u64,
    pub is_read_only: bool,
}

/// The disk under a file system.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    pub name: String,
    /// Unknown for virtual disks, which all say they do.
    pub rotates: Option<bool>,
    /// `write back` or `write through`.
    pub write_cache: String,
    /// The one in use.
    pub scheduler: String,
}

impl Place {
    /// Of a path that exists.
    pub fn of(path: &Path) -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        Self::among(&mounts, path)
    }

    /// The mount with the longest point above the path; of equal ones the last, which hides the others.
    fn among(mounts: &str, path: &Path) -> Option<Self> {
        let all = mounts.lines().filter_map(Self::parse);
        all.filter(|place| path.starts_with(&place.mount_point)).max_by_key(|place| place.mount_point.len())
    }

    /// A line of mountinfo: id, parent, device, root, point, options, tags.. - kind, source, more options.
    fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        Some(Self {
            mount_point: unescaped(left.get(4)?),
            kind: (*right.first()?).to_owned(),
            source: unescaped(right.get(1)?),
            options: format!("{},{}", left.get(5)?, right.get(2).unwrap_or(&"")),
            device: (*left.get(2)?).to_owned(),
        })
    }

    pub fn has_option(&self, name: &str) -> bool {
        self.options.split(',').any(|option| option == name)
    }

    /// The disk, where there is one: not for file systems of the network or of memory.
    pub fn disk(&self) -> Option<Disk> {
        let folder = std::fs::canonicalize(format!("/sys/dev/block/{}", self.device)).ok()?;
        // A partition has no queue of its own.
        let whole = if folder.join("queue").is_dir() { folder } else { folder.parent()?.to_owned() };
        let read = |name: &str| {
            std::fs::read_to_string(whole.join("queue").join(name))
                .map(|text| text.trim().to_owned())
                .unwrap_or_default()
        };
        let scheduler = read("scheduler");
        let chosen = scheduler.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let name = whole.file_name()?.to_string_lossy().into_owned();
        let is_virtual = name.starts_with("vd") || name.starts_with("xvd");
        Some(Disk {
            name,
            rotates: (!is_virtual).then(|| read("rotational") == "1"),
            write_cache: read("write_cache"),
            scheduler: chosen.map_or(scheduler.clone(), |(chosen, _)| chosen.to_owned()),
        })
    }
}

/// How much room there is at a path that exists.
pub fn room(path: &Path) -> Option<Room> {
    let found = statvfs(path).ok()?;
    Some(Room {
        bytes: found.f_blocks * found.f_frsize,
        bytes_free: found.f_bavail * found.f_frsize,
        files: found.f_files,
        files_free: found.f_favail,
        is_read_only: found.f_flag.contains(StatVfsMountFlags::RDONLY),
    })
}

/// The nearest folder above a path that exists.
pub fn existing(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = absolute.ancestors().find(|folder| folder.exists()).map(Path::to_owned);
    found.map_or_else(|| PathBuf::from("/"), |folder| std::fs::canonicalize(&folder).unwrap_or(folder))
}

/// The kernel writes a space as `\040`.
fn unescaped(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.as_bytes();
    while let Some((first, rest)) = bytes.split_first() {
        let code = rest.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                out.push(byte);
                bytes = &rest[3..];
            }
            _ => {
                out.push(*first);
                bytes = rest;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
        40 27 0:44 / /srv/my\\040data rw shared:7 - nfs4 host:/export rw,hard\n\
        41 27 0:45 / /srv rw - tmpfs none rw\n";

    #[test]
    fn the_mount_above_a_path_is_the_longest() {
        let kind = |path: &str| Place::among(MOUNTS, Path::new(path)).map(|place| place.kind);
        assert_eq!(kind("/var/lib/evenkeel").as_deref(), Some("ext4"));
        assert_eq!(kind("/srv/other").as_deref(), Some("tmpfs"));
        assert_eq!(kind("/srv/my data/1").as_deref(), Some("nfs4"));
        assert!(
            Place::among(MOUNTS, Path::new("/srv/my data")).is_some_and(|place| place.has_option("hard"))
        );
    }

    #[test]
    fn a_folder_that_is_not_there_yet_lies_where_its_parent_does() {
        let here = std::env::temp_dir();
        assert_eq!(existing(&here.join("not/there/yet")), std::fs::canonicalize(&here).unwrap());
        assert!(room(&here).is_some_and(|room| room.bytes > 0));
    }
}
