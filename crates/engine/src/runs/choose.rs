//! Which runs are joined: neighbours of about one size, and for each size one join at a time.
//!
//! A join of large runs takes its time (`pacer`); the small ones that come meanwhile are joined beside it.
//!
//! Invariant: a run is in one join at most, from `begin_join` to `end_join`. Callers: `compact`.

use super::{Run, Runs};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// So many neighbours are joined when they are of about one size,
const RUNS_ALIKE: usize = 8;
/// which means that the largest is at most so many times the smallest.
const ALIKE_FACTOR: u64 = 4;
/// One join at a time is made of those whose sizes differ by less: more would only share the time that one has.
const JOINS_DIFFER: u64 = 2;

/// More than so many of the newest runs are joined however different they are.
const RUNS_UNLIKE: usize = 32;
const _: () = assert!(RUNS_ALIKE <= RUNS_UNLIKE, "there are enough to reach back to so many");

/// Runs that are to become one.
pub(super) struct Join {
    pub inputs: Vec<Arc<Run>>,
    pub bytes: u64,
}

impl Join {
    /// The last commit in it.
    pub fn last_lsn(&self) -> u64 {
        self.inputs.last().map_or(0, |run| run.last_lsn)
    }

    /// None of its changes was made before this LSN.
    pub fn low_lsn(&self) -> u64 {
        self.inputs.iter().map(|run| run.low_lsn).min().unwrap_or(0)
    }
}

impl Runs {
    /// The runs to be joined next, if there are too many; they are busy until `end_join`.
    pub(super) fn begin_join(&self) -> Option<Join> {
        let mut joining = self.joining.lock();
        let live = self.live.read();
        let sizes: Vec<Option<u64>> = live.iter().map(|run| run.is_free().then_some(run.bytes)).collect();
        let inputs = live[choose(&sizes, &joining)?].to_vec();
        let bytes = inputs.iter().map(|run| run.bytes).sum();
        debug_assert!(inputs.len() > 1, "one run alone is not joined");
        inputs.iter().for_each(|run| run.is_busy.store(true, Ordering::Release));
        joining.push(bytes);
        Some(Join { inputs, bytes })
    }

    pub(super) fn end_join(&self, join: &Join) {
        for run in &join.inputs {
            let was_busy = run.is_busy.swap(false, Ordering::AcqRel);
            debug_assert!(was_busy, "a run is in one join");
        }
        let mut joining = self.joining.lock();
        let index = joining.iter().position(|bytes| *bytes == join.bytes);
        debug_assert!(index.is_some(), "a join ends once");
        if let Some(index) = index {
            joining.swap_remove(index);
        }
    }
}

impl Run {
    fn is_free(&self) -> bool {
        !self.is_busy.load(Ordering::Acquire) && !self.is_damaged.load(Ordering::Acquire)
    }
}

/// Which of the runs with these sizes, oldest first, to join beside joins of these sizes. Runs without a size cannot be.
/// Entries are written again when there are `RUNS_ALIKE` times as many of them, so seldom, and the runs stay few.
fn choose(sizes: &[Option<u64>], joining: &[u64]) -> Option<Range<usize>> {
    let mut alike = (0..sizes.len().saturating_sub(RUNS_ALIKE - 1)).map(|start| start..start + RUNS_ALIKE);
    alike.find(|range| are_alike(&sizes[range.clone()], joining)).or_else(|| unlike(sizes))
}

fn are_alike(sizes: &[Option<u64>], joining: &[u64]) -> bool {
    let Some(sizes) = sizes.iter().copied().collect::<Option<Vec<u64>>>() else { return false };
    let total: u64 = sizes.iter().sum();
    let differ_by = |one: u64, other: u64, factor: u64| one.max(other) > factor * one.min(other).max(1);
    let (least, most) = (sizes.iter().min().copied(), sizes.iter().max().copied());
    !differ_by(least.unwrap_or(0), most.unwrap_or(0), ALIKE_FACTOR)
        && joining.iter().all(|other| differ_by(total, *other, JOINS_DIFFER))
}

/// With too many of the newest: from the oldest of them on that is no larger than all newer ones together.
fn unlike(sizes: &[Option<u64>]) -> Option<Range<usize>> {
    let free = sizes.iter().rev().map_while(|size| *size).count();
    if free <= RUNS_UNLIKE {
        return None;
    }
    let newer = |start: usize| sizes[start + 1..].iter().flatten().sum();
    let start = (sizes.len() - free..sizes.len())
        .find(|start| sizes[*start].is_some_and(|size| size <= newer(*start)));
    start.map(|start| start.min(sizes.len() - RUNS_ALIKE)..sizes.len())
}

#[cfg(test)]
mod tests {
    use super::super::RUNS_MAX;
    use super::super::pacer::joining_rest;
    use super::*;

    fn free(sizes: &[u64]) -> Vec<Option<u64>> {
        sizes.iter().copied().map(Some).collect()
    }

    #[test]
    fn runs_are_few_and_entries_are_not_written_often() {
        let random = env::sim::SeededRandom::new(5);
        for varies in [false, true] {
            let (mut sizes, mut total, mut written): (Vec<u64>, u64, u64) = (Vec::new(), 0, 0);
            for _ in 0..1000 {
                let size = if varies { 1 + random.below(1000) as u64 } else { 100 };
                sizes.push(size);
                total += size;
                written += size;
                while let Some(range) = choose(&free(&sizes), &[]) {
                    let joined: u64 = sizes[range.clone()].iter().sum();
                    written += joined;
                    sizes.splice(range, [joined]);
                }
                assert!(sizes.len() <= RUNS_UNLIKE, "{sizes:?}");
            }
            assert_eq!(sizes.iter().sum::<u64>(), total);
            assert!(written < total * if varies { 8 } else { 5 }, "{written} of {total}");
        }
    }

    #[test]
    fn runs_that_do_not_grow_are_joined_as_often_as_new_ones_come() {
        let mut sizes = vec![100];
        let mut joined = 0;
        for _ in 0..700 {
            sizes.extend([100]);
            if let Some(range) = choose(&free(&sizes), &[]) {
                joined += range.len();
                // All changed the same rows.
                sizes.splice(range, [100]);
            }
        }
        assert!(joined <= 801 && sizes.len() <= RUNS_ALIKE, "{joined} {sizes:?}");
    }

    #[test]
    fn small_runs_are_joined_beside_large_ones_and_only_once_at_a_time() {
        let busy = [None; 8];
        let small = free(&[100; 8]);
        assert_eq!(choose(&[&busy[..], &small].concat(), &[6_400]), Some(8..16));
        assert_eq!(choose(&[&busy[..], &small].concat(), &[900]), None);
        assert_eq!(choose(&[&small[..4], &busy, &small[..7]].concat(), &[6_400]), None);
    }

    /// A run of the model; while it is being made of eight others, how much of that is done.
    struct Modelled {
        bytes: u64,
        done: Option<f64>,
    }

    #[test]
    fn joins_of_all_sizes_share_each_second_evenly() {
        const STEPS_PER_RUN: u64 = 50;
        const STEPS_PER_SECOND: usize = 10;
        // How much is joined in a step without a rest, and the most of a second that joins may take.
        for (speed, most) in [(400.0, 0.1), (40.0, 0.5)] {
            let mut runs: Vec<Modelled> = Vec::new();
            let mut loads: Vec<f64> = Vec::new();
            for step in 0..STEPS_PER_RUN * 4 * 512 {
                if step % STEPS_PER_RUN == 0 {
                    runs.push(Modelled { bytes: 100, done: None });
                }
                let is_joined = |run: &&Modelled| run.done.is_some();
                let joining: Vec<u64> = runs.iter().filter(is_joined).map(|run| run.bytes).collect();
                let sizes: Vec<_> = runs.iter().map(|run| run.done.is_none().then_some(run.bytes)).collect();
                if let Some(range) = choose(&sizes, &joining) {
                    let bytes = runs[range.clone()].iter().map(|run| run.bytes).sum();
                    runs.splice(range, [Modelled { bytes, done: Some(0.0) }]);
                }
                let count = runs.iter().map(|run| if run.done.is_some() { RUNS_ALIKE } else { 1 }).sum();
                assert!(count <= RUNS_MAX, "{count} runs");
                let (mut load, mut come) = (0.0, 0);
                for run in runs.iter_mut().rev() {
                    if let Some(done) = &mut run.done {
                        let rest =
                            joining_rest(*done / run.bytes as f64, come as f64 / run.bytes as f64, count);
                        load += 1.0 / (1.0 + rest);
                        *done += speed / (1.0 + rest);
                    }
                    run.done = run.done.filter(|done| *done < run.bytes as f64);
                    come += run.bytes;
                }
                loads.push(load);
            }
            let second = |steps: &[f64]| steps.iter().sum::<f64>() / steps.len() as f64;
            let worst = loads.chunks(STEPS_PER_SECOND).map(second).fold(0.0, f64::max);
            eprintln!("speed {speed}: {:.3} on average, {worst:.3} at most", second(&loads));
            assert!(worst <= most, "{worst}");
        }
    }
}
