//! What the order of tasks promises, seen by tasks.

use std::sync::mpsc;
use std::time::Duration;

use super::queues::{SHARE, SHARE_OF_PARKED, TURN};
use super::*;

type Order = Rc<RefCell<Vec<&'static str>>>;

/// Runs this on a set of its own, until it ends.
fn run(main: impl Future<Output = ()>) {
    env::local::block_on(run_beside(main, || ()));
}

/// Ready at its second poll, which another wakes.
fn once_woken(wakers: &Rc<RefCell<Vec<Waker>>>) -> impl Future<Output = ()> + use<> {
    let (wakers, mut is_second) = (wakers.clone(), false);
    poll_fn(move |context| {
        if std::mem::replace(&mut is_second, true) {
            return Poll::Ready(());
        }
        wakers.borrow_mut().push(context.waker().clone());
        Poll::Pending
    })
}

/// Wakes itself each time it is polled and counts; not for ever, so that a test of who waits for it fails and does not hang.
fn always_runnable(polls: Rc<Cell<usize>>) -> impl Future<Output = ()> {
    poll_fn(move |context| {
        polls.set(polls.get() + 1);
        if polls.get() > 100 * TURN {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// Ends when the tasks that have been spawned before it have had some turns.
async fn some_turns() {
    for _ in 0..3 {
        let (ended, end) = tokio::sync::oneshot::channel();
        spawn(async move {
            env::yield_now().await;
            let _ = ended.send(());
        });
        let _ = end.await;
    }
}

#[test]
fn who_has_begun_goes_first() {
    let order = Order::default();
    let seen = order.clone();
    run(async move {
        let wakers = Rc::default();
        for (name, is_begun) in [("new", false), ("begun", true), ("new too", false), ("begun too", true)] {
            let (order, woken) = (order.clone(), once_woken(&wakers));
            spawn(async move {
                set_begun(is_begun);
                woken.await;
                order.borrow_mut().push(name);
            });
        }
        some_turns().await;
        wakers.take().into_iter().for_each(Waker::wake);
        some_turns().await;
    });
    assert_eq!(*seen.borrow(), ["begun", "begun too", "new", "new too"]);
}

#[test]
fn who_has_yielded_comes_last_but_gets_a_part_of_the_polls() {
    let polls = Rc::new(Cell::new(0));
    let at = Rc::new(Cell::new(None));
    let (counted, found) = (polls.clone(), at.clone());
    run(async move {
        let (ended, end) = tokio::sync::oneshot::channel();
        let count = polls.clone();
        spawn(async move {
            env::yield_now().await;
            at.set(Some(count.get()));
            let _ = ended.send(());
        });
        for is_begun in [true, false, true, false] {
            let runnable = always_runnable(polls.clone());
            spawn(async move {
                set_begun(is_begun);
                runnable.await;
            });
        }
        let _ = end.await;
    });
    let before = found.get().expect("it was polled");
    // The rest of the turn in which it yields, and the polls of the next before its own.
    assert!((TURN..TURN + SHARE).contains(&before), "{before} polls before, {} in all", counted.get());
}

#[test]
fn who_begins_something_gets_a_part_of_the_polls() {
    let polls = Rc::new(Cell::new(0));
    let at = Rc::new(Cell::new(None));
    let (counted, found) = (polls.clone(), at.clone());
    run(async move {
        let wakers = Rc::default();
        let woken = once_woken(&wakers);
        let (ended, end) = tokio::sync::oneshot::channel();
        let count = polls.clone();
        spawn(async move {
            set_begun(false);
            woken.await;
            at.set(Some(count.get()));
            let _ = ended.send(());
        });
        some_turns().await;
        for _ in 0..4 {
            spawn(always_runnable(polls.clone()));
        }
        wakers.take().into_iter().for_each(Waker::wake);
        let _ = end.await;
    });
    let before = found.get().expect("it was polled");
    assert!(before < SHARE, "{before} polls before, {} in all", counted.get());
}

/// Also while others are in the middle of something all the time.
#[test]
fn who_waits_for_a_slice_comes_last_but_gets_a_part_of_the_polls() {
    let polls = Rc::new(Cell::new(0));
    let at = Rc::new(Cell::new(None));
    let (counted, found) = (polls.clone(), at.clone());
    run(async move {
        for is_begun in [true, false] {
            let runnable = always_runnable(polls.clone());
            spawn(async move {
                set_begun(is_begun);
                runnable.await;
            });
        }
        some_turns().await;
        let (ended, end) = tokio::sync::oneshot::channel();
        spawn(async move {
            polls.set(0);
            next_slice().await;
            at.set(Some(polls.get()));
            let _ = ended.send(());
        });
        let _ = end.await;
    });
    let before = found.get().expect("it was polled");
    assert!((1..SHARE_OF_PARKED).contains(&before), "{before} polls before, {} in all", counted.get());
}

#[test]
fn who_waits_for_a_slice_goes_behind_who_begins_and_who_yields_behind_both() {
    let order = Order::default();
    let seen = order.clone();
    run(async move {
        let wakers = Rc::default();
        let (parks, yields) = (order.clone(), order.clone());
        let (ended, end) = tokio::sync::oneshot::channel();
        spawn(async move {
            next_slice().await;
            parks.borrow_mut().push("parked");
            let _ = ended.send(());
        });
        spawn(async move {
            env::yield_now().await;
            yields.borrow_mut().push("yielded");
        });
        let (begins, woken) = (order.clone(), once_woken(&wakers));
        spawn(async move {
            set_begun(false);
            woken.await;
            begins.borrow_mut().push("new");
        });
        let waking = wakers.clone();
        spawn(async move { waking.take().into_iter().for_each(Waker::wake) });
        let _ = end.await;
    });
    assert_eq!(*seen.borrow(), ["new", "parked", "yielded"]);
}

#[test]
fn a_slice_ends_after_some_commands_when_another_task_could_run() {
    let seen = Rc::new(Cell::new([false; 4]));
    let found = seen.clone();
    run(async move {
        let is_alone = !has_had_slice(COMMANDS_PER_SLICE);
        let (ended, end) = tokio::sync::oneshot::channel();
        spawn(async move {
            let is_alone = is_alone && !has_had_slice(COMMANDS_PER_SLICE);
            spawn(async {});
            let is_short = !has_had_slice(COMMANDS_PER_SLICE - 1);
            let is_full = has_had_slice(COMMANDS_PER_SLICE);
            for _ in 0..COMMANDS_PER_ROUND / 2 {
                spawn(next_slice());
            }
            env::yield_now().await;
            next_slice().await;
            // Many were parked before this one and are still there, so a round of full slices would take long.
            seen.set([is_alone, is_short, is_full, has_had_slice(2) && !has_had_slice(1)]);
            let _ = ended.send(());
        });
        let _ = end.await;
    });
    assert_eq!(found.get(), [true; 4]);
}

#[test]
fn a_slice_ends_early_when_its_command_has_yielded() {
    let seen = Rc::new(Cell::new([false; 3]));
    let found = seen.clone();
    run(async move {
        let (ended, end) = tokio::sync::oneshot::channel();
        spawn(always_runnable(Rc::default()));
        spawn(async move {
            let before = !has_had_slice(1);
            env::yield_now().await;
            let after = has_had_slice(1);
            next_slice().await;
            seen.set([before, after, !has_had_slice(1)]);
            let _ = ended.send(());
        });
        let _ = end.await;
    });
    assert_eq!(found.get(), [true; 3]);
}

/// With tasks that are always runnable, what another thread wakes is seen before the next poll.
#[test]
fn what_another_thread_wakes_does_not_wait_for_what_is_woken_here() {
    let waits = Rc::new(RefCell::new(Vec::new()));
    let seen = waits.clone();
    run(async move {
        let (to_helper, calls) = mpsc::channel::<Waker>();
        let (helped, to_caller) = mpsc::channel::<()>();
        let helper = std::thread::spawn(move || {
            for waker in calls {
                waker.wake();
                helped.send(()).expect("the caller listens");
            }
        });
        let polls = Rc::new(Cell::new(0));
        for _ in 0..20 {
            spawn(always_runnable(polls.clone()));
        }
        let (ended, end) = tokio::sync::oneshot::channel();
        spawn(async move {
            for _ in 0..50 {
                let mut is_woken = false;
                poll_fn(|context| {
                    if std::mem::replace(&mut is_woken, true) {
                        return Poll::Ready(());
                    }
                    to_helper.send(context.waker().clone()).expect("the helper runs");
                    to_caller.recv_timeout(Duration::from_secs(20)).expect("the helper runs");
                    polls.set(0);
                    Poll::Pending
                })
                .await;
                waits.borrow_mut().push(polls.get());
            }
            drop(to_helper);
            helper.join().expect("it does not panic");
            let _ = ended.send(());
        });
        let _ = end.await;
    });
    // Behind the twenty that were woken before, once each.
    assert_eq!(seen.borrow().len(), 50);
    assert!(seen.borrow().iter().all(|polls| *polls <= 21), "{:?}", seen.borrow());
}

#[test]
fn who_yields_goes_behind_all_others() {
    let order = Order::default();
    let seen = order.clone();
    run(async move {
        let (yields, begins) = (order.clone(), order.clone());
        spawn(async move {
            env::yield_now().await;
            yields.borrow_mut().push("yielded");
        });
        spawn(async move {
            begins.borrow_mut().push("there before");
            spawn(async move { begins.borrow_mut().push("came later") });
        });
        some_turns().await;
    });
    assert_eq!(*seen.borrow(), ["there before", "came later", "yielded"]);
}

/// As a future does that polls several others.
#[test]
fn who_yields_within_another_future_is_woken_by_the_waker_it_was_given() {
    struct Between(Waker, AtomicBool);
    impl Wake for Between {
        fn wake(self: Arc<Self>) {
            self.1.store(true, Ordering::Relaxed);
            self.0.wake_by_ref();
        }
    }
    let was_woken = Rc::new(Cell::new(false));
    let seen = was_woken.clone();
    run(async move {
        spawn(async move {
            let mut inner = pin!(env::yield_now());
            let mut between = None;
            poll_fn(|context| {
                let waker = || Arc::new(Between(context.waker().clone(), AtomicBool::new(false)));
                let between = between.get_or_insert_with(waker);
                inner.as_mut().poll(&mut std::task::Context::from_waker(&between.clone().into()))
            })
            .await;
            was_woken.set(between.is_some_and(|between| between.1.load(Ordering::Relaxed)));
        });
        some_turns().await;
    });
    assert!(seen.get());
}

#[test]
fn a_panic_ends_one_task_and_a_waker_that_is_left_does_nothing() {
    let (left, ended) = (Rc::new(RefCell::new(Vec::new())), Rc::new(Cell::new(0)));
    let (wakers, count) = (left.clone(), ended.clone());
    run(async move {
        let kept = wakers.clone();
        spawn(async move {
            poll_fn(|context| {
                kept.borrow_mut().push(context.waker().clone());
                // Woken while it ends: its place is free when it has left the queue.
                context.waker().wake_by_ref();
                Poll::Ready(())
            })
            .await;
            std::panic::resume_unwind(Box::new("this test's own"));
        });
        some_turns().await;
        for _ in 0..3 {
            let (ended, wakers) = (ended.clone(), wakers.clone());
            spawn(async move {
                wakers.borrow().iter().for_each(Waker::wake_by_ref);
                env::yield_now().await;
                ended.set(ended.get() + 1);
            });
            some_turns().await;
        }
    });
    assert_eq!(count.get(), 3);
    left.take().into_iter().for_each(Waker::wake);
}

#[test]
fn tasks_that_have_not_ended_are_dropped_with_the_set() {
    let owned = Rc::new(());
    let held = owned.clone();
    run(async move {
        spawn(async move {
            std::future::pending::<()>().await;
            drop(held);
        });
        some_turns().await;
    });
    assert_eq!(Rc::strong_count(&owned), 1);
}
