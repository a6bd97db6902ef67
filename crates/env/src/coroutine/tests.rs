//! Polls that yield, wait, panic, and are dropped half done.
use super::*;
use crate::WaitCause;
use crate::sync::Event;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[global_allocator]
static ALLOCATOR: CountedAllocator<std::alloc::System> = CountedAllocator(std::alloc::System);

fn task(future: impl Future<Output = ()> + 'static) -> Polling {
    Polling::new(Box::pin(future), Waker::noop().clone())
}

fn work_for(duration: Duration) {
    let began = Instant::now();
    loop {
        let is_over = began.elapsed() >= duration;
        yield_point();
        if is_over {
            return;
        }
    }
}

#[test]
fn a_long_poll_is_left_and_goes_on() {
    let sum = Rc::new(Cell::new(0));
    let seen = sum.clone();
    let mut step = poll(task(async move {
        let local = [1, 2, 3];
        for number in local {
            work_for(SLICE * 2);
            seen.set(seen.get() + number);
        }
    }));
    let mut steps = 0;
    while let Step::Yields(left) = step {
        steps += 1;
        step = left.resume();
    }
    assert!(matches!(step, Step::Done(_, Ok(Poll::Ready(())))));
    assert!(steps >= 3, "{steps}");
    assert_eq!(sum.get(), 6);
    assert!(step_stats().longest_us >= 1000);
}

#[test]
fn others_run_while_one_is_half_done() {
    let step = poll(task(async { work_for(SLICE * 3) }));
    assert!(matches!(step, Step::Yields(_)));
    let other = poll(task(std::future::pending()));
    assert!(matches!(other, Step::Done(_, Ok(Poll::Pending))));
    // Dropped, the first runs to its end.
    drop(step);
    assert_eq!(LEFT.get(), 0);
}

#[test]
fn what_a_poll_has_waited_for_stays_with_it() {
    let noted = |cause| TaskWaits::take().map_or(0, |waits| waits.count(cause));
    let step = poll(task(async move {
        crate::note_wait(WaitCause::RowLock, 5);
        work_for(SLICE * 2);
        crate::note_wait(WaitCause::RowLock, 5);
        assert_eq!(noted(WaitCause::RowLock), 2);
    }));
    let Step::Yields(left) = step else { panic!("it works for longer than a slice") };
    let dropped = poll(task(async {
        crate::note_wait(WaitCause::PageRead, 5);
        work_for(SLICE * 2);
    }));
    let other = poll(task(async move {
        crate::note_wait(WaitCause::MetadataLock, 5);
        drop(dropped);
        let waits = TaskWaits::take().expect("it has waited");
        assert_eq!((waits.count(WaitCause::MetadataLock), waits.count(WaitCause::PageRead)), (1, 0));
    }));
    assert!(matches!(other, Step::Done(_, Ok(Poll::Ready(())))));
    let mut step = left.resume();
    while let Step::Yields(left) = step {
        step = left.resume();
    }
    assert!(matches!(step, Step::Done(_, Ok(Poll::Ready(())))));
}

#[test]
fn a_wait_inside_a_poll_ends_when_what_it_waits_for_has_come() {
    let event = Arc::new(Event::new());
    let awaited = event.clone();
    let step = poll(task(async move { assert_eq!(wait(awaited.wait()), Some(())) }));
    let Step::Waits(left) = step else { panic!("nothing has come yet") };
    let step = left.resume();
    let Step::Waits(left) = step else { panic!("nothing has come yet") };
    event.set();
    assert!(matches!(left.resume(), Step::Done(_, Ok(Poll::Ready(())))));
}

#[test]
fn a_wait_that_nobody_resumes_is_refused() {
    assert_eq!(wait(std::future::ready(1)), None, "outside of a poll");
    let refused = Rc::new(Cell::new(false));
    let seen = refused.clone();
    let step = poll(task(async move { seen.set(wait(std::future::pending::<()>()).is_none()) }));
    drop(step);
    assert!(refused.get());
}

#[test]
fn a_panic_ends_the_poll_alone() {
    let step = poll(task(async {
        work_for(SLICE * 2);
        panic!("meant");
    }));
    let mut step = step;
    while let Step::Yields(left) = step {
        step = left.resume();
    }
    assert!(matches!(step, Step::Done(_, Err(_))));
    let step = poll(task(async {}));
    assert!(matches!(step, Step::Done(_, Ok(Poll::Ready(())))));
}

#[test]
fn deep_recursion_has_room() {
    fn depth(left: usize) -> usize {
        let frame = std::hint::black_box([left; 64]);
        if left == 0 { 0 } else { 1 + depth(left - 1) + std::hint::black_box(frame[63] - left) }
    }
    let counted = Rc::new(Cell::new(0));
    let seen = counted.clone();
    drop(poll(task(async move { seen.set(depth(10_000)) })));
    assert_eq!(counted.get(), 10_000);
}

#[test]
fn a_thread_has_as_many_half_done_as_it_has_stacks_for() {
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    let long = || async {
        work_for(SLICE * 2);
        ENDED.fetch_add(1, Ordering::Relaxed);
    };
    let mut left = Vec::new();
    for _ in 0..LEFT_MAX {
        left.push(poll(task(long())));
    }
    assert!(matches!(poll(task(long())), Step::Done(..)), "no room to be half done");
    drop(left);
    assert_eq!(ENDED.load(Ordering::Relaxed), LEFT_MAX + 1);
}

struct SetOnDrop(Rc<Cell<bool>>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

#[test]
fn work_ends_at_a_yield_point_when_it_is_to_end() {
    let (is_to_end, is_dropped, result) =
        (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)), Rc::new(Cell::new(Some(0))));
    let (asked, guard, seen) = (is_to_end.clone(), SetOnDrop(is_dropped.clone()), result.clone());
    let mut step = poll(task(async move {
        let work = || {
            let _guard = guard;
            loop {
                tick(1000);
            }
        };
        seen.set(unless(&|| asked.get(), work));
        assert_eq!(unless(&|| true, || 7), Some(7), "nothing ends without a yield point");
    }));
    for _ in 0..3 {
        let Step::Yields(left) = step else { panic!("it has no end") };
        assert!(!is_dropped.get());
        step = left.resume();
    }
    is_to_end.set(true);
    let Step::Yields(left) = step else { panic!("it has no end") };
    assert!(matches!(left.resume(), Step::Done(_, Ok(Poll::Ready(())))));
    assert!(is_dropped.get());
    assert_eq!(result.get(), None);
}

/// Each level takes a megabyte of stack and gives the thread away at the bottom.
fn nest(depth: usize) -> Pin<Box<dyn Future<Output = usize>>> {
    Box::pin(async move {
        let sum = roomy(Box::pin(async move {
            if depth == 0 {
                work_for(SLICE * 2);
                return 0;
            }
            deep_frame(nest(depth - 1).as_mut())
        }));
        depth + sum.await.expect("the system has memory for stacks")
    })
}

#[inline(never)]
fn deep_frame(future: Pin<&mut dyn Future<Output = usize>>) -> usize {
    let frame = std::hint::black_box([1u8; 1 << 20]);
    let Poll::Ready(sum) = future.poll(&mut Context::from_waker(Waker::noop())) else { return 0 };
    sum + usize::from(frame[sum % frame.len()]) - 1
}

#[test]
#[cfg_attr(miri, ignore = "stacks are switched")]
fn what_nests_deeper_than_a_stack_has_room() {
    let sum = Rc::new(Cell::new(0));
    let seen = sum.clone();
    let mut step = poll(task(async move { seen.set(nest(100).await) }));
    let mut steps = 0;
    while let Step::Yields(left) = step {
        steps += 1;
        step = left.resume();
    }
    assert!(matches!(step, Step::Done(_, Ok(Poll::Ready(())))));
    assert_eq!(sum.get(), 5050);
    assert!(steps >= 1, "{steps}");
    // Outside of coroutines, too.
    let polled = nest(40).as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Ready(820));
}

#[test]
fn what_is_uncounted_is_not_the_tasks() {
    let seen = Rc::new(Cell::new((0, 0)));
    let noted = seen.clone();
    drop(poll(task(async move {
        let own = vec![0u8; 1 << 20];
        let shared = uncounted(|| vec![0u8; 4 << 20]);
        let held = task_bytes();
        uncounted(|| drop(shared));
        noted.set((held, task_bytes()));
        drop(own);
    })));
    let (held, after) = seen.get();
    assert!((1 << 20..2 << 20).contains(&held), "{held}");
    assert!((1 << 20..2 << 20).contains(&after), "{after}");
}
