//! Which backup files may go, and which log the others still need.
//!
//! Invariants: what a kept backup continues is kept too, and files go in an order in which no increment is ever left without its base.
//! An archive that was told what backups need (`needed-from`) removes nothing behind that, however old; while that cannot be read it
//! removes nothing. Called by the program's `prune`; `folder` asks before it removes.

use crate::ArchiveError;
use engine::BackupHead;
use env::{Disk, IoBuf, OpenOptions};
use std::collections::BTreeSet;

const NEEDED: &str = "needed-from";
const NEW_NEEDED: &str = "needed-from.new";
const TITLE: &str = "evenkeel log needed from ";

/// What is to be kept; what neither asks for may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepRule {
    /// So many of the newest backups.
    pub newest: usize,
    /// Those that were begun at this time or later, in microseconds since 1970; `None`: no such rule.
    pub since_us: Option<u64>,
}

/// Backups by their place in the list that was given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Retention {
    /// Which the rule asks for.
    pub asked_for: Vec<usize>,
    /// Which those continue, beside them.
    pub bases: Vec<usize>,
    /// Which may go, in the order in which they have to.
    pub removed: Vec<usize>,
    /// Increments whose base is not there: they cannot be restored. They are left alone.
    pub orphans: Vec<usize>,
}

impl Retention {
    /// Decides about backups.
    pub fn of(heads: &[BackupHead], rule: KeepRule) -> Retention {
        let find = |id: u64| heads.iter().position(|head| head.id == id);
        let is_whole = |index: usize| {
            let mut at = heads[index];
            // A chain is no longer than the list.
            for _ in 0..=heads.len() {
                match at.base {
                    0 => return true,
                    base => match find(base) {
                        Some(found) => at = heads[found],
                        None => return false,
                    },
                }
            }
            false
        };
        let (mut whole, orphans): (Vec<usize>, Vec<usize>) =
            (0..heads.len()).partition(|index| is_whole(*index));
        whole.sort_by_key(|index| std::cmp::Reverse(heads[*index].begun_us));
        let is_young = |index: usize| rule.since_us.is_some_and(|since| heads[index].begun_us >= since);
        let asked_for: Vec<usize> = whole
            .iter()
            .enumerate()
            .filter(|(age, index)| *age < rule.newest || is_young(**index))
            .map(|(_, index)| *index)
            .collect();
        // Orphans may still be of use to somebody who has their base elsewhere.
        let mut kept: BTreeSet<usize> = asked_for.iter().chain(&orphans).copied().collect();
        let mut open: Vec<usize> = kept.iter().copied().collect();
        while let Some(index) = open.pop() {
            open.extend(find(heads[index].base).filter(|base| kept.insert(*base)));
        }
        let is_base =
            |index: &usize| kept.contains(index) && !asked_for.contains(index) && !orphans.contains(index);
        let bases = whole.iter().copied().filter(is_base).collect();
        let removed = whole.iter().copied().filter(|index| !kept.contains(index)).collect();
        let told = Retention { asked_for, bases, removed, orphans };
        let lists = [&told.asked_for, &told.bases, &told.removed, &told.orphans];
        debug_assert_eq!(
            lists.map(Vec::len).iter().sum::<usize>(),
            heads.len(),
            "each backup is told of once"
        );
        told
    }

    /// From where on a restore of one of the kept backups may need the log.
    pub fn log_needed_from(&self, heads: &[BackupHead]) -> Option<u64> {
        let kept = self.asked_for.iter().chain(&self.bases).chain(&self.orphans);
        kept.map(|index| heads[*index].from_lsn).min()
    }
}

fn encode(lsn: u64) -> String {
    let body = format!("{TITLE}{lsn}\n");
    format!("{body}checksum {}\n", crc_fast::crc32_iscsi(body.as_bytes()))
}

fn decode(text: &str) -> Option<u64> {
    let lsn = text.strip_prefix(TITLE)?.lines().next()?.parse().ok()?;
    (encode(lsn) == text).then_some(lsn)
}

/// Tells an archive that backups need its log from here on. A server that writes there sees it with the next removal.
pub async fn keep_log_from(disk: &dyn Disk, lsn: u64) -> Result<(), ArchiveError> {
    Ok(env::replace_file(disk, "", NEEDED, NEW_NEEDED, encode(lsn).as_bytes()).await?)
}

/// From where on backups need the log: `u64::MAX` if nobody has said so, 0 if what was said cannot be read.
pub(crate) async fn needed_from(disk: &dyn Disk) -> u64 {
    let file = match disk.open(NEEDED, OpenOptions::existing()).await {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return u64::MAX,
        Err(_) => return 0,
    };
    let Ok(length) = file.len().await else { return 0 };
    let (bytes, result) = file.read_at(0, IoBuf::zeroed(length.clamp(1, 4096) as usize)).await;
    let text = result.ok().and_then(|()| std::str::from_utf8(bytes.as_slice()).ok());
    text.and_then(decode).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::ChangePoint;

    fn head(id: u64, base: u64) -> BackupHead {
        BackupHead {
            id,
            base,
            point: ChangePoint { map: 1, number: id },
            log_id: 1,
            page_size_bytes: 8192,
            segment_bytes: 1 << 20,
            from_lsn: id * 1000,
            begun_us: id * 10,
            pages_total: 1,
            is_partial: base != 0,
        }
    }

    /// Two fulls with increments, the second with a branch, and an increment of a file that is gone.
    fn all() -> Vec<BackupHead> {
        vec![head(1, 0), head(2, 1), head(3, 2), head(4, 0), head(5, 4), head(6, 4), head(7, 99)]
    }

    fn decided(newest: usize, since_us: Option<u64>) -> (Vec<usize>, Vec<usize>, Vec<usize>) {
        let retention = Retention::of(&all(), KeepRule { newest, since_us });
        assert_eq!(retention.orphans, [6]);
        let Retention { asked_for, bases, removed, .. } = retention;
        (asked_for, bases, removed)
    }

    #[test]
    fn what_a_kept_backup_continues_is_kept() {
        assert_eq!(decided(1, None), (vec![5], vec![3], vec![4, 2, 1, 0]));
        assert_eq!(decided(2, None), (vec![5, 4], vec![3], vec![2, 1, 0]));
        assert_eq!(decided(4, None), (vec![5, 4, 3, 2], vec![1, 0], vec![]));
        assert_eq!(decided(1, Some(30)), (vec![5, 4, 3, 2], vec![1, 0], vec![]));
        assert_eq!(decided(0, Some(1000)), (vec![], vec![], vec![5, 4, 3, 2, 1, 0]));
    }

    #[test]
    fn no_increment_is_ever_without_its_base_while_files_go() {
        let heads = all();
        for newest in 0..7 {
            let retention = Retention::of(&heads, KeepRule { newest, since_us: None });
            let mut there: BTreeSet<u64> = heads.iter().map(|head| head.id).collect();
            for index in &retention.removed {
                there.remove(&heads[*index].id);
                let is_whole =
                    |head: &BackupHead| head.base == 0 || head.base == 99 || there.contains(&head.base);
                assert!(heads.iter().filter(|head| there.contains(&head.id)).all(is_whole));
            }
            let needed = retention.log_needed_from(&heads);
            assert_eq!(
                needed,
                if newest == 0 { Some(7000) } else { Some(if newest < 4 { 4000 } else { 1000 }) }
            );
        }
    }

    #[test]
    fn what_is_needed_comes_back_and_damage_is_noticed() {
        let text = encode(12_345);
        assert_eq!(decode(&text), Some(12_345));
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert_eq!(std::str::from_utf8(&bytes).ok().and_then(decode), None, "byte {at}");
            assert_eq!(decode(&text[..at]), None);
        }
    }
}
