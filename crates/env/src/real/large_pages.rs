//! Pages of 2 MB for the code of this program, and the word that turns such pages off.
//!
//! Code in pages of 4 KB costs a look into the page tables wherever a statement's path jumps to a page that the processor has
//! forgotten; inside a virtual machine each look is twice as long. Invariant: the code's bytes and addresses stay as they
//! were, and no page is writable and executable at once. Caller: the server, once, before it starts threads.

use std::ffi::c_void;
use std::ops::Range;

const LARGE_PAGE_BYTES: usize = 2 << 20;

/// Puts the code of this program into pages of 2 MB as far as they fit into it, and answers how many bytes that are. None when
/// the system refuses; then all is as before.
pub fn code_in_large_pages() -> Option<usize> {
    // Where the system never gives large pages, moving the code would only cost memory.
    let policy = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    if policy.contains("[never]") {
        return None;
    }
    let code = code_of_this_program()?;
    let start = code.start.next_multiple_of(LARGE_PAGE_BYTES);
    let bytes =
        (code.end / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES).checked_sub(start).filter(|bytes| *bytes > 0)?;
    let copy = Copy::of(start as *const u8, bytes)?;
    copy.becomes(start as *mut c_void).then_some(bytes)
}

/// Keeps this process from all large pages that are not yet in use. False when the system refuses.
pub fn refuse_large_pages() -> bool {
    // SAFETY: the call concerns a flag of this process and takes no address.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0 }
}

/// The addresses of the executable segment, which the loader lists first, as the program's own.
fn code_of_this_program() -> Option<Range<usize>> {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _bytes: usize, found: *mut c_void) -> i32 {
        // SAFETY: the loader hands out a valid description for the time of this call, with so many headers behind the pointer.
        let (info, headers) = unsafe {
            let info = &*info;
            (info, std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)))
        };
        let is_code =
            |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0;
        if let Some(header) = headers.iter().find(is_code) {
            let start = (info.dlpi_addr + header.p_vaddr) as usize;
            // SAFETY: the caller below passes a pointer to its own option and waits for the end of the walk.
            unsafe { *found.cast::<Option<Range<usize>>>() = Some(start..start + header.p_memsz as usize) };
        }
        1
    }
    let mut found: Option<Range<usize>> = None;
    // SAFETY: the callback fits the pointer that it gets, which lives until the walk ends.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut found).cast()) };
    found
}

/// A copy of code at another place, aligned to a large page.
struct Copy {
    start: *mut c_void,
    bytes: usize,
}

impl Copy {
    fn of(code: *const u8, bytes: usize) -> Option<Self> {
        // Room for one page more, so that a part of it starts at a multiple of the page; the rest goes back at once.
        let room = bytes + LARGE_PAGE_BYTES;
        // SAFETY: an anonymous private mapping at an address of the kernel's choice conflicts with nothing.
        let place = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), room, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        if place == libc::MAP_FAILED {
            return None;
        }
        let before = (place as usize).next_multiple_of(LARGE_PAGE_BYTES) - place as usize;
        // SAFETY: all addresses lie in the mapping that was just made, which nobody else knows; `code` is readable, as the
        // loader has mapped it and nobody unmaps a program, and does not overlap the new mapping.
        unsafe {
            let start = place.byte_add(before);
            if before > 0 {
                libc::munmap(place, before);
            }
            libc::munmap(start.byte_add(bytes), room - before - bytes);
            let copy = Self { start, bytes };
            if libc::madvise(start, bytes, libc::MADV_HUGEPAGE) != 0 {
                return None;
            }
            std::ptr::copy_nonoverlapping(code, start.cast::<u8>(), bytes);
            // From here on `copy` ends with the mapping when it is dropped.
            (libc::mprotect(start, bytes, libc::PROT_READ | libc::PROT_EXEC) == 0).then_some(copy)
        }
    }

    /// Takes the place of the code. False when the system refuses.
    fn becomes(self, code: *mut c_void) -> bool {
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: the bytes at `code` are equal to those of the copy and nobody writes to either, so a thread that runs
        // there, this one included, finds the same instructions before and after; the kernel exchanges the mappings in one
        // step, and who asks for an address meanwhile waits for it.
        let place = unsafe { libc::mremap(self.start, self.bytes, self.bytes, flags, code) };
        if place == libc::MAP_FAILED {
            return false;
        }
        std::mem::forget(self);
        true
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // SAFETY: exactly the part of the mapping that is left, which nobody uses.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_this_program_is_where_its_functions_are() {
        let code = code_of_this_program().expect("a program has code");
        assert!(code.contains(&(code_of_this_program as *const () as usize)));
    }

    #[test]
    fn a_program_runs_on_in_moved_code() {
        let code = code_of_this_program().expect("a program has code");
        let bytes = || {
            // SAFETY: the loader has mapped the segment readable.
            unsafe { std::slice::from_raw_parts(code.start as *const u8, code.len()) }.to_vec()
        };
        let before = bytes();
        let other = std::thread::spawn(|| {
            (0..1_000_000_u64).fold(0, |sum: u64, number| sum.wrapping_mul(31) ^ number)
        });
        let moved = code_in_large_pages();
        assert_eq!(bytes(), before);
        assert!(moved.is_none_or(|moved| moved % LARGE_PAGE_BYTES == 0 && moved <= code.len()));
        other.join().expect("it does not panic");
    }
}
