//! The change from one stack to another: what a function call keeps is saved on the one and taken from the other.
//!
//! Invariant: a saved stack pointer points to what `switch` pushes, in its order; `prepared` lays out the same for a stack that
//! has not run yet. Called by `super` alone.

/// Whether this program can change stacks on this kind of processor.
pub(super) const IS_AVAILABLE: bool = cfg!(target_arch = "x86_64");

/// Saves where this stack is in `*from` and goes on where `to` was saved.
///
/// # Safety
/// `to` was saved by this function or made by `prepared`, is gone on with once, and its stack exists.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn switch(from: *mut *mut u8, to: *mut u8) {
    core::arch::naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Where a new stack begins: calls r13 with r12. It is the outermost frame, which is what the directive tells unwinders.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "sysv64" fn begin() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        "mov rdi, r12",
        "call r13",
        "ud2",
        ".cfi_endproc",
    )
}

/// A stack pointer that `switch` can go to: there `main` runs with `argument`, and never returns.
///
/// # Safety
/// `top` is the end of writable memory of some hundred bytes at least, aligned to 16.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn prepared(
    top: *mut u8,
    main: unsafe extern "sysv64" fn(*mut u8) -> !,
    argument: *mut u8,
) -> *mut u8 {
    // From the lowest: r15, r14, r13, r12, rbx, rbp, the return address, and two words that keep the alignment.
    let words = [
        0,
        0,
        main as *const () as usize,
        argument.expose_provenance(),
        0,
        0,
        begin as *const () as usize,
        0,
        0,
    ];
    // SAFETY: the caller gives room for this, and `top` is aligned for words.
    unsafe {
        let pointer = top.sub(size_of_val(&words));
        pointer.cast::<[usize; 9]>().write(words);
        pointer
    }
}

/// No switch here: nothing is ever prepared.
///
/// # Safety
/// It is not called where `IS_AVAILABLE` is false.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe extern "C" fn switch(_: *mut *mut u8, _: *mut u8) {
    unreachable!("stacks are not changed on this kind of processor")
}

/// As `switch`.
///
/// # Safety
/// It is not called where `IS_AVAILABLE` is false.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn prepared(_: *mut u8, _: unsafe extern "C" fn(*mut u8) -> !, _: *mut u8) -> *mut u8 {
    unreachable!("stacks are not changed on this kind of processor")
}
