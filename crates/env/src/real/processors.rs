//! Which processors the threads of this process run on.
//!
//! Invariant: only a thread that says `stay_on` is bound to one processor. A thread inherits the binding of the thread that
//! starts it, so each that is started later says `roam` first. Callers: the server's workers, and everything here that
//! starts a thread.

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
