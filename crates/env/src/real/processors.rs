//! Which processors the threads of this process run on, and what those do.
//!
//! Invariant: only a thread that says `stay_on` is bound to one processor. A thread inherits the binding of the thread that
//! starts it, so each that is started later says `roam` first. Callers: the server's workers, and everything here that
//! starts a thread.

use crate::{ProcessorTimes, Processors};
use std::sync::OnceLock;

/// What the process was given when it was first asked for.
static ALLOWED: OnceLock<Option<libc::cpu_set_t>> = OnceLock::new();

/// The numbers of the processors that this process may use, ascending; empty when the system does not say. Call it before the
/// first `stay_on`.
pub fn allowed_processors() -> Vec<usize> {
    let Some(set) = allowed() else { return Vec::new() };
    // SAFETY: `CPU_ISSET` reads one bit of the set, and every number asked for lies in it.
    (0..libc::CPU_SETSIZE as usize).filter(|number| unsafe { libc::CPU_ISSET(*number, set) }).collect()
}

/// Binds this thread to one processor. False when the system refuses; the thread then runs anywhere, as before.
pub fn stay_on(processor: usize) -> bool {
    assert!(processor < libc::CPU_SETSIZE as usize, "processor {processor} cannot be named");
    allowed();
    let mut set = empty();
    // SAFETY: the number lies in the set, as was just checked.
    unsafe { libc::CPU_SET(processor, &mut set) };
    set_affinity(&set)
}

/// Lets this thread run on all processors of the process, whoever started it.
pub fn roam() {
    // Nobody is bound before somebody asked.
    if let Some(Some(set)) = ALLOWED.get() {
        set_affinity(set);
    }
}

/// The machine's processors as the system counts them.
pub struct SystemProcessors;

impl Processors for SystemProcessors {
    fn times(&self) -> ProcessorTimes {
        let present = allowed_processors();
        let usable = std::thread::available_parallelism().map_or(1, usize::from).min(present.len().max(1));
        let idle_us = std::fs::read_to_string("/proc/stat").ok().and_then(|text| idle_us(&text, &present));
        ProcessorTimes { idle_us, own_us: own_us(), present: present.len() as u64, usable: usable as u64 }
    }
}

/// What this process has used, in user mode and in the kernel.
fn own_us() -> u64 {
    // SAFETY: the structure consists of integers, for which all zeros are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer describes the writable structure.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) } != 0 {
        return 0;
    }
    let us = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    us(usage.ru_utime) + us(usage.ru_stime)
}

/// Adds up the idle time of these processors, waits for the disk included (proc(5), `/proc/stat`: the fourth and the fifth
/// figure of each processor's line, in ticks).
fn idle_us(text: &str, processors: &[usize]) -> Option<u64> {
    // SAFETY: asks for a constant of the system.
    let ticks_per_s =
        u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|ticks| *ticks > 0)?;
    let mut ticks = 0;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let number =
            words.next().and_then(|word| word.strip_prefix("cpu")).and_then(|word| word.parse().ok());
        if number.is_some_and(|number| processors.contains(&number)) {
            let figures: Vec<u64> = words.skip(3).take(2).filter_map(|word| word.parse().ok()).collect();
            let [idle, waiting] = figures[..] else { return None };
            ticks += idle + waiting;
        }
    }
    Some(ticks * 1_000_000 / ticks_per_s)
}

fn allowed() -> Option<&'static libc::cpu_set_t> {
    let ask = || {
        let mut set = empty();
        // SAFETY: the pointer and the size describe the writable set.
        let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
        (result == 0).then_some(set)
    };
    ALLOWED.get_or_init(ask).as_ref()
}

fn empty() -> libc::cpu_set_t {
    // SAFETY: the set is an array of integers, for which all zeros is the empty set.
    unsafe { std::mem::zeroed() }
}

fn set_affinity(set: &libc::cpu_set_t) -> bool {
    // SAFETY: the pointer and the size describe the readable set; 0 is the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mine() -> Vec<usize> {
        let mut set = empty();
        // SAFETY: the pointer and the size describe the writable set.
        assert_eq!(unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) }, 0);
        // SAFETY: every number lies in the set.
        (0..libc::CPU_SETSIZE as usize).filter(|number| unsafe { libc::CPU_ISSET(*number, &set) }).collect()
    }

    #[test]
    fn idle_time_is_that_of_our_processors() {
        let text = "cpu  9 9 9 9 9 9 9 0 0 0\ncpu0 1 2 3 100 20 5 6 0 0 0\ncpu1 1 2 3 7000 1 5 6 0 0 0\n\
                    cpu12 1 2 3 40000 1 5 6 0 0 0\nintr 1 2\n";
        // SAFETY: asks for a constant of the system.
        let tick_us = 1_000_000 / u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap();
        assert_eq!(idle_us(text, &[0, 12]), Some((120 + 40_001) * tick_us));
        assert_eq!(idle_us("cpu0 1 2", &[0]), None);
    }

    #[test]
    fn work_is_counted_as_ours() {
        let before = SystemProcessors.times();
        assert!(before.usable >= 1 && before.present >= before.usable);
        let work_us = || own_us().saturating_sub(before.own_us);
        while work_us() < 20_000 {
            std::hint::black_box((0..10_000).fold(0u64, |sum, number| sum ^ number));
        }
        assert!(SystemProcessors.times().own_us >= before.own_us + 20_000);
    }

    #[test]
    fn a_bound_thread_stays_and_those_it_starts_may_roam() {
        let all = allowed_processors();
        assert!(!all.is_empty());
        let home = *all.last().expect("there is one");
        let bound = std::thread::spawn(move || {
            assert!(stay_on(home));
            let heir = std::thread::spawn(|| {
                let inherited = mine();
                roam();
                (inherited, mine())
            });
            (mine(), heir.join().expect("it does not panic"))
        });
        let (bound, (inherited, roaming)) = bound.join().expect("it does not panic");
        assert_eq!(bound, [home]);
        assert_eq!(inherited, [home]);
        assert_eq!(roaming, all);
    }
}
