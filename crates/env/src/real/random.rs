//! The operating system's random numbers.

use crate::Random;

/// getrandom(2).
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            // SAFETY: the pointer and length describe the writable slice `rest`.
            let count = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
            match usize::try_from(count) {
                Ok(count) => rest = &mut rest[count..],
                Err(_) => {
                    let error = std::io::Error::last_os_error();
                    let interrupted = error.kind() == std::io::ErrorKind::Interrupted;
                    assert!(interrupted, "the system has no random numbers: {error}");
                }
            }
        }
    }
}
