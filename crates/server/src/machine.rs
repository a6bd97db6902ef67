//! What the machine has: memory, as far as this program may use it. Read once at start by `start`.

use std::path::Path;

const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// The machine's memory or the limit of a control group that the program is in, whichever is less; 0 when the kernel does not say.
pub(crate) fn memory_bytes() -> u64 {
    let total = total_memory_bytes();
    match control_group_bytes() {
        Some(limit) if total == 0 || limit < total => limit,
        _ => total,
    }
}

fn total_memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

/// The least limit of the program's group and the groups that this is in.
fn control_group_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    let folder = Path::new(CONTROL_GROUPS).join(group.trim_start_matches('/'));
    let folders = folder.ancestors().take_while(|folder| folder.starts_with(CONTROL_GROUPS));
    folders.filter_map(|folder| limit_of(&folder.join("memory.max"))).min()
}

/// `max` is none.
fn limit_of(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_at_most_the_machines() {
        assert!(memory_bytes() <= total_memory_bytes());
    }

    #[test]
    fn a_limit_is_read_and_no_limit_is_none() {
        let folder = std::env::temp_dir().join(format!("evenkeel-machine-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("memory.max");
        for (text, expected) in [("629145600\n", Some(629_145_600)), ("max\n", None)] {
            std::fs::write(&file, text).expect("written");
            assert_eq!(limit_of(&file), expected);
        }
        std::fs::remove_dir_all(folder).expect("removed");
        assert_eq!(limit_of(&file), None);
    }
}
