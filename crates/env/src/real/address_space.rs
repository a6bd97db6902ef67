//! How much address space this process may have. Asked by the server before it reserves any for the buffer pool.

/// The limit (`ulimit -v`) in bytes; `None` when there is none.
pub fn address_space_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes to `limit`, which lives until it returns.
    let is_told = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } == 0;
    (is_told && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
