//! How many files this process may have open. Asked for by the server before it opens any: clients' sockets count as well, and
//! must not take those that the log needs.

/// Lets this process have as many files open as the system allows at all. Answers how many.
pub fn open_as_many_files_as_possible() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes to `limit`, which lives until it returns.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return None;
    }
    let wanted = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: the call reads `wanted`, which lives until it returns.
    let is_raised = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &wanted) } == 0;
    Some(if is_raised { wanted.rlim_cur } else { limit.rlim_cur })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_limit_is_as_high_as_it_may_be() {
        let first = super::open_as_many_files_as_possible().expect("the system tells");
        assert!(first > 0);
        assert_eq!(super::open_as_many_files_as_possible(), Some(first));
    }
}
