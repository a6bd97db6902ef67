//! Runs work on several threads, each with a database of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work` with each of the indexes below `count` and the number of the thread, on one thread for those that have
/// to be alone; the results in order.
pub fn in_parallel_or_alone<R: Send>(
    threads: usize,
    count: usize,
    is_alone: impl Fn(usize) -> bool,
    work: impl Fn(usize, usize) -> R + Sync,
) -> Vec<R> {
    let (alone, together): (Vec<usize>, Vec<usize>) = (0..count).partition(|&index| is_alone(index));
    let mut results: Vec<(usize, R)> = Vec::with_capacity(count);
    for (threads, indexes) in [(threads, together), (1, alone)] {
        results.extend(in_parallel(threads, indexes.len(), |position, thread| {
            (indexes[position], work(indexes[position], thread))
        }));
    }
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Calls `work` with each index below `count` and the number of the thread; the results in order.
pub fn in_parallel<R: Send>(threads: usize, count: usize, work: impl Fn(usize, usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for thread in 0..threads.min(count).max(1) {
            let (next, results, work) = (&next, &results, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let result = work(index, thread);
                    results.lock().expect("no thread panics while it holds this").push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panics while it holds this");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_to_be_alone_is_and_results_keep_their_order() {
        let running = AtomicUsize::new(0);
        let results = in_parallel_or_alone(
            4,
            40,
            |index| index % 5 == 0,
            |index, _| {
                let others = running.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                let others = others.max(running.fetch_sub(1, Ordering::SeqCst) - 1);
                assert!(index % 5 != 0 || others == 0, "{index} has company");
                index
            },
        );
        assert_eq!(results, (0..40).collect::<Vec<_>>());
    }
}
