//! A limit on the disk operations of a server's control group, as the sources' disks had one.
//!
//! Invariant: what was set before is set again when the limit ends. Called by `companion` for measurements.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cgroup::limits_of;
use crate::host::Host;

/// A limit that lasts as long as this value.
#[derive(Debug)]
pub struct Limit {
    /// The files that were written, and what ends the limit in each.
    files: Vec<(PathBuf, String)>,
}

impl Limit {
    /// Allows the server's group so many reads and as many writes per second on the disk of its data.
    pub fn set(host: &Host, operations: u64) -> Result<Self, String> {
        let process = host.server().ok_or(
            "the server's process is not seen on this host, so that its disk operations cannot be limited",
        )?;
        let data = host.data().ok_or("the server does not tell its data directory")?;
        let folder = limits_of(process).ok_or_else(|| {
            format!(
                "process {process} is in the control group of the whole host: start the server in one of its own, \
                 as systemd-run does"
            )
        })?;
        let disk = disk_of(data).ok_or_else(|| format!("the disk of {} is not known", data.display()))?;
        Self::write(&folder, &disk, operations)
    }

    fn write(folder: &Path, disk: &str, operations: u64) -> Result<Self, String> {
        let mut limit = Self { files: Vec::new() };
        let new = folder.join("io.max");
        if new.exists() {
            let before = set_of(&new, disk).unwrap_or_default();
            let kept = |name: &str| {
                let word =
                    before.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
                format!("{name}={}", word.unwrap_or("max"))
            };
            let end = format!("{disk} {} {}", kept("riops"), kept("wiops"));
            limit.put(new, &format!("{disk} riops={operations} wiops={operations}"), end)?;
            return Ok(limit);
        }
        for kind in ["read", "write"] {
            let file = folder.join(format!("blkio.throttle.{kind}_iops_device"));
            // 0 is no limit there.
            let before = set_of(&file, disk).unwrap_or_else(|| "0".into());
            limit.put(file, &format!("{disk} {operations}"), format!("{disk} {before}"))?;
        }
        Ok(limit)
    }

    fn put(&mut self, file: PathBuf, text: &str, end: String) -> Result<(), String> {
        fs::write(&file, text)
            .map_err(|error| format!("{}: {error} (only root may limit)", file.display()))?;
        self.files.push((file, end));
        Ok(())
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        for (file, end) in &self.files {
            // The group may be gone, and its limit with it.
            let _ = fs::write(file, end);
        }
    }
}

/// What the file says about a disk.
fn set_of(file: &Path, disk: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(disk)?.strip_prefix(' ')?.trim().to_owned()))
}

/// The numbers of the disk that a folder lies on; limits are not taken for a part of one.
fn disk_of(folder: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let device = fs::metadata(folder).ok()?.dev();
    let numbers = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let place = fs::canonicalize(Path::new("/sys/dev/block").join(&numbers)).ok()?;
    if !place.join("partition").exists() {
        return Some(numbers);
    }
    Some(fs::read_to_string(place.parent()?.join("dev")).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_before_is_set_again() {
        let folder = std::env::temp_dir().join(format!("evenkeel-limit-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let (old, other) = ("blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device");
        fs::write(folder.join(old), "8:0 50\n254:0 700\n").unwrap();
        fs::write(folder.join(other), "").unwrap();
        let limit = Limit::write(&folder, "254:0", 1600).unwrap();
        assert_eq!([read(old), read(other)], ["254:0 1600", "254:0 1600"]);
        drop(limit);
        assert_eq!([read(old), read(other)], ["254:0 700", "254:0 0"]);
        fs::write(
            folder.join("io.max"),
            "8:0 riops=9 wiops=9\n254:0 rbps=max wbps=max riops=max wiops=500\n",
        )
        .unwrap();
        let limit = Limit::write(&folder, "254:0", 1600).unwrap();
        assert_eq!(read("io.max"), "254:0 riops=1600 wiops=1600");
        drop(limit);
        assert_eq!(read("io.max"), "254:0 riops=max wiops=500");
        fs::remove_dir_all(&folder).unwrap();
        assert!(Limit::write(&folder, "254:0", 1600).unwrap_err().contains("only root"));
    }

    #[test]
    fn a_folder_lies_on_a_disk_or_on_none() {
        if let Some(disk) = disk_of(&std::env::temp_dir()) {
            assert_eq!(disk.split(':').filter(|number| number.parse::<u32>().is_ok()).count(), 2, "{disk}");
        }
    }
}
